package trackertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// team lets n members have an approved week each.
func (s *scene) team(n int) {
	for i := range n {
		m := s.world.Join(fmt.Sprintf("Member %d", i), "Europe/Berlin")
		s.world.Approve(m, Monday, s.world.Work(Monday.AddDays(i%5)))
	}
}

func pages(s *scene) {
	s.world.PageSize = 3
	for _, n := range []int{0, 1, 2, 3, 4, 6, 9, 10} {
		s.world.Members, s.world.Sheets = nil, nil
		s.team(n)
		s.holds(fmt.Sprintf("%d records in pages of 3", n))
	}
}

// itemsShift lets a record leave the list from under a reader. What was not touched must be told, or the reader
// must know that it has not seen everything.
func itemsShift(s *scene) {
	s.world.PageSize = 2
	s.team(7)
	s.onList(func(n int, _ *http.Request) {
		if n == 2 {
			time.Sleep(time.Second)
			s.world.Set(s.world.Sheets[6], tracker.Withdrawn)
			s.world.Set(s.world.Sheets[0], tracker.Withdrawn)
		}
	})
	weeks, partial, err := s.read(everything())
	if err != nil {
		s.Fatal(err)
	}
	s.onList(nil)
	got := told(weeks)
	for key, want := range s.expected(s.world) {
		if _, there := got[key]; !there && !partial && want.State == tracker.Approved {
			s.Errorf("%s was not told while others moved, and the traversal says that it saw everything; told: %v", key, keys(got))
		}
	}
	s.holds("once the list rests")
}

// itemsAppear puts new records in front while the list is read.
func itemsAppear(s *scene) {
	s.world.PageSize = 2
	s.team(5)
	before := s.expected(s.world)
	s.onList(func(n int, _ *http.Request) {
		if n > 1 && n < 5 {
			m := s.world.Join(fmt.Sprintf("Newcomer %d", n), "Europe/Berlin")
			s.world.Approve(m, Monday, s.world.Work(Monday))
		}
	})
	weeks, partial, err := s.read(everything())
	if err != nil {
		s.Fatal(err)
	}
	s.onList(nil)
	got := told(weeks)
	for key := range before {
		if _, there := got[key]; !there && !partial {
			s.Errorf("%s was not told while others appeared; told: %v", key, keys(got))
		}
	}
	s.holds("once the list rests")
}

func faultHeals(s *scene) {
	s.world.PageSize = 2
	s.team(5)
	for _, fault := range []remotetest.Fault{remotetest.Status(500), remotetest.Status(503), remotetest.Status(429), remotetest.Short, remotetest.Reset, remotetest.Silence} {
		s.fail(remotetest.Status(502), fault, "", fault)
		s.holds("after " + string(fault))
	}
}

// faults lets every request to the list fail. That must be an error, and never an empty world.
func faults(s *scene) {
	s.team(3)
	for _, tt := range []struct {
		fault remotetest.Fault
		kind  error
	}{
		{remotetest.Status(400), remote.Rejected},
		{remotetest.Status(401), remote.Unauthorised},
		{remotetest.Status(402), remote.Forbidden},
		{remotetest.Status(403), remote.Forbidden},
		{remotetest.Status(404), nil},
		{remotetest.Status(429), remote.Limited},
		{remotetest.Status(500), remote.Unavailable},
		{remotetest.HTML, remote.Malformed},
		{remotetest.Empty, remote.Malformed},
		{remotetest.Cut, remote.Malformed},
		{remotetest.Short, remote.Unavailable},
		{remotetest.Reset, remote.Unavailable},
		{remotetest.Silence, remote.Unavailable},
	} {
		s.fail(slices.Repeat([]remotetest.Fault{tt.fault}, 1000)...)
		weeks, _, err := s.read(everything())
		switch {
		case err == nil:
			s.Errorf("%s: no error and %d weeks", tt.fault, len(weeks))
		case tt.kind != nil:
			s.wants(string(tt.fault), err, tt.kind)
		}
		s.fail()
		time.Sleep(48 * time.Hour) // Whatever was parked is free again.
		s.holds("after " + string(tt.fault))
	}
}

// feed is the query for what changed since a moment.
func feed(since time.Time) tracker.Query { return tracker.Query{Now: time.Now(), Since: since} }

