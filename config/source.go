package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// source is a config file: it knows what its lines say, what its settings are called, and which folder
// its paths are relative to.
type source struct {
	file   string
	folder string
	lines  []string
	inside []bool // by line: it stands inside what may be a secret
	names  map[*yaml.Node]string
	places map[place]string
}

// path returns where the file is.
func (s *source) path() string { return filepath.Join(s.folder, filepath.Base(s.file)) }

// place is a line and a column, each from 1.
type place struct{ line, column int }

// newSource takes the text of the file at path.
func newSource(path, text string) (*source, error) {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	s := &source{file: path, folder: folder, lines: strings.Split(text, "\n"), names: map[*yaml.Node]string{}, places: map[place]string{}}
	s.inside = insideSecrets(s.lines)
	return s, nil
}

// name notes what the settings in a node are called. Two nodes can share a place: the outer one has it.
func (s *source) name(n *yaml.Node, path string) {
	s.names[n] = path
	if _, taken := s.places[place{n.Line, n.Column}]; !taken {
		s.places[place{n.Line, n.Column}] = path
	}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			s.name(c, fmt.Sprintf("%s[%d]", path, i))
		case n.Kind == yaml.MappingNode && i%2 == 0:
			s.names[c] = join(path, c.Value)
		case n.Kind == yaml.MappingNode:
			s.name(c, join(path, n.Content[i-1].Value))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fault makes a fault at a node.
func (s *source) fault(n *yaml.Node, format string, args ...any) Fault {
	return s.faultAt(n.Line, n.Column, s.names[n], fmt.Sprintf(format, args...))
}

// faultAt makes a fault at a place.
func (s *source) faultAt(line, column int, path, message string) Fault {
	return Fault{File: s.file, Line: line, Column: column, Path: path, Message: message, Excerpt: s.excerpt(line)}
}

// longest line that is shown beside its fault.
const longest = 400

// excerpt returns a line as it may be shown, and nothing where it may not.
func (s *source) excerpt(line int) string {
	if line < 1 || line > len(s.lines) || len(s.lines[line-1]) > longest {
		return ""
	}
	text := strings.TrimRight(s.lines[line-1], "\r")
	if s.inside[line-1] && !reference.MatchString(text) {
		return ""
	}
	return mask(text)
}

// secretive finds the keys whose values may be secrets.
var secretive = regexp.MustCompile(`(?i)((token|secret|password|passwd|passphrase|credential|bearer|client[_-]?id)[\w-]*|auth|authorization|key)["']?\s*:`)

// reference finds values of such keys that only say where the secret is.
var reference = regexp.MustCompile(`^\s*\{?\s*(credential|env|file)\s*:\s*[A-Za-z0-9_./-]*\s*\}?\s*(#.*)?$`)

// mask hides what may be a secret in a line.
func mask(line string) string {
	at := secretive.FindStringIndex(line)
	if at == nil || reference.MatchString(line) || reference.MatchString(line[at[1]:]) || strings.TrimSpace(line[at[1]:]) == "" {
		return line
	}
	return line[:at[1]] + " •••"
}

// insideSecrets tells of each line whether it stands below a key whose value may be a secret, as its
// indentation says: a file that cannot be parsed has nothing else.
func insideSecrets(lines []string) []bool {
	type level struct {
		indent       int
		dash, secret bool
	}
	var open []level
	inside := make([]bool, len(lines))
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		if strings.TrimSpace(text) == "" {
			continue
		}
		l := level{indent: len(line) - len(text), dash: strings.HasPrefix(text, "-")}
		for len(open) > 0 {
			last := open[len(open)-1]
			if last.indent < l.indent || last.indent == l.indent && l.dash && !last.dash {
				break
			}
			open = open[:len(open)-1]
		}
		inside[i] = len(open) > 0 && open[len(open)-1].secret
		at := secretive.FindStringIndex(line)
		l.secret = inside[i] || at != nil && !reference.MatchString(line[at[1]:])
		open = append(open, l)
	}
	return inside
}
