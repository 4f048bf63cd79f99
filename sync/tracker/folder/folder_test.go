package folder

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func TestPagesAreSortedAndBounded(t *testing.T) {
	s := newScene(t)
	var rows []string
	day := civil.Date{Year: 2025, Month: 1, Day: 6}
	for i := range 125 {
		rows = append(rows, fmt.Sprintf("Zoe|Acme|Site|x|%s|1:00", day.AddDays(7*(124-i))), fmt.Sprintf("Ann|Acme|Site|x|%s|1:00", day.AddDays(7*i)))
	}
	s.rows("a.csv", rows...)
	var sizes []int
	var ids []string
	for page, err := range s.folder().Weeks(t.Context(), tracker.Query{Now: noon()}) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Weeks))
		for _, w := range page.Weeks {
			ids = append(ids, w.Period.First.String()+" "+w.ID)
		}
	}
	if !slices.Equal(sizes, []int{100, 100, 50}) {
		t.Errorf("sizes of pages = %v, want 100, 100 and 50", sizes)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("weeks = %q, want them by first day and id", ids)
	}
}

func TestNotesAndUnreadComeWithTheFirstWeeks(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", oneRow)
	s.drop("b.csv", "a,b\n")
	for page, err := range s.folder().Weeks(t.Context(), tracker.Query{Now: noon()}) {
		if err != nil || len(page.Weeks) != 1 || len(page.Unread) != 1 {
			t.Errorf("page = %s, %v; want one page with the week and the unread file", dump(page), err)
		}
	}
}

func TestTraversalStopsWhereItsReaderStops(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", oneRow)
	s.drop("b.csv", "a,b\n")
	pages := 0
	for range s.folder().Weeks(t.Context(), tracker.Query{Now: noon()}) {
		pages++
		break
	}
	if pages != 1 {
		t.Errorf("pages = %d, want 1", pages)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for page, err := range s.folder().Weeks(ctx, tracker.Query{Now: noon()}) {
		if !errors.Is(err, context.Canceled) || len(page.Weeks) > 0 {
			t.Errorf("Weeks = %s, %v; want that the context ended", dump(page), err)
		}
	}
}

func TestOnlyWantedWeeksAreYielded(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", "Ann|Acme|Site|x|2026-11-03|1:00", "Ann|Acme|Site|x|2026-11-10|1:00", "Ann|Acme|Site|x|2026-11-17|1:00")
	monday := func(day int) civil.Date { return civil.Date{Year: 2026, Month: 11, Day: day} }
	for _, tt := range []struct {
		first, last civil.Date
		want        int
	}{
		{civil.Date{}, civil.Date{}, 3},
		{monday(9), civil.Date{}, 2},
		{monday(10), civil.Date{}, 1},
		{civil.Date{}, monday(9), 2},
		{monday(9), monday(9), 1},
		{monday(10), monday(15), 0},
	} {
		page := s.ask(tracker.Query{Now: noon(), First: civil.Period{First: tt.first, Last: tt.last}, Since: noon()})
		if len(page.Weeks) != tt.want {
			t.Errorf("weeks of %s to %s = %s, want %d", tt.first, tt.last, dump(page.Weeks), tt.want)
		}
	}
}

func TestWeekIsFoundByID(t *testing.T) {
	s := newScene(t)
	s.rows("a.csv", oneRow)
	s.sample("plain.csv")
	s.drop("b.csv", "a,b\n")
	f := s.folder()
	f.now = noon
	for _, id := range []string{"881", "Noor/2026-W46"} {
		if w, err := f.Week(t.Context(), id); err != nil || w.ID != id || w.State != tracker.Approved {
			t.Errorf("Week(%q) = %s, %v; want it", id, dump(w), err)
		}
	}
	for _, id := range []string{"883", "b.csv", "gone.csv", "Noor/2026-W47", "", "..", "a/../a.csv"} {
		if w, err := f.Week(t.Context(), id); !errors.Is(err, tracker.ErrGone) {
			t.Errorf("Week(%q) = %s, %v; want ErrGone", id, dump(w), err)
		}
	}
	s.dropAt("c.csv", togglFile(oneRow), noon())
	if w, err := f.Week(t.Context(), "881"); err == nil || errors.Is(err, tracker.ErrGone) {
		t.Errorf("Week = %s, %v; want an error that is not ErrGone while a file is being written", dump(w), err)
	}
}

func TestSettingsAreCheckedAtOnce(t *testing.T) {
	_, err := New(Settings{Account: " ", Dates: "month", Currency: "Euro"})
	if err == nil {
		t.Fatal("New of bad settings: no error, want one")
	}
	wantText(t, err.Error(), "account: missing", "path: missing", `dates: "month"`, `currency: "Euro"`)
	f, err := New(Settings{Account: "agency", Path: "/x", Dates: dayFirst, Currency: "EUR"})
	if err != nil || f.Account() != "agency" || !f.Traits().Wide || !f.Traits().Feed || f.quiet != defaultQuiet {
		t.Errorf("New = %+v, %v; want the account, both traits and the quiet of 2s", f, err)
	}
}
