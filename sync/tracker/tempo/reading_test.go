package tempo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

const approvals = "/4/timesheet-approvals/user/"

// The day of a worklog is that of its author, wherever the author lives.
func TestDayIsTheAuthorsOwn(t *testing.T) {
	play(t, nil, func(s *scene) {
		for _, zone := range []string{"Pacific/Kiritimati", "America/Los_Angeles"} {
			early, late := s.world.Work(trackertest.Monday), s.world.Work(trackertest.Monday.AddDays(6))
			early.Clock, late.Clock = 0, 23*time.Hour+59*time.Minute
			s.world.Approve(s.world.Join(zone, zone), trackertest.Monday, early, late)
		}
		s.mend = func(path string, body object) {
			if path != "/4/worklogs/search" {
				return
			}
			for i, row := range rows(body) {
				row["startDateTimeUtc"], row["startTime"] = []string{"2026-10-04T10:00:00Z", "2026-10-12T06:59:00Z"}[i%2], 72360
			}
		}
		for _, w := range s.all().Weeks {
			if got := fmt.Sprint(w.Entries[0].Date, w.Entries[1].Date); got != "2026-10-05 2026-10-11" {
				s.Errorf("%s worked on %s, want 2026-10-05 2026-10-11", w.Member.Name, got)
			}
		}
	})
}

func TestDayAloneIsNoVersion(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.mend = func(path string, body object) {
			if path == logPath {
				body["results"] = body["results"].([]any)[1:] // Its submission would be of the same day.
			}
			day(body)
		}
		w := s.only()
		if w.Version != (tracker.Version{Kind: tracker.None}) || w.State != tracker.Approved || !w.Changed.Equal(time.Date(2026, 10, 12, 0, 0, 0, 0, time.UTC)) {
			s.Errorf("version %+v, %s, changed %s; want none, approved, at the beginning of the day", w.Version, w.State, w.Changed)
		}
		if n := s.asked("GET " + approvals); n != 2 {
			s.Errorf("the approval was read %d times, want before and after the worklogs", n)
		}
	})
}

// day cuts the times of approvals to days.
func day(body object) {
	cut := func(one object) {
		if status, is := one["status"].(object); is {
			status["updatedAt"] = status["updatedAt"].(string)[:len(time.DateOnly)]
		}
	}
	cut(body)
	if _, list := body["results"]; list {
		for _, row := range rows(body) {
			cut(row)
		}
	}
}

func TestStampOfTheLogSparesARequest(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.join("Bob")
		s.mend = func(path string, body object) {
			if path == logPath { // Nobody says in which order its rows are.
				slices.Reverse(body["results"].([]any)[:2])
			}
		}
		if got := len(s.all().Weeks); got != 2 {
			s.Errorf("%d weeks, want 2", got)
		}
		for what, want := range map[string]int{"POST " + logPath: 1, "GET " + approvals: 2, "POST /4/worklogs/search": 1} {
			if n := s.asked(what); n != want {
				s.Errorf("%s was asked %d times, want %d", what, n, want)
			}
		}
	})
}

func TestRateOfRequestsIsKept(t *testing.T) {
	for perSecond, gap := range map[float64]time.Duration{0: time.Second / 2, 5: time.Second / 5} {
		play(t, func(s *Settings) { s.RequestsPerSecond = perSecond }, func(s *scene) {
			s.world.PageSize = 3
			for range 12 {
				s.join("Member")
			}
			s.all()
			var last time.Time
			for _, r := range s.requests {
				if !strings.Contains(r.what, " /4/") {
					continue
				}
				if r.at.Sub(last) < gap-time.Millisecond {
					s.Errorf("at %v a second %s came %s after another", perSecond, r.what, r.at.Sub(last))
				}
				last = r.at
			}
		})
	}
}

