package sync

import (
	"strings"
	"testing"
	"time"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// wholeScene has a tracker that names every week of a range, with n approved weeks of m1, m2 … .
func wholeScene(t *testing.T, n int, mend ...func(*Settings)) *scene {
	s := newScene(t, mend...)
	s.tracker.traits = tracker.Traits{Feed: true, Whole: true}
	for i := range n {
		name := "m" + string(rune('1'+i))
		s.tracker.put(week(name, entry("e"+name, 1)))
	}
	s.restart()
	s.pass()
	return s
}

// later lets a day go by, so that the last weeks are read again.
func (s *scene) later() Report {
	s.wait(25 * time.Hour)
	return s.pass()
}

func (s *scene) weekState(id string) tracker.State {
	s.t.Helper()
	w, found, err := s.store.Find(s.engine.channel, id)
	s.must(err)
	if !found {
		s.t.Fatalf("week %s is not stored", id)
	}
	return w.State
}

func (s *scene) weekItem(id string) *state.Item {
	s.t.Helper()
	item, err := s.store.Item(s.engine.channel.Account, state.WeekSubject(s.engine.channel, id))
	s.must(err)
	return item
}

func TestAbsenceIsBelievedAtTheSecondReading(t *testing.T) {
	s := wholeScene(t, 3)
	made := len(s.books.docs)
	s.tracker.drop("m2")
	s.later()
	if item := s.weekItem("m2"); item != nil {
		t.Errorf("after one reading: item %v, want none", item)
	}
	s.wait(15 * time.Minute) // The next pass looks again, whatever reread_every says.
	s.pass()
	item := s.weekItem("m2")
	if item == nil || item.Kind != state.Withdrawn {
		t.Fatalf("after two readings: item %v, want one of kind withdrawn", item)
	}
	if got := s.weekState("m2"); got != tracker.Approved {
		t.Errorf("state = %s, want approved: only a person decides", got)
	}
	queries := len(s.tracker.queries)
	s.wait(15 * time.Minute)
	s.pass()
	if n := len(s.tracker.queries) - queries; n != 1 {
		t.Errorf("%d traversals in a pass after a person was asked, want 1", n)
	}
	if len(s.books.docs) != made {
		t.Errorf("%d invoices, want %d", len(s.books.docs), made)
	}
}

func TestAbsentWeekThatComesBackAsksNothing(t *testing.T) {
	s := wholeScene(t, 3)
	w := s.tracker.weeks["m2"]
	s.tracker.drop("m2")
	s.later()
	s.later()
	if s.weekItem("m2") == nil {
		t.Fatal("no item")
	}
	s.tracker.put(w)
	s.later()
	if item := s.weekItem("m2"); item != nil {
		t.Errorf("item %v, want none once the week is listed again", item)
	}
	missing, err := s.store.Missing(s.engine.channel)
	s.must(err)
	if len(missing) != 0 {
		t.Errorf("missing = %v, want nothing", missing)
	}
}

func TestAbsentPendingWeekIsWithdrawn(t *testing.T) {
	s := wholeScene(t, 3)
	w := week("p", entry("ep", 1))
	w.State = tracker.Pending
	s.tracker.put(w)
	s.later()
	s.tracker.drop("p")
	s.later()
	if got := s.weekState("p"); got != tracker.Pending {
		t.Errorf("after one reading: %s, want pending", got)
	}
	s.later()
	if got := s.weekState("p"); got != tracker.Withdrawn || s.weekItem("p") != nil {
		t.Errorf("after two readings: %s, item %v; want withdrawn and none", got, s.weekItem("p"))
	}
	s.tracker.put(w)
	s.later()
	if got := s.weekState("p"); got != tracker.Pending {
		t.Errorf("listed again: %s, want pending", got)
	}
}

func TestRecordsThatAreAnnouncedOrKeptAreNotAbsent(t *testing.T) {
	s := wholeScene(t, 3)
	s.tracker.hide("m1", true)
	s.tracker.drop("m2")
	s.tracker.kept = []tracker.Kept{{ID: "m2", Period: week("m2").Period}}
	for range 3 {
		s.later()
	}
	for _, id := range []string{"m1", "m2"} {
		if item := s.weekItem(id); item != nil {
			t.Errorf("%s: item %v, want none", id, item)
		}
	}
}

// A member left before the last week was taken in: nobody may miss that there is work to bill.
func TestKeptRecordThatWasNeverTakenInIsAPersons(t *testing.T) {
	s := wholeScene(t, 2)
	pending := week("m1", entry("e9", 1))
	pending.State = tracker.Pending
	for _, id := range []string{"new", "old"} {
		s.tracker.kept = append(s.tracker.kept, tracker.Kept{ID: id, Period: pending.Period, Reason: "the account of " + id + " is disabled"})
	}
	s.tracker.kept[1].Period = civil.Period{First: s.engine.rules.Start.AddDays(-7), Last: s.engine.rules.Start.AddDays(-1)}
	s.tracker.hide("new", true)
	s.pass()
	s.later()
	s.later()
	items, err := s.store.Items("")
	s.must(err)
	if len(items) != 1 || items[0].Kind != state.Unreadable || items[0].Title != "new" || !strings.Contains(items[0].Text, "is disabled") {
		t.Errorf("items %+v, want one: what ended before start is not asked about", items)
	}
}

func TestSettledAbsenceStaysSettled(t *testing.T) {
	s := wholeScene(t, 3)
	s.tracker.drop("m2")
	s.later()
	s.later()
	subject := state.WeekSubject(s.engine.channel, "m2")
	s.must(s.engine.Rule(Ruling{Subject: subject, Action: Settle, Who: "ann", Note: "left"}, s.now))
	report := s.later()
	if item := s.weekItem("m2"); item == nil || item.Status != state.Settled || len(report.Items) != 0 {
		t.Errorf("item %v, %d asked; want it settled and nothing asked", item, len(report.Items))
	}
}

func TestSuspiciouslyEmptyHoldsTheWatermark(t *testing.T) {
	s := wholeScene(t, 4)
	mark, err := s.store.Watermark(s.engine.channel)
	s.must(err)
	all := s.tracker.weeks
	s.tracker.weeks = map[string]tracker.Week{}
	for range 2 {
		report := s.later()
		if !report.Empty || len(report.Warnings) == 0 {
			t.Errorf("Empty = %v, warnings %q; want a warning", report.Empty, report.Warnings)
		}
	}
	status, err := s.engine.Status(s.now)
	s.must(err)
	if status.Empty.IsZero() || status.Review != 0 || !status.Watermark.Equal(mark) {
		t.Errorf("status: empty since %s, %d in review, watermark %s; want a time, none, %s", status.Empty, status.Review, status.Watermark, mark)
	}
	s.tracker.weeks = all
	s.later()
	if status, err = s.engine.Status(s.now); err != nil || !status.Empty.IsZero() {
		t.Errorf("once it lists again: empty since %s, %v; want never", status.Empty, err)
	}
}

func TestSuspicionEndsAfterThreeDays(t *testing.T) {
	s := wholeScene(t, 2)
	s.tracker.weeks = map[string]tracker.Week{}
	for range 6 {
		s.later()
	}
	for _, id := range []string{"m1", "m2"} {
		if item := s.weekItem(id); item == nil || item.Kind != state.Withdrawn {
			t.Errorf("%s: item %v, want one of kind withdrawn", id, item)
		}
	}
	status, err := s.engine.Status(s.now)
	s.must(err)
	if status.Empty.IsZero() {
		t.Error("status no longer says that the tracker is suspiciously empty")
	}
}

func TestMostWeeksGoneIsNoManyWithdrawals(t *testing.T) {
	s := wholeScene(t, 5)
	s.tracker.drop("m1")
	s.tracker.drop("m2")
	s.tracker.drop("m3")
	for range 3 {
		if report := s.later(); !report.Empty || len(report.Items) != 0 {
			t.Errorf("Empty = %v, %d items; want true and none", report.Empty, len(report.Items))
		}
	}
}

func TestEmptyTrackerAtTheFirstRunIsNotSuspicious(t *testing.T) {
	s := wholeScene(t, 0)
	if report := s.later(); report.Empty {
		t.Error("Empty = true, want false where nothing was ever listed")
	}
}

func TestGrowingWeekWaitsAndIsNotWithdrawn(t *testing.T) {
	s := wholeScene(t, 0)
	w := week("g", entry("e1", 1))
	w.State = tracker.Growing
	s.tracker.put(w)
	s.pass()
	if n := len(s.books.docs); n != 0 {
		t.Fatalf("%d invoices of a growing week, want 0", n)
	}
	w.State, w.Changed = tracker.Approved, s.now
	s.tracker.put(w)
	s.later()
	if n := len(s.books.docs); n != 1 {
		t.Fatalf("%d invoices of the approved week, want 1", n)
	}
	w.State, w.Changed = tracker.Growing, s.now
	s.tracker.put(w)
	report := s.later()
	if len(report.Items) != 0 || len(s.books.docs) != 1 {
		t.Errorf("growing after it was billed: items %v, %d invoices; want none and 1", report.Items, len(s.books.docs))
	}
}

func TestWorkUnderWayIsNoChange(t *testing.T) {
	s := wholeScene(t, 0)
	w := week("p", entry("e1", 1))
	w.State, w.Version = tracker.Pending, tracker.Version{Kind: tracker.None}
	s.tracker.put(w)
	s.pass()
	w.Entries = append([]tracker.Entry{}, w.Entries...)
	w.Entries[0].Seconds, w.Changed = 7200, s.now
	s.tracker.put(w)
	if report := s.later(); report.Stored != 0 {
		t.Errorf("%d stored for longer work in a pending week, want 0", report.Stored)
	}
	w.Entries = append(w.Entries, entry("e2", 1))
	w.Entries[1].Project = tracker.Ref{ID: "other"}
	s.tracker.put(w)
	if report := s.later(); report.Stored != 1 {
		t.Errorf("%d stored for work that another group waits for, want 1", report.Stored)
	}
	w.State = tracker.Approved
	s.tracker.put(w)
	s.later()
	stored, _, err := s.store.Find(s.engine.channel, "p")
	s.must(err)
	if stored.Entries[0].Seconds != 7200 {
		t.Errorf("approved with %d seconds, want 7200", stored.Entries[0].Seconds)
	}
}

// parkedError is the error of a tracker that asks to be left alone.
type parkedError struct{ until time.Time }

func (p parkedError) Error() string          { return "too many requests" }
func (p parkedError) ParkedUntil() time.Time { return p.until }

func TestParkedTrackerIsLeftAloneAlsoAfterARestart(t *testing.T) {
	s := wholeScene(t, 1)
	until := s.now.Add(66975 * time.Second)
	s.tracker.broken[0] = parkedError{until}
	if _, err := s.engine.Pass(t.Context(), s.now); err == nil {
		t.Fatal("Pass = nil, want an error")
	}
	s.restart()
	asked := len(s.tracker.queries)
	s.wait(time.Hour)
	if _, err := s.engine.Pass(t.Context(), s.now); err == nil || !strings.Contains(err.Error(), "parked until") || len(s.tracker.queries) != asked {
		t.Errorf("Pass = %v after %d questions, want parked and none", err, len(s.tracker.queries)-asked)
	}
	status, err := s.engine.Status(s.now)
	s.must(err)
	if !status.Parked.Equal(until) {
		t.Errorf("Parked = %s, want %s", status.Parked, until)
	}
	clear(s.tracker.broken)
	s.now = until.Add(time.Second)
	s.pass()
	if status, err = s.engine.Status(s.now); err != nil || !status.Parked.IsZero() {
		t.Errorf("Parked = %s, %v afterwards, want never", status.Parked, err)
	}
}

func TestRemarksAreSaidOnce(t *testing.T) {
	s := wholeScene(t, 0)
	w := week("r", entry("e1", 1))
	w.Remarks = []string{"2 expenses are not billed"}
	s.tracker.put(w)
	if report := s.pass(); len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "2 expenses are not billed") {
		t.Errorf("warnings = %q, want the remark", report.Warnings)
	}
	if report := s.later(); len(report.Warnings) != 0 {
		t.Errorf("warnings = %q, want none for a week that has not changed", report.Warnings)
	}
}
