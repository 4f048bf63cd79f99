package sync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// in moves a week, and its entries, by so many weeks.
func in(weeks int, w tracker.Week) tracker.Week {
	w.Period = civil.Period{First: w.Period.First.AddDays(7 * weeks), Last: w.Period.Last.AddDays(7 * weeks)}
	for i := range w.Entries {
		w.Entries[i].Date = w.Entries[i].Date.AddDays(7 * weeks)
	}
	return w
}

func (s *scene) backfill(days civil.Period) (Report, error) {
	return s.engine.Backfill(context.Background(), s.now, days, func(int, int, Slice) {})
}

func TestSlicesAreContiguousAndHoldEachDayOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := civil.Date{Year: 2026, Month: time.January, Day: 1}.AddDays(rapid.IntRange(0, 400).Draw(t, "first"))
		days := civil.Period{First: first, Last: first.AddDays(rapid.IntRange(0, 200).Draw(t, "length"))}
		next := days.First
		for _, s := range slicesOf(days) {
			if s.Days.First != next || s.Days.Last.Before(s.Days.First) {
				t.Fatalf("slice %s of %s, want one that begins at %s", s.Days, days, next)
			}
			next = s.Days.Last.AddDays(1)
		}
		if next != days.Last.AddDays(1) {
			t.Fatalf("slices of %s end before %s", days, next)
		}
	})
}

func TestBackfillTakesEachWeekOnceAndNeverMovesTheWatermark(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Start = monday.AddDays(-100) })
	recent := week("now", entry("now", 1))
	s.bill(1, recent)
	mark := s.watermark()
	last := monday.AddDays(-1)
	for i := -5; i < 0; i++ {
		w := in(i, week(fmt.Sprintf("r%d", -i), ofProject(entry(fmt.Sprintf("e%d", -i), 1), "p1")))
		w.Changed = s.now.Add(-2000 * time.Hour)
		s.tracker.put(w)
	}
	late := in(-4, week("late", ofProject(entry("late", 1), "p2")))
	late.Changed = s.now.Add(-2000 * time.Hour)
	s.tracker.put(late)
	s.bill(0) // the overlap does not reach them
	read := len(s.tracker.queries)
	report, err := s.backfill(civil.Period{First: monday.AddDays(-28), Last: last})
	s.must(err)
	if report.Weeks != 5 || report.Count(Created) != 5 || len(report.Slices) != 4 {
		t.Errorf("weeks, created, slices = %d, %d, %d; want 5, 5, 4", report.Weeks, report.Count(Created), len(report.Slices))
	}
	for i, q := range s.tracker.queries[read:] {
		if q.First != report.Slices[i].Days || !q.Since.IsZero() {
			t.Errorf("query %d = %+v, want the days %s", i, q, report.Slices[i].Days)
		}
	}
	if got := s.watermark(); !got.Equal(mark) {
		t.Errorf("watermark = %s, want it where the passes left it, %s", got, mark)
	}
	s.wantLive(6, "600")
	s.quiet()
}

func TestBackfillKeepsTheWatermark(t *testing.T) {
	s := newScene(t)
	s.pass()
	_, err := s.backfill(week("w").Period)
	s.must(err)
	w := week("r1", entry("a", 1))
	w.Changed = s.now
	s.tracker.put(w)
	_, err = s.backfill(week("w").Period)
	s.must(err)
	if got := s.watermark(); !got.IsZero() {
		t.Errorf("watermark = %s, want none", got)
	}
	s.wantLive(1, "100")
}

func TestBackfillOfWhatWasBilledLongAgoBillsNothing(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.wait(60 * 24 * time.Hour)
	clock, err := s.store.Observe(s.now)
	s.must(err)
	_, err = s.store.Sweep(clock, s.rules.TTL)
	s.must(err)
	report, err := s.backfill(w.Period)
	s.must(err)
	if report.Duplicates != 1 || len(report.Invoices) != 0 {
		t.Errorf("duplicates, invoices = %d, %d; want 1, 0", report.Duplicates, len(report.Invoices))
	}
	s.wantLive(1, "100")
}