// changed reads the feed, which must be good. A tracker without one is asked for everything.
func (s *scene) changed(since time.Time) []tracker.Week {
	s.Helper()
	q := feed(since)
	if !s.tracker.Traits().Feed {
		q = everything()
	}
	weeks, _, err := s.read(q)
	if err != nil {
		s.Fatal(err)
	}
	return weeks
}

func equalStamps(s *scene) {
	s.world.PageSize = 2
	s.team(7)
	compare(s.T, "since the stamp that all have", s.expected(s.world), told(s.changed(now())))
}

func lateCommit(s *scene) {
	s.team(2)
	since := now()
	time.Sleep(time.Hour)
	s.team(1)
	s.changed(since)
	late := s.world.Approve(s.world.Join("Late", "Europe/Berlin"), Monday, s.world.Work(Monday))
	late.Changed = since.Add(time.Second)
	late.Entries[0].Updated = late.Changed
	got := told(s.changed(since))
	if _, there := got[late.Member.ID+" "+Monday.String()]; !there {
		s.Errorf("a change with an older stamp is not told though it is after Since; told: %v", keys(got))
	}
}

func futureStamp(s *scene) {
	s.team(1)
	s.world.Sheets[0].Changed = now().Add(48 * time.Hour)
	s.world.Sheets[0].Entries[0].Updated = s.world.Sheets[0].Changed
	for page, err := range s.tracker.Weeks(s.Context(), everything()) {
		if err != nil {
			s.Fatal(err)
		}
		if len(page.Weeks) > 0 && !page.Clock.Equal(time.Now().Truncate(time.Second)) {
			s.Errorf("Clock = %s, want the server's %s", page.Clock, time.Now())
		}
	}
	s.holds("with a stamp in the future")
}

// feedNamesChanges changes one of many and looks whether the feed names it.
func feedNamesChanges(s *scene) {
	s.world.PageSize = 3
	s.team(8)
	for i, state := range []tracker.State{tracker.Withdrawn, tracker.Approved} {
		time.Sleep(24 * time.Hour)
		since := now()
		sheet := s.world.Sheets[i*3]
		if state == tracker.Approved {
			sheet = s.world.Sheets[0]
		}
		s.world.Set(sheet, state)
		key := sheet.Member.ID + " " + Monday.String()
		want, got := s.expected(s.world), told(s.changed(since))
		compare(s.T, string(state), map[string]seen{key: want[key]}, map[string]seen{key: got[key]})
	}
}

// oneWeek asks for one of several weeks.
func oneWeek(s *scene) {
	s.world.PageSize = 2
	m, n := s.world.Join("Ada", "Europe/Berlin"), s.world.Join("Bob", "America/New_York")
	for i := range 4 {
		first := Monday.AddDays(-7 * i)
		s.world.Approve(m, first, s.world.Work(first))
		s.world.Approve(n, first, s.world.Work(first.AddDays(6)))
	}
	for i := range 4 {
		first := Monday.AddDays(-7 * i)
		weeks, _, err := s.read(tracker.Query{Now: time.Now(), First: civil.Period{First: first, Last: first.AddDays(6)}})
		if err != nil {
			s.Fatal(err)
		}
		got, want := told(weeks), s.expected(s.world)
		for _, m := range []*Member{m, n} {
			key := m.ID + " " + first.String()
			compare(s.T, key, map[string]seen{key: want[key]}, map[string]seen{key: got[key]})
		}
	}
}

// stops takes one page and goes away.
func stops(s *scene) {
	s.world.PageSize = 2
	s.team(9)
	for _, err := range s.tracker.Weeks(s.Context(), everything()) {
		if err != nil {
			s.Error(err)
		}
		break
	}
	asked := s.requests()
	time.Sleep(time.Hour)
	if n := s.requests(); n != asked {
		s.Errorf("%d requests after nobody listened any more", n-asked)
	}
}

func cancelled(s *scene) {
	s.team(3)
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	for page, err := range s.tracker.Weeks(ctx, everything()) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("Weeks = %d weeks, %v, want %v", len(page.Weeks), err, context.Canceled)
		}
	}
}

// atOnce makes two traversals at the same time.
func atOnce(s *scene) {
	s.world.PageSize = 2
	s.team(5)
	want := s.expected(s.world)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			weeks, _, err := s.read(everything())
			if err != nil {
				s.Error(err)
			}
			compare(s.T, "two at once", want, told(weeks))
		})
	}
	wait.Wait()
}
