package sync

import (
	"testing"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

func TestEntryMovedToAnotherProjectIsNeverBilledTwice(t *testing.T) {
	for _, corrections := range []Corrections{Window, UpdateDrafts} {
		t.Run(string(corrections), func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Corrections = corrections })
			w := week("r1", entry("a", 1), entry("b", 2))
			s.bill(1, w)
			s.tracker.put(again(w, s.now, entry("b", 2), ofProject(entry("a", 1), "p2")))
			s.pass()
			live := map[string]int{}
			for _, d := range s.books.live() {
				live[d.receipt.Reference]++
			}
			if len(live) != 1 {
				t.Errorf("live invoices = %v, want one", live)
			}
			var moved bool
			for _, i := range s.items() {
				moved = moved || i.Kind == state.Moved
			}
			if corrections == Window && !moved {
				t.Errorf("items = %v, want one that says moved", s.items())
			}
			s.quiet()
		})
	}
}

func TestEntryWithADerivedIdThatMovedIsAPersons(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1), entry("b", 2))
	w.Derived = true
	s.bill(1, w)
	moved := again(w, s.now, entry("b", 2), ofProject(entry("a-in-p2", 1), "p2"))
	s.tracker.put(moved)
	s.pass()
	s.wantLive(1, "300")
	kinds := map[state.Kind]int{}
	for _, i := range s.items() {
		kinds[i.Kind]++
	}
	if kinds[state.Changed] != 1 || kinds[state.Moved] != 1 {
		t.Errorf("items = %v, want one changed and one moved", kinds)
	}
	s.quiet()
}

func TestEntryOfTwoApprovedWeeksIsAmbiguous(t *testing.T) {
	tests := []struct {
		name  string
		other func() tracker.Week
		first bool // the first week is billed before the other comes
	}{
		{"of one period, together", func() tracker.Week { return week("r2", entry("a", 2)) }, false},
		{"of one period, after the first was billed", func() tracker.Week { return week("r2", entry("a", 2)) }, true},
		{"of one period and the same, after the first was billed", func() tracker.Week { return week("r2", entry("a", 1)) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.tracker.put(week("r1", entry("a", 1)))
			if tt.first {
				s.bill(1)
			}
			s.bill(0, tt.other())
			s.asked(state.Ambiguous)
			s.quiet()
		})
	}
}

func TestPerChangedBillsNothingTwice(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1), ofProject(entry("b", 2), "p2"))
	s.bill(2, w)
	s.rules.Per = PerClient
	s.restart()
	s.bill(0)
	s.wantItems(0)
	s.quiet()
	later := week("r2", entry("c", 1), ofProject(entry("d", 1), "p2"))
	later.Period = civil.Period{First: monday.AddDays(7), Last: monday.AddDays(13)}
	for i := range later.Entries {
		later.Entries[i].Date = monday.AddDays(8)
	}
	later.Changed = s.now
	s.bill(1, later)
	s.tracker.put(again(w, s.now, entry("a", 1), ofProject(entry("b", 2), "p2"), ofProject(entry("z", 1), "p2")))
	s.pass()
	if n := s.books.writes(); n != 3 {
		t.Errorf("writes = %d, want 3: what came late to a group of the old kind is a person's", n)
	}
	if len(s.items()) == 0 {
		t.Error("items = none, want one on the late entry")
	}
}

func TestEntryWithADerivedIdThatChangedInItsGroupIsAChange(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	w := week("r1", entry("a", 1))
	w.Derived = true
	s.bill(1, w)
	s.tracker.put(again(w, s.now, entry("a-of-2-h", 2)))
	s.pass()
	s.wantItems(0)
	s.wantLive(1, "200")
	s.quiet()
}

func TestGroupThatIsRecordedInPartElsewhereIsAPersons(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.rules.Per = PerClient
	s.restart()
	s.bill(0, again(w, s.now, entry("a", 1), ofProject(entry("b", 1), "p2")))
	s.asked(state.Moved)
	s.quiet()
}
