package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRulesOfASync(t *testing.T) {
	without := func(key string) string {
		var kept []string
		for line := range strings.Lines(smallest) {
			if !strings.Contains(line, key+":") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	invoice := func(text string) string { return smallest + "    invoice: {" + text + "}\n" }
	tests := []struct{ name, text, want string }{
		{"no state", without("state"), "state is missing"},
		{"no syncs", "state: a.db\n", "at least one sync"},
		{"no sync among them", "state: a.db\nsyncs: {}\n", "at least one sync"},
		{"a list of syncs", "state: a.db\nsyncs: [a]\n", "at least one sync"},
		{"no schedule", without("schedule"), "schedule is missing"},
		{"no start", without("start"), "start is missing"},
		{"no tracker", without("tracker"), "tracker is missing"},
		{"no accounting", without("accounting"), "accounting is missing"},
		{"a start far off", strings.Replace(smallest, "2026", "2926", 1), "nothing would ever be billed"},
		{"a name with a capital", strings.Replace(smallest, "agency", "Agency", 1), "is no name for a sync"},
		{"a long name", strings.Replace(smallest, "agency", strings.Repeat("a", 33), 1), "is no name for a sync"},
		{"a sync twice", smallest + strings.Replace(smallest[strings.Index(smallest, "  agency"):], "syncs", "", 1), `"agency" stands here a second time`},
		{"overlap as long as a key lives", smallest + "    overlap: 72h\n", "overlap must be shorter"},
		{"keys as short as overlap", "keys: {resend_window: 24h, margin: 24h}\n" + smallest, "overlap must be shorter"},
		{"no workers", smallest + "    workers: 0\n", "workers is 0: it must be 1 to 32"},
		{"too many workers", smallest + "    workers: 33\n", "workers is 33: it must be 1 to 32"},
		{"no new invoices", smallest + "    max_new_invoices: 0\n", "max_new_invoices is 0"},
		{"no time", smallest + "    deadline: 59s\n", "a minute at least"},
		{"no lookback", smallest + "    lookback: 1h\n", "a day at least"},
		{"corrections", smallest + "    corrections: revew\n", `did you mean "review"?`},
		{"late", smallest + "    late: second\n", "known are review, second-invoice"},
		{"log level", smallest + "log: {level: loud}\n", `unknown level "loud"`},
		{"log format", smallest + "log: {format: jsn}\n", `did you mean "json"?`},
		{"per", invoice("per: projects"), `did you mean "project"?`},
		{"lines", invoice("lines: user"), `unknown lines "user"`},
		{"date", invoice("date: today"), `unknown date "today"`},
		{"due in hours", invoice("due: 36h"), "whole days, such as 14d"},
		{"a long prefix", invoice("prefix: tsx-"), "prefix is"},
		{"a prefix with a digit first", invoice("prefix: 1s"), "prefix is"},
		{"a prefix with a capital", invoice("prefix: TS"), "prefix is"},
		{"an empty prefix", invoice(`prefix: ""`), "prefix is"},
		{"a client twice", invoice("customers: [{client: a, customer: b}, {client: a, customer: c}]"), `the client "a" stands here a second time`},
		{"no client", invoice("customers: [{customer: b}]"), "client is missing"},
		{"no customer", invoice("customers: [{client: a}]"), "customer is missing"},
		{"a selector twice", invoice("rates: [{client: a, rate: 1, currency: EUR}, {client: a, rate: 2, currency: EUR}]"), "only the first would count"},
		{"no rate", invoice("rates: [{currency: EUR}]"), "rate is missing"},
		{"no currency", invoice("rates: [{rate: 95}]"), "currency is missing"},
		{"a negative rate", invoice("rates: [{rate: -95, currency: EUR}]"), "the rate is negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(write(t, tt.text), nil)
			if got := faultsOf(t, err); len(got) != 1 || got[0].Line == 0 || !strings.Contains(got[0].Message, tt.want) {
				t.Errorf("error = %v, want %q alone, with its place", err, tt.want)
			}
		})
	}
}

func TestRulesAllowWhatIsJustPossible(t *testing.T) {
	for _, more := range []string{
		"    overlap: 71h\n", "    overlap: 0s\n", "    workers: 32\n", "    deadline: 1m\n", "    lookback: 1d\n",
		"    invoice: {due: 0d, prefix: a}\n",
		"    invoice: {rates: [{client: a, rate: 1, currency: EUR}, {client: a, rate: 2, currency: USD}, {rate: 0, currency: EUR}]}\n",
	} {
		if _, err := Load(write(t, smallest+more), nil); err != nil {
			t.Errorf("%q: %v", more, err)
		}
	}
}

// two is a config of two syncs; the lines that are given belong to the second.
func two(t *testing.T, more string) *Config {
	t.Helper()
	second := strings.Replace(smallest[strings.Index(smallest, "  agency"):], "agency", "studio", 1)
	c, err := Load(write(t, smallest+second+more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheckAccountsWantsDifferentPrefixes(t *testing.T) {
	tests := []struct {
		name, more string
		accounts   map[string]string
		faults     int
	}{
		{"one account, one prefix", "", map[string]string{"agency": "books", "studio": "books"}, 1},
		{"one account, two prefixes", "    invoice: {prefix: st-}\n", map[string]string{"agency": "books", "studio": "books"}, 0},
		{"two accounts, one prefix", "", map[string]string{"agency": "books", "studio": "others"}, 0},
	}
	for _, tt := range tests {
		err := CheckAccounts(two(t, tt.more), func(s Sync) string { return tt.accounts[s.Name] })
		if (err != nil) != (tt.faults > 0) {
			t.Errorf("%s: CheckAccounts = %v, want %d faults", tt.name, err, tt.faults)
			continue
		}
		if err == nil {
			continue
		}
		if f := faultsOf(t, err); len(f) != tt.faults || f[0].Line != 12 || !strings.Contains(f[0].Message, "agency and studio") {
			t.Errorf("%s: faults = %v, want one at line 12 that names both", tt.name, err)
		}
	}
}

func TestCheckGuardsRefusesUpdatesOfWhatIsNotGuarded(t *testing.T) {
	c := two(t, "    corrections: update-drafts\n")
	err := CheckGuards(c, func(Sync) bool { return false })
	if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 12 || !strings.Contains(f[0].Message, "use window or review") {
		t.Errorf("CheckGuards = %v, want one fault at line 12", err)
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
	for _, path := range []string{state, filepath.Dir(state) + "/./x/../tidemark.db", link, state + ".lock", state + ".id"} {
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
