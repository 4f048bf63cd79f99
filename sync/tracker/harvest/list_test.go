package harvest

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// linking makes every page link to somewhere else.
func (s *scene) linking(next any) {
	s.mend = func(path string, answer object) {
		if path == "/v2/time_entries" {
			answer["links"] = object{"next": next}
		}
	}
}

func TestLinkToAnotherHostIsRefused(t *testing.T) {
	for name, next := range map[string]string{
		"another host":      "https://evil.example.com/v2/time_entries?page=2",
		"without a scheme":  "//evil.example.com/v2/time_entries?page=2",
		"in another's name": "https://api.harvestapp.com@evil.example.com/v2/time_entries?page=2",
		"another port":      "http://localhost:8080/v2/time_entries?page=2",
		"another list":      "http://localhost/v2/users?page=2",
		"no query":          "http://localhost/v2/time_entries",
		"no URL":            "http://local host/%zz",
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.member("Ada", monday)
				s.linking(next)
				page, err := s.told(from(monday))
				if !errors.Is(err, remote.Malformed) || len(page.Weeks) > 0 {
					s.Errorf("%d weeks, error %v, want %v", len(page.Weeks), err, remote.Malformed)
				}
				if n := len(s.asked("/v2/time_entries")); n != 1 || len(s.requests) != 2 {
					s.Errorf("%d requests, %d of them for entries; want that of the company and one", len(s.requests), n)
				}
			})
		})
	}
}

// A proxy passes Harvest's own links on, which lead past it. They are followed through it.
func TestLinkThatLeadsPastAProxyIsFollowedThroughIt(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.PageSize = 1
		s.member("Ada", monday)
		s.origin = defaultURL
		if w := s.only(); len(w.Entries) != 2 {
			s.Errorf("told %d entries, want 2", len(w.Entries))
		}
		for _, r := range s.requests {
			if r.sent.Host != "localhost" {
				s.Errorf("%s was asked", r.sent.Host)
			}
		}
	})
}

func TestListThatLeadsInACircleEnds(t *testing.T) {
	for name, next := range map[string]string{"to itself": "/v2/time_entries?page=1", "past the end": "/v2/time_entries?page=7"} {
		play(t, nil, func(s *scene) {
			s.member("Ada", monday)
			s.linking("http://localhost" + next)
			if _, err := s.told(from(monday)); !errors.Is(err, remote.Malformed) || !strings.Contains(err.Error(), "in a circle") {
				s.Errorf("%s: error %v, want %v", name, err, remote.Malformed)
			}
		})
	}
}

func TestAnswerThatIsNoListIsNotAnEmptyAccount(t *testing.T) {
	for _, tt := range []struct{ path, text string }{
		{"/v2/time_entries", `null`},
		{"/v2/time_entries", `{}`},
		{"/v2/time_entries", `[]`},
		{"/v2/time_entries", `{"time_entries":null,"total_pages":1}`},
		{"/v2/time_entries", `{"clients":[],"total_pages":1}`},
		{"/v2/time_entries", `{"time_entries":[{"id":7,"spent_date":"2026-10-05"}]}`},
		{"/v2/time_entries", `{"time_entries":[{"user":{"id":7},"spent_date":"2026-10-05"}]}`},
		{"/v2/clients", `{"message":"welcome"}`},
		{"/v2/clients", `{"clients":[{"name":"Acme"}]}`},
		{"/v2/company", `{}`},
		{"/v2/company", `null`},
	} {
		play(t, nil, func(s *scene) {
			s.member("Ada", monday)
			s.instead = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == tt.path {
					say(w, 200, json.RawMessage(tt.text))
				}
				return r.URL.Path == tt.path
			}
			if page, err := s.told(from(monday)); !errors.Is(err, remote.Malformed) || len(page.Weeks) > 0 {
				s.Errorf("%s answers %s: %d weeks, error %v, want %v", tt.path, tt.text, len(page.Weeks), err, remote.Malformed)
			}
		})
	}
}

// atPage calls a function before each request for a page of entries.
func (s *scene) atPage(number string, change func()) {
	s.before = func(r *http.Request) {
		if r.URL.Path == "/v2/time_entries" && r.URL.Query().Get("page") == number {
			change()
		}
	}
}

// shifting is a week of five entries on five days, of which three pages tell.
func (s *scene) shifting() *trackertest.Sheet {
	s.PageSize = 2
	m := s.Join("Ada", "UTC")
	var entries []*trackertest.Entry
	for i := range 5 {
		entries = append(entries, s.Work(monday.AddDays(i)))
	}
	return s.Approve(m, monday, entries...)
}