func TestBackfillBeforeStartIsRefusedAndNamesTheSetting(t *testing.T) {
	s := newScene(t)
	for _, days := range []civil.Period{
		{First: monday.AddDays(-1), Last: monday},
		{First: monday.AddDays(3), Last: monday.AddDays(2)},
	} {
		commits := s.store.Commits()
		_, err := s.backfill(days)
		if !errors.Is(err, ErrRange) {
			t.Errorf("Backfill(%s) = %v, want it refused", days, err)
		}
		if s.store.Commits() != commits || len(s.tracker.queries) != 0 {
			t.Error("a refused backfill read or wrote something")
		}
	}
	if _, err := s.backfill(civil.Period{First: monday.AddDays(-1), Last: monday}); !strings.Contains(err.Error(), "syncs.agency.start") {
		t.Errorf("Backfill = %v, want the name of the setting", err)
	}
}

func TestBackfillNamesTheSlicesThatFailedAndGoesOnWithThem(t *testing.T) {
	s := newScene(t)
	for i := range 3 {
		s.tracker.put(in(i, week(fmt.Sprintf("r%d", i), entry(fmt.Sprintf("e%d", i), 1))))
	}
	days := civil.Period{First: monday, Last: monday.AddDays(20)}
	broken := &brokenSlice{peerTracker: s.tracker, first: monday.AddDays(7)}
	s.engine = New(s.store, broken, s.books, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	report, err := s.backfill(days)
	failed := report.FailedSlices()
	if !errors.Is(err, ErrSlices) || len(failed) != 1 || failed[0].Days.First != monday.AddDays(7) || !strings.Contains(failed[0].Error, "503") {
		t.Errorf("Backfill = %v, failed %+v; want the second slice with its error", err, failed)
	}
	if got := report.Count(Created); got != 2 {
		t.Errorf("created = %d, want 2: the others are posted", got)
	}
	s.restart()
	read := len(s.tracker.queries)
	report, err = s.backfill(days)
	s.must(err)
	if got := len(s.tracker.queries) - read; got != 1 || !report.Slices[0].Known || report.Slices[1].Known {
		t.Errorf("slices read = %d (%+v), want the failed one alone", got, report.Slices)
	}
	s.wantLive(3, "300")
	read = len(s.tracker.queries)
	_, err = s.backfill(days)
	s.must(err)
	if got := len(s.tracker.queries) - read; got != 3 {
		t.Errorf("slices read by a new backfill = %d, want 3: the former one had ended", got)
	}
}

// brokenSlice fails for the weeks that begin on one day.
type brokenSlice struct {
	*peerTracker
	first civil.Date
}

func (b *brokenSlice) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	if q.First.First == b.first {
		return func(yield func(tracker.Page, error) bool) { yield(tracker.Page{}, errors.New("503")) }
	}
	return b.peerTracker.Weeks(ctx, q)
}

func TestBackfillThatIsStoppedIsResumed(t *testing.T) {
	s := newScene(t)
	for i := range 4 {
		s.tracker.put(in(i, week(fmt.Sprintf("r%d", i), entry(fmt.Sprintf("e%d", i), 1))))
	}
	days := civil.Period{First: monday, Last: monday.AddDays(27)}
	ctx, stop := context.WithCancel(context.Background())
	_, err := s.engine.Backfill(ctx, s.now, days, func(done, total int, _ Slice) {
		if total != 4 {
			t.Errorf("slices in all = %d, want 4", total)
		}
		if done == 2 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Backfill = %v, want that it was stopped", err)
	}
	s.restart()
	report, err := s.backfill(days)
	s.must(err)
	known := 0
	for _, sl := range report.Slices {
		if sl.Known {
			known++
		}
	}
	if known < 2 || report.Count(Created) != 4 {
		t.Errorf("slices known, created = %d, %d; want at least 2, and 4", known, report.Count(Created))
	}
}

func TestBackfillObeysMaxNewInvoices(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 2 })
	s.some(3)
	report, err := s.backfill(week("w").Period)
	s.must(err)
	if report.Count(Created) != 0 {
		t.Errorf("created = %d, want none", report.Count(Created))
	}
	s.asked(state.Limit)
}

