package accountingtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// listing is what a list yields, and the error that ended it.
func (s *scene) listing(days civil.Period) (listed []accounting.Receipt, err error) {
	for r, err := range s.system.List(s.Context(), days) {
		if err != nil {
			return listed, err
		}
		listed = append(listed, r)
	}
	return listed, nil
}

// list lists days, which must go well.
func (s *scene) list(days civil.Period) []accounting.Receipt {
	s.Helper()
	listed, err := s.listing(days)
	if err != nil {
		s.Fatalf("List(%s): %v", days, err)
	}
	return listed
}

// on puts a document that bears a day into the books.
func (s *scene) on(reference string, day civil.Date, change func(*Document)) {
	s.put(reference, func(d *Document) {
		d.Date = day
		if change != nil {
			change(d)
		}
	})
}

// references returns what is listed by reference, sorted.
func references(listed []accounting.Receipt) (names []string) {
	for _, r := range listed {
		names = append(names, r.Reference)
	}
	slices.Sort(names)
	return names
}

// listsDays lists a week among others, page by page: both ends of it belong to it, and whoever made an invoice.
func listsDays(s *scene) {
	inv := s.invoice("ts-own")
	days := inv.Period
	s.books.PageSize = 3
	want := []string{"ts-own"}
	for i := range 7 {
		for _, day := range []civil.Date{days.First.AddDays(i), days.First.AddDays(i - 7), days.Last.AddDays(i + 1)} {
			reference := fmt.Sprintf("x-%s", day)
			s.on(reference, day, nil)
			if days.Contains(day) {
				want = append(want, reference)
			}
		}
	}
	s.must(s.create(inv))
	s.settled()
	writes := len(s.sent())
	listed := s.list(days)
	slices.Sort(want)
	if got := references(listed); !slices.Equal(got, want) {
		s.Errorf("List(%s) = %v, want %v", days, got, want)
	}
	for _, r := range listed {
		if !days.Contains(r.Date) || r.ID == "" || r.Reference == "ts-own" && (!r.Bills(inv) || r.Date != inv.Date) {
			s.Errorf("List yields %+v, want it of these days and whole", r)
		}
	}
	if n := len(s.sent()) - writes; n != 0 {
		s.Errorf("List wrote %d times", n)
	}
}

// listsEveryState lists what is final, voided and deleted beside drafts, and two that bear one reference.
func listsEveryState(s *scene) {
	days := s.invoice("").Period
	s.on("ts-draft", days.First, nil)
	s.on("ts-draft", days.First, nil)
	want := map[string]accounting.Status{"ts-draft": accounting.Draft}
	n := 2
	for _, tt := range []struct {
		reference string
		skip      bool
		want      accounting.Status
		put       func(*Document)
	}{
		{"ts-final", s.NoFinal, accounting.Final, func(d *Document) { d.Status = accounting.Final }},
		{"ts-void", s.NoVoid || s.Blind, accounting.Void, func(d *Document) { d.Status = accounting.Void }},
		{"ts-deleted", s.NoDelete || s.Blind, accounting.Void, func(d *Document) { d.Status, d.Deleted = accounting.Void, true }},
	} {
		if !tt.skip {
			s.on(tt.reference, days.Last, tt.put)
			want[tt.reference], n = tt.want, n+1
		}
	}
	s.settled()
	listed := s.list(days)
	if len(listed) != n {
		s.Errorf("List = %d, want %d: %v", len(listed), n, references(listed))
	}
	for _, r := range listed {
		if r.Status != want[r.Reference] {
			s.Errorf("%s is listed as %s, want %s", r.Reference, r.Status, want[r.Reference])
		}
	}
}

// listErrorIsNoEnd breaks each request of a list in turn: what is missing then must never look like the end.
func listErrorIsNoEnd(s *scene) {
	s.books.PageSize = 2
	days := s.invoice("").Period
	for i := range 5 {
		s.on(fmt.Sprintf("ts-%d", i), days.First, nil)
	}
	s.settled()
	s.list(days) // Signs in, where that is a request of its own.
	for _, fault := range []remotetest.Fault{remotetest.Status(401), remotetest.Status(403), remotetest.Status(500), remotetest.HTML, remotetest.Empty, remotetest.Cut, remotetest.Reset} {
		for good := range 3 {
			s.fail("read", append(make([]remotetest.Fault, good), slices.Repeat([]remotetest.Fault{fault}, 20)...)...)
			listed, err := s.listing(days)
			s.fail("read")
			if err == nil && len(listed) < 5 || errors.Is(err, accounting.ErrAbsent) {
				s.Errorf("%s after %d requests: List = %d, %v; want an error", fault, good, len(listed), err)
			}
			s.hidden(err)
			time.Sleep(time.Hour)
		}
	}
	if listed := s.list(days); len(listed) != 5 {
		s.Errorf("List = %d once all is well, want 5", len(listed))
	}
}
