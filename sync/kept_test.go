package sync

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/tracker"
)

// TestAMismatchKeepsItsEntries: an invoice bears the reference, and perhaps the entries, so no other group bills
// them while a person has it.
func TestAMismatchKeepsItsEntries(t *testing.T) {
	s := newScene(t)
	w := week("w1", ofProject(entry("e1", 1), "p1"))
	s.bill(1, w)
	s.books.touch(s.books.live()[0].receipt.ID, func(r *accounting.Receipt) { r.Net = r.Net.Sub(r.Net) })
	s.must(s.store.Close())
	_, err := state.Init(s.path, s.now, []state.Channel{s.engine.channel})
	s.must(err)
	s.store, err = state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.restart()
	s.pass()
	s.asked(state.Mismatch)
	s.tracker.put(again(w, s.now, ofProject(entry("e1", 1), "p2")))
	s.wait(time.Hour)
	s.pass()
	if n := len(s.books.live()); n != 1 {
		t.Errorf("live invoices = %d, want 1: the entry may stand on the first", n)
	}
	s.askedAmong(state.Moved)
}

// TestSettlingAnUnknownKeepsWhatItMayHaveBilled settles a create without an answer whose group holds nothing now.
func TestSettlingAnUnknownKeepsWhatItMayHaveBilled(t *testing.T) {
	s := newScene(t)
	s.books.traits.Authoritative = false
	w := week("w1", ofProject(entry("e1", 1), "p1"))
	s.tracker.put(w)
	report := s.pass()
	if len(report.Items) == 1 {
		s.rule(s.asked(state.Lost).Subject, Release)
	}
	s.books.faults = []peerFault{lostReply}
	_, _ = s.engine.Pass(context.Background(), s.now)
	s.books.blind = 100
	s.tracker.put(inState(again(w, s.now, entry("e1", 1)), tracker.Pending))
	s.wait(time.Hour)
	_, _ = s.engine.Pass(context.Background(), s.now)
	item := s.asked(state.NotKnown)
	s.rule(item.Subject, Settle)
	s.books.blind = 0
	s.tracker.put(again(w, s.now, ofProject(entry("e1", 1), "p2")))
	s.wait(time.Hour)
	s.pass()
	s.askedAmong(state.Moved)
	if n := len(s.books.live()); n != 1 {
		t.Errorf("live invoices = %d, want 1", n)
	}
}

// TestHoldRecordsItsEntries: what a person holds is billed by no other group either.
func TestHoldRecordsItsEntries(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = time.Hour })
	w := week("w1", entry("e1", 1))
	w.Approved = s.now
	s.tracker.put(w)
	s.pass()
	s.must(s.engine.Rule(Ruling{Subject: s.only().Reference, Action: Postpone, Who: "ana", Until: todayOf(s.now, time.UTC).AddDays(10)}, s.now))
	s.rules.Per = PerClient
	s.restart()
	s.wait(2 * time.Hour)
	s.pass()
	if n := len(s.books.live()); n != 0 {
		t.Errorf("live invoices = %d, want 0: a person holds the entry", n)
	}
}

// TestASettledWithdrawalIsADecision: nothing was accepted, and that counts as what was accepted.
func TestASettledWithdrawalIsADecision(t *testing.T) {
	s := newScene(t)
	w := week("w1", entry("e1", 1))
	s.bill(1, w)
	s.tracker.put(inState(again(w, s.now, entry("e1", 1)), tracker.Withdrawn))
	s.wait(time.Hour)
	s.pass()
	s.rule(s.asked(state.Withdrawn).Subject, Settle)
	s.tracker.put(again(w, s.now.Add(time.Minute), entry("e1", 1)))
	s.wait(time.Hour)
	s.pass()
	s.asked(state.Changed)
	s.rules.Rates = append(s.rules.Rates, Rate{Client: "nobody", Currency: "EUR"})
	s.restart()
	s.pass()
	if i := s.asked(state.Changed); i.Status != state.Undecided {
		t.Errorf("item = %s, want it open: a person settled what is approved again", i.Status)
	}
}

// TestAnotherTrackerAccountIsNoFirstRun: a changed name of the source makes other references for what was billed.
func TestAnotherTrackerAccountIsNoFirstRun(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("w1", entry("e1", 1)))
	s.engine = New(s.store, renamedTracker{s.tracker}, s.books, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	s.pass()
	if n := len(s.books.live()); n != 1 {
		t.Errorf("live invoices = %d, want 1", n)
	}
	s.asked(state.Lost)
}

type renamedTracker struct{ *peerTracker }

func (renamedTracker) Account() string { return "tracker-1-renamed" }

// TestAChangedPrefixLosesNothing: what another channel claimed and never billed is asked about, not passed over.
func TestAChangedPrefixLosesNothing(t *testing.T) {
	s := newScene(t)
	s.books.faults = []peerFault{refusedNow}
	s.tracker.put(week("w1", entry("e1", 1)))
	_, _ = s.failing()
	s.rules.Prefix = "x-"
	s.restart()
	s.pass()
	s.asked(state.Moved)
}

// TestASettlingGroupIsNotHandedOver: it waited long for others, and is complete now.
func TestASettlingGroupIsNotHandedOver(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = time.Hour })
	w := inState(week("w1", entry("e1", 1)), tracker.Pending)
	s.tracker.put(w)
	s.pass()
	s.wait(14*24*time.Hour - 30*time.Minute)
	w = inState(again(w, s.now, entry("e1", 1)), tracker.Approved)
	s.tracker.put(w)
	s.pass()
	s.wait(40 * time.Minute)
	s.pass()
	s.wantItems(0)
	s.wait(time.Hour)
	s.pass()
	s.wantLive(1, "100")
}

// TestAPartialReadingEndsNoRebuild: what the tracker holds back may have been billed.
func TestAPartialReadingEndsNoRebuild(t *testing.T) {
	s := newScene(t)
	s.must(s.store.SetRebuild([]state.Channel{s.engine.channel}, s.now))
	s.tracker.partial = true
	s.pass()
	s.tracker.partial = false
	s.tracker.put(week("w1", entry("e1", 1)))
	s.pass()
	s.asked(state.Lost)
	if n := len(s.books.live()); n != 0 {
		t.Errorf("live invoices = %d, want 0", n)
	}
}

// TestAGroupThatCouldNotBeLookedUpStaysDue: its week was withdrawn before the state was lost, and its invoice is
// found as soon as somebody answers.
func TestAGroupThatCouldNotBeLookedUpStaysDue(t *testing.T) {
	s := newScene(t)
	w := week("w1", entry("e1", 1))
	s.bill(1, w)
	s.must(s.store.Close())
	_, err := state.Init(s.path, s.now, []state.Channel{s.engine.channel})
	s.must(err)
	s.store, err = state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.restart()
	s.tracker.put(inState(again(w, s.now, entry("e1", 1)), tracker.Withdrawn))
	s.books.finding = errors.New("503")
	_, _ = s.failing()
	s.books.finding = nil
	s.pass()
	s.asked(state.Mismatch)
}

// inState returns a week in another state.
func inState(w tracker.Week, now tracker.State) tracker.Week {
	w.State = now
	return w
}

// askedAmong checks that there is an item of a kind, whatever others there are.
func (s *scene) askedAmong(kind state.Kind) {
	s.t.Helper()
	if !slices.ContainsFunc(s.items(), func(i state.Item) bool { return i.Kind == kind }) {
		s.t.Errorf("items = %v, want one of kind %s", s.items(), kind)
	}
}
