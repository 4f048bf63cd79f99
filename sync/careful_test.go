package sync

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
)

// some puts n weeks of one hour at the tracker, each of a project of its own.
func (s *scene) some(n int) {
	for i := range n {
		s.tracker.put(week(fmt.Sprintf("r%d", i), ofProject(entry(fmt.Sprintf("e%d", i), 1), fmt.Sprintf("p%d", i))))
	}
}

// loseState begins anew with an empty state file, and what the books hold.
func (s *scene) loseState() {
	s.t.Helper()
	s.must(s.store.Close())
	s.path = filepath.Join(s.t.TempDir(), "tidemark.db")
	store, err := state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.store = store
	s.restart()
}

func (s *scene) mode() state.Mode {
	s.t.Helper()
	st, err := s.store.Standing(s.engine.channel, s.now)
	s.must(err)
	return st.Mode
}

func TestFirstRunLooksEveryGroupUpBeforeItCreatesAny(t *testing.T) {
	s := newScene(t)
	s.some(5)
	s.bill(5)
	if s.books.finds != 10 {
		t.Errorf("look-ups = %d, want two for each of 5", s.books.finds)
	}
	if got := s.mode(); got != state.Normal {
		t.Errorf("mode after the first full pass = %s, want normal", got)
	}
	s.quiet()
}

func TestFirstRunCreatesNothingWhileALookUpFails(t *testing.T) {
	s := newScene(t)
	s.some(3)
	s.books.finding = errors.New("503")
	s.failing()
	s.wantCalls()
	if got := s.mode(); got != state.FirstRun {
		t.Errorf("mode = %s, want first-run", got)
	}
	s.books.finding = nil
	s.bill(3)
}

// TestFirstRunBelievesAbsenceLate: two look-ups SearchLag apart, at least SettleAfter after the state was made.
func TestFirstRunBelievesAbsenceLate(t *testing.T) {
	s := newScene(t)
	s.books.traits.SettleAfter, s.books.traits.SearchLag = 5*time.Minute, 2*time.Minute
	s.some(2)
	if report := s.bill(0); report.Waiting != 2 {
		t.Errorf("waiting = %d, want 2", report.Waiting)
	}
	s.quiet()
	s.wait(5*time.Minute - time.Nanosecond)
	s.bill(0)
	s.wait(time.Nanosecond)
	s.bill(2)
	if got := s.mode(); got != state.Normal {
		t.Errorf("mode = %s, want normal", got)
	}
}

func TestFirstRunTakesTwoLookUpsSearchLagApart(t *testing.T) {
	s := newScene(t)
	s.books.traits.SearchLag = 2 * time.Minute
	s.some(1)
	s.bill(0)
	s.wait(2*time.Minute - time.Nanosecond)
	s.bill(0)
	s.wait(time.Nanosecond)
	s.bill(1)
}

func TestFirstRunWithoutAnAuthoritativeSearchWaitsForAPerson(t *testing.T) {
	s := newScene(t)
	s.books.traits.Authoritative = false
	s.some(3)
	s.bill(0)
	i := s.asked(state.Lost)
	if len(i.List) != 3 || !i.Wanted.Amount.Equal(decimal.NewFromInt(300)) {
		t.Errorf("list = %d of %s, want 3 of 300", len(i.List), i.Wanted.Amount)
	}
	s.quiet()
	s.rule(i.Subject, Release)
	s.bill(3)
	s.wantItems(0)
	s.quiet()
}

func TestLostStateAdoptsEverythingAndCreatesNothing(t *testing.T) {
	s := newScene(t)
	s.some(4)
	s.bill(4)
	s.loseState()
	report := s.pass()
	if report.Count(Adopted) != 4 || report.Count(Created) != 0 {
		t.Errorf("adopted, created = %d, %d; want 4, 0", report.Count(Adopted), report.Count(Created))
	}
	s.wantLive(4, "400")
	s.wantItems(0)
	s.quiet()
}