func TestAccountIDMayHaveColons(t *testing.T) {
	play(t, nil, func(s *scene) {
		sheet := s.join("Ada")
		const id = "557058:295406f3-a1fc-4733-b906-dd15d021bd79"
		s.world.Delete(sheet)
		sheet.Member.ID = id
		again := s.world.Approve(sheet.Member, trackertest.Monday, sheet.Entries...)
		w := s.only()
		if w.ID != id+"|2026-10-05|2026-10-11" || w.Member != (tracker.Ref{ID: id, Name: "Ada"}) || len(w.Entries) != len(again.Entries) {
			s.Errorf("week %s of %+v with %d entries", w.ID, w.Member, len(w.Entries))
		}
		if one, err := s.tempo.Week(s.Context(), w.ID); err != nil || one.ID != w.ID {
			s.Errorf("Week = %s, %v", one.ID, err)
		}
	})
}

// A word on an approval that nobody understands is no approval, and stops nobody else.
func TestApprovalThatIsNotUnderstood(t *testing.T) {
	for name, change := range map[string]func(body object){
		"a state that is unknown":   func(b object) { b["status"].(object)["key"] = "ARCHIVED" },
		"no state":                  func(b object) { delete(b["status"].(object), "key") },
		"a time that is none":       func(b object) { b["status"].(object)["updatedAt"] = "yesterday" },
		"another period":            func(b object) { b["period"].(object)["to"] = "2026-10-31" },
		"another member":            func(b object) { b["user"].(object)["accountId"] = "99" },
		"a period without its ends": func(b object) { b["period"] = object{} },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				ada := s.join("Ada")
				s.join("Bob")
				s.mend = func(path string, body object) {
					if path == approvals+ada.Member.ID {
						change(body)
					}
				}
				page := s.all()
				if len(page.Weeks) != 1 || page.Weeks[0].Member.Name != "Bob" {
					s.Errorf("weeks %+v, want Bob's", page.Weeks)
				}
				if len(page.Unread) != 1 || page.Unread[0].ID != ada.Member.ID+"|2026-10-05|2026-10-11" {
					s.Fatalf("unread %+v, want Ada's", page.Unread)
				}
				if _, err := s.tempo.Week(s.Context(), page.Unread[0].ID); err == nil || errors.Is(err, tracker.ErrGone) || err.Error() != page.Unread[0].Reason {
					s.Errorf("Week = %v, want %s", err, page.Unread[0].Reason)
				}
			})
		})
	}
}

// Whoever may not be seen is said by name, and hides nobody else.
func TestMemberWhoMayNotBeSeen(t *testing.T) {
	for name, path := range map[string]string{"approval": approvals, "worklogs": "/4/worklogs/search"} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				ada := s.join("Ada")
				s.join("Bob")
				s.join("Cid")
				s.other = func(r *http.Request) (int, any) {
					var asked struct{ AuthorIDs []string }
					_ = json.NewDecoder(r.Body).Decode(&asked)
					if strings.HasPrefix(r.URL.Path, path) && strings.Contains(r.URL.Path+" "+strings.Join(asked.AuthorIDs, " ")+" ", ada.Member.ID+" ") || r.URL.Path == approvals+ada.Member.ID && path == approvals {
						return 403, object{}
					}
					return 0, nil
				}
				page := s.all()
				if len(page.Weeks) != 2 || len(page.Unread) != 1 || !strings.HasPrefix(page.Unread[0].ID, ada.Member.ID+"|") {
					s.Errorf("%d weeks and unread %+v, want 2 and Ada's", len(page.Weeks), page.Unread)
				}
			})
		})
	}
}

func TestNobodysWorklogsIsAnError(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.join("Bob")
		s.other = func(r *http.Request) (int, any) {
			if r.URL.Path == "/4/worklogs/search" {
				return 403, object{}
			}
			return 0, nil
		}
		if page, err := s.read(lastMonth()); !errors.Is(err, remote.Forbidden) || len(page.Unread) > 0 {
			s.Errorf("error %v and unread %+v, want %v alone", err, page.Unread, remote.Forbidden)
		}
	})
}

