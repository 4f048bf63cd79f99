package sync

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

var testChannel = state.Channel{Tracker: "tracker-1", Account: "books-1", Prefix: "ts-"}

func refOf(per Per, w tracker.Week, e tracker.Entry) string {
	return groupOf(testChannel, per, w, e, e.Currency).Reference
}

func TestReferencesFollowFromIdsAlone(t *testing.T) {
	base := refOf(PerProject, week("w"), entry("a", 1))
	tests := []struct {
		name string
		per  Per
		mend func(w *tracker.Week, e *tracker.Entry)
		same bool
	}{
		{"names", PerProject, func(w *tracker.Week, e *tracker.Entry) {
			w.Member.Name, e.Client.Name, e.Project.Name = "A", "B", "C"
		}, true},
		{"contents", PerProject, func(w *tracker.Week, e *tracker.Entry) {
			w.Version.Number, e.Seconds, e.Note, e.Rate = 7, 1, "x", price("1")
		}, true},
		{"record", PerProject, func(w *tracker.Week, _ *tracker.Entry) { w.ID = "other" }, true},
		{"member", PerProject, func(w *tracker.Week, _ *tracker.Entry) { w.Member.ID = "m2" }, true},
		{"client", PerProject, func(_ *tracker.Week, e *tracker.Entry) { e.Client.ID = "c2" }, false},
		{"project", PerProject, func(_ *tracker.Week, e *tracker.Entry) { e.Project.ID = "p2" }, false},
		{"currency", PerProject, func(_ *tracker.Week, e *tracker.Entry) { e.Currency = "USD" }, false},
		{"first day", PerProject, func(w *tracker.Week, _ *tracker.Entry) { w.Period.First = w.Period.First.AddDays(1) }, false},
		{"last day", PerProject, func(w *tracker.Week, _ *tracker.Entry) { w.Period.Last = w.Period.Last.AddDays(-1) }, false},
		{"per", PerClient, func(*tracker.Week, *tracker.Entry) {}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, e := week("w"), entry("a", 1)
			tt.mend(&w, &e)
			if got := refOf(tt.per, w, e); (got == base) != tt.same {
				t.Errorf("reference = %s, base %s, want the same: %v", got, base, tt.same)
			}
		})
	}
	if other := groupOf(state.Channel{Tracker: "tracker-2", Account: "books-1", Prefix: "ts-"}, PerProject, week("w"), entry("a", 1), "EUR").Reference; other == base {
		t.Errorf("two tracker accounts share the reference %s", base)
	}
}

// TestReferencesNeverChange: an invoice that was made under an earlier release is found by its reference.
func TestReferencesNeverChange(t *testing.T) {
	for per, want := range map[Per]string{PerProject: "ts-26w45-", PerClient: "ts-26w45-", PerWeek: "ts-26w45-"} {
		if got := refOf(per, week("w-1"), entry("a", 1)); !strings.HasPrefix(got, want) {
			t.Errorf("reference per %s = %s, want %s…", per, got, want)
		}
	}
	if got, want := refOf(PerProject, week("w"), entry("a", 1)), "ts-26w45-4jwrew75uy"; got != want {
		t.Errorf("reference = %s, want %s", got, want)
	}
}

func TestReferencesStartWithTheISOYear(t *testing.T) {
	tests := []struct {
		first civil.Date
		want  string
	}{
		{civil.Date{Year: 2020, Month: time.December, Day: 28}, "ts-20w53-"},
		{civil.Date{Year: 2021, Month: time.January, Day: 4}, "ts-21w01-"},
		{civil.Date{Year: 2024, Month: time.December, Day: 30}, "ts-25w01-"},
		{civil.Date{Year: 2024, Month: time.January, Day: 1}, "ts-24w01-"},
	}
	for _, tt := range tests {
		w := week("w")
		w.Period = civil.Period{First: tt.first, Last: tt.first.AddDays(6)}
		if got := refOf(PerProject, w, entry("a", 1)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("reference of %s = %s, want %s…", w.Period, got, tt.want)
		}
	}
}

func TestSimpleIdsStandInTheReference(t *testing.T) {
	tests := []struct {
		id     string
		simple bool
		per    Per
		want   string
	}{
		{"881", true, PerWeek, "ts-881"},
		{"abcdefghij123456", true, PerWeek, "ts-abcdefghij123456"},
		{"abcdefghij1234567", true, PerWeek, ""}, // too long
		{"W881", true, PerWeek, ""},              // never sanitised
		{"8-81", true, PerWeek, ""},
		{"881", false, PerWeek, ""},
		{"881", true, PerProject, ""},
	}
	for _, tt := range tests {
		w := week(tt.id)
		w.Simple = tt.simple
		got := refOf(tt.per, w, entry("a", 1))
		if tt.want == "" && !regexp.MustCompile(`^ts-26w45-[a-z2-7]{10}$`).MatchString(got) || tt.want != "" && got != tt.want {
			t.Errorf("reference of %q, simple %v, per %s = %s, want %s", tt.id, tt.simple, tt.per, got, tt.want)
		}
	}
}

func TestReferencesFitEverySystem(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9-]{1,19}$`)
	rapid.Check(t, func(t *rapid.T) {
		ch := testChannel
		ch.Prefix = rapid.StringMatching(`[a-z]{1,2}-`).Draw(t, "prefix")
		w, e := week(rapid.String().Draw(t, "id")), entry("a", 1)
		w.Simple = rapid.Bool().Draw(t, "simple")
		e.Client.ID, e.Project.ID = rapid.String().Draw(t, "client"), rapid.String().Draw(t, "project")
		per := rapid.SampledFrom([]Per{PerProject, PerWeek, PerClient}).Draw(t, "per")
		ref := groupOf(ch, per, w, e, money.Currency("EUR")).Reference
		if !form.MatchString(ref) {
			t.Fatalf("reference = %q, want at most 19 of [a-z0-9-]", ref)
		}
		if last := documentReference(ref, 9); len(last) > 21 || last != ref+"-9" {
			t.Fatalf("reference of the ninth document = %q, want %q of at most 21", last, ref+"-9")
		}
	})
}

func TestDocumentsAndKeysAreCountedApart(t *testing.T) {
	if a, b := documentReference("ts-881", 1), documentReference("ts-881", 2); a != "ts-881" || b != "ts-881-2" {
		t.Errorf("documents = %s, %s; want ts-881, ts-881-2", a, b)
	}
	if a, b := state.KeyName("ts-881", 1), state.KeyName("ts-881", 2); a != "ts-881" || b != "ts-881.2" {
		t.Errorf("keys = %s, %s; want ts-881, ts-881.2", a, b)
	}
}