// TestAnInvoiceThatThisStateNeverClaimedMakesItARebuild: where one group is found, what is not found waits.
func TestAnInvoiceThatThisStateNeverClaimedMakesItARebuild(t *testing.T) {
	s := newScene(t)
	s.some(2)
	s.bill(2)
	s.some(4) // two more were approved in the meantime
	s.loseState()
	report := s.pass()
	if report.Count(Adopted) != 2 || report.Count(Created) != 0 {
		t.Errorf("adopted, created = %d, %d; want 2, 0", report.Count(Adopted), report.Count(Created))
	}
	if len(report.Warnings) == 0 {
		t.Error("warnings = none, want one that says what was found")
	}
	i := s.asked(state.Lost)
	if len(i.List) != 2 || !strings.Contains(i.Title, "200.00 EUR") {
		t.Errorf("item = %q with %d, want 2 of 200.00 EUR", i.Title, len(i.List))
	}
	s.quiet()
	s.wait(time.Hour)
	s.bill(1, week("new", ofProject(entry("new", 1), "p-new"))) // what came later is not lost
	s.asked(state.Lost)
	s.rule(i.Subject, Release)
	s.bill(2)
	s.wantLive(5, "500")
	s.quiet()
}

func TestRestoredStateIsARebuild(t *testing.T) {
	s := newScene(t)
	s.some(1)
	s.bill(1)
	backup := filepath.Join(t.TempDir(), "backup.db")
	s.must(s.store.Close())
	copyFile(t, s.path, backup)
	store, err := state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.store = store
	s.restart()
	s.some(3)
	s.bill(2)

	s.must(s.store.Close())
	copyFile(t, backup, s.path)
	store, err = state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.store = store
	s.restart()
	s.some(5)
	s.rules.Workers = 1
	s.restart()
	report := s.pass()
	if report.Count(Adopted) != 2 {
		t.Errorf("adopted = %d, want 2", report.Count(Adopted))
	}
	s.wantLive(3, "300")
	if i := s.asked(state.Lost); len(i.List) != 2 {
		t.Errorf("list = %d, want the two that came since", len(i.List))
	}
	s.quiet()
}

// TestAnInvoiceThatWasNeverClaimedEndsTheCreating: also in a normal pass, from the moment that it is found.
func TestAnInvoiceThatWasNeverClaimedEndsTheCreating(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Workers = 1 })
	s.some(1)
	s.bill(1)
	for i := range 9 {
		twin := *s.books.docs[0]
		twin.receipt.ID = fmt.Sprint("by-another-", i)
		twin.receipt.Reference = refOf(PerProject, week("w"), ofProject(entry("e", 1), fmt.Sprint("p", i+1)))
		s.books.docs = append(s.books.docs, &twin)
	}
	s.some(11)
	report := s.pass()
	if report.Count(Adopted) != 9 || len(report.Warnings) == 0 {
		t.Errorf("adopted = %d with the warnings %v, want 9 and one that says so", report.Count(Adopted), report.Warnings)
	}
	if got := report.Count(Created); got == 1 {
		s.wantItems(0)
	} else {
		s.asked(state.Lost)
	}
	s.quiet()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRebuildAdoptsByReferenceAndCreatesNothing(t *testing.T) {
	s := newScene(t)
	s.some(2)
	s.bill(2)
	s.some(3)
	s.loseState()
	s.must(s.store.SetRebuild([]state.Channel{s.engine.channel}, s.now))
	s.bill(0)
	if i := s.asked(state.Lost); len(i.List) != 1 {
		t.Errorf("list = %d, want 1", len(i.List))
	}
	if got := s.mode(); got != state.Normal {
		t.Errorf("mode after the first full pass = %s, want normal", got)
	}
	s.quiet()
}

