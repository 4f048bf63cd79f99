package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// feed is the query for what changed since a moment.
func feed(since time.Time) tracker.Query { return tracker.Query{Since: since} }

func TestHoursAreThoseOfTheSettings(t *testing.T) {
	for form, want := range map[string]int64{"": 8100, rounded: 8100, exact: 7596} {
		play(t, func(s *Settings) { s.Hours = form }, func(s *scene) {
			s.member("Ada", monday)
			s.edit = func(entry object) { entry["hours"], entry["rounded_hours"] = 2.11, 2.25 }
			if got := s.only().Entries[0].Seconds; got != want {
				s.Errorf("hours: %q: %d s, want %d", form, got, want)
			}
		})
	}
}

func TestSecondsAreWholeAndNearest(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "0.0": 0, "0.01": 36, "0.33": 1188, "0.33333": 1200, "2.11": 7596, "1e1": 36000, "0.0001": 0, "0.00015": 1, "1000": 3600000} {
		n := json.Number(text)
		got, err := timeEntry{RoundedHours: &n}.seconds(rounded)
		if got != want || err != nil {
			t.Errorf("%s hours are %d s, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"-0.5", "1000.01", "1e300", "1e-300", "x", ""} {
		n := json.Number(text)
		if got, err := (timeEntry{RoundedHours: &n}).seconds(rounded); err == nil {
			t.Errorf("%s hours are %d s, want an error", text, got)
		}
	}
}

// An entry may be locked for many reasons. Only one that is on an invoice of Harvest was billed.
func TestBilledIsNotTheSameAsLocked(t *testing.T) {
	for _, tt := range []struct{ locked, billed bool }{{true, false}, {false, true}, {true, true}, {false, false}} {
		play(t, nil, func(s *scene) {
			s.member("Ada", monday)
			s.edit = func(entry object) { entry["is_locked"], entry["is_billed"] = tt.locked, tt.billed }
			if w := s.only(); w.Entries[0].Elsewhere != tt.billed || w.State != tracker.Approved {
				s.Errorf("locked %v, billed %v: %s, elsewhere %v", tt.locked, tt.billed, w.State, w.Entries[0].Elsewhere)
			}
		})
	}
}

func TestLockedIsNotApproved(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.member("Ada", monday)
		s.edit = func(entry object) {
			entry["is_locked"], entry["is_closed"], entry["approval_status"] = true, true, "submitted"
		}
		if w := s.only(); w.State != tracker.Pending || len(w.Entries) != 2 {
			s.Errorf("told %s with %d entries, want pending with 2", w.State, len(w.Entries))
		}
	})
}

func TestRateThatIsNotToldIsUnknownAndNotZero(t *testing.T) {
	for name, tt := range map[string]struct {
		rate any
		want string // empty: unknown
	}{
		"null": {nil, ""}, "nothing": {"-", ""}, "zero is a price": {0.0, "0"}, "exact": {0.29, "0.29"}, "as text": {"117.50", "117.5"},
	} {
		play(t, nil, func(s *scene) {
			s.member("Ada", monday)
			s.edit = func(entry object) {
				if entry["billable_rate"] = tt.rate; tt.rate == "-" {
					delete(entry, "billable_rate")
				}
			}
			w := s.only()
			e := w.Entries[0]
			if e.Rate.Valid != (tt.want != "") || e.Rate.Valid && e.Rate.Decimal.String() != tt.want || !e.Billable || e.Amount.Valid || w.Trouble != nil {
				s.Errorf("%s: rate %v, billable %v, trouble %v; want %q", name, e.Rate, e.Billable, w.Trouble, tt.want)
			}
		})
	}
}

