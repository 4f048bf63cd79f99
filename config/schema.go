package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/invopop/jsonschema"
)

// JSONSchema returns the JSON Schema of a config file, by which editors complete and check it. Trackers and
// systems are the settings of each kind.
func JSONSchema(trackers, systems map[string]any) ([]byte, error) {
	root := reflectSchema(Config{})
	one := reflectSchema(Sync{})
	one.Version = ""
	describe(one, "tracker", kindsOf(trackers))
	describe(one, "accounting", kindsOf(systems))
	syncs := &jsonschema.Schema{
		Type: "object", Description: "The syncs, by their names: a–z, 0–9 and -.", MinProperties: ptr(uint64(1)),
		PropertyNames: &jsonschema.Schema{Pattern: syncName.String()}, AdditionalProperties: one,
	}
	root.Properties.Set("syncs", syncs)
	root.Required = append(root.Required, "syncs")
	root.Title = "Tidemark config"
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return append(out, '\n'), nil
}

func ptr[T any](v T) *T { return &v }

// reflectSchema makes the schema of a struct, everything in place: what stands beside a reference is lost.
func reflectSchema(v any) *jsonschema.Schema {
	r := jsonschema.Reflector{FieldNameTag: "yaml", ExpandedStruct: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, Anonymous: true}
	return r.Reflect(v)
}

// describe puts the schema of a section into its place and keeps its description.
func describe(s *jsonschema.Schema, name string, section *jsonschema.Schema) {
	if old, there := s.Properties.Get(name); there {
		section.Description = old.Description
	}
	s.Properties.Set(name, section)
}

// kindsOf makes the schema of a section: the kind tells which settings there are.
func kindsOf(kinds map[string]any) *jsonschema.Schema {
	section := &jsonschema.Schema{Type: "object", Required: []string{"kind"}}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		one := reflectSchema(kinds[kind])
		one.Version = ""
		one.Properties.Set("kind", &jsonschema.Schema{Const: kind, Description: "Which adaptor this is."})
		one.Required = append(one.Required, "kind")
		section.OneOf = append(section.OneOf, one)
	}
	return section
}

func textSchema(pattern, description string, examples ...any) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern, Description: description, Examples: examples}
}

// JSONSchema describes a duration to editors.
func (Duration) JSONSchema() *jsonschema.Schema {
	return textSchema(`^(\d+w)?(\d+d)?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))*$`, "A duration: 30s, 15m, 1h30m, 14d or 2w.", "15m", "14d")
}

// JSONSchema describes a date to editors. YAML reads it as a date or as text.
func (Date) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Format: "date", Description: "A day, such as 2026-11-02."}
}

// JSONSchema describes a zone to editors.
func (Zone) JSONSchema() *jsonschema.Schema {
	return textSchema("", "A time zone, such as Europe/Berlin.", "Europe/Berlin", "UTC")
}

// JSONSchema describes a decimal to editors.
func (Decimal) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string", Pattern: plainDecimal.String()}}}
}

// JSONSchema describes a currency to editors.
func (Currency) JSONSchema() *jsonschema.Schema {
	return textSchema("^[A-Z]{3}$", "A currency of ISO 4217.", "EUR", "USD")
}

// JSONSchema describes a path to editors.
func (Path) JSONSchema() *jsonschema.Schema {
	return textSchema("", "A path, relative to the config file.")
}

// JSONSchema describes a schedule to editors.
func (Schedule) JSONSchema() *jsonschema.Schema {
	return textSchema("", "Five cron fields, @hourly, @daily or @every 15m. Sunday is 0 or 7.", "*/15 * * * *", "@daily")
}

// JSONSchema describes a secret to editors: where it is, never what.
func (Secret) JSONSchema() *jsonschema.Schema {
	var places []*jsonschema.Schema
	for _, place := range []string{"credential", "env", "file"} {
		properties := jsonschema.NewProperties()
		properties.Set(place, &jsonschema.Schema{Type: "string"})
		places = append(places, &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{place}, AdditionalProperties: jsonschema.FalseSchema})
	}
	return &jsonschema.Schema{OneOf: places, Description: "Where the secret is: {credential: NAME}, {env: NAME} or {file: PATH}."}
}

// JSONSchema describes a section to editors; its kinds are put in by [JSONSchema].
func (Section) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }
