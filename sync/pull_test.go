package sync

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

func TestAWeekIsNewOnlyOnceWhateverIsSent(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1.5), entry("b", 2))
	s.bill(1, w)
	w.Entries = []tracker.Entry{w.Entries[1], w.Entries[0]}
	w.Entries[1].Rate = price("100.00")
	w.Member.Name, w.Entries[0].Client.Name, w.Entries[0].Project.Name = "Ann Other", "Acme AG", "Relaunch 2"
	s.tracker.put(w)
	if report := s.pass(); report.Duplicates != 1 || report.Due != 0 {
		t.Errorf("duplicates, due = %d, %d; want 1, 0", report.Duplicates, report.Due)
	}
	s.quiet()
}

func TestContentThatChangesUnderOneStampIsSeenInTheOverlap(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	w.Version.Kind = tracker.Stamp
	s.bill(1, w)
	w.Entries = []tracker.Entry{entry("a", 2)}
	s.tracker.put(w)
	s.pass()
	i := s.asked(state.Changed)
	if i.Billed.Seconds != 3600 || i.Wanted.Seconds != 7200 || !i.Difference().Equal(decimal.NewFromInt(100)) {
		t.Errorf("item = %d s billed, %d s wanted, difference %s; want 3600, 7200, 100", i.Billed.Seconds, i.Wanted.Seconds, i.Difference())
	}
	s.quiet()
}

func TestSameVersionWithOtherContentIsAmbiguous(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = 3 * time.Hour })
	w := week("r1", entry("a", 1))
	s.tracker.put(w)
	s.pass()
	w.Entries = []tracker.Entry{entry("a", 2)}
	s.tracker.put(w)
	s.pass()
	i := s.asked(state.Ambiguous)
	if i.Week != "r1" {
		t.Errorf("item is about %q, want r1", i.Week)
	}
	s.wait(4 * time.Hour)
	s.pass()
	s.wantLive(0, "0")
	s.rule(i.Subject, Retry)
	w.Entries = []tracker.Entry{entry("a", 1)}
	s.tracker.put(w)
	s.bill(1)
	s.wantLive(1, "100")
}

func TestVersionThatGoesBackIsDroppedUntilAFullReadConfirmsIt(t *testing.T) {
	s := newScene(t)
	w := again(week("r1", entry("a", 2)), afterwards, entry("a", 2))
	s.bill(1, w)
	back := w
	back.Version.Number = 1
	back.Entries = []tracker.Entry{entry("a", 1)}
	s.tracker.put(back)
	if report := s.pass(); report.Stale != 1 {
		t.Errorf("stale = %d, want 1", report.Stale)
	}
	s.wantItems(0)
	s.quiet()
	s.tracker.traits.Wide = true
	s.pass()
	s.asked(state.Ambiguous)
	s.wantLive(1, "200")
	s.quiet()
}

func TestVersionThatGoesBackIsConfirmedByABackfill(t *testing.T) {
	s := newScene(t)
	w := again(week("r1", entry("a", 2)), afterwards, entry("a", 2))
	s.bill(1, w)
	w.Version.Number, w.Entries = 1, []tracker.Entry{entry("a", 1)}
	s.tracker.put(w)
	_, err := s.engine.Backfill(context.Background(), s.now, w.Period, func(int, int, Slice) {})
	s.must(err)
	s.asked(state.Ambiguous)
}

func TestANewerVersionOfTheSameIsNotedAndNothingIsDue(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.tracker.put(again(w, s.now, entry("a", 1)))
	if report := s.pass(); report.Due != 0 || report.Stored != 0 {
		t.Errorf("due, stored = %d, %d; want 0, 0", report.Due, report.Stored)
	}
	s.quiet()
}

