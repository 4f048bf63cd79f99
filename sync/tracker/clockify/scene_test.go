package clockify

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

// scene is a tracker before a vendor that can be made to answer in other ways.
type scene struct {
	*testing.T
	vendor   vendor
	clockify *Clockify
	// other answers in the vendor's place where it returns a status.
	other func(r *http.Request) (status int, body any)
	// mend changes each request that the vendor lists.
	mend func(one object)

	mu    sync.Mutex
	asked []string
}

// play runs a test in a bubble of time, with changed settings. It begins on the Monday after the week that most
// tests are about.
func play(t *testing.T, change func(*Settings), test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.October, 12, 9, 0, 0, 0, time.UTC)))
		s := &scene{T: t, vendor: vendor{World: &trackertest.World{}, growth: ownRequest}}
		s.clockify = clockifyAt(t, remote.New(remote.Options{Transport: remotetest.Serve(t, http.HandlerFunc(s.serve))}), remotetest.Base, token, change)
		test(s)
	})
}

func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	if s.other != nil {
		if status, answer := s.other(r); status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
	}
	rec := httptest.NewRecorder()
	s.vendor.handler().ServeHTTP(rec, r)
	answer := rec.Body.Bytes()
	var list []object
	if s.mend != nil && json.Unmarshal(answer, &list) == nil {
		for _, one := range list {
			s.mend(one)
		}
		answer, _ = json.Marshal(list)
	}
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(answer)
}

// count counts the requests that contain a text.
func (s *scene) count(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.asked {
		if strings.Contains(one, text) {
			n++
		}
	}
	return n
}

// join adds a member with an approved week that holds one entry.
func (s *scene) join(name string) *trackertest.Sheet {
	return s.vendor.Approve(s.vendor.Join(name, "Europe/Berlin"), trackertest.Monday, s.vendor.Work(trackertest.Monday))
}

// read makes one traversal and joins its pages.
func (s *scene) read(q tracker.Query) (all tracker.Page, err error) {
	q.Now = time.Now()
	for page, err := range s.clockify.Weeks(s.Context(), q) {
		if err != nil {
			return all, err
		}
		all.Weeks, all.Unread = append(all.Weeks, page.Weeks...), append(all.Unread, page.Unread...)
		all.Partial = all.Partial || page.Partial
	}
	return all, nil
}

// all makes one traversal of the last month, which must be good.
func (s *scene) all() tracker.Page {
	s.Helper()
	page, err := s.read(tracker.Query{First: civil.Period{First: trackertest.Monday.AddDays(-31)}})
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

// head returns a part of a request that is listed.
func head(one object, path ...string) object {
	one = one["approvalRequest"].(object)
	for _, name := range path {
		one = one[name].(object)
	}
	return one
}

// work returns the entries of a request that is listed.
func work(one object) (all []object) {
	for _, e := range one["entries"].([]any) {
		all = append(all, e.(object))
	}
	return all
}