func TestBackfillPostsOnlyItsRange(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = time.Hour })
	for i := range 2 {
		w := in(i, week(fmt.Sprintf("r%d", i), entry(fmt.Sprintf("e%d", i), 1)))
		w.Approved = s.now
		s.tracker.put(w)
	}
	s.bill(0)
	s.wait(time.Hour)
	report, err := s.backfill(week("w").Period)
	s.must(err)
	if report.Count(Created) != 1 {
		t.Errorf("created = %d, want 1: the other is not in the range", report.Count(Created))
	}
	s.bill(1)
}

func TestBackfillDoesNotCloseTheListOfThePasses(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 2 })
	s.some(3)
	s.bill(0)
	s.asked(state.Limit)
	_, err := s.backfill(civil.Period{First: monday.AddDays(70), Last: monday.AddDays(76)})
	s.must(err)
	s.asked(state.Limit)
}

// TestPlanSaysWhatAPassDoesAndDoesNothing: the same engine, whatever is due.
func TestPlanSaysWhatAPassDoesAndDoesNothing(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections, r.Late = UpdateDrafts, SecondInvoice })
	grown := week("r1", entry("a", 1))
	s.bill(1, grown)
	s.tracker.put(again(grown, s.now, entry("a", 3)))
	s.tracker.put(week("r2", ofProject(entry("b", 2), "p2"), with(ofProject(entry("c", 2), "p3"), func(e *tracker.Entry) { e.Running = true })))
	commits, writes := s.store.Commits(), s.books.writes()
	plan, err := s.engine.Plan(context.Background(), s.now, civil.Period{})
	s.must(err)
	if s.store.Commits() != commits || s.books.writes() != writes {
		t.Error("the plan wrote something")
	}
	report := s.pass()
	for _, d := range []Deed{Created, Updated} {
		if plan.Count(d) != report.Count(d) || plan.Count(d) != 1 || !plan.Net(d)["EUR"].Equal(report.Net(d)["EUR"]) {
			t.Errorf("%s = %d of %v as planned, %d of %v in fact; want one and the same", d, plan.Count(d), plan.Net(d), report.Count(d), report.Net(d))
		}
	}
	if len(plan.Items) != 1 || len(report.Items) != 1 || plan.Items[0].Subject != report.Items[0].Subject || plan.Items[0].Text != report.Items[0].Text {
		t.Errorf("items = %v as planned, %v in fact; want the same", plan.Items, report.Items)
	}
}

func TestPlanOfABackfillWritesNothing(t *testing.T) {
	s := newScene(t)
	s.some(3)
	commits := s.store.Commits()
	plan, err := s.engine.Plan(context.Background(), s.now, week("w").Period)
	s.must(err)
	if plan.Count(Created) != 3 || s.store.Commits() != commits || s.books.writes() != 0 {
		t.Errorf("planned = %d with %d commits and %d writes, want 3 with none", plan.Count(Created), s.store.Commits()-commits, s.books.writes())
	}
	report, err := s.backfill(week("w").Period)
	s.must(err)
	if report.Count(Created) != 3 {
		t.Errorf("created = %d, want 3", report.Count(Created))
	}
}

// TestARememberedSliceIsReadAgainTheNextDay: a backfill that failed in posting is not done for good.
func TestARememberedSliceIsReadAgainTheNextDay(t *testing.T) {
	s := newScene(t)
	days := civil.Period{First: monday, Last: monday.AddDays(6)}
	fill := func() (Report, error) {
		return s.engine.Backfill(context.Background(), s.now, days, func(int, int, Slice) {})
	}
	s.tracker.put(week("w1", entry("e1", 1)))
	s.books.faults = []peerFault{refusedNow}
	if _, err := fill(); err == nil {
		t.Fatal("Backfill = no error, want the one of the post")
	}
	s.wait(time.Hour)
	s.books.faults = []peerFault{refusedNow}
	if report, _ := fill(); !report.Slices[0].Known {
		t.Error("the slice is read again an hour later, want it remembered")
	}
	s.wait(24 * time.Hour)
	if report, err := fill(); err != nil || report.Slices[0].Known {
		t.Errorf("known = %v, %v, want the slice read again a day later", report.Slices[0].Known, err)
	}
	s.wantLive(1, "100")
}