// Tempo shows fewer worklogs to those who may not see all, without a word. What it counts tells.
func TestWorklogsThatAreHidden(t *testing.T) {
	for name, tt := range map[string]struct {
		shown            int
		remarks, trouble bool
	}{"none of them": {2, false, false}, "some of them": {1, true, false}, "all of them": {0, false, true}} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.world.Approve(s.world.Join("Ada", "UTC"), trackertest.Monday, s.world.Work(trackertest.Monday), s.world.Work(trackertest.Monday))
				s.mend = func(path string, body object) {
					if path == "/4/worklogs/search" {
						body["results"] = body["results"].([]any)[:tt.shown]
					}
				}
				if w := s.only(); len(w.Remarks) > 0 != tt.remarks || (w.Trouble != nil) != tt.trouble || len(w.Entries) != tt.shown {
					s.Errorf("%d entries, remarks %q, trouble %v", len(w.Entries), w.Remarks, w.Trouble)
				}
			})
		})
	}
}

// An approval that is withdrawn while its worklogs are read is told as it is at the end; one that never rests
// is not told at all.
func TestApprovalThatMovesWhileItIsRead(t *testing.T) {
	for name, tt := range map[string]struct {
		moves int
		next  tracker.State
		want  string
	}{
		"withdrawn":                    {1, tracker.Withdrawn, "[pending]"},
		"approved again":               {1, tracker.Approved, "[approved]"},
		"approved again, twice":        {2, tracker.Approved, "[approved]"},
		"approved again and again":     {99, tracker.Approved, "[]"},
		"never, and an edit meanwhile": {0, tracker.Approved, "[approved]"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				ada := s.join("Ada")
				moved := 0
				s.other = func(r *http.Request) (int, any) {
					if moved < tt.moves && strings.HasPrefix(r.URL.Path, approvals) {
						moved++
						time.Sleep(2 * time.Second)
						s.world.Set(ada, tt.next)
						s.world.Edit(ada.Entries[0], func(e *trackertest.Entry) { e.Seconds += 60 })
					}
					return 0, nil
				}
				page, states := s.all(), []tracker.State{}
				for _, w := range page.Weeks {
					states = append(states, w.State)
					if got := w.Entries[0].Seconds; w.State == tracker.Approved && got != ada.Entries[0].Seconds {
						s.Errorf("%d seconds are approved, want %d", got, ada.Entries[0].Seconds)
					}
				}
				if fmt.Sprint(states) != tt.want || len(page.Weeks)+len(page.Unread) != 1 {
					s.Errorf("states %v and unread %+v, want %s", states, page.Unread, tt.want)
				}
			})
		})
	}
}

// A worklog that vanishes while the pages are read moves all later ones up; none of them may be left out.
func TestWorklogsAreReadWholeWhileSomeVanish(t *testing.T) {
	play(t, nil, func(s *scene) {
		var entries []*trackertest.Entry
		for range 9 {
			entries = append(entries, s.world.Work(trackertest.Monday))
		}
		sheet := s.world.Submit(s.world.Join("Ada", "UTC"), trackertest.Week(trackertest.Monday), entries...)
		s.world.PageSize = 3
		s.other = func(r *http.Request) (int, any) {
			if r.URL.Path == "/4/worklogs/search" && r.URL.Query().Get("offset") == "2" && len(sheet.Entries) == 9 {
				defer s.world.Lock()()
				sheet.Entries = sheet.Entries[1:]
			}
			return 0, nil
		}
		if w := s.only(); len(w.Entries) != 8 {
			s.Errorf("%d worklogs, want 8", len(w.Entries))
		}
	})
}

