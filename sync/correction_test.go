package sync

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

func TestLiveKeyHoldsAChangeBack(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 8))
	s.bill(1, w)
	s.tracker.put(again(w, s.now, entry("a", 9)))
	s.pass()
	i := s.asked(state.Changed)
	if i.Billed.Seconds != 8*3600 || i.Wanted.Seconds != 9*3600 || !i.Difference().Equal(decimal.NewFromInt(100)) {
		t.Errorf("item = %+v, want 8 h billed, 9 h wanted, 100 more", i)
	}
	s.quiet()
	s.wait(100 * 24 * time.Hour)
	s.pass()
	s.wantLive(1, "800")
	s.asked(state.Changed)
}

func TestChangeBackToWhatWasBilledClosesTheQuestion(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 8))
	s.bill(1, w)
	b := again(w, s.now, entry("a", 9))
	s.tracker.put(b)
	s.pass()
	s.asked(state.Changed)
	s.tracker.put(again(b, s.now, entry("a", 8)))
	s.pass()
	s.wantItems(0)
	s.wantLive(1, "800")
	s.quiet()
}

// TestKeyIsExpiredAtExactlyItsTTL: a re-issue gets through at first seen + ttl and not before, whether or
// not a sweep has run, and a resend stream never keeps its own key alive.
func TestKeyIsExpiredAtExactlyItsTTL(t *testing.T) {
	tests := []struct {
		after time.Duration
		swept bool
		want  string
	}{
		{-time.Nanosecond, false, "100"},
		{0, false, "200"},
		{time.Nanosecond, false, "200"},
		{0, true, "200"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("ttl %+d ns, swept %v", tt.after, tt.swept), func(t *testing.T) {
			s := newScene(t)
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			for range 70 { // the same is sent again each hour
				s.wait(time.Hour)
				s.pass()
			}
			s.wait(2*time.Hour + tt.after)
			if tt.swept {
				clock, err := s.store.Observe(s.now)
				s.must(err)
				if swept, err := s.store.Sweep(clock, s.rules.TTL); err != nil || swept.Keys != 1 {
					t.Fatalf("Sweep = %+v, %v; want one key", swept, err)
				}
			}
			s.tracker.put(again(w, s.now, entry("a", 2)))
			s.pass()
			s.wantLive(1, tt.want)
			if tt.want == "200" {
				ref := s.only().Reference
				s.wantCalls(ref, ref+".2")
				s.wantItems(0)
			}
			s.quiet()
		})
	}
}

func TestCorrectionsReviewNeverUpdates(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = Review })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.wait(100 * time.Hour)
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.pass()
	s.asked(state.Changed)
	s.wantLive(1, "100")
	s.quiet()
}

func TestCorrectionsUpdateDraftsUpdatesAtOnce(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	w = again(w, s.now, entry("a", 2))
	s.tracker.put(w)
	if report := s.pass(); report.Count(Updated) != 1 {
		t.Errorf("updated = %d, want 1", report.Count(Updated))
	}
	s.tracker.put(again(w, s.now, entry("a", 1)))
	s.pass()
	s.wantLive(1, "100")
	ref := s.only().Reference
	s.wantCalls(ref, ref+".2", ref+".3")
	s.quiet()
}

func TestUpdateLeavesAloneWhatIsNoLongerOurDraft(t *testing.T) {
	tests := []struct {
		name string
		mend func(r *accounting.Receipt)
	}{
		{"approved", func(r *accounting.Receipt) { r.Status = accounting.Final }},
		{"voided", func(r *accounting.Receipt) { r.Status = accounting.Void }},
		{"another amount", func(r *accounting.Receipt) { r.Net = decimal.NewFromInt(90) }},
		{"another text", func(*accounting.Receipt) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			s.books.touch("inv-1", tt.mend)
			s.tracker.put(again(w, s.now, entry("a", 2)))
			s.pass()
			if i := s.asked(state.Changed); i.Wanted.Seconds != 7200 || i.Billed.Seconds != 3600 {
				t.Errorf("item = %+v, want both figures", i)
			}
			s.wantCalls(s.only().Reference)
			s.quiet()
		})
	}
}

