package sync

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"tidemark/state"
	"tidemark/sync/tracker"
)

func TestDigestCoversWhatIsBilled(t *testing.T) {
	base := week("w", entry("a", 1), entry("b", 2))
	tests := []struct {
		name string
		mend func(w *tracker.Week, e *tracker.Entry)
		same bool
	}{
		{"nothing", func(*tracker.Week, *tracker.Entry) {}, true},
		{"names of member, client, project and task", func(w *tracker.Week, e *tracker.Entry) {
			w.Member.Name, e.Client.Name, e.Project.Name, e.Task.Name = "Anna", "Acme AG", "Start over", "Talk"
		}, true},
		{"when it changed and was approved", func(w *tracker.Week, _ *tracker.Entry) { w.Changed, w.Approved = time.Time{}, time.Time{} }, true},
		{"where it was read", func(w *tracker.Week, _ *tracker.Entry) { w.Origin = "other.csv" }, true},
		{"version", func(w *tracker.Week, _ *tracker.Entry) { w.Version.Number = 9 }, true},
		{"1.50 for 1.5", func(_ *tracker.Week, e *tracker.Entry) { e.Rate = price("100.00") }, true},
		{"member", func(w *tracker.Week, _ *tracker.Entry) { w.Member.ID = "m2" }, false},
		{"client", func(_ *tracker.Week, e *tracker.Entry) { e.Client.ID = "c2" }, false},
		{"project", func(_ *tracker.Week, e *tracker.Entry) { e.Project.ID = "p2" }, false},
		{"task", func(_ *tracker.Week, e *tracker.Entry) { e.Task.ID = "t2" }, false},
		{"date", func(_ *tracker.Week, e *tracker.Entry) { e.Date = e.Date.AddDays(1) }, false},
		{"a second", func(_ *tracker.Week, e *tracker.Entry) { e.Seconds++ }, false},
		{"billable", func(_ *tracker.Week, e *tracker.Entry) { e.Billable = false }, false},
		{"running", func(_ *tracker.Week, e *tracker.Entry) { e.Running = true }, false},
		{"billed elsewhere", func(_ *tracker.Week, e *tracker.Entry) { e.Elsewhere = true }, false},
		{"rate", func(_ *tracker.Week, e *tracker.Entry) { e.Rate = price("100.01") }, false},
		{"no rate is not a rate of zero", func(_ *tracker.Week, e *tracker.Entry) { e.Rate = decimal.NullDecimal{} }, false},
		{"stated amount", func(_ *tracker.Week, e *tracker.Entry) { e.Amount = price("100") }, false},
		{"currency", func(_ *tracker.Week, e *tracker.Entry) { e.Currency = "USD" }, false},
		{"note", func(_ *tracker.Week, e *tracker.Entry) { e.Note = "a word" }, false},
		{"entry id", func(_ *tracker.Week, e *tracker.Entry) { e.ID = "z" }, false},
		{"period", func(w *tracker.Week, _ *tracker.Entry) { w.Period.Last = w.Period.Last.AddDays(1) }, false},
		{"trouble", func(w *tracker.Week, _ *tracker.Entry) {
			w.Trouble = &tracker.Trouble{Kind: tracker.Ambiguous, Text: "two files"}
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := base
			w.Entries = slices.Clone(base.Entries)
			tt.mend(&w, &w.Entries[0])
			if got := weekDigest(w) == weekDigest(base); got != tt.same {
				t.Errorf("same digest = %v, want %v", got, tt.same)
			}
		})
	}
}

func TestNoRateIsNotARateOfZero(t *testing.T) {
	zero := with(entry("a", 1), func(e *tracker.Entry) { e.Rate = price("0") })
	none := with(entry("a", 1), func(e *tracker.Entry) { e.Rate.Valid = false })
	if weekDigest(week("w", zero)) == weekDigest(week("w", none)) {
		t.Error("a rate of zero and no rate have one digest, want two")
	}
}

func TestGroupDigestIgnoresElsewhere(t *testing.T) {
	rules := testRules()
	ours, _ := rules.bill(week("w"), entry("a", 1))
	marked := ours
	marked.Entry.Elsewhere = true
	if groupDigest([]state.Billed{ours}) != groupDigest([]state.Billed{marked}) {
		t.Error("what was billed and then marked as billed has another digest, want the same")
	}
}

func TestDigestNamesItsRecipe(t *testing.T) {
	if got := weekDigest(week("w")).Recipe(); got != recipe {
		t.Errorf("Recipe = %q, want %q", got, recipe)
	}
	if got := groupDigest(nil); got != "" {
		t.Errorf("digest of nothing = %q, want none", got)
	}
}

// draw makes a few entries with different ids.
func draw(t *rapid.T) []state.Billed {
	rules := testRules()
	ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 12, rapid.ID[string]).Draw(t, "ids")
	billed := make([]state.Billed, len(ids))
	for i, id := range ids {
		e := entry(id, 0)
		e.Seconds = rapid.Int64Range(0, 40*3600).Draw(t, "seconds")
		e.Date = monday.AddDays(rapid.IntRange(0, 6).Draw(t, "day"))
		e.Rate = decimal.NewNullDecimal(decimal.New(rapid.Int64Range(0, 99999).Draw(t, "rate"), -2))
		if rapid.Bool().Draw(t, "stated") {
			e.Amount = decimal.NewNullDecimal(decimal.New(rapid.Int64Range(0, 9999999).Draw(t, "amount"), -4))
		}
		w := week("w")
		w.Member = tracker.Ref{ID: rapid.SampledFrom([]string{"m1", "m2", "m3"}).Draw(t, "member")}
		billed[i], _ = rules.bill(w, e)
	}
	return billed
}

// respell writes a value with more zeros behind the point.
func respell(t *rapid.T, d decimal.NullDecimal) decimal.NullDecimal {
	if !d.Valid {
		return d
	}
	zeros := strings.Repeat("0", rapid.IntRange(0, 5).Draw(t, "zeros"))
	return price(d.Decimal.StringFixed(4) + zeros)
}

func TestDigestDependsOnNeitherOrderNorSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		billed := draw(t)
		other := rapid.Permutation(billed).Draw(t, "order")
		for i := range other {
			other[i].Entry.Rate = respell(t, other[i].Entry.Rate)
			other[i].Entry.Amount = respell(t, other[i].Entry.Amount)
		}
		if groupDigest(billed) != groupDigest(other) {
			t.Fatalf("one content has two group digests:\n%v\n%v", billed, other)
		}
		a, b := week("w"), week("w")
		for i := range billed {
			a.Entries, b.Entries = append(a.Entries, billed[i].Entry), append(b.Entries, other[i].Entry)
		}
		if weekDigest(a) != weekDigest(b) {
			t.Fatalf("one content has two week digests:\n%v\n%v", a, b)
		}
	})
}

func TestDigestTellsContentsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		billed := draw(t)
		other := slices.Clone(billed)
		i := rapid.IntRange(0, len(other)-1).Draw(t, "which")
		other[i].Entry.Seconds += rapid.Int64Range(1, 9999).Draw(t, "more")
		if groupDigest(billed) == groupDigest(other) {
			t.Fatalf("two contents have one digest:\n%v\n%v", billed, other)
		}
	})
}

func TestDigestDoesNotChangeItsArgument(t *testing.T) {
	w := week("w", entry("b", 1), entry("a", 1))
	weekDigest(w)
	if slices.IsSortedFunc(w.Entries, func(a, b tracker.Entry) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("the entries of the week were sorted in place, want them left alone")
	}
}
