package config

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoding gathers the faults of a file.
type decoding struct {
	*source
	faults []Fault
}

func (d *decoding) add(n *yaml.Node, format string, args ...any) {
	d.faults = append(d.faults, d.fault(n, format, args...))
}

// addAt adds a fault at a setting of a mapping, and at the mapping where it is not written.
func (d *decoding) addAt(n *yaml.Node, key, format string, args ...any) {
	v, _ := child(n, key)
	f := d.fault(v, format, args...)
	f.Path = join(d.names[n], key)
	d.faults = append(d.faults, f)
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
		if key.Kind != yaml.ScalarNode || isMerge(key) {
			continue
		}
		field, known := fields[key.Value]
		if !known {
			f := d.fault(key, "%s", unknown("setting", key.Value, namesOf(t)))
			if meant, like := near(key.Value, namesOf(t)); like && fields[meant] == reflect.TypeFor[Secret]() {
				f.Excerpt = ""
			}
			d.faults = append(d.faults, f)
			continue
		}
		d.keys(value, field)
	}
}

// repeats finds keys that stand twice in one mapping, and those that are no names.
func (d *decoding) repeats(n *yaml.Node) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			d.add(key, "a name is wanted here, written out")
			continue
		}
		if isMerge(key) {
			d.add(key, mergeKey)
			continue
		}
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
			d.faults = append(d.faults, d.fault(x.node, "%v", err))
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

// followed returns the node that an alias stands for, and any other node itself.
func followed(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

const mergeKey = "a merge key (<<) could be misread: write these settings out"

// isMerge reports whether a key takes in the settings of another mapping. In quotes it is a name like others.
func isMerge(key *yaml.Node) bool { return key.ShortTag() == "!!merge" }

// isNull reports whether a node is written but says nothing.
func isNull(n *yaml.Node) bool {
	n = followed(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// child returns the value under a key of a mapping, and the mapping itself where there is none: a place to
// point at. The mapping may be an alias, and the value too.
func child(n *yaml.Node, key string) (value *yaml.Node, there bool) {
	n = followed(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Kind == yaml.MappingNode && n.Content[i].Value == key {
			return n.Content[i+1], true
		}
	}
	return n, false
}

// has reports whether a mapping gives a key a value.
func has(n *yaml.Node, key string) bool {
	v, there := child(n, key)
	return there && !isNull(v)
}

// element returns an element of a list, and the list where there is none. Aliases are followed.
func element(list *yaml.Node, n int) *yaml.Node {
	list = followed(list)
	if list.Kind == yaml.SequenceNode && n < len(list.Content) {
		return followed(list.Content[n])
	}
	return list
}
