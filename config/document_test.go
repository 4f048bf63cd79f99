package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEverySettingIsInTheManual walks the types and looks each setting up on the page for admins.
func TestEverySettingIsInTheManual(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, of := range []reflect.Type{
		reflect.TypeFor[Config](), reflect.TypeFor[Keys](), reflect.TypeFor[Backup](), reflect.TypeFor[Audit](), reflect.TypeFor[Log](), reflect.TypeFor[Sync](),
		reflect.TypeFor[Invoice](), reflect.TypeFor[Customer](), reflect.TypeFor[Rate](), reflect.TypeFor[Ignore](),
	} {
		for _, name := range namesOf(of) {
			section := strings.ToLower(of.Name()) + "."
			switch {
			case strings.Contains(text, "`"+name+"`"), strings.Contains(text, "`"+section+name+"`"):
			case name == "keys" || name == "log" || name == "audit" || name == "backup" || name == "ignore":
				if !strings.Contains(text, "`"+name+".") {
					t.Errorf("%s is not in docs/configuration.md", name)
				}
			default:
				t.Errorf("%s%s is not in docs/configuration.md", section, name)
			}
		}
	}
}

// TestTheExampleOfTheManualIsValid loads what an admin will copy.
func TestTheExampleOfTheManualIsValid(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```yaml\n")
	example, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("docs/configuration.md has no example")
	}
	if _, err := Load(write(t, example), nil); err != nil {
		t.Error(err)
	}
}