func TestWeekThatCannotBeTrueIsAmbiguous(t *testing.T) {
	outside := with(entry("a", 1), func(e *tracker.Entry) { e.Date = monday.AddDays(7) })
	mixed := week("r3", entry("a", 1), with(entry("b", 1), func(e *tracker.Entry) { e.Client = tracker.Ref{ID: "c2", Name: "Beta Ltd"} }))
	mixed.Simple = true
	currencies := week("r4", entry("a", 1), with(entry("b", 1), func(e *tracker.Entry) { e.Currency = "USD" }))
	currencies.Simple = true
	tests := []struct {
		name string
		week tracker.Week
		per  Per
	}{
		{"an entry outside of the period", week("r1", outside), PerProject},
		{"two entries with one id", week("r2", entry("a", 1), entry("a", 2)), PerProject},
		{"two clients in a record that has one", mixed, PerWeek},
		{"two currencies in a record that has one", currencies, PerWeek},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Per = tt.per })
			s.bill(0, tt.week)
			s.asked(state.Ambiguous)
			s.quiet()
			s.bill(1, again(tt.week, s.now, entry("a", 1)))
			s.wantItems(0)
		})
	}
}

func TestEmptyWeekIsStoredAndNothingIsDue(t *testing.T) {
	s := newScene(t)
	unbilled := with(entry("a", 8), func(e *tracker.Entry) { e.Billable = false })
	if report := s.bill(0, week("r1"), week("r2", unbilled)); report.Stored != 2 || report.Due != 0 {
		t.Errorf("stored, due = %d, %d; want 2, 0", report.Stored, report.Due)
	}
	s.wantItems(0)
	s.quiet()
}

func TestWeekBeforeStartIsNeverBilled(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Start = monday.AddDays(7) })
	if report := s.bill(0, week("r1", entry("a", 1))); report.BeforeStart != 1 {
		t.Errorf("before start = %d, want 1", report.BeforeStart)
	}
	if groups := s.groups(); len(groups) != 0 {
		t.Errorf("groups = %v, want none", groups)
	}
	s.quiet()
}

func TestUnreadRecordIsTakenLaterWithoutAnEdit(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.tracker.put(w)
	s.tracker.put(week("r2", ofProject(entry("b", 1), "p2")))
	s.tracker.unread["r1"] = "429 on its details"
	hidden := s.tracker.weeks["r1"]
	delete(s.tracker.weeks, "r1")
	if report := s.pass(); report.Count(Created) != 1 || report.Unread != 1 {
		t.Errorf("created, unread = %d, %d; want 1, 1", report.Count(Created), report.Unread)
	}
	if s.watermark().IsZero() {
		t.Error("watermark = none, want it moved: the unread record is stored as such")
	}
	s.quiet()
	delete(s.tracker.unread, "r1") // The feed does not announce it again.
	hidden.Changed = hidden.Changed.Add(-1000 * time.Hour)
	s.tracker.put(hidden)
	s.bill(1)
	if unread, err := s.store.Unread(s.engine.channel); err != nil || len(unread) != 0 {
		t.Errorf("unread = %v, %v; want none", unread, err)
	}
	s.quiet()
}

func TestUnreadRecordIsAPersonsAfterADay(t *testing.T) {
	s := newScene(t)
	s.tracker.unread["r1"] = "the answer is no JSON"
	s.pass()
	s.wait(unreadFor - time.Nanosecond)
	s.pass()
	s.wantItems(0)
	s.wait(time.Nanosecond)
	s.pass()
	if i := s.asked(state.Unreadable); !strings.Contains(i.Text, "no JSON") || i.Title != "r1" {
		t.Errorf("item = %s: %s; want r1 and the reason", i.Title, i.Text)
	}
	s.quiet()
	delete(s.tracker.unread, "r1")
	s.bill(1, week("r1", entry("a", 1)))
	s.wantItems(0)
}

func TestUnreadRecordThatIsGoneIsForgotten(t *testing.T) {
	s := newScene(t)
	s.tracker.unread["r1"] = "500"
	s.pass()
	delete(s.tracker.unread, "r1")
	s.pass()
	if unread, err := s.store.Unread(s.engine.channel); err != nil || len(unread) != 0 {
		t.Errorf("unread = %v, %v; want none", unread, err)
	}
	s.quiet()
}

// TestAbsenceIsNotDeletion: what a traversal does not yield stays as it was.
func TestAbsenceIsNotDeletion(t *testing.T) {
	s := newScene(t)
	s.tracker.traits.Wide = true
	s.bill(1, week("r1", entry("a", 1)))
	delete(s.tracker.weeks, "r1")
	s.pass()
	s.wantItems(0)
	s.wantLive(1, "100")
	s.quiet()
}

