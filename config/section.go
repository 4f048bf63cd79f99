package config

import (
	"errors"

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

// Fault places an error of an adaptor at its section; nil stays nil.
func (s Section) Fault(err error) error {
	if err == nil {
		return nil
	}
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var faults []error
		for _, one := range many.Unwrap() {
			faults = append(faults, s.Fault(one))
		}
		return Join(faults...)
	}
	return &Faults{[]Fault{s.source.fault(s.node.Line, s.node.Column, "%v", err)}}
}

// Unknown is the fault that no adaptor is of this kind.
func (s Section) Unknown(known []string) error {
	kind, _ := child(s.node, "kind")
	return &Faults{[]Fault{s.source.fault(kind.Line, kind.Column, "%s", unknown("kind", s.Kind, known))}}
}
