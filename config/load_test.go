package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/sync/civil"
)

// smallest is a config with only what is required; lines that are appended belong to its sync.
const smallest = `state: tidemark.db
syncs:
  agency:
    schedule: "@daily"
    start: 2026-11-02
    tracker: {kind: folder}
    accounting: {kind: journal}
`

// write puts a config into a folder of its own and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tidemark.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// faultsOf returns the faults of an error that must be one of the config.
func faultsOf(t *testing.T, err error) []Fault {
	t.Helper()
	var faults *Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error = %v, want faults", err)
	}
	return faults.All
}

func TestLoadFillsInDefaults(t *testing.T) {
	path := write(t, smallest)
	c, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(path), "tidemark.db"); string(c.State) != want {
		t.Errorf("State = %s, want %s", c.State, want)
	}
	if got, want := c.Keys.TTL(), 72*time.Hour; got != want {
		t.Errorf("TTL = %s, want %s", got, want)
	}
	if c.Sweep.String() != "17 * * * *" || c.Log != (Log{"info", "auto"}) {
		t.Errorf("Sweep, Log = %s, %v; want 17 * * * *, {info auto}", c.Sweep, c.Log)
	}
	s := c.Syncs[0]
	if s.Deadline != hour || s.Overlap != 48*hour || s.Lookback != 70*day || s.Jitter != 0 {
		t.Errorf("Deadline, Overlap, Lookback, Jitter = %s, %s, %s, %s; want 1h0m0s, 2d, 70d, 0s", s.Deadline, s.Overlap, s.Lookback, s.Jitter)
	}
	if s.Timezone.Location() != time.UTC || s.Corrections != "window" || s.Late != "review" || s.MaxNewInvoices != 200 || s.Workers != 4 {
		t.Errorf("sync = %+v, want the defaults", s)
	}
	i := s.Invoice
	if i.Per != "project" || i.Settle != hour || i.WaitAtMost != 14*day || i.Lines != "member" || i.Date != "period_end" || i.Due != nil || i.Prefix != "ts-" {
		t.Errorf("invoice = %+v, want the defaults", i)
	}
}

const everything = `state: /var/lib/tidemark/tidemark.db
keys: {resend_window: 72h, margin: 1d}
sweep: "@hourly"
backup: {schedule: "5 3 * * *", keep: 3, folder: /srv/copies}
audit: {schedule: "0 6 1 * *"}
log: {level: debug, format: json}
syncs:
  zulu:
    schedule: "*/15 * * * *"
    timezone: Europe/Berlin
    jitter: 30s
    deadline: 30m
    overlap: 3d
    lookback: 5w
    start: 2026-11-02
    tracker: {kind: folder}
    accounting: {kind: journal}
    invoice:
      per: client
      settle: 2h
      wait_at_most: 1w
      lines: task
      date: period_start
      due: 14d
      prefix: ag-
      customers:
        - {client: Acme GmbH, customer: 00451, tax: VAT19}
      rates:
        - {project: Retainer, rate: 95.50, currency: EUR}
      ignore: {clients: [Internal], projects: [Holidays]}
    corrections: review
    late: second-invoice
    max_new_invoices: 7
    workers: 32
  alpha:
    schedule: "@every 15m"
    start: 2026-11-09
    tracker: {kind: folder}
    accounting: {kind: journal}
`

