package trackertest

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"tidemark/sync/tracker"
)

// seen is what can be compared of a week: what is billed of it.
type seen struct {
	Member, Name string
	First, Last  string
	State        tracker.State
	Entries      []tracker.Entry
}

// expected returns what a tracker should tell of the sheets of a world, by member and first day.
func (d Dialect) expected(w *World) map[string]seen {
	defer w.Lock()()
	all := map[string]seen{}
	for _, s := range w.Sheets {
		state := d.stateOf(s)
		if state == "" {
			continue
		}
		one := seen{Member: s.Member.ID, Name: s.Member.Name, First: s.Period.First.String(), Last: s.Period.Last.String(), State: state}
		for _, e := range s.Entries {
			if state == tracker.Growing && e.Open { // Where a whole week is approved, so is what came later.
				continue
			}
			one.Entries = append(one.Entries, d.see(e))
		}
		one.sort()
		all[one.Member+" "+one.First] = one
	}
	return all
}

func (d Dialect) stateOf(s *Sheet) tracker.State {
	switch {
	case d.State != nil:
		return d.State(s)
	case s.State == tracker.Approved && slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Open }):
		return tracker.Growing
	}
	return s.State
}

func (d Dialect) see(e *Entry) tracker.Entry {
	one := tracker.Entry{
		ID: strconv.FormatInt(e.Number, 10), Date: e.Date, Seconds: e.Seconds, Billable: e.Billable, Running: e.Running, Elsewhere: e.Invoiced,
		Client: e.Client, Project: e.Project, Task: e.Task, Note: e.Note, Rate: e.Rate, Currency: e.Currency,
	}
	if d.See != nil {
		return d.See(one)
	}
	return one
}

// sort orders the entries. Of a pending week only the groups count that wait for it, so their prices and
// notes are not compared.
func (s *seen) sort() {
	slices.SortFunc(s.Entries, func(a, b tracker.Entry) int { return cmp.Compare(a.ID, b.ID) })
	if s.State.Approves() {
		return
	}
	for i, e := range s.Entries {
		s.Entries[i] = tracker.Entry{ID: e.ID, Billable: e.Billable, Client: e.Client, Project: e.Project}
	}
	if s.State == tracker.Withdrawn {
		s.Entries = nil
	}
}

// told turns what a tracker yielded into what can be compared.
func told(weeks []tracker.Week) map[string]seen {
	all := map[string]seen{}
	for _, w := range weeks {
		one := seen{Member: w.Member.ID, Name: w.Member.Name, First: w.Period.First.String(), Last: w.Period.Last.String(), State: w.State}
		one.Entries = slices.Clone(w.Entries)
		one.sort()
		all[one.Member+" "+one.First] = one
	}
	return all
}

var sameDecimal = gocmp.Comparer(func(a, b decimal.NullDecimal) bool {
	return a.Valid == b.Valid && (!a.Valid || a.Decimal.Equal(b.Decimal))
})

// compare reports how what was told differs from what should be.
func compare(t *testing.T, what string, want, got map[string]seen) {
	t.Helper()
	if diff := gocmp.Diff(want, got, sameDecimal, gocmp.AllowUnexported()); diff != "" {
		t.Errorf("%s: weeks differ (-want +got):\n%s", what, diff)
	}
}
