package sync

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
)

func TestMoreThanMaxNewInvoicesCreatesNone(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 3 })
	s.some(4)
	s.bill(0)
	i := s.asked(state.Limit)
	if len(i.List) != 4 || !i.Wanted.Amount.Equal(decimal.NewFromInt(400)) || i.Wanted.Seconds != 4*3600 || !strings.Contains(i.Text, "max_new_invoices") {
		t.Errorf("item = %+v, want 4 of 400 and the setting's name", i)
	}
	s.quiet()
	s.tracker.put(again(week("r0"), s.now, ofProject(entry("e0", 2), "p0"))) // changed after it was listed
	s.rule(i.Subject, Release)
	s.bill(4)
	s.wantLive(4, "500")
}

func TestReleaseIsOfExactlyTheList(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 2 })
	s.some(4)
	s.bill(0)
	i := s.asked(state.Limit)
	s.rule(i.Subject, Release)
	s.some(7) // three more come before the next pass
	s.tracker.put(again(week("r0"), s.now, ofProject(entry("e0", 2), "p0")))
	s.bill(3)
	s.wantLive(3, "300")
	if i = s.asked(state.Limit); len(i.List) != 4 {
		t.Errorf("list = %d, want the changed one and the three new ones", len(i.List))
	}
	s.quiet()
}

func TestLimitEndsWhenLessIsWanted(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 3 })
	s.some(4)
	s.bill(0)
	s.asked(state.Limit)
	s.rules.MaxNew = 10
	s.restart()
	s.bill(4)
	s.wantItems(0)
	s.quiet()
}

func TestLimitOfHeldListStaysHeld(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 1 })
	s.some(2)
	s.bill(0)
	s.rule(s.asked(state.Limit).Subject, Postpone)
	s.bill(0)
	if i := s.items(); len(i) != 1 || i[0].Status != state.Held {
		t.Errorf("items = %+v, want one held", i)
	}
	s.quiet()
	s.wait(3 * 24 * time.Hour)
	s.bill(0)
	s.asked(state.Limit)
}

func TestAdoptingCountsAgainstNoLimit(t *testing.T) {
	s := newScene(t)
	s.some(5)
	s.bill(5)
	s.rules.MaxNew = 1
	s.loseState()
	if report := s.pass(); report.Count(Adopted) != 5 {
		t.Errorf("adopted = %d, want 5", report.Count(Adopted))
	}
	s.wantItems(0)
}
