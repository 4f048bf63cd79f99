package tempo

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
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

// request is one that the vendor got.
type request struct {
	what string // method and path
	at   time.Time
	body string
	sent *http.Request
}

// scene is a tracker before a vendor that can be made to answer in other ways.
type scene struct {
	*testing.T
	world *trackertest.World
	tempo *Tempo
	// other answers in the vendor's place where it returns a status.
	other func(r *http.Request) (status int, body any)
	// mend changes what the vendor answers.
	mend func(path string, body object)
	// watch looks at each exchange with the vendor; nil: nobody does.
	watch func(vendor http.Handler) http.Handler

	mu       sync.Mutex
	requests []request
}

// play runs a test in a bubble of time, with changed settings. It begins on the Monday after the week that most tests are about.
func play(t *testing.T, change func(*Settings), test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.October, 12, 9, 0, 0, 0, time.UTC)))
		s := &scene{T: t, world: &trackertest.World{}}
		s.tempo = tempoAt(t, remote.New(remote.Options{Transport: remotetest.Serve(t, http.HandlerFunc(s.serve))}), remotetest.Base, token, change)
		test(s)
	})
}

func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.requests = append(s.requests, request{r.Method + " " + r.URL.Path, time.Now(), string(body), r})
	s.mu.Unlock()
	if s.other != nil {
		if status, answer := s.other(r); status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	rec := httptest.NewRecorder()
	vendor := handler(s.world)
	if s.watch != nil {
		vendor = s.watch(vendor)
	}
	vendor.ServeHTTP(rec, r)
	answer := rec.Body.Bytes()
	var value object
	if d := json.NewDecoder(bytes.NewReader(answer)); s.mend != nil && rec.Code == http.StatusOK {
		d.UseNumber()
		if d.Decode(&value) == nil {
			s.mend(r.URL.Path, value)
			answer, _ = json.Marshal(value)
		}
	}
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(answer)
}

// asked counts the requests to paths that begin so.
func (s *scene) asked(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r.what, what) {
			n++
		}
	}
	return n
}

// join adds a member with an approved week that holds one worklog.
func (s *scene) join(name string) *trackertest.Sheet {
	return s.world.Approve(s.world.Join(name, "Europe/Berlin"), trackertest.Monday, s.world.Work(trackertest.Monday))
}

// lastMonth is the query for all weeks of the last month.
func lastMonth() tracker.Query {
	return tracker.Query{Now: time.Now(), First: civil.Period{First: trackertest.Monday.AddDays(-31)}}
}

// read makes one traversal and joins its pages.
func (s *scene) read(q tracker.Query) (all tracker.Page, err error) {
	for page, err := range s.tempo.Weeks(s.Context(), q) {
		if err != nil {
			return all, err
		}
		all.Weeks, all.Unread = append(all.Weeks, page.Weeks...), append(all.Unread, page.Unread...)
		all.Notes = append(all.Notes, page.Notes...)
	}
	return all, nil
}

// all makes one traversal of the last month, which must be good.
func (s *scene) all() tracker.Page {
	s.Helper()
	page, err := s.read(lastMonth())
	if err != nil {
		s.Fatal(err)
	}
	return page
}

// only returns the one week that is told.
func (s *scene) only() tracker.Week {
	s.Helper()
	page := s.all()
	if len(page.Weeks) != 1 || len(page.Unread) != 0 {
		s.Fatalf("%d weeks and unread %v, want one week", len(page.Weeks), page.Unread)
	}
	return page.Weeks[0]
}

// rows returns the rows of a list.
func rows(body object) (all []object) {
	for _, one := range body["results"].([]any) {
		all = append(all, one.(object))
	}
	return all
}