func TestSettingsThatMakeGroupsAreFollowed(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.IgnoreProjects = []string{"p1"} })
	s.bill(0, week("r1", entry("a", 1)))
	if g := s.only(); !strings.Contains(g.Done, "ignored") {
		t.Errorf("done = %q, want a reason that says ignored", g.Done)
	}
	s.quiet()
	s.rules.IgnoreProjects = nil
	s.restart()
	s.bill(1)
	s.quiet()
	s.rules.IgnoreClients = []string{"c1"}
	s.restart()
	s.bill(0)
	s.wantItems(0)
	s.wantLive(1, "100")
}

// TestChangedSettingsCostFewTransactions: not one for each week.
func TestChangedSettingsCostFewTransactions(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.IgnoreClients = []string{"c1"} })
	s.some(300)
	s.bill(0)
	s.rules.IgnoreClients, s.rules.MaxNew, s.rules.IgnoreProjects = nil, 1000, []string{"p0"}
	s.restart()
	s.pass()
	s.rules.IgnoreProjects = nil
	s.restart()
	commits := s.store.Commits()
	s.bill(1)
	if got := s.store.Commits() - commits; got > 10 {
		t.Errorf("commits = %d, want at most 10", got)
	}
	s.quiet()
}

func TestRenamedSyncGoesOn(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", entry("a", 1)))
	s.rules.Name = "another"
	s.restart()
	s.bill(0)
	s.wantItems(0)
	s.quiet()
}

func TestPeriodsOfAnyLengthAreTakenAsTheTrackerStatesThem(t *testing.T) {
	s := newScene(t)
	sunday := week("r1", with(entry("a", 1), func(e *tracker.Entry) { e.Date = monday.AddDays(-1) }))
	sunday.Period = civil.Period{First: monday.AddDays(-1), Last: monday.AddDays(5)}
	next := week("r2", with(entry("b", 1), func(e *tracker.Entry) { e.Date = monday.AddDays(6) }))
	next.Period = civil.Period{First: monday.AddDays(6), Last: monday.AddDays(12)}
	half := week("r3", with(entry("c", 1), func(e *tracker.Entry) { e.Date = monday.AddDays(3) }))
	half.Period = civil.Period{First: monday.AddDays(-1), Last: monday.AddDays(12)}
	s.bill(3, sunday, next, half)
	s.quiet()
}

func TestWeekThatMovedItsPeriodIsOneWeek(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	moved := again(w, s.now, with(entry("a", 1), func(e *tracker.Entry) { e.Date = monday.AddDays(8) }))
	moved.Period = civil.Period{First: monday.AddDays(7), Last: monday.AddDays(13)}
	s.tracker.put(moved)
	s.pass()
	s.wantLive(1, "100")
	if n := s.books.writes(); n != 1 {
		t.Errorf("writes = %d, want 1", n)
	}
	kinds := map[state.Kind]bool{}
	for _, i := range s.items() {
		kinds[i.Kind] = true
	}
	if !kinds[state.Withdrawn] || !kinds[state.Moved] {
		t.Errorf("items = %v, want withdrawn there and moved here", kinds)
	}
	s.quiet()
}

func TestAnnouncedRecordIsNotGone(t *testing.T) {
	s := newScene(t)
	s.tracker.unread["r1"], s.tracker.gone["r1"] = "500", true
	s.pass()
	s.pass()
	if unread, err := s.store.Unread(s.engine.channel); err != nil || len(unread) != 1 {
		t.Errorf("unread = %v, %v; want it kept while it is announced", unread, err)
	}
}

func TestChangeOfABilledWeekCountsAlsoBeforeStart(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.rules.Start = monday.AddDays(7)
	s.restart()
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.pass()
	s.asked(state.Changed)
}

func TestLaterOfTwoRecordsWithOneIdCounts(t *testing.T) {
	s := newScene(t)
	tr := traversal{Engine: s.engine, report: &Report{}}
	first := week("r1", entry("a", 1))
	kept := tr.wanted([]tracker.Week{first, week("r0"), again(first, s.now, entry("a", 2))})
	if len(kept) != 2 || kept[0].ID != "r0" || kept[1].Version.Number != 2 {
		t.Errorf("wanted = %+v, want r0 and version 2 of r1", kept)
	}
}
