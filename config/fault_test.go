package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestFaultPointsAtItsPlace(t *testing.T) {
	tests := []struct {
		name  string
		fault Fault
		want  string
	}{
		{"with a line", Fault{"a.yaml", 3, 5, "a.due", "too short", "    due: 1h"}, "a.yaml:3:5: too short\n        due: 1h\n        ^"},
		{"without an excerpt", Fault{"a.yaml", 3, 5, "a.due", "too short", ""}, "a.yaml:3:5: too short (a.due)"},
		{"without a setting", Fault{"a.yaml", 3, 5, "", "too short", ""}, "a.yaml:3:5: too short"},
		{"without a place", Fault{File: "a.yaml", Message: "it is empty"}, "a.yaml: it is empty"},
		{"a mark beyond letters of two bytes", Fault{"a.yaml", 1, 40, "", "cut off", "äöü"}, "a.yaml:1:40: cut off\n    äöü\n       ^"},
		{"a mark beyond the line", Fault{"a.yaml", 1, 40, "", "cut off", "abc"}, "a.yaml:1:40: cut off\n    abc\n       ^"},
	}
	for _, tt := range tests {
		if got := tt.fault.Error(); got != tt.want {
			t.Errorf("%s: Error = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestJoinKeepsTheOrderOfTheFileAndDropsRepeats(t *testing.T) {
	at := func(line int, message string) *Faults {
		return &Faults{[]Fault{{File: "a.yaml", Line: line, Column: 1, Message: message}}}
	}
	other := errors.New("disk on fire")
	err := Join(at(7, "seven"), nil, at(2, "two"), other, at(7, "seven"))
	got := faultsOf(t, err)
	if len(got) != 2 || got[0].Line != 2 || got[1].Line != 7 {
		t.Errorf("faults = %v, want those of lines 2 and 7", got)
	}
	if !errors.Is(err, other) {
		t.Errorf("Join = %v, want %v kept", err, other)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("Join(nil, nil) = %v, want nil", err)
	}
	if !strings.HasPrefix(Join(at(1, "one")).Error(), "the config has a fault:\n") {
		t.Errorf("Join = %v, want one fault announced", Join(at(1, "one")))
	}
}

func TestMaskHidesWhatMayBeASecret(t *testing.T) {
	tests := []struct{ line, want string }{
		{"token: hunter2", "token: •••"},
		{"  - {name: x, api_key: hunter2}", "  - {name: x, api_key: •••"},
		{`"password": "hunter2"`, `"password": •••`},
		{"  client_secret: hunter2 # mine", "  client_secret: •••"},
		{"token: {credential: clockify}", "token: {credential: clockify}"},
		{"token: {file: /etc/tidemark/token} # here", "token: {file: /etc/tidemark/token} # here"},
		{"token: {env: A=hunter2}", "token: •••"},
		{"token: {env: NAME}, password: hunter2", "token: •••"},
		{"token:", "token:"},
		{"  credential: clockify", "  credential: clockify"},
		{"key: hunter2", "key: •••"},
		{"access_key: hunter2", "access_key: •••"},
		{"passphrase: hunter2", "passphrase: •••"},
		{"Authorization: Bearer hunter2", "Authorization: •••"},
		{"token_two: hunter2", "token_two: •••"},
		{"keys: {margin: 1h}", "keys: {margin: 1h}"},
		{"author: Ida", "author: Ida"},
		{"schedule: hourly", "schedule: hourly"},
	}
	for _, tt := range tests {
		if got := mask(tt.line); got != tt.want {
			t.Errorf("mask(%q) = %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestNearProposesOnlyWhatIsLikeIt(t *testing.T) {
	known := []string{"schedule", "start", "late", "workers", "log"}
	tests := []struct{ wrong, want string }{
		{"shedule", "schedule"},
		{"Schedule", "schedule"},
		{"strat", "start"},
		{"woerksr", ""},
		{"worker", "workers"},
		{"frequency", ""},
		{"g", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got, ok := near(tt.wrong, known); got != tt.want || ok != (tt.want != "") {
			t.Errorf("near(%q) = %q, %v; want %q", tt.wrong, got, ok, tt.want)
		}
	}
}

func TestNothingInsideASecretIsShown(t *testing.T) {
	tests := []struct {
		text string
		want []bool
	}{
		{"a: 1\ntoken: x\nb: 2", []bool{false, false, false}},
		{"token:\n  value: x\n\n  other:\n    - y\nb: 2", []bool{false, true, false, true, true, false}},
		{"token:\n- x\n- y\nb: 2", []bool{false, true, true, false}},
		{"token: {\n  value: x }\nb: 2", []bool{false, true, false}},
		{"- token: |\n    x\n   y\n- b: 2", []bool{false, true, true, false}},
		{"keys:\n  margin: 1h", []bool{false, false}},
		{"- token: {env: A}\n  path: x", []bool{false, false}},
	}
	for _, tt := range tests {
		if got := insideSecrets(strings.Split(tt.text, "\n")); !slices.Equal(got, tt.want) {
			t.Errorf("insideSecrets(%q) = %v, want %v", tt.text, got, tt.want)
		}
	}
}
