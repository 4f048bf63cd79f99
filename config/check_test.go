package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secondSync follows the smallest config as one more sync.
var secondSync = strings.Replace(smallest[strings.Index(smallest, "  agency"):], "agency", "studio", 1)

// two is a config of two syncs; the lines that are given belong to the second.
func two(t *testing.T, more string) *Config {
	t.Helper()
	c, err := Load(write(t, smallest+secondSync+more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheckAccountsWantsDifferentPrefixes(t *testing.T) {
	tests := []struct {
		name, more string
		accounts   map[string]string
		line       int // of the fault, 0 for none
	}{
		{"one account, one prefix", "", map[string]string{"agency": "books", "studio": "books"}, 12},
		{"one account, one prefix written", "    invoice: {prefix: ts-}\n", map[string]string{"agency": "books", "studio": "books"}, 13},
		{"a prefix that begins the other", "    invoice: {prefix: ts}\n", map[string]string{"agency": "books", "studio": "books"}, 13},
		{"one account, two prefixes", "    invoice: {prefix: st-}\n", map[string]string{"agency": "books", "studio": "books"}, 0},
		{"two accounts, one prefix", "", map[string]string{"agency": "books", "studio": "others"}, 0},
	}
	for _, tt := range tests {
		err := CheckAccounts(two(t, tt.more), func(s Sync) string { return tt.accounts[s.Name] })
		if tt.line == 0 {
			if err != nil {
				t.Errorf("%s: CheckAccounts = %v, want nil", tt.name, err)
			}
			continue
		}
		if f := faultsOf(t, err); len(f) != 1 || f[0].Line != tt.line || f[0].Path != "syncs.studio.invoice.prefix" || !strings.Contains(f[0].Message, "agency and studio") {
			t.Errorf("%s: faults = %v, want one at line %d that names both", tt.name, err, tt.line)
		}
	}
}

func TestCheckGuardsRefusesUpdatesOfWhatIsNotGuarded(t *testing.T) {
	c := two(t, "    corrections: update-drafts\n")
	err := CheckGuards(c, func(Sync) bool { return false })
	if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 13 || f[0].Path != "syncs.studio.corrections" || !strings.Contains(f[0].Message, "use window or review") {
		t.Errorf("CheckGuards = %v, want one fault at corrections, line 13", err)
	}
	if err := CheckGuards(c, func(Sync) bool { return true }); err != nil {
		t.Errorf("CheckGuards = %v, want nil where drafts are guarded", err)
	}
}

func TestCheckPathsFindsOneFileForTwoThings(t *testing.T) {
	c := two(t, "")
	state := string(c.State)
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(filepath.Dir(state), "link")
	if err := os.Symlink(state, link); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(filepath.Dir(state), "tidemark.yaml")
	for _, path := range []string{state, config, filepath.Dir(state) + "/./x/../tidemark.db", link, state + ".lock", state + ".id"} {
		err := CheckPaths(c, func(s Sync) []string {
			if s.Name == "studio" {
				return []string{path}
			}
			return nil
		})
		if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 12 || !strings.Contains(f[0].Message, "the sync studio") {
			t.Errorf("%s: CheckPaths = %v, want one fault at line 12", path, err)
		}
	}
	if err := CheckPaths(c, func(Sync) []string { return []string{filepath.Dir(state) + "/exports"} }); err != nil {
		t.Errorf("CheckPaths = %v, want nil for a folder that two syncs read", err)
	}
}

func TestCheckPathsPointsAtTheSetting(t *testing.T) {
	text := strings.Replace(smallest, "{kind: journal}", "{kind: journal, path: link/tidemark.db}", 1)
	text = strings.Replace(text, "state: tidemark.db", "state: data/tidemark.db", 1)
	path := write(t, text)
	folder := filepath.Dir(path)
	if err := os.Symlink(filepath.Join(folder, "data"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = CheckPaths(c, func(Sync) []string { return []string{filepath.Join(folder, "link", "tidemark.db")} })
	if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 7 || f[0].Column != 39 || f[0].Path != "syncs.agency.accounting.path" {
		t.Errorf("CheckPaths = %v, want one fault at the path, 7:39", err)
	}
}

func TestTwoEndsOfASyncDoNotShareAPath(t *testing.T) {
	c := two(t, "")
	err := CheckPaths(c, func(s Sync) []string {
		if s.Name == "agency" {
			return []string{"/srv/books", "/srv/./books"}
		}
		return nil
	})
	if f := faultsOf(t, err); len(f) != 1 || !strings.Contains(f[0].Message, "its other end") {
		t.Errorf("CheckPaths = %v, want one fault that names the other end", err)
	}
}

func TestTheStateIsNotTheConfig(t *testing.T) {
	_, err := Load(write(t, strings.Replace(smallest, "tidemark.db", "x/../tidemark.yaml", 1)), nil)
	if f := faultsOf(t, err); len(f) != 1 || f[0].Path != "state" || !strings.Contains(f[0].Message, "this config itself") {
		t.Errorf("error = %v, want the state refused", err)
	}
}

func TestCheckPathsFollowsAliases(t *testing.T) {
	text := strings.Replace(smallest, "{kind: folder}", "&t {kind: &k folder, path: tidemark.db}", 1)
	c, err := Load(write(t, strings.Replace(text, "{kind: journal}", "{kind: *k}", 1)+strings.Replace(secondSync, "{kind: folder}", "*t", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Syncs[0].Accounting.Kind != "folder" || c.Syncs[1].Tracker.Kind != "folder" {
		t.Errorf("kinds = %s, %s; want folder twice", c.Syncs[0].Accounting.Kind, c.Syncs[1].Tracker.Kind)
	}
	err = CheckPaths(c, func(s Sync) []string {
		if s.Name == "studio" {
			return []string{string(c.State)}
		}
		return nil
	})
	if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 6 || !strings.HasSuffix(f[0].Path, "tracker.path") {
		t.Errorf("CheckPaths = %v, want one fault at the path, in line 6", err)
	}
}
