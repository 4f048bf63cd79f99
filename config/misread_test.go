package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWhatCouldBeMisreadIsRefused holds what YAML allows and a config must not.
func TestWhatCouldBeMisreadIsRefused(t *testing.T) {
	in := func(from, to string) string { return strings.Replace(smallest, from, to, 1) }
	tests := []struct{ name, text, want string }{
		{"a start of nothing", in("2026-11-02", "~"), "start is missing"},
		{"a schedule of nothing", in(`"@daily"`, "~"), "schedule is missing"},
		{"a state of nothing", in("tidemark.db", "null"), "state is missing"},
		{"a tracker of nothing", in("{kind: folder}", "~"), "tracker is missing"},
		{"a rate of nothing", smallest + "    invoice: {rates: [{rate: ~, currency: EUR}]}\n", "rate is missing"},
		{"a customer of nothing", smallest + "    invoice: {customers: [~]}\n", "says nothing"},
		{"a start of nothing by an alias", in("start: 2026-11-02", "jitter: &n ~\n    start: *n"), "start is missing"},
		{"a rate of nothing by an alias", smallest + "    invoice: {rates: [{client: &n ~, rate: *n, currency: EUR}]}\n", "rate is missing"},
		{"a rate of nothing in a list by an alias", in("{kind: folder}", "{kind: folder, books: &r [{currency: EUR}]}") + "    invoice: {rates: *r}\n", "rate is missing"},
		{"a rate of nothing in an invoice by an alias", in("{kind: folder}", "{kind: folder, books: &i {rates: [{currency: EUR}]}}") + "    invoice: *i\n", "rate is missing"},
		{"a rate that is nothing, by an alias", smallest + "    jitter: &n ~\n    invoice: {customers: [*n]}\n", "says nothing"},
		{"an empty start by an alias", in("start: 2026-11-02", "jitter: &n \"\"\n    start: *n"), "start is missing"},
		{"an alias for a name", in("daily\"", "daily\"\n    jitter: &workers 5m\n    ? *workers\n    : 3"), "a name is wanted here"},
		{"an alias of nothing", smallest + "    jitter: *five\n", "put the value into quotes"},
		{"a tag that is not true", smallest + "    workers: !!int many\n", "is not what its tag !!int says"},
		{"a name that is no name", smallest + strings.Repeat("a", 500) + ": 1\n", "unknown setting of 500 characters"},
		{"a value that is no value", smallest + "    jitter: " + strings.Repeat("5", 500) + "\n", "it cannot be meant"},
		{"two kinds", in("{kind: folder}", "{kind: folder, kind: clockify}"), `"kind" stands here a second time`},
		{"a duration that is too long", smallest + "    lookback: 36500w\n", "is not a duration"},
		{"a negative rest", smallest + "    jitter: 1d-5m\n", "is not a duration"},
		{"a range that wraps", in("@daily", "0 0 * * 1,9-7/1"), "is not a schedule"},
	}
	for _, tt := range tests {
		_, err := Load(write(t, tt.text), func(_ *Config, s Sync) error { return s.Tracker.Decode(&vault{}) })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAnAliasOfItselfEnds(t *testing.T) {
	_, err := Load(write(t, "state: a.db\nsyncs: &x\n  a: *x\n"), nil)
	faultsOf(t, err)
}

func TestSecretsAndPathsInMapsAreResolved(t *testing.T) {
	var got struct {
		Books map[string]struct {
			Token Secret `yaml:"token"`
			Path  Path   `yaml:"path"`
		} `yaml:"books"`
	}
	err := decodeTracker(t, "books: {a: {token: {file: token}, path: x}}", &got, file{"token", hush, 0o600})
	if err != nil || got.Books["a"].Token.Reveal() != hush || !filepath.IsAbs(string(got.Books["a"].Path)) {
		t.Errorf("Token, Path = %q, %q, %v; want both resolved", got.Books["a"].Token.Reveal(), got.Books["a"].Path, err)
	}
	if faultsOf(t, decodeTracker(t, "books: {a: {token: {file: none}}}", &got)); err != nil {
		t.Error(err)
	}
}

func TestASecretInAnyPlaceIsNotShown(t *testing.T) {
	for _, more := range []string{"token:\n        " + hush, "tokn: " + hush} {
		err := decodeTracker(t, more, &vault{})
		if faultsOf(t, err); strings.Contains(err.Error(), hush) {
			t.Errorf("%q: the error shows the secret: %v", more, err)
		}
	}
}

func TestSundayEndsARangeByName(t *testing.T) {
	s, err := ParseSchedule("0 0 * * mon-7/2")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Next(tuesday.AddDate(0, 0, 3)), time.Date(2026, 12, 6, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Next = %s, want Sunday %s", got, want)
	}
}

func TestASyncMayBeAnAlias(t *testing.T) {
	text := strings.Replace(smallest, "agency:", "agency: &a", 1) + "  studio: *a\n"
	c, err := Load(write(t, text), nil)
	if err != nil || len(c.Syncs) != 2 || c.Syncs[1].Name != "studio" || c.Syncs[1].Start != c.Syncs[0].Start {
		t.Errorf("Load = %v, %v; want two syncs of the same settings", c, err)
	}
}

// TestAnAliasIsBlamedWhereItStands holds that a fault is shown in the setting that has it.
func TestAnAliasIsBlamedWhereItStands(t *testing.T) {
	text := smallest + "    late: &x review\n    invoice: {lines: *x}\n"
	_, err := Load(write(t, text), nil)
	if f := faultsOf(t, err); len(f) != 1 || f[0].Line != 9 || f[0].Path != "syncs.agency.invoice.lines" {
		t.Errorf("faults = %v, want one at lines, in line 9", err)
	}
}

func TestMergesAreRefusedInEveryPlace(t *testing.T) {
	tracker := func(text string) string { return strings.Replace(smallest, "{kind: folder}", text, 1) }
	tests := []struct {
		name, text, path string
	}{
		{"at the top", smallest + "<<: {sweep: \"@daily\"}\n", "<<"},
		{"among the syncs", smallest + "  <<: {studio: {workers: 2}}\n", "syncs.<<"},
		{"in a sync", smallest + "    <<: {workers: 2}\n", "syncs.agency.<<"},
		{"in a section", tracker("{kind: folder, <<: {quiet: 1m}}"), "syncs.agency.tracker.<<"},
		{"around the kind", tracker("{<<: {kind: folder}}"), "syncs.agency.tracker"},
		{"in a list of a section", tracker("{kind: folder, books: [{<<: {name: x}}]}"), "syncs.agency.tracker.books[0].<<"},
		{"in a mapping of a section", tracker("{kind: folder, taxes: {<<: {A: 1%}}}"), "syncs.agency.tracker.taxes.<<"},
	}
	for _, tt := range tests {
		_, err := Load(write(t, tt.text), func(_ *Config, s Sync) error { return s.Tracker.Decode(&shelf{Account: "given"}) })
		if f := faultsOf(t, err); len(f) != 1 || f[0].Path != tt.path || !strings.Contains(f[0].Message, "write these settings out") {
			t.Errorf("%s: faults = %v, want the merge alone, at %s", tt.name, err, tt.path)
		}
	}
}

func TestARepeatIsFoundAtEveryDepth(t *testing.T) {
	invoice := func(text string) string { return smallest + "    invoice: {" + text + "}\n" }
	tests := []struct{ text, path string }{
		{smallest + "state: b.db\n", "state"},
		{smallest + "keys: {margin: 1d, margin: 2d}\n", "keys.margin"},
		{smallest + "log: {level: info, level: warn}\n", "log.level"},
		{smallest + secondSync + secondSync, "syncs.studio"},
		{smallest + "    late: review\n    late: review\n", "syncs.agency.late"},
		{invoice("per: week, per: week"), "syncs.agency.invoice.per"},
		{invoice("customers: [{client: a, client: b, customer: c}]"), "syncs.agency.invoice.customers[0].client"},
		{invoice("rates: [{rate: 1, rate: 2, currency: EUR}]"), "syncs.agency.invoice.rates[0].rate"},
		{invoice("ignore: {clients: [a], clients: [b]}"), "syncs.agency.invoice.ignore.clients"},
	}
	for _, tt := range tests {
		_, err := Load(write(t, tt.text), nil)
		if f := faultsOf(t, err); len(f) != 1 || f[0].Path != tt.path || !strings.Contains(f[0].Message, "a second time") {
			t.Errorf("%s: faults = %v, want the repeat alone", tt.path, err)
		}
	}
}

// TestAliasesOfAliasesEnd reads what would be a thousand million elements if it were written out.
func TestAliasesOfAliasesEnd(t *testing.T) {
	text := smallest + "x: &a [1]\n"
	for name := 'b'; name <= 'j'; name++ {
		text += fmt.Sprintf("%c: &%c [%s]\n", name, name, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", name-1), 10), ", "))
	}
	_, err := Load(write(t, text+"log: *j\n"), nil)
	if f := faultsOf(t, err); len(f) != 11 || f[10].Line != 17 || !strings.Contains(f[10].Message, "a mapping is wanted here") {
		t.Errorf("faults = %v, want ten unknown settings and that the list of line 17 is no mapping", err)
	}
}
