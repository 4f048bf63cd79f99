package config

import (
	"go.yaml.in/yaml/v4"
)

// Peek returns where the daemon of a config listens, whatever else is wrong with the config: a command that the daemon
// runs needs neither its secrets nor its syncs. It is empty where that cannot be told; [Load] then says why.
func Peek(path string) (socket Path) {
	data, err := read(path)
	if err != nil {
		return ""
	}
	src, err := newSource(path, string(data))
	if err != nil {
		return ""
	}
	root, err := src.parse(data)
	if err != nil || root.Kind != yaml.MappingNode {
		return ""
	}
	d := &decoding{source: src}
	var t struct {
		State  Path `yaml:"state"`
		Socket Path `yaml:"socket"`
	}
	d.strict(root, &t)
	return socketOf(t.State, t.Socket)
}
