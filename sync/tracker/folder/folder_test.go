package folder

import (
	"testing"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

func TestHarvestReportBecomesWeeks(t *testing.T) {
	s := newScene(t)
	s.sample("harvest_time_report_from2026-11-02to2026-11-08.csv")
	weeks := s.clean()
	w := weeks["Ingrid Solheim/2026-W45"]
	if len(weeks) != 3 || len(w.Entries) != 3 {
		t.Fatalf("weeks = %s, want three, one with three entries", dump(weeks))
	}
	if want := (civil.Period{First: civil.Date{Year: 2026, Month: 11, Day: 2}, Last: civil.Date{Year: 2026, Month: 11, Day: 8}}); w.Period != want {
		t.Errorf("Period = %s, want %s", w.Period, want)
	}
	if w.State != tracker.Approved || w.Version != (tracker.Version{Kind: tracker.None}) || !w.Derived || w.Simple {
		t.Errorf("week = %s, want an approved one without version, with derived ids", dump(w))
	}
	if want := time.Date(2026, time.November, 8, 0, 0, 0, 0, time.UTC); !w.Approved.Equal(want) || !w.Changed.Equal(want) {
		t.Errorf("Approved = %s, Changed = %s, want the day in the file's name", w.Approved, w.Changed)
	}
	e := w.Entries[0]
	if e.Seconds != 27000 || e.Rate.Decimal.String() != "95" || e.Currency != "EUR" || !e.Billable || e.Elsewhere || e.Amount.Valid {
		t.Errorf("entry = %s, want the rounded 7.5 h at 95 EUR", dump(e))
	}
	if e.Client.ID != "Fjordlys AS" || e.Project.ID != "Booking site" || e.Task.ID != "Development" || e.Note != "Calendar, first half" {
		t.Errorf("entry = %s, want the names of the row", dump(e))
	}
	if got := weeks["Mats Oduya/2026-W45"].Entries[0]; !got.Elsewhere || got.Currency != "SEK" {
		t.Errorf("entry = %s, want one that was invoiced elsewhere in SEK", dump(got))
	}
	if got := weeks["Lena Brandt/2026-W45"]; got.State != tracker.Pending || !got.Approved.IsZero() {
		t.Errorf("week = %s, want a pending one that was never approved", dump(got))
	}
}

func TestPlainFormSaysTheSameInBothWritings(t *testing.T) {
	for _, file := range []string{"plain.csv", "plain.json"} {
		s := newScene(t)
		s.sample(file)
		weeks := s.clean()
		w := weeks["881"]
		if len(weeks) != 2 || len(w.Entries) != 2 {
			t.Fatalf("%s: weeks = %s, want two, one with two entries", file, dump(weeks))
		}
		if w.Version != (tracker.Version{Kind: tracker.Exact, Number: 3}) || w.State != tracker.Approved || !w.Simple || w.Derived {
			t.Errorf("%s: week = %s, want version 3, approved, simple", file, dump(w))
		}
		if w.Member != (tracker.Ref{ID: "m7", Name: "Ingrid Solheim"}) || w.Entries[0].Client != (tracker.Ref{ID: "c1", Name: "Fjordlys AS"}) {
			t.Errorf("%s: week = %s, want the ids of the columns beside the names", file, dump(w))
		}
		if e := w.Entries[0]; e.ID != "e1" || e.Seconds != 30600 || e.Rate.Decimal.String() != "95" || !e.Billable {
			t.Errorf("%s: entry = %s, want e1 with 8:30 hours at 95", file, dump(e))
		}
		if e := w.Entries[1]; e.Seconds != 27000 || e.Rate.Valid || e.Billable || e.Task != (tracker.Ref{}) {
			t.Errorf("%s: entry = %s, want 7.5 hours without a rate, not billable", file, dump(e))
		}
		if got := weeks["882"]; got.State != tracker.Withdrawn || len(got.Entries) != 0 || !got.Approved.IsZero() {
			t.Errorf("%s: week = %s, want a withdrawn one without entries", file, dump(got))
		}
	}
}
