package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Section is the part of a config that an adaptor reads: it knows its place, and what kind it is.
type Section struct {
	Kind   string
	node   *yaml.Node
	source *source
}

// UnmarshalYAML keeps the section as it stands, and reads its kind.
func (s *Section) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("a mapping with a kind is wanted here, such as {kind: folder, …}")
	}
	s.node = n
	kind, there := child(n, "kind")
	kind = followed(kind)
	if !there && slices.ContainsFunc(n.Content, isMerge) {
		return errors.New(mergeKey)
	}
	if !there || kind.Kind != yaml.ScalarNode || kind.Value == "" {
		return errors.New("kind is missing: it says which adaptor this is")
	}
	s.Kind = kind.Value
	return nil
}

// Decode reads the section into the settings of an adaptor: unknown keys are faults, paths become absolute,
// secrets are fetched. Settings with a method Validate are asked whether they are possible.
func (s Section) Decode(into any) error {
	rest := *s.node
	rest.Content = nil
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		if s.node.Content[i].Value != "kind" {
			rest.Content = append(rest.Content, s.node.Content[i], s.node.Content[i+1])
		}
	}
	d := &decoding{source: s.source}
	d.repeats(s.node) // kind among them
	d.strict(&rest, into)
	var impossible error
	if v, can := into.(interface{ Validate() error }); can {
		impossible = s.Fault(v.Validate())
	}
	return Join((&Faults{d.faults}).orNil(), impossible)
}

// FieldError is an error of one setting of a section, named as in the file: "path" or "customers[2].customer".
// [Section.Fault] places it at that setting.
type FieldError struct {
	Field string
	Err   error
}

// Error names the setting and then says what is wrong with it.
func (e FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e FieldError) Unwrap() error { return e.Err }

// Fault places an error of an adaptor: a [FieldError] at its setting, or the nearest that is written, and
// any other at the section. Each of joined errors is a fault of its own; nil stays nil.
func (s Section) Fault(err error) error {
	if err == nil {
		return nil
	}
	// Not errors.As: what wraps joined errors says more than they do.
	if many, joined := any(err).(interface{ Unwrap() []error }); joined {
		var faults []error
		for _, one := range many.Unwrap() {
			faults = append(faults, s.Fault(one))
		}
		return Join(faults...)
	}
	message := strings.ReplaceAll(err.Error(), "\n", "; ")
	f := s.source.fault(s.node, "%s", message)
	var field FieldError
	if errors.As(err, &field) {
		n := s.find(field.Field)
		f = s.source.fault(n, "%s", message)
		f.Path = join(s.source.names[s.node], field.Field)
	}
	return &Faults{[]Fault{f}}
}

// find returns the node of a setting, or the nearest that is written.
func (s Section) find(field string) *yaml.Node {
	n := s.node
	for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		at, err := strconv.Atoi(part)
		list := followed(n)
		switch next, there := child(n, part); {
		case there:
			n = next
		case err == nil && list.Kind == yaml.SequenceNode && at >= 0 && at < len(list.Content):
			n = list.Content[at]
		default:
			return n
		}
	}
	return n
}

// Unknown is the fault that no adaptor is of this kind.
func (s Section) Unknown(known []string) error {
	kind, _ := child(s.node, "kind")
	return &Faults{[]Fault{s.source.fault(kind, "%s", unknown("kind", s.Kind, known))}}
}
