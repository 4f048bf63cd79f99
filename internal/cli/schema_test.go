package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "write docs/tidemark.schema.json anew")

const schemaFile = "../../docs/tidemark.schema.json"

// TestSchemaIsTrue holds the shipped schema against the types.
func TestSchemaIsTrue(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/tidemark.schema.json is not what the types say: go test ./internal/cli -update")
	}
}

// validate checks YAML against the shipped schema.
func validate(t *testing.T, text []byte) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Load(text, &v); err != nil {
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

func TestExamplesFollowTheSchema(t *testing.T) {
	examples, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, wrong := range []string{"\nsweeep: '@daily'\n", "\nlog: {level: loud}\n"} {
			if validate(t, append(bytes.Clone(text), wrong...)) == nil {
				t.Errorf("%s with %q follows the schema, want an error", path, wrong)
			}
		}
	}
}
