package sync

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

func TestTwoRecordsOfOneMomentAreBothTaken(t *testing.T) {
	for _, overlap := range []time.Duration{0, 48 * time.Hour} {
		s := newScene(t, func(r *Settings) { r.Overlap = overlap })
		s.bill(1, week("r1", entry("a", 1)))
		s.bill(1, week("r2", ofProject(entry("b", 1), "p2")))
		if a, b := s.books.calls[0].Key, s.books.calls[1].Key; len(s.books.calls) != 2 || a == b {
			t.Errorf("writes = %v, want one for each record", s.books.calls)
		}
		s.wantLive(2, "200")
		s.quiet()
	}
}

func TestOverlapTakesWhatBecameVisibleLateAndSaysSo(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", entry("a", 1)))
	mark := s.watermark()
	late := week("r2", ofProject(entry("b", 1), "p2"))
	late.Changed = late.Changed.Add(-47 * time.Hour)
	s.log.Reset()
	s.bill(1, late)
	if !strings.Contains(s.log.String(), `"week":"r2"`) || !strings.Contains(s.log.String(), "late") {
		t.Errorf("log = %s, want a line on the late week r2", s.log.String())
	}
	if got := s.watermark(); !got.Equal(mark) {
		t.Errorf("watermark = %s, want it where it was, %s", got, mark)
	}
}

func TestWatermarkComesFromRecordsThatWereTakenIn(t *testing.T) {
	s := newScene(t)
	s.tracker.clock = s.now
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	if got := s.watermark(); !got.Equal(w.Changed) {
		t.Errorf("watermark = %s, want the change of the record, %s", got, w.Changed)
	}
	s.wait(time.Hour)
	s.pass()
	if got := s.watermark(); !got.Equal(w.Changed) {
		t.Errorf("watermark after a pass without changes = %s, want %s", got, w.Changed)
	}
}

func TestEmptyPassDoesNotMoveTheWatermark(t *testing.T) {
	s := newScene(t)
	s.tracker.clock = s.now
	s.pass()
	if got := s.watermark(); !got.IsZero() {
		t.Errorf("watermark after an empty pass = %s, want none", got)
	}
	early := week("r1", entry("a", 1))
	early.Changed = s.now.Add(-30 * 24 * time.Hour)
	s.wait(time.Hour)
	s.bill(1, early)
}

func TestPassKeepsWatermarkOnFailure(t *testing.T) {
	s := newScene(t)
	s.tracker.size = 2
	for i := range 6 {
		s.tracker.put(week(fmt.Sprintf("r%d", i), ofProject(entry(fmt.Sprintf("e%d", i), 1), fmt.Sprintf("p%d", i))))
	}
	s.tracker.broken[2] = errors.New("429 too many requests")
	if report, err := s.failing(); report.Count(Created) != 4 || !strings.Contains(err.Error(), "429") {
		t.Errorf("created = %d with %v, want the 4 of the first two pages and the error", report.Count(Created), err)
	}
	if got := s.watermark(); !got.IsZero() {
		t.Errorf("watermark = %s, want none: the traversal did not end", got)
	}
	delete(s.tracker.broken, 2)
	if report := s.pass(); report.Count(Created) != 2 || report.Duplicates != 4 {
		t.Errorf("created, duplicates = %d, %d; want 2, 4", report.Count(Created), report.Duplicates)
	}
	s.wantLive(6, "600")
}

func TestFutureChangesCountAsTheTrackersClock(t *testing.T) {
	s := newScene(t)
	s.tracker.clock = s.now.Add(-90 * time.Second) // its clock is slow
	w := week("r1", entry("a", 1))
	w.Changed = s.now.AddDate(3, 0, 0)
	report := s.bill(1, w)
	if got := s.watermark(); got.After(s.tracker.clock) {
		t.Errorf("watermark = %s, want at most the tracker's clock, %s", got, s.tracker.clock)
	}
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "r1") {
		t.Errorf("warnings = %v, want one that names r1", report.Warnings)
	}
	s.wait(time.Hour)
	s.quiet()
	s.quiet()
	next := week("r2", ofProject(entry("b", 1), "p2"))
	next.Changed = s.now
	s.bill(1, next)
	if got := s.watermark(); got.After(s.now) {
		t.Errorf("watermark = %s, want at most now, %s", got, s.now)
	}
}

func TestWithoutAClockThePassIsTheLimit(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	w.Changed = s.now.Add(time.Hour)
	s.bill(1, w)
	if got := s.watermark(); got.After(s.now) {
		t.Errorf("watermark = %s, want at most now, %s", got, s.now)
	}
}

func TestPassesWithoutChangeWriteAHeartbeatAlone(t *testing.T) {
	s := newScene(t)
	s.tracker.size = 10
	for i := range 35 {
		w := week(fmt.Sprintf("r%02d", i), ofProject(entry(fmt.Sprintf("e%d", i), 1), fmt.Sprintf("p%d", i)))
		w.Changed = w.Changed.Add(time.Duration(i) * 412 * time.Microsecond)
		s.tracker.put(w)
	}
	s.bill(35)
	for range 5 {
		s.wait(15 * time.Minute)
		fetched := s.tracker.fetched
		s.quiet()
		if got := s.tracker.fetched - fetched; got != 4 {
			t.Errorf("pages = %d, want 4 in each pass", got)
		}
	}
}