func TestLogIsReadFromFarEnoughBack(t *testing.T) {
	at := func(days int) time.Time {
		return time.Date(2026, time.October, 12, 9, 0, 0, 0, time.UTC).AddDate(0, 0, days)
	}
	first := func(days int) civil.Period { return civil.Period{First: civil.DateOf(at(days))} }
	for name, tt := range map[string]struct {
		query tracker.Query
		want  string
		note  bool
	}{
		"a day behind the feed":       {tracker.Query{Since: at(-3)}, "2026-10-08T09:00:00Z", false},
		"in another zone":             {tracker.Query{Since: at(-3).In(time.FixedZone("", 7200))}, "2026-10-08T09:00:00Z", false},
		"a month before a range":      {tracker.Query{First: first(-60)}, "2026-07-13T00:00:00Z", false},
		"no more than two years":      {tracker.Query{First: first(-720)}, "2024-10-13T09:00:00Z", false},
		"a range of before that":      {tracker.Query{First: first(-760)}, "2024-10-13T09:00:00Z", true},
		"a range without a beginning": {tracker.Query{}, "2024-10-13T09:00:00Z", true},
		"a feed after a long rest":    {tracker.Query{Since: at(-800)}, "2024-10-13T09:00:00Z", true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				tt.query.Now = time.Now()
				page, err := s.read(tt.query)
				if want := `{"updatedFrom":"` + tt.want + `"}`; err != nil || s.requests[0].body != want || len(page.Notes) > 0 != tt.note {
					s.Errorf("asked for %s, notes %q, %v; want %s, a note %v", s.requests[0].body, page.Notes, err, want, tt.note)
				}
			})
		})
	}
}

func TestLogRowThatCannotBePlaced(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.join("Bob")
		s.mend = func(path string, body object) {
			if path != logPath {
				return
			}
			for _, row := range rows(body)[:2] {
				row["period"].(object)["from"] = "soon"
			}
		}
		page := s.all()
		if len(page.Weeks) != 1 || len(page.Unread) == 0 || !strings.Contains(page.Unread[0].Reason, `"soon" is not a date`) {
			s.Errorf("%d weeks and unread %+v, want Bob's and a reason", len(page.Weeks), page.Unread)
		}
	})
}

func TestAnswerThatIsNoListIsAnError(t *testing.T) {
	for name, change := range map[string]func(body object){
		"no results":                func(b object) { delete(b, "results") },
		"no metadata":               func(b object) { delete(b, "metadata") },
		"a page that leads nowhere": func(b object) { b["results"], b["metadata"] = []any{}, object{"next": "x", "nextPageToken": "x"} },
	} {
		for _, path := range []string{logPath, "/4/worklogs/search", "/4/accounts/search"} {
			t.Run(name+" of "+path, func(t *testing.T) {
				play(t, nil, func(s *scene) {
					s.join("Ada")
					s.mend = func(at string, body object) {
						if at == path {
							change(body)
						}
					}
					if page, err := s.read(lastMonth()); !errors.Is(err, remote.Malformed) || len(page.Weeks) != 0 {
						s.Errorf("%d weeks, %v; want %v", len(page.Weeks), err, remote.Malformed)
					}
				})
			})
		}
	}
}

func TestLogPageThatLeadsToItselfIsAnError(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.mend = func(path string, body object) {
			if path == logPath {
				body["metadata"].(object)["nextPageToken"] = "0"
			}
		}
		if _, err := s.read(lastMonth()); !errors.Is(err, remote.Malformed) {
			s.Errorf("error %v, want %v", err, remote.Malformed)
		}
	})
}

// Many members have one period in several pages, and each page is of one period.
func TestPagesAreOfOnePeriod(t *testing.T) {
	var sheets []sheet
	for i := range 120 {
		first := trackertest.Monday
		if i >= 103 {
			first = first.AddDays(7)
		}
		sheets = append(sheets, sheet{user: fmt.Sprint(i), days: trackertest.Week(first)})
	}
	var sizes []int
	for batch := range batches(sheets) {
		sizes = append(sizes, len(batch))
	}
	if got := fmt.Sprint(sizes); got != "[50 50 3 17]" {
		t.Errorf("batches of %s, want [50 50 3 17]", got)
	}
}
