package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shelf are the settings of an adaptor with a setting of each shape.
type shelf struct {
	Account string            `yaml:"account"`
	Path    Path              `yaml:"path"`
	Quiet   Duration          `yaml:"quiet"`
	Books   []book            `yaml:"books"`
	Taxes   map[string]string `yaml:"taxes"`
}

type book struct {
	Name string `yaml:"name"`
	Path *Path  `yaml:"path"`
}

// Validate asks for an account.
func (s shelf) Validate() error {
	if s.Account == "" {
		return errors.New("account: missing")
	}
	return nil
}

func TestSectionIsDecodedWithItsPathsResolved(t *testing.T) {
	path := write(t, strings.Replace(smallest, "{kind: folder}",
		"{kind: folder, account: a, path: ../exports, quiet: 2d, books: [{name: x, path: y}, {path: /z}], taxes: {VAT: 19%}}", 1))
	var got shelf
	if _, err := Load(path, func(_ *Config, s Sync) error { return s.Tracker.Decode(&got) }); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(path)
	if want := Path(filepath.Join(filepath.Dir(folder), "exports")); got.Path != want {
		t.Errorf("Path = %s, want %s", got.Path, want)
	}
	if len(got.Books) != 2 || *got.Books[0].Path != Path(filepath.Join(folder, "y")) || *got.Books[1].Path != "/z" {
		t.Errorf("Books = %v, want y beside the config and /z", got.Books)
	}
	if got.Account != "a" || time.Duration(got.Quiet) != 48*time.Hour || got.Taxes["VAT"] != "19%" {
		t.Errorf("settings = %+v", got)
	}
}

func TestSectionIsStrict(t *testing.T) {
	tests := []struct{ name, more, want string }{
		{"an unknown setting", "acount: a", `unknown setting "acount"; did you mean "account"?`},
		{"one in a list", "books: [{nam: x}]", `unknown setting "nam"; did you mean "name"?`},
		{"a repeat", "account: a\n      account: b", `"account" stands here a second time`},
		{"a repeat in a mapping", "taxes: {A: 1%, A: 2%}", `"A" stands here a second time`},
		{"a bad scalar", "quiet: 5 minutes", "is not a duration"},
		{"text for a list", "books: x", "a list is wanted here"},
	}
	for _, tt := range tests {
		err := decodeTracker(t, tt.more, &shelf{Account: "given"})
		if f := faultsOf(t, err); f[0].Line < 8 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestSectionReportsAllItsFaults(t *testing.T) {
	err := decodeTracker(t, "acount: a\n      quiet: soon", &shelf{Account: "given"})
	if got := faultsOf(t, err); len(got) != 2 || got[0].Line != 8 || got[1].Line != 9 {
		t.Errorf("faults = %v, want those of lines 8 and 9", err)
	}
}

func TestSectionAsksItsSettings(t *testing.T) {
	err := decodeTracker(t, "quiet: 2s", &shelf{})
	if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 7 || f[0].Message != "account: missing" {
		t.Errorf("error = %v, want what Validate said at the section", err)
	}
}

func TestErrorsOfAnAdaptorArePlacedAtItsSection(t *testing.T) {
	path := write(t, smallest)
	_, err := Load(path, func(_ *Config, s Sync) error {
		if err := s.Accounting.Fault(nil); err != nil {
			t.Errorf("Fault(nil) = %v, want nil", err)
		}
		return s.Accounting.Fault(errors.Join(errors.New("one"), errors.New("two")))
	})
	got := faultsOf(t, err)
	if len(got) != 2 || got[0].Line != 7 || got[0].Message != "one" || got[1].Message != "two" {
		t.Errorf("faults = %v, want both at line 7", err)
	}
}

func TestAnUnknownKindIsPlacedAtItsWord(t *testing.T) {
	_, err := Load(write(t, smallest), func(_ *Config, s Sync) error { return s.Tracker.Unknown([]string{"folders", "clockify"}) })
	f := faultsOf(t, err)
	if len(f) != 1 || f[0].Line != 6 || f[0].Column != 21 || f[0].Message != `unknown kind "folder"; did you mean "folders"?` {
		t.Errorf("faults = %v, want one at the word folder", err)
	}
}

func TestAnErrorOfAFieldIsPlacedAtItsSetting(t *testing.T) {
	path := write(t, strings.Replace(smallest, "{kind: folder}", "\n      kind: folder\n      books:\n        - name: x\n        - name: y", 1))
	tests := []struct {
		field        string
		line, column int
	}{
		{"books[1].name", 10, 17}, {"books[1].path", 10, 11}, {"books[7]", 9, 9}, {"quiet", 7, 7},
	}
	for _, tt := range tests {
		cause := errors.New("wrong")
		_, err := Load(path, func(_ *Config, s Sync) error {
			return s.Tracker.Fault(fmt.Errorf("folder: %w", FieldError{tt.field, cause}))
		})
		f := faultsOf(t, err)
		if len(f) != 1 || f[0].Line != tt.line || f[0].Column != tt.column || f[0].Path != "syncs.agency.tracker."+tt.field || f[0].Message != "folder: "+tt.field+": wrong" {
			t.Errorf("%s: faults = %+v, want one at %d:%d", tt.field, f, tt.line, tt.column)
		}
	}
}

func TestAWrappedJoinKeepsItsWrapping(t *testing.T) {
	_, err := Load(write(t, smallest), func(_ *Config, s Sync) error {
		return s.Accounting.Fault(fmt.Errorf("journal: accounts: %w", errors.Join(errors.New("one"), errors.New("two"))))
	})
	if f := faultsOf(t, err); len(f) != 1 || f[0].Message != "journal: accounts: one; two" {
		t.Errorf("faults = %+v, want one that says where", f)
	}
}
