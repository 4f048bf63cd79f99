package harvest

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

var monday = trackertest.Monday

// request is one that the vendor got.
type request struct {
	at   time.Time
	sent *http.Request
}

// scene is a tracker before a vendor, in a bubble, a week after [trackertest.Monday].
type scene struct {
	*testing.T
	*vendor
	*Harvest
	// instead answers in the vendor's place where it returns true.
	instead func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	requests []request
}

// play runs a test in a scene, with changed settings; nil: none.
func play(t *testing.T, change func(*Settings), test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monday.AddDays(7).In(time.UTC).Add(9 * time.Hour)))
		s := &scene{T: t, vendor: harvest(&trackertest.World{})}
		transport := remotetest.Serve(t, http.HandlerFunc(s.serve))
		s.Harvest = harvestAt(t, remote.New(remote.Options{Transport: transport}), remotetest.Base, token, change)
		test(s)
	})
}

func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, request{time.Now(), r})
	s.mu.Unlock()
	if s.instead == nil || !s.instead(w, r) {
		s.ServeHTTP(w, r)
	}
}

// asked returns the requests for a path.
func (s *scene) asked(path string) (all []request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.sent.URL.Path == path {
			all = append(all, r)
		}
	}
	return all
}

// member joins, with an approved week of two entries from a day on.
func (s *scene) member(name string, first civil.Date) (*trackertest.Member, *trackertest.Sheet) {
	m := s.Join(name, "Europe/Berlin")
	return m, s.Approve(m, first, s.Work(first), s.Work(first.AddDays(1)))
}

// editing changes how one entry is shown.
func (s *scene) editing(e *trackertest.Entry, change func(entry object)) {
	s.edit = func(entry object) {
		if entry["id"] == e.Number {
			change(entry)
		}
	}
}

// told reads what a query asks for.
func (s *scene) told(q tracker.Query) (all tracker.Page, err error) {
	q.Now = time.Now()
	for page, err := range s.Weeks(s.Context(), q) {
		if err != nil {
			return all, err
		}
		all.Weeks, all.Unread, all.Notes = append(all.Weeks, page.Weeks...), append(all.Unread, page.Unread...), append(all.Notes, page.Notes...)
		all.Partial = all.Partial || page.Partial
	}
	return all, nil
}

// from is the query for all weeks from a day on.
func from(first civil.Date) tracker.Query { return tracker.Query{First: civil.Period{First: first}} }

// good reads what a query asks for, which must succeed.
func (s *scene) good(q tracker.Query) tracker.Page {
	s.Helper()
	page, err := s.told(q)
	if err != nil {
		s.Fatal(err)
	}
	return page
}

// only returns the one week that is told.
func (s *scene) only() tracker.Week {
	s.Helper()
	page := s.good(from(monday.AddDays(-7)))
	if len(page.Weeks) != 1 || page.Partial {
		s.Fatalf("told %d weeks, unread %v, partial %v, want 1 week", len(page.Weeks), page.Unread, page.Partial)
	}
	return page.Weeks[0]
}
