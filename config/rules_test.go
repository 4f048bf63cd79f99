package config

import (
	"slices"
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
		{"an audit that never comes", smallest + "audit: {}\n", "schedule is missing: when the month before is compared"},
		{"a backup that never comes", smallest + "backup: {keep: 3}\n", "schedule is missing: when a copy of the state is made"},
		{"a backup that is not kept", smallest + "backup: {schedule: '@daily', keep: 0}\n", "keep is 0: it must be 1 to 1000"},
		{"log level", smallest + "log: {level: loud}\n", `unknown level "loud"`},
		{"log format", smallest + "log: {format: jsn}\n", `did you mean "json"?`},
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

func TestRulesOfAnInvoice(t *testing.T) {
	invoice := func(text string) string { return smallest + "    invoice: {" + text + "}\n" }
	tests := []struct{ name, text, want string }{
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
		{"a rate below a wider one", invoice("rates: [{rate: 1, currency: EUR}, {project: a, rate: 2, currency: EUR}]"), "the rate in line 8 fits wherever this one would"},
		{"a rate below two wider ones", invoice("rates: [{client: a, rate: 1, currency: EUR}, {client: a, task: t, member: m, rate: 2, currency: EUR}]"), "the narrower one goes above it"},
		{"nobody that is ignored", invoice(`ignore: {clients: [""]}`), "this name is empty"},
		{"no project that is ignored", invoice(`ignore: {projects: [a, "  "]}`), "this name is empty"},
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
		"    invoice: {rates: [{client: a, project: b, rate: 1, currency: EUR}, {client: a, rate: 2, currency: EUR}, {project: b, rate: 3, currency: EUR}]}\n",
		"    invoice: {rates: [{client: a, rate: 1, currency: EUR}, {client: a, rate: 2, currency: USD}, {rate: 0, currency: EUR}]}\n",
	} {
		if _, err := Load(write(t, smallest+more), nil); err != nil {
			t.Errorf("%q: %v", more, err)
		}
	}
}

func TestEveryFaultOfARowIsReported(t *testing.T) {
	_, err := Load(write(t, smallest+"    invoice: {rates: [{}, {rate: 1}], customers: [{}]}\n"), nil)
	var got []string
	for _, f := range faultsOf(t, err) {
		got = append(got, f.Path)
	}
	in := "syncs.agency.invoice."
	if want := []string{in + "rates[0].currency", in + "rates[0].rate", in + "rates[1].currency", in + "customers[0].client", in + "customers[0].customer"}; !slices.Equal(got, want) {
		t.Errorf("faults = %v, want %v", got, want)
	}
}