func TestWeekIsUnreadWhereApprovalIsNotTold(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(entry object)
		says   string
	}{
		"an unknown status": {func(e object) { e["approval_status"] = "partially_approved" }, `approval_status "partially_approved"`},
		"an empty one":      {func(e object) { e["approval_status"] = "" }, `approval_status ""`},
		"in other letters":  {func(e object) { e["approval_status"] = "Approved" }, `approval_status "Approved"`},
		"nothing at all": {func(e object) {
			delete(e, "approval_status")
			e["is_closed"] = nil
		}, "neither approval_status nor is_closed"},
		"no day": {func(e object) { e["spent_date"] = "soon" }, "spent_date"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				_, sheet := s.member("Ada", monday)
				s.member("Bob", monday)
				s.editing(sheet.Entries[1], tt.change)
				page := s.good(from(monday))
				if len(page.Weeks) != 1 || page.Weeks[0].Member.Name != "Bob" {
					s.Errorf("told %+v, want Bob's week alone", page.Weeks)
				}
				if len(page.Unread) != 1 || page.Unread[0].ID != "1:2026-10-05" || !strings.Contains(page.Unread[0].Reason, tt.says) || !strings.Contains(page.Unread[0].Reason, fmt.Sprint(sheet.Entries[1].Number)) {
					s.Errorf("unread %+v, want Ada's week, with the entry and %q", page.Unread, tt.says)
				}
				if _, err := s.Week(s.Context(), "1:2026-10-05"); err == nil || errors.Is(err, tracker.ErrGone) || !strings.Contains(err.Error(), tt.says) {
					s.Errorf("Week = %v, want an error that says %q", err, tt.says)
				}
			})
		})
	}
}

func TestEntryThatIsWrongIsTroubleOfItsWeek(t *testing.T) {
	for name, tt := range map[string]struct {
		member string
		value  any
		says   string
	}{
		"negative time":         {"rounded_hours", -1, "rounded_hours is -1"},
		"more than a month":     {"rounded_hours", 1001, "rounded_hours is 1001"},
		"no time":               {"rounded_hours", nil, "rounded_hours is missing"},
		"a negative rate":       {"billable_rate", -90, "billable_rate is -90"},
		"a rate beyond bounds":  {"billable_rate", 1e300, "billable_rate"},
		"nothing about billing": {"is_billed", nil, "is_billed"},
		"nothing of a timer":    {"is_running", nil, "is_running"},
		"billable or not":       {"billable", nil, "billable"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				_, sheet := s.member("Ada", monday)
				s.editing(sheet.Entries[0], func(entry object) { entry[tt.member] = tt.value })
				w := s.only()
				if w.Trouble == nil || w.Trouble.Kind != tracker.Incomplete || !strings.Contains(w.Trouble.Text, tt.says) || !strings.Contains(w.Trouble.Text, "mend it in Harvest") {
					s.Errorf("trouble %+v, want %q", w.Trouble, tt.says)
				}
			})
		})
	}
}

func TestCurrencyIsThatOfTheClient(t *testing.T) {
	for name, tt := range map[string]struct {
		change   func(*scene)
		want     string
		trouble  bool
		singly   int // requests for a client alone
		notes    int
		weekOnly bool
	}{
		"of the list": {change: func(*scene) {}, want: "EUR"},
		"of a client that is newer than the list": {change: func(s *scene) {
			s.mend = func(path string, answer object) {
				if path == "/v2/clients" {
					answer["clients"] = []object{}
				}
			}
		}, want: "EUR", singly: 1},
		"hidden": {change: func(s *scene) { s.clients = false }, notes: 1},
		"none": {change: func(s *scene) {
			s.mend = func(path string, answer object) {
				if path == "/v2/clients" {
					answer["clients"].([]object)[0]["currency"] = nil
				}
			}
		}},
		"one that there is not": {change: func(s *scene) {
			s.mend = func(path string, answer object) {
				if path == "/v2/clients" {
					answer["clients"].([]object)[0]["currency"] = "EURO"
				}
			}
		}, trouble: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.member("Ada", monday)
				tt.change(s)
				page := s.good(from(monday))
				w := page.Weeks[0]
				if string(w.Entries[1].Currency) != tt.want || (w.Trouble != nil) != tt.trouble || len(page.Notes) != tt.notes {
					s.Errorf("currency %q, trouble %v, notes %q; want %q", w.Entries[1].Currency, w.Trouble, page.Notes, tt.want)
				}
				if got := len(s.asked("/v2/clients/501")); got != tt.singly || len(s.asked("/v2/clients")) != 1 {
					s.Errorf("asked %d times for the client, %d for the list; want %d and 1", got, len(s.asked("/v2/clients")), tt.singly)
				}
			})
		})
	}
}