func TestRebuildLastsUntilAFullPassEnded(t *testing.T) {
	s := newScene(t)
	s.some(1)
	s.must(s.store.SetRebuild([]state.Channel{s.engine.channel}, s.now))
	s.tracker.size = 1
	s.some(3)
	s.tracker.broken[2] = errors.New("500")
	s.failing()
	if got := s.mode(); got != state.Rebuild {
		t.Errorf("mode after half a pass = %s, want rebuild", got)
	}
	delete(s.tracker.broken, 2)
	s.bill(0)
	if i := s.asked(state.Lost); len(i.List) != 3 {
		t.Errorf("list = %d, want 3", len(i.List))
	}
}

// TestWhatWasLostAndIsFoundLaterIsAdopted: also while the rest waits for a person.
func TestWhatWasLostAndIsFoundLaterIsAdopted(t *testing.T) {
	s := newScene(t)
	s.some(2)
	s.bill(2)
	s.loseState()
	s.books.docs, s.books.calls = s.books.docs[:1], nil
	hidden := *s.books.docs[0]
	s.must(s.store.SetRebuild([]state.Channel{s.engine.channel}, s.now))
	s.pass()
	i := s.asked(state.Lost)
	if len(i.List) != 1 {
		t.Fatalf("list = %d, want 1", len(i.List))
	}
	hidden.receipt.ID, hidden.receipt.Reference = "inv-9", i.List[0].Reference
	s.books.docs = append(s.books.docs, &hidden)
	if report := s.pass(); report.Count(Adopted) != 1 {
		t.Errorf("adopted = %d, want 1", report.Count(Adopted))
	}
	s.wantItems(0)
	s.quiet()
}

func TestFoundAndNotEqualIsAPersons(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", entry("a", 1)))
	s.books.touch("inv-1", func(r *accounting.Receipt) { r.Status = accounting.Void })
	s.loseState()
	s.bill(0)
	if i := s.asked(state.Mismatch); !strings.Contains(i.Text, "voided") {
		t.Errorf("item says %q, want that it was voided", i.Text)
	}
	s.quiet()
}

func TestSecondDocumentOfALostStateIsAdoptedToo(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Late = SecondInvoice })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.bill(1, again(w, s.now, entry("a", 1), entry("b", 2)))
	s.loseState()
	s.bill(0)
	s.wantLive(2, "300")
	if i := s.items(); len(i) != 1 || (i[0].Kind != state.Mismatch && i[0].Kind != state.Duplicate) {
		t.Errorf("items = %+v, want one: the first invoice is not all that is wanted", i)
	}
	s.quiet()
}

func TestClockThatWasSetBackIsSaid(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", entry("a", 1)))
	s.wait(-time.Hour)
	if report := s.pass(); len(report.Warnings) == 0 || !strings.Contains(report.Warnings[0], "set back") {
		t.Errorf("warnings = %v, want one on the clock", report.Warnings)
	}
}

// TestClockSetFarForwardExpiresNothing: a key outlives a year that nobody saw go by.
func TestClockSetFarForwardExpiresNothing(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.wait(365 * 24 * time.Hour)
	s.tracker.put(again(w, s.now, entry("a", 2)))
	if report := s.pass(); len(report.Warnings) == 0 {
		t.Error("warnings = none, want one on the gap")
	}
	s.asked(state.Changed)
	s.wantLive(1, "100")
}

func TestReleaseOfALostListIsOfTheseContents(t *testing.T) {
	s := newScene(t)
	s.some(2)
	s.must(s.store.SetRebuild([]state.Channel{s.engine.channel}, s.now))
	s.bill(0)
	s.rule(s.asked(state.Lost).Subject, Release)
	s.tracker.put(again(week("r0"), s.now, ofProject(entry("e0", 2), "p0")))
	s.bill(1)
	s.wantLive(1, "100")
	if i := s.asked(state.Lost); len(i.List) != 1 {
		t.Errorf("list = %d, want the changed one", len(i.List))
	}
}