func TestManyRecordsOfOneMomentAreOneTransactionAPage(t *testing.T) {
	s := newScene(t)
	s.tracker.size = 500
	for i := range 5000 {
		w := week(fmt.Sprintf("r%04d", i), with(entry(fmt.Sprintf("e%d", i), 1), func(e *tracker.Entry) { e.Billable = false }))
		s.tracker.put(w)
	}
	commits := s.store.Commits()
	if report := s.pass(); report.Stored != 5000 {
		t.Errorf("stored = %d, want 5000", report.Stored)
	}
	if got := s.store.Commits() - commits; got < 10 || got > 16 {
		t.Errorf("commits = %d, want one for each of 10 pages and a few for the pass", got)
	}
	s.quiet()
}

// TestAnOldWeekApprovedTodayIsTaken: the cursor is the change, not the date of the week.
func TestAnOldWeekApprovedTodayIsTaken(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Start = monday.AddDays(-300) })
	s.bill(1, week("r1", entry("a", 1)))
	old := week("r2", with(entry("b", 1), func(e *tracker.Entry) { e.Date = monday.AddDays(-273) }))
	old.Period = civil.Period{First: monday.AddDays(-273), Last: monday.AddDays(-267)}
	old.Changed = s.now
	s.bill(1, old)
}

func TestStartMovedBackCausesOneFullRead(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Start = monday.AddDays(7) })
	s.bill(0, week("r1", entry("a", 1)))
	s.rules.Start = monday
	s.restart()
	s.wait(10 * 24 * time.Hour) // r1 is far behind the overlap
	s.bill(1)
	full := s.tracker.queries[len(s.tracker.queries)-1]
	if !full.Since.IsZero() {
		t.Errorf("query since = %s, want none: everything from start on", full.Since)
	}
	s.wait(time.Hour)
	s.pass()
	if q := s.tracker.queries[len(s.tracker.queries)-1]; q.Since.IsZero() {
		t.Error("the second pass read everything again, want what changed since the watermark")
	}
	s.quiet()
}

func TestStartMovedBackBillsNothingAgain(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", entry("a", 1)))
	s.rules.Start = monday.AddDays(-7)
	s.restart()
	s.bill(0)
	s.wantLive(1, "100")
	s.wantItems(0)
	s.quiet()
}

func TestStartMovedForwardEndsWhatWasNotBilled(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = 24 * time.Hour })
	s.bill(0, week("r1", entry("a", 1)))
	s.rules.Start = monday.AddDays(7)
	s.restart()
	s.wait(48 * time.Hour)
	s.bill(0)
	if g := s.only(); !strings.Contains(g.Done, "start") {
		t.Errorf("done = %q, want a reason that names start", g.Done)
	}
	s.quiet()
	s.rules.Start = monday
	s.restart()
	s.bill(1)
}

func TestWithoutAFeedTheLookbackIsReadAgain(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Start, r.Lookback = monday.AddDays(-200), 14*24*time.Hour })
	s.tracker.traits.Feed = false
	s.pass()
	if q := s.tracker.queries[0]; q.First.First.After(s.rules.Start) {
		t.Errorf("the first pass read from %s, want from start", q.First.First)
	}
	s.pass()
	today := civil.DateOf(s.now)
	if q := s.tracker.queries[1]; q.First.First != today.AddDays(-14) || !q.Since.IsZero() {
		t.Errorf("query = %+v, want the weeks from %s on", q, today.AddDays(-14))
	}
	s.wait(50 * 24 * time.Hour)
	s.pass()
	if q := s.tracker.queries[2]; q.First.First != today.AddDays(-14) {
		t.Errorf("after 50 days of rest the read begins at %s, want the look-back of the last pass, %s", q.First.First, today.AddDays(-14))
	}
	s.pass()
	if q := s.tracker.queries[3]; q.First.First != today.AddDays(50-14) {
		t.Errorf("the read after it begins at %s, want %s", q.First.First, today.AddDays(50-14))
	}
	status, err := s.engine.Status(s.now)
	if err != nil || status.Horizon != "14 days, in each pass" {
		t.Errorf("horizon = %q, %v; want 14 days", status.Horizon, err)
	}
}

func TestLookbackAfterAFailureGoesOnFromTheLastGoodPass(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Lookback = 14 * 24 * time.Hour })
	s.tracker.traits.Feed = false
	s.pass()
	good := civil.DateOf(s.now)
	for range 3 {
		s.wait(20 * 24 * time.Hour)
		s.tracker.broken[0] = errors.New("503")
		s.failing()
	}
	delete(s.tracker.broken, 0)
	s.pass()
	if q := s.tracker.queries[len(s.tracker.queries)-1]; q.First.First != good.AddDays(-14) {
		t.Errorf("the read begins at %s, want %s", q.First.First, good.AddDays(-14))
	}
}

// TestAWideReReadFindsWhatTheFeedDoesNotName changes contents without a new stamp (timecamp-api#38, tock#572):
// the feed never names the week again, and the daily re-read finds it.
func TestAWideReReadFindsWhatTheFeedDoesNotName(t *testing.T) {
	s := newScene(t)
	w := week("w1", entry("e1", 8))
	w.Version.Kind = tracker.Stamp
	s.bill(1, w)
	s.wait(60 * time.Hour)
	other := week("w2", ofProject(entry("e2", 1), "p2"))
	other.Changed = s.now
	s.bill(1, other)
	s.wait(time.Hour)
	changed := w
	changed.Entries = []tracker.Entry{entry("e1", 9)}
	s.tracker.put(changed)
	s.wait(time.Hour)
	if report := s.pass(); report.Stored != 0 {
		t.Errorf("stored an hour later = %d, want 0: the feed does not name the week", report.Stored)
	}
	s.wait(24 * time.Hour)
	if report := s.pass(); report.Count(Updated) != 1 {
		t.Errorf("updated a day later = %d, want 1: %s", report.Count(Updated), report.Summary())
	}
	s.quiet()
}
