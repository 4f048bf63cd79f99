package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// most bytes that a config may have.
const largest = 1 << 20

// Load reads the config at path. Build is called for each sync whose two sections can be read, also beside
// faults elsewhere, and its faults are reported with the others; it may be nil. The error is a [Faults] with
// everything that is wrong, or says why the file could not be read.
func Load(path string, build func(Sync) error) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, &Faults{[]Fault{{File: path, Message: err.Error()}}}
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	src := &source{file: path, folder: folder, lines: strings.Split(string(data), "\n")}
	root, err := src.parse(data)
	if err != nil {
		return nil, err
	}
	d := &decoding{source: src}
	c := d.config(root)
	errs := []error{(&Faults{d.faults}).orNil()}
	for _, s := range c.Syncs {
		if build != nil && s.Tracker.Kind != "" && s.Accounting.Kind != "" {
			errs = append(errs, build(s))
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
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		return root.Content[0], nil
	}
	return &root, nil
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
	f := s.fault(e.Mark.Line, e.Mark.Column, "%s", plain(e.Message))
	if e.Mark.Line == 0 {
		f.Excerpt = ""
	}
	return f
}

// constructed finds the library's way to say that a value is of the wrong kind.
var constructed = regexp.MustCompile("^cannot construct !!(\\w+)(?: `.*`)? into (.*)$")

// plain says the library's messages in words for admins. Values are left out: they may be secrets.
func plain(message string) string {
	message = strings.TrimPrefix(message, "yaml: ")
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

// decoding gathers the faults of a file.
type decoding struct {
	*source
	faults []Fault
}

func (d *decoding) add(n *yaml.Node, format string, args ...any) {
	d.faults = append(d.faults, d.fault(n.Line, n.Column, format, args...))
}

// strict decodes a mapping into a struct: unknown and repeated keys are faults, and the rest is read all
// the same.
func (d *decoding) strict(n *yaml.Node, into any) {
	if n.Kind != yaml.MappingNode {
		d.add(n, "a mapping is wanted here")
		return
	}
	d.keys(n, reflect.TypeOf(into).Elem())
	err := n.Load(into, yaml.WithUniqueKeys(false))
	if err != nil {
		d.faults = append(d.faults, d.loadFaults(err)...)
	}
	d.resolve(reflect.ValueOf(into).Elem())
}

// keys checks the keys of a mapping, and of the mappings in it, against the fields of a type.
func (d *decoding) keys(n *yaml.Node, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode:
		d.keys(n.Alias, t)
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct && !ownDecoder(t):
		d.fields(n, t)
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		d.repeats(n)
		for i := 1; i < len(n.Content); i += 2 {
			d.keys(n.Content[i], t.Elem())
		}
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, c := range n.Content {
			if isNull(c) {
				d.add(c, "this element says nothing: take it out")
			}
			d.keys(c, t.Elem())
		}
	}
}

// ownDecoder reports whether a type reads its node itself, or keeps it for later.
func ownDecoder(t reflect.Type) bool {
	if t == reflect.TypeFor[yaml.Node]() {
		return true
	}
	_, own := reflect.New(t).Interface().(interface{ UnmarshalYAML(n *yaml.Node) error })
	return own
}

func (d *decoding) fields(n *yaml.Node, t reflect.Type) {
	d.repeats(n)
	fields := fieldsOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, known := fields[key.Value]
		if !known {
			f := d.fault(key.Line, key.Column, "%s", unknown("setting", key.Value, namesOf(t)))
			if meant, like := near(key.Value, namesOf(t)); like && fields[meant] == reflect.TypeFor[Secret]() {
				f.Excerpt = ""
			}
			d.faults = append(d.faults, f)
			continue
		}
		d.keys(value, field)
	}
}

// repeats finds keys that stand twice in one mapping.
func (d *decoding) repeats(n *yaml.Node) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first, twice := seen[key.Value]; twice {
			d.add(key, "%q stands here a second time; the first is in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
	}
}

// fieldsOf returns the types of the settings of a struct by their names.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		if name := nameOf(t.Field(i)); name != "" {
			fields[name] = t.Field(i).Type
		}
	}
	return fields
}

// namesOf returns the names of the settings of a struct, in their order.
func namesOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if name := nameOf(t.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" || !f.IsExported() {
		return ""
	}
	return name
}

// resolve makes the paths in a value absolute and fetches its secrets.
func (d *decoding) resolve(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *Path:
		*x = Path(absolute(d.folder, string(*x)))
		return
	case *Secret:
		if err := x.resolve(d.folder); err != nil {
			d.faults = append(d.faults, d.fault(x.line, x.col, "%v", err))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if ownDecoder(v.Type()) {
			return // a node can hold itself, by an alias
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				d.resolve(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.resolve(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(key))
			d.resolve(one)
			v.SetMapIndex(key, one)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			d.resolve(v.Elem())
		}
	}
}

// isNull reports whether a node is written but says nothing.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// child returns the value under a key of a mapping, and the mapping itself where there is none: a place to
// point at.
func child(n *yaml.Node, key string) (value *yaml.Node, there bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Kind == yaml.MappingNode && n.Content[i].Value == key {
			return n.Content[i+1], true
		}
	}
	return n, false
}