func TestLoadReadsEverySetting(t *testing.T) {
	c, err := Load(write(t, everything), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.State != "/var/lib/tidemark/tidemark.db" || c.Keys.TTL() != 96*time.Hour || c.Log != (Log{"debug", "json"}) {
		t.Errorf("State, TTL, Log = %s, %s, %v", c.State, c.Keys.TTL(), c.Log)
	}
	if c.Sweep.String() != "@hourly" || c.Audit.Schedule.String() != "0 6 1 * *" {
		t.Errorf("Sweep, Audit = %s, %s", c.Sweep, c.Audit.Schedule)
	}
	if c.Backup.Schedule.String() != "5 3 * * *" || c.Backup.Keep != 3 || c.Backup.Folder != "/srv/copies" {
		t.Errorf("Backup = %+v", c.Backup)
	}
	if names := []string{c.Syncs[0].Name, c.Syncs[1].Name}; !slices.Equal(names, []string{"zulu", "alpha"}) {
		t.Errorf("syncs = %v, want those of the file in its order", names)
	}
	s := c.Syncs[0]
	if s.Timezone.Location().String() != "Europe/Berlin" || s.Jitter != Duration(30*time.Second) || s.Lookback != 35*day || s.Overlap != 3*day {
		t.Errorf("Timezone, Jitter, Lookback, Overlap = %s, %s, %s, %s", s.Timezone.Location(), s.Jitter, s.Lookback, s.Overlap)
	}
	if civil.Date(s.Start).String() != "2026-11-02" || s.Corrections != "review" || s.Late != "second-invoice" || s.MaxNewInvoices != 7 || s.Workers != 32 {
		t.Errorf("sync = %+v", s)
	}
	i := s.Invoice
	if i.Per != "client" || i.Lines != "task" || i.Date != "period_start" || i.Due == nil || *i.Due != 14*day || i.Prefix != "ag-" {
		t.Errorf("invoice = %+v", i)
	}
	if want := (Customer{"Acme GmbH", "00451", "VAT19"}); len(i.Customers) != 1 || i.Customers[0] != want {
		t.Errorf("Customers = %v, want %v: an id keeps its zeros", i.Customers, want)
	}
	if len(i.Rates) != 1 || i.Rates[0].Rate.StringFixed(2) != "95.50" || i.Rates[0].Currency != "EUR" || i.Rates[0].Project != "Retainer" {
		t.Errorf("Rates = %v, want Retainer at 95.50 EUR", i.Rates)
	}
	if !slices.Equal(i.Ignore.Clients, []string{"Internal"}) || !slices.Equal(i.Ignore.Projects, []string{"Holidays"}) {
		t.Errorf("Ignore = %v", i.Ignore)
	}
}

func TestLoadRefusesAFileThatIsNoConfig(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "no documents"},
		{"only a comment", "# later\n", "no documents"},
		{"two documents", smallest + "---\n" + smallest, "single document"},
		{"a list", "- a\n", "a mapping is wanted here"},
		{"text", "hello\n", "a mapping is wanted here"},
		{"null", "~\n", "a mapping is wanted here"},
		{"not UTF-8", "state: \xe4\n", "not UTF-8"},
		{"a control character", "state: a\x00b\n", "control characters"},
		{"broken YAML", "state: [\n", "did not find"},
		{"a tab", "state: x\nsyncs:\n\ta: 1\n", "tab"},
		{"too deep", "state: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "\n", "depth"},
		{"too large", smallest + strings.Repeat("# padding\n", 1<<20/10), "larger than 1 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(write(t, tt.text), nil)
			if faultsOf(t, err); c != nil {
				t.Errorf("config = %v, want none beside an error", c)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestLoadNamesAFileThatCannotBeRead(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none.yaml"), t.TempDir()} {
		_, err := Load(path, nil)
		if f := faultsOf(t, err); len(f) != 1 || f[0].File != path || f[0].Line != 0 {
			t.Errorf("faults = %v, want one of %s without a place", f, path)
		}
	}
}

func TestLoadTakesABOMAndWindowsLineEnds(t *testing.T) {
	if _, err := Load(write(t, "\xef\xbb\xbf"+strings.ReplaceAll(smallest, "\n", "\r\n")), nil); err != nil {
		t.Error(err)
	}
}

func TestLoadReportsEveryFaultInTheOrderOfTheFile(t *testing.T) {
	text := `state: a.db
sweeep: "@daily"
syncs:
  A_b:
    schedule: "0 0 30 2 *"
    schedule: "@daily"
    start: 02.11.2026
    timezone: Mars/Olympus
    tracker: folder
    accounting: {account: b}
    workers: many
`
	want := []struct {
		line, column int
		message      string
	}{
		{2, 1, `unknown setting "sweeep"; did you mean "sweep"?`},
		{4, 3, `"A_b" is no name for a sync`},
		{5, 15, `it never comes`},
		{6, 5, `"schedule" stands here a second time; the first is in line 5`},
		{7, 12, `"02.11.2026" is not a date`},
		{8, 15, `"Mars/Olympus" is not a time zone`},
		{9, 14, `a mapping with a kind is wanted here`},
		{10, 17, `kind is missing`},
		{11, 14, `a whole number is wanted here, and this is text`},
	}
	paths := []string{"sweeep", "syncs.A_b", "syncs.A_b.schedule", "syncs.A_b.schedule", "syncs.A_b.start", "syncs.A_b.timezone", "syncs.A_b.tracker", "syncs.A_b.accounting", "syncs.A_b.workers"}
	_, err := Load(write(t, text), nil)
	got := faultsOf(t, err)
	if len(got) != len(want) {
		t.Fatalf("faults = %d, want %d:\n%v", len(got), len(want), err)
	}
	for i, w := range want {
		if got[i].Path != paths[i] {
			t.Errorf("fault %d = %s, want that of %s", i, got[i].Path, paths[i])
		}
		if got[i].Line != w.line || got[i].Column != w.column || !strings.Contains(got[i].Message, w.message) {
			t.Errorf("fault %d = %d:%d %s, want %d:%d %s", i, got[i].Line, got[i].Column, got[i].Message, w.line, w.column, w.message)
		}
	}
}

func TestLoadRefusesWhatItDoesNotKnow(t *testing.T) {
	tests := []struct{ name, more, want string }{
		{"at the top", "stat: x\n", `unknown setting "stat"; did you mean "state"?`},
		{"in a sync", "    wokers: 3\n", `did you mean "workers"?`},
		{"in an invoice", "    invoice: {setle: 1h}\n", `did you mean "settle"?`},
		{"in a customer", "    invoice: {customers: [{client: a, custmer: b}]}\n", `did you mean "customer"?`},
		{"like nothing", "    frequency: 3\n", "known are schedule, timezone"},
		{"a number as a key", "1: 2\n", `unknown setting "1"`},
		{"a merge", "    <<: {workers: 2}\n", "a merge key (<<) could be misread"},
		{"a merge in quotes", "    \"<<\": {workers: 2}\n", `unknown setting "<<"`},
	}
	for _, tt := range tests {
		_, err := Load(write(t, smallest+tt.more), nil)
		if faultsOf(t, err); !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

func TestALongLineIsNotShown(t *testing.T) {
	_, err := Load(write(t, smallest+"    wokers: "+strings.Repeat("3", 500)+"\n"), nil)
	if f := faultsOf(t, err); len(f) != 1 || f[0].Excerpt != "" || f[0].Path != "syncs.agency.wokers" {
		t.Errorf("faults = %v, want one that names its setting alone", err)
	}
}

func TestAMarkStandsUnderLettersOfTwoBytes(t *testing.T) {
	_, err := Load(write(t, smallest+"    invoice: {ignore: {clients: [Äöü]}, per: x}\n"), nil)
	if want := "[Äöü]}, per: x}\n" + strings.Repeat(" ", 4+45) + "^"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error = %v, want the mark under x", err)
	}
}

func TestLoadJoinsTheFaultsOfBuild(t *testing.T) {
	text := smallest + "    workers: 99\n"
	_, err := Load(write(t, text), func(_ *Config, s Sync) error { return s.Tracker.Unknown([]string{"folders"}) })
	got := faultsOf(t, err)
	if len(got) != 2 || got[0].Line != 6 || got[1].Line != 8 {
		t.Errorf("faults = %v, want those of lines 6 and 8", err)
	}
}

func TestLoadBuildsOnlySyncsWithBothKinds(t *testing.T) {
	text := smallest + "  broken: {schedule: \"@daily\", start: 2026-11-02, tracker: {kind: folder}, accounting: {}}\n"
	var built []string
	_, err := Load(write(t, text), func(_ *Config, s Sync) error { built = append(built, s.Name); return nil })
	if faultsOf(t, err); !slices.Equal(built, []string{"agency"}) {
		t.Errorf("built = %v, want agency alone", built)
	}
}

// FuzzLoad holds that no text makes Load panic, and that a config comes without faults or not at all.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{smallest, everything, "", "~", "- a", "state: [", "? [a, b]\n: c\n", "state: &x [*x]\n", "state: !x y\n", "\xef\xbb\xbfsyncs: {}\n", "syncs: {a: ~}\n"} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "tidemark.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path, func(_ *Config, s Sync) error { return Join(s.Tracker.Decode(&shelf{}), s.Accounting.Decode(&vault{})) })
		if (c == nil) != (err != nil) {
			t.Fatalf("Load = %v, %v; want one of them", c, err)
		}
		if err == nil {
			return
		}
		last := Fault{}
		for _, one := range faultsOf(t, err) {
			if one.Line < last.Line || one.Message == "" {
				t.Errorf("fault %+v after %+v, want a message and the order of the file", one, last)
			}
			last = one
		}
	})
}
