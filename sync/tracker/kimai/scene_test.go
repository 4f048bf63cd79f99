package kimai

import (
	"net/http"
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

// scene is a tracker before a vendor, in a bubble, a week after [trackertest.Monday].
type scene struct {
	*testing.T
	*vendor
	*Kimai
	asked []string // the path of each request
}

// play runs a test in a scene, with more settings.
func play(t *testing.T, more string, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monday.AddDays(7).In(time.UTC).Add(9 * time.Hour)))
		s := &scene{T: t, vendor: kimai(&trackertest.World{})}
		transport := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.asked = append(s.asked, r.URL.Path)
			s.ServeHTTP(w, r)
		}))
		s.Kimai = kimaiAt(t, remote.New(remote.Options{Transport: transport}), remotetest.Base, token, more)
		test(s)
	})
}

// member joins, with an approved week of two entries from a Monday on.
func (s *scene) member(name string, first civil.Date) (*trackertest.Member, *trackertest.Sheet) {
	m := s.Join(name, "Europe/Berlin")
	return m, s.Approve(m, first, s.Work(first), s.Work(first.AddDays(1)))
}

// requests returns how often a path was asked for.
func (s *scene) requests(path string) (n int) {
	for _, one := range s.asked {
		if one == "/api"+path {
			n++
		}
	}
	return n
}

// told reads the weeks from a Monday on.
func (s *scene) told(first civil.Date) (all tracker.Page, err error) {
	for page, err := range s.Weeks(s.Context(), tracker.Query{Now: time.Now(), First: civil.Period{First: first}}) {
		if err != nil {
			return all, err
		}
		all.Weeks, all.Kept, all.Unread = append(all.Weeks, page.Weeks...), append(all.Kept, page.Kept...), append(all.Unread, page.Unread...)
	}
	return all, nil
}

// good reads the weeks from a Monday on, which must succeed.
func (s *scene) good(first civil.Date) tracker.Page {
	s.Helper()
	page, err := s.told(first)
	if err != nil {
		s.Fatal(err)
	}
	return page
}

// only returns the one week that is told.
func (s *scene) only() tracker.Week {
	s.Helper()
	page := s.good(monday)
	if len(page.Weeks) != 1 {
		s.Fatalf("told %d weeks, kept %v, unread %v, want 1 week", len(page.Weeks), page.Kept, page.Unread)
	}
	return page.Weeks[0]
}
