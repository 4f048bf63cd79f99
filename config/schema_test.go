package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// desk are the settings of a tracker for the schema.
type desk struct {
	Account string   `yaml:"account" jsonschema:"required" jsonschema_description:"Whose desk."`
	Token   Secret   `yaml:"token" jsonschema_description:"What opens it."`
	Rest    Duration `yaml:"rest" jsonschema_description:"How long it rests."`
}

// ledger are the settings of an accounting system for the schema.
type ledger struct {
	Path  Path `yaml:"path" jsonschema:"required" jsonschema_description:"Where it lies."`
	Books []struct {
		Name string `yaml:"name" jsonschema:"required" jsonschema_description:"Of one book."`
	} `yaml:"books" jsonschema_description:"The books of it."`
}

// schemaOf returns the schema with two kinds of trackers and one of accounting systems.
func schemaOf(t *testing.T) any {
	t.Helper()
	text, err := JSONSchema(map[string]any{"desk": desk{}, "shelf": shelf{}}, map[string]any{"ledger": ledger{}})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// follows reports whether YAML follows the schema.
func follows(t *testing.T, text string) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", schemaOf(t)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// full is a config of every setting, with two kinds of adaptors. To editors, an id of digits is text
// only within quotes.
func full() string {
	text := strings.ReplaceAll(everything, "00451", `"00451"`)
	text = strings.ReplaceAll(text, "{kind: folder}", "{kind: desk, account: a, token: {env: A}, rest: 1h30m}")
	return strings.ReplaceAll(text, "{kind: journal}", "{kind: ledger, path: books, books: [{name: a}]}")
}

func TestTheSchemaAllowsEverySetting(t *testing.T) {
	if err := follows(t, full()); err != nil {
		t.Error(err)
	}
}

func TestTheSchemaRefusesWhatLoadRefuses(t *testing.T) {
	tests := []struct{ name, from, to string }{
		{"an unknown setting", "late:", "lat:"},
		{"an unknown word", "per: client", "per: clients"},
		{"no state", "state:", "stat:"},
		{"no start", "start: 2026-11-09", "workers: 1"},
		{"a bad name", "  zulu:", "  Zulu:"},
		{"too many workers", "workers: 32", "workers: 33"},
		{"a duration without a unit", "jitter: 30s", `jitter: "30"`},
		{"an unknown kind", "kind: desk", "kind: desks"},
		{"no kind", "{kind: desk, ", "{"},
		{"a setting of another kind", "kind: desk", "kind: shelf"},
		{"a setting that no kind has", "rest: 1h30m", "rst: 1h30m"},
		{"a setting of an adaptor that is left out", "account: a, ", ""},
		{"a setting in a list", "{name: a}", "{nam: a}"},
		{"a secret itself", "token: {env: A}", "token: hunter2"},
		{"two places of a secret", "{env: A}", "{env: A, file: b}"},
		{"a long prefix", "prefix: ag-", "prefix: agy-"},
		{"a currency in small letters", "currency: EUR", "currency: eur"},
	}
	for _, tt := range tests {
		text := strings.Replace(full(), tt.from, tt.to, 1)
		if text == full() {
			t.Fatalf("%s: %q is not in the config", tt.name, tt.from)
		}
		if follows(t, text) == nil {
			t.Errorf("%s follows the schema, want an error", tt.name)
		}
	}
}

// TestTheSchemaDescribesEverySetting walks the types beside the schema.
func TestTheSchemaDescribesEverySetting(t *testing.T) {
	root := schemaOf(t)
	described(t, root, reflect.TypeFor[Config](), "")
	one := at(root, "properties", "syncs", "additionalProperties")
	described(t, one, reflect.TypeFor[Sync](), "syncs.*")
	kinds := at(one, "properties", "tracker", "oneOf").([]any)
	if len(kinds) != 2 || at(kinds[0], "properties", "kind", "const") != "desk" {
		t.Fatalf("kinds of trackers = %v, want desk and shelf", kinds)
	}
	described(t, kinds[0], reflect.TypeFor[desk](), "tracker")
	described(t, at(one, "properties", "accounting", "oneOf").([]any)[0], reflect.TypeFor[ledger](), "accounting")
}

// described holds that a schema has each setting of a type, says what it is, and allows no other.
func described(t *testing.T, schema any, of reflect.Type, path string) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if of.Kind() == reflect.Slice {
			schema = at(schema, "items")
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || ownDecoder(of) || len(namesOf(of)) == 0 {
		return
	}
	if at(schema, "additionalProperties") != false {
		t.Errorf("%s allows unknown settings", path)
	}
	for name, field := range fieldsOf(of) {
		property := at(schema, "properties", name)
		if text, ok := at(property, "description").(string); !ok || text == "" {
			t.Errorf("%s is not described in the schema", join(path, name))
		}
		if name != "tracker" && name != "accounting" {
			described(t, property, field, join(path, name))
		}
	}
}

// at returns what stands under some keys of a JSON value, and nil where there is nothing.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}
