package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// most bytes that a config may have.
const largest = 1 << 20

// Load reads the config at path. Build is called for each sync whose two sections can be read, also beside
// faults elsewhere, with the rest of the config, and its faults are reported with the others; it may be nil. The error is a [Faults] with
// everything that is wrong, or says why the file could not be read.
func Load(path string, build func(*Config, Sync) error) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, &Faults{[]Fault{{File: path, Message: err.Error()}}}
	}
	src, err := newSource(path, string(data))
	if err != nil {
		return nil, err
	}
	root, err := src.parse(data)
	if err != nil {
		return nil, err
	}
	d := &decoding{source: src}
	c := d.config(root)
	errs := []error{(&Faults{d.faults}).orNil()}
	for _, s := range c.Syncs {
		if build != nil && s.Tracker.Kind != "" && s.Accounting.Kind != "" {
			errs = append(errs, build(c, s))
		}
	}
	if err := Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("it cannot be opened: %w; name another with --config", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it cannot be read: %w", err)
	case len(data) > largest:
		return nil, errors.New("it is larger than 1 MiB: it cannot be a config")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8: save it as UTF-8")
	}
	return data, nil
}

// parse reads the text into nodes, which know their places.
func (s *source) parse(data []byte) (*yaml.Node, error) {
	var root yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(50), loaderlimits.AliasValue(100))
	err := yaml.Load(data, &root, yaml.WithPlugin(limits))
	if err != nil {
		return nil, Join(&Faults{s.loadFaults(err)})
	}
	top := &root
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		top = root.Content[0]
	}
	s.name(top, "")
	return top, nil
}

// loadFaults turns the errors of the YAML library into faults.
func (s *source) loadFaults(err error) (faults []Fault) {
	var many *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &many):
		for _, e := range many.Errors {
			faults = append(faults, s.loadFault(e))
		}
	case errors.As(err, &one):
		faults = append(faults, s.loadFault(one))
	default:
		faults = append(faults, Fault{File: s.file, Message: err.Error()})
	}
	return faults
}

func (s *source) loadFault(e *yaml.LoadError) Fault {
	return s.faultAt(e.Mark.Line, e.Mark.Column, s.places[place{e.Mark.Line, e.Mark.Column}], plain(e.Message))
}

// What the library says with a value in it: that it is of the wrong kind, or an alias.
var (
	constructed = regexp.MustCompile("(?s)^cannot construct !!(\\w+)(?: `.*`)? into (.*)$")
	tagged      = regexp.MustCompile(`(?s)^cannot construct .* as a (\S+)$`)
	aliased     = regexp.MustCompile(`(?s)^unknown anchor '.*' referenced$`)
)

// plain says the library's messages in words for admins. Values are left out: they may be secrets.
func plain(message string) string {
	message = strings.TrimPrefix(message, "yaml: ")
	if aliased.MatchString(message) {
		return "a * at the start of a value makes it an alias, and there is no anchor of this name: put the value into quotes"
	}
	if m := tagged.FindStringSubmatch(message); m != nil {
		return "this value is not what its tag " + m[1] + " says"
	}
	m := constructed.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	got := map[string]string{"str": "text", "int": "a number", "float": "a number", "bool": "yes or no", "seq": "a list", "map": "a mapping", "null": "nothing"}[m[1]]
	want := "a mapping"
	switch {
	case strings.HasPrefix(m[2], "[]"):
		want = "a list"
	case m[2] == "int", m[2] == "int64":
		want = "a whole number"
	case m[2] == "string":
		want = "text"
	case m[2] == "bool":
		want = "true or false"
	}
	return fmt.Sprintf("%s is wanted here, and this is %s", want, got)
}