func TestPartOfAWeekWaitsOrIsTaken(t *testing.T) {
	for form, want := range map[string]tracker.State{"": tracker.Growing, wait: tracker.Growing, take: tracker.Approved} {
		play(t, func(s *Settings) { s.Partial = form }, func(s *scene) {
			_, sheet := s.member("Ada", monday)
			later := s.Work(monday.AddDays(3))
			s.Grow(sheet, later)
			w := s.only()
			if w.State != want || len(w.Entries) != 2 || !w.Changed.Equal(later.Updated) {
				s.Errorf("partial %q: %s with %d entries, want %s with 2", form, w.State, len(w.Entries), want)
			}
			s.Set(sheet, tracker.Approved)
			if w := s.only(); w.State != tracker.Approved || len(w.Entries) != 3 {
				s.Errorf("partial %q: all approved: %s with %d entries, want approved with 3", form, w.State, len(w.Entries))
			}
			s.Set(sheet, tracker.Withdrawn)
			if w := s.only(); w.State != tracker.Pending || len(w.Entries) != 3 {
				s.Errorf("partial %q: none approved: %s with %d entries, want pending with 3", form, w.State, len(w.Entries))
			}
		})
	}
}

func TestWeekBeginsOnTheDayOfTheCompany(t *testing.T) {
	for day, first := range map[time.Weekday]string{time.Saturday: "2026-10-03", time.Sunday: "2026-10-04", time.Monday: "2026-10-05"} {
		play(t, nil, func(s *scene) {
			m, _ := s.member("Ada", monday)
			m.Begins = day
			w := s.only()
			if w.ID != "1:"+first || w.Period.First.String() != first || w.Period.Last != w.Period.First.AddDays(6) {
				s.Errorf("%s: week %s of %s", day, w.ID, w.Period)
			}
			m.Begins = (day + 1) % 7
			if _, err := s.Week(s.Context(), w.ID); err == nil || errors.Is(err, tracker.ErrGone) || !strings.Contains(err.Error(), "first day of the week") {
				s.Errorf("%s: Week after weeks begin on another day = %v, want an error that says so", day, err)
			}
		})
	}
	play(t, nil, func(s *scene) {
		s.member("Ada", monday)
		s.mend = func(path string, answer object) { delete(answer, "week_start_day") }
		if _, err := s.told(from(monday)); !errors.Is(err, remote.Malformed) {
			s.Errorf("without a first day: %v, want %v", err, remote.Malformed)
		}
	})
}

// Four weeks are asked for at once, and the last request has no end: work may be written down ahead.
func TestRangeIsReadInSlices(t *testing.T) {
	play(t, nil, func(s *scene) {
		for i := range 12 {
			s.member(fmt.Sprint("Member ", i), monday.AddDays(7*(i-9)))
		}
		page := s.good(from(monday.AddDays(-66)))
		if len(page.Weeks) != 12 {
			s.Errorf("told %d weeks, want 12", len(page.Weeks))
		}
		var got []string
		for _, r := range s.asked("/v2/time_entries") {
			got = append(got, r.sent.URL.Query().Get("from")+".."+r.sent.URL.Query().Get("to"))
		}
		if want := "[2026-08-03..2026-08-30 2026-08-31..2026-09-27 2026-09-28..]"; fmt.Sprint(got) != want {
			s.Errorf("asked for %v, want %s", got, want)
		}
		two := s.good(tracker.Query{First: civil.Period{First: monday.AddDays(-7), Last: monday.AddDays(6)}})
		if len(two.Weeks) != 2 {
			s.Errorf("told %d weeks of a range of two", len(two.Weeks))
		}
	})
}