func TestSystemThatGuardsNothingIsNeverUpdated(t *testing.T) {
	s := newScene(t)
	s.books.traits.GuardsDrafts = false
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.wait(100 * time.Hour)
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.pass()
	s.asked(state.Changed)
	s.wantLive(1, "100")
}

func TestLateWorkIsAPersonsOrASecondInvoice(t *testing.T) {
	for _, late := range []Late{LateReview, SecondInvoice} {
		t.Run(string(late), func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Late = late })
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			w = again(w, s.now, entry("a", 1), entry("b", 2))
			ref := s.only().Reference
			if late == LateReview {
				s.bill(0, w)
				if i := s.asked(state.Late); i.Wanted.Seconds-i.Billed.Seconds != 7200 {
					t.Errorf("item = %+v, want 2 h more", i)
				}
				s.wantCalls(ref)
				s.quiet()
				return
			}
			s.bill(1, w)
			s.wantCalls(ref, ref+".2")
			if second := s.books.live()[1].receipt; second.Reference != ref+"-2" || !second.Net.Equal(decimal.NewFromInt(200)) {
				t.Errorf("second invoice = %+v, want %s-2 of 200", second, ref)
			}
			s.quiet()
			s.wait(100 * time.Hour)
			s.tracker.put(again(w, s.now, entry("a", 1), entry("b", 3)))
			s.pass()
			s.wantLive(2, "400")
			s.wantCalls(ref, ref+".2", ref+".3")
		})
	}
}

func TestWithdrawnIsAPersonsAndNothingIsVoided(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	gone := again(w, s.now, entry("a", 1))
	gone.State = tracker.Withdrawn
	s.tracker.put(gone)
	s.pass()
	s.asked(state.Withdrawn)
	s.wantLive(1, "100")
	s.quiet()
	back := again(gone, s.now, entry("a", 1))
	s.bill(0, back)
	if items := s.items(); len(items) != 1 {
		t.Errorf("items = %v, want the question to stay while the week is withdrawn", items)
	}
	back = again(back, s.now, entry("a", 1))
	back.State = tracker.Approved
	s.bill(0, back)
	s.wantItems(0)
	s.quiet()
}

func TestWeekWithAPersonLeavesTheInvoicesOfOthersAlone(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	ann, bob := week("r1", entry("a", 1)), week("r2", entry("b", 2))
	bob.Member = tracker.Ref{ID: "m2", Name: "Bob"}
	s.bill(1, ann, bob)
	torn := again(bob, s.now, entry("b", 2))
	torn.Trouble = &tracker.Trouble{Kind: tracker.Ambiguous, Text: "two files hold it"}
	s.tracker.put(torn)
	s.pass()
	s.asked(state.Ambiguous)
	s.wantLive(1, "300")
	s.tracker.put(again(ann, s.now, entry("a", 5)))
	s.pass()
	s.wantLive(1, "700")
	s.asked(state.Ambiguous)
	s.quiet()
	s.rule(s.items()[0].Subject, Settle)
	s.pass()
	s.wantLive(1, "700")
	if i := s.items(); len(i) != 1 || i[0].Status != state.Settled {
		t.Errorf("items = %+v, want the settled one alone", i)
	}
	s.quiet()
}

// TestPriceThatWasBilledStays: a rate of the settings counts for what is not claimed yet.
func TestPriceThatWasBilledStays(t *testing.T) {
	none := func(e *tracker.Entry) { e.Rate, e.Currency = decimal.NullDecimal{}, "" }
	s := newScene(t, func(r *Settings) {
		r.Corrections = UpdateDrafts
		r.Rates = []Rate{{Rate: decimal.NewFromInt(50), Currency: "EUR"}}
	})
	w := week("r1", with(entry("a", 1), none))
	s.bill(1, w)
	for _, currency := range []money.Currency{"EUR", "USD"} {
		s.rules.Rates = []Rate{{Rate: decimal.NewFromInt(60), Currency: currency}}
		s.restart()
		s.bill(0)
		s.wantItems(0)
		s.wantLive(1, "50")
	}
	s.tracker.put(again(w, s.now, with(entry("a", 2), none)))
	s.pass()
	s.wantLive(1, "100")
	s.quiet()
}