func TestEntriesThatMoveMeanwhileHideNoOther(t *testing.T) {
	for name, tt := range map[string]struct {
		move    func(s *scene, sheet *trackertest.Sheet)
		entries int
		again   bool // the list is read twice
	}{
		"one vanishes":               {func(s *scene, sheet *trackertest.Sheet) { s.Shrink(sheet) }, 4, true},
		"one goes to an earlier day": {func(s *scene, sheet *trackertest.Sheet) { day(s, sheet.Entries[4], 0) }, 5, true},
		"one goes to a later day":    {func(s *scene, sheet *trackertest.Sheet) { day(s, sheet.Entries[0], 6) }, 5, true},
		"one comes in":               {func(s *scene, sheet *trackertest.Sheet) { s.Grow(sheet, s.Work(monday.AddDays(6))) }, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				sheet, once := s.shifting(), false
				s.atPage("2", func() {
					if !once {
						once = true
						tt.move(s, sheet)
					}
				})
				w := s.only()
				var ids []string
				for _, e := range w.Entries {
					if slices.Contains(ids, e.ID) {
						s.Errorf("entry %s is told twice", e.ID)
					}
					ids = append(ids, e.ID)
				}
				if len(ids) != tt.entries {
					s.Errorf("told %d entries, want %d", len(ids), tt.entries)
				}
				if n := len(s.asked("/v2/time_entries")); (n > 3) != tt.again {
					s.Errorf("%d requests for 3 pages; read again: want %v", n, tt.again)
				}
			})
		})
	}
}

func day(s *scene, e *trackertest.Entry, n int) {
	s.Edit(e, func(e *trackertest.Entry) { e.Date = monday.AddDays(n) })
}

// A slice that never holds still is left out, and the traversal says that it has not seen everything.
func TestEntriesThatKeepMovingAreLeftForTheNextPass(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.PageSize = 2
		m, n := s.Join("Ada", "UTC"), s.Join("Bob", "UTC")
		var entries []*trackertest.Entry
		for range 9 {
			entries = append(entries, s.Work(monday))
		}
		sheet := s.Approve(m, monday, entries...)
		s.Approve(n, monday.AddDays(-35), s.Work(monday.AddDays(-35)))
		s.atPage("2", func() { s.Shrink(sheet) })
		page, err := s.told(from(monday.AddDays(-35)))
		if err != nil || !page.Partial || len(page.Weeks) != 1 || page.Weeks[0].Member.Name != "Bob" || len(page.Notes) != 1 {
			s.Errorf("told %+v, partial %v, notes %q, %v; want Bob's week, and the rest left", page.Weeks, page.Partial, page.Notes, err)
		}
	})
}

func TestWeekThatKeepsMovingIsAnErrorAndNotGone(t *testing.T) {
	play(t, nil, func(s *scene) {
		sheet := s.shifting()
		for range 6 {
			s.Grow(sheet, s.Work(monday))
		}
		s.atPage("2", func() { s.Shrink(sheet) })
		if w, err := s.Week(s.Context(), "1:2026-10-05"); !errors.Is(err, errShifted) || errors.Is(err, tracker.ErrGone) {
			s.Errorf("Week = %d entries, %v, want %v", len(w.Entries), err, errShifted)
		}
	})
}

// The feed names what it has seen, but a traversal whose feed moved has not seen everything.
func TestFeedThatMovesIsPartial(t *testing.T) {
	play(t, nil, func(s *scene) {
		sheet := s.shifting()
		for range 6 {
			s.Grow(sheet, s.Work(monday))
		}
		since := time.Now().Add(-time.Minute)
		s.before = func(r *http.Request) {
			if q := r.URL.Query(); q.Get("updated_since") != "" && q.Get("page") == "2" {
				s.Shrink(sheet)
			}
		}
		page, err := s.told(feed(since))
		if err != nil || !page.Partial || len(page.Weeks) != 1 || page.Weeks[0].ID != "1:2026-10-05" {
			s.Errorf("told %+v, partial %v, %v; want Ada's week of a partial traversal", page.Weeks, page.Partial, err)
		}
	})
}

func TestTokenIsInNoError(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.instead = func(w http.ResponseWriter, _ *http.Request) bool {
			say(w, 422, object{"message": "what is " + token + "?"})
			return true
		}
		if _, err := s.told(from(monday)); err == nil || strings.Contains(err.Error(), token) {
			s.Errorf("error %v, want one without the token", err)
		}
	})
	other := harvestAt(t, remote.New(remote.Options{}), remotetest.Base, token, nil)
	if strings.Contains(other.Account(), token) {
		t.Error("the account shows the token")
	}
}

func FuzzID(f *testing.F) {
	for _, id := range []string{"1:2026-10-05", "9007199254740993:2026-02-28", ":", "1:2:3", "../:2026-10-05"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if w, err := parseID(id); err == nil && w.id() != id {
			t.Errorf("parseID(%q) is of %q", id, w.id())
		}
	})
}