// What changed is told whole, and nothing else is.
func TestFeedTellsTheWeeksOfEntriesThatChanged(t *testing.T) {
	play(t, nil, func(s *scene) {
		_, old := s.member("Ada", monday.AddDays(-70))
		s.member("Bob", monday.AddDays(-70))
		_, recent := s.member("Cleo", monday)
		time.Sleep(time.Hour)
		since := time.Now().Truncate(time.Second)
		s.Edit(old.Entries[0], func(e *trackertest.Entry) { e.Note = "changed" })
		s.Edit(recent.Entries[0], func(e *trackertest.Entry) { e.Note = "changed" })
		page := s.good(feed(since))
		if len(page.Weeks) != 2 || page.Weeks[0].ID != "1:2026-07-27" || len(page.Weeks[0].Entries) != 2 || page.Weeks[1].Member.Name != "Cleo" {
			s.Errorf("told %+v, want two weeks of Ada and Cleo, whole", page.Weeks)
		}
		if n := len(s.asked("/v2/time_entries")); n != 3 {
			s.Errorf("%d requests for entries, want 3: the change, and two weeks", n)
		}
	})
}

func TestLimitIsKept(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.PageSize = 1
		m := s.Join("Ada", "UTC")
		var entries []*trackertest.Entry
		for range 150 {
			entries = append(entries, s.Work(monday))
		}
		s.Approve(m, monday, entries...)
		s.only()
		for i, r := range s.requests {
			if i >= 100 && r.at.Sub(s.requests[i-100].at) < 15*time.Second {
				s.Fatalf("request %d is the 101st within %v, want 15 s", i, r.at.Sub(s.requests[i-100].at))
			}
		}
		if len(s.requests) < 150 {
			s.Errorf("%d requests, want one for each entry at least", len(s.requests))
		}
	})
}

func TestTooManyRequestsWaitAsLongAsHarvestSays(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.member("Ada", monday)
		var refused time.Time
		s.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/v2/time_entries" || !refused.IsZero() {
				return false
			}
			refused = time.Now()
			w.Header().Set("Retry-After", "15")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		s.only()
		if asked := s.asked("/v2/time_entries"); len(asked) != 2 || asked[1].at.Sub(refused) < 15*time.Second {
			s.Errorf("%d requests for entries, the second %v after it was refused; want 2 and 15 s", len(asked), asked[len(asked)-1].at.Sub(refused))
		}
	})
}

// The reports' limit has minutes: nobody sleeps that long within a request.
func TestLongWaitParksTheAccount(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.member("Ada", monday)
		s.instead = func(w http.ResponseWriter, r *http.Request) bool {
			remotetest.Quota.Answer(w, r)
			return true
		}
		_, err := s.told(from(monday))
		parked, is := errors.AsType[*remote.Error](err)
		if !is || parked.Kind != remote.Limited || !parked.ParkedUntil().After(time.Now().Add(time.Hour)) {
			s.Errorf("error %v, want one that says until when", err)
		}
	})
}

func TestTokenWithoutPermissionIsAnErrorThatSaysSo(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.member("Ada", monday)
		s.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v2/time_entries" {
				say(w, 403, object{"message": "You are not authorized to see these"})
			}
			return r.URL.Path == "/v2/time_entries"
		}
		if page, err := s.told(from(monday)); !errors.Is(err, remote.Forbidden) || !strings.Contains(err.Error(), "not authorized to see") || len(page.Weeks) > 0 {
			s.Errorf("%d weeks, error %v, want %v with what Harvest says", len(page.Weeks), err, remote.Forbidden)
		}
	})
}
