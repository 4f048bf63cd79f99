package kimai

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// atPage calls a function before each request for that page of a list of entries.
func (s *scene) atPage(number string, change func()) {
	s.before = func(r *http.Request) {
		if r.URL.Path == "/api/timesheets" && r.URL.Query().Get("page") == number {
			change()
		}
	}
}

func TestEntryThatVanishesMeanwhileHidesNoOther(t *testing.T) {
	for name, vanish := range map[string]int{"the last page goes": 1, "one moves up": 2} {
		t.Run(name, func(t *testing.T) {
			play(t, "", func(s *scene) {
				s.PageSize = 2
				_, first := s.member("Ada", monday)
				m, _ := s.member("Bob", monday)
				gone := s.Approve(m, monday.AddDays(-7), s.Work(monday.AddDays(-1)), s.Work(monday.AddDays(-1)))
				once := false
				s.atPage("2", func() {
					if !once {
						once = true
						for range vanish {
							s.Shrink(first)
						}
						s.Delete(gone)
					}
				})
				page := s.good(monday)
				if len(page.Weeks) != 2 || len(page.Weeks[1].Entries) != 2 || len(page.Weeks[0].Entries) != 2-vanish {
					s.Errorf("told %+v, want %d of Ada's entries and 2 of Bob's", page.Weeks, 2-vanish)
				}
			})
		})
	}
}

func TestEntriesThatKeepVanishingAreAnErrorInTheEnd(t *testing.T) {
	play(t, "", func(s *scene) {
		s.PageSize = 2
		m := s.Join("Ada", "UTC")
		var entries []*trackertest.Entry
		for range 9 {
			entries = append(entries, s.Work(monday))
		}
		sheet := s.Approve(m, monday, entries...)
		s.atPage("2", func() { s.Shrink(sheet) })
		if page, err := s.told(monday); !errors.Is(err, errShifted) {
			s.Errorf("told %d weeks, error %v, want %v", len(page.Weeks), err, errShifted)
		}
	})
}

func TestEntryThatIsPushedToTheNextPageIsToldOnce(t *testing.T) {
	play(t, "", func(s *scene) {
		s.PageSize = 2
		m := s.Join("Ada", "UTC")
		first, second, third, late := s.Work(monday), s.Work(monday), s.Work(monday), s.Work(monday)
		first.Number, second.Number, third.Number, late.Number = 11, 12, 13, 10 // The late one moves here from another week.
		sheet := s.Approve(m, monday, first, second, third)
		s.atPage("2", func() {
			if len(sheet.Entries) == 3 {
				s.Grow(sheet, late)
			}
		})
		if w := s.only(); w.Trouble != nil || len(w.Entries) != 3 || w.Entries[2].ID != "13" {
			s.Errorf("told %+v, want the entries 11 to 13, once each", w.Entries)
		}
	})
}

func TestAnswerThatIsNoListIsNotAnEmptyKimai(t *testing.T) {
	for _, tt := range []struct{ path, text string }{
		{"/api/timesheets", `null`},
		{"/api/timesheets", `{}`},
		{"/api/timesheets", `[]`}, // Without the header that tells of pages.
		{"/api/users", `null`},
		{"/api/users", `[]`},
		{"/api/users", `[{"username":"ada"}]`},
		{"/api" + overtimePath, `null`},
		{"/api" + overtimePath, `7`},
	} {
		play(t, "", func(s *scene) {
			s.member("Ada", monday)
			s.instead = map[string]string{tt.path: tt.text}
			if page, err := s.told(monday); !errors.Is(err, remote.Malformed) || len(page.Weeks) > 0 {
				s.Errorf("%s answers %s: %d weeks, error %v, want %v", tt.path, tt.text, len(page.Weeks), err, remote.Malformed)
			}
		})
	}
}

func TestEntryOfNobodyIsAnError(t *testing.T) {
	for name, nobody := range map[string]any{"none": nil, "without an id": object{"username": "ada"}, "as an id alone": 7} {
		play(t, "", func(s *scene) {
			s.member("Ada", monday)
			s.edit = func(entry object) { entry["user"] = nobody }
			if page, err := s.told(monday); !errors.Is(err, remote.Malformed) {
				s.Errorf("%s: %d weeks, error %v, want %v", name, len(page.Weeks), err, remote.Malformed)
			}
		})
	}
}

func TestEntryThatIsWrongStopsNoOther(t *testing.T) {
	for name, tt := range map[string]struct {
		member string
		value  any
		says   string // of the trouble; empty: the week is unread
	}{
		"a day that cannot be read":    {"begin", "yesterday", ""},
		"a day that does not exist":    {"begin", "2026-02-30T09:00:00+0100", ""},
		"no day":                       {"begin", nil, ""},
		"a negative duration":          {"duration", -60, "duration"},
		"no duration":                  {"duration", nil, "missing"},
		"a currency that there is not": {"project", object{"id": 1, "name": "P", "customer": object{"id": 2, "name": "C", "currency": "EURO"}}, "EURO"},
		"nothing about billing":        {"billable", nil, "missing"},
		"an amount out of this world":  {"rate", 1e300, "rate"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, "", func(s *scene) {
				_, sheet := s.member("Ada", monday)
				s.member("Bob", monday)
				s.edit = func(entry object) {
					if entry["id"] == sheet.Entries[0].Number {
						entry[tt.member] = tt.value
					}
				}
				page := s.good(monday)
				if tt.says == "" {
					if len(page.Unread) != 1 || page.Unread[0].ID != weekID("1", monday) || len(page.Weeks) != 1 {
						s.Errorf("told %+v, unread %+v, want Ada's week unread", page.Weeks, page.Unread)
					}
					return
				}
				if len(page.Weeks) != 2 || page.Weeks[1].Trouble != nil {
					s.Fatalf("told %+v, want two weeks and Bob's without trouble", page.Weeks)
				}
				if trouble := page.Weeks[0].Trouble; trouble == nil || trouble.Kind != tracker.Incomplete || !strings.Contains(trouble.Text, tt.says) || !strings.Contains(trouble.Text, "entry ") {
					s.Errorf("trouble %+v, want one that names the entry and says %q", trouble, tt.says)
				}
			})
		})
	}
}

func TestRateThatMayNotBeSeenIsUnknownAndNotZero(t *testing.T) {
	play(t, "", func(s *scene) {
		s.rates = false
		s.member("Ada", monday)
		for _, e := range s.only().Entries {
			if e.Rate.Valid || e.Amount.Valid || e.Currency != "EUR" {
				s.Errorf("entry %s has the rate %v and amount %v in %s, want neither, in EUR", e.ID, e.Rate, e.Amount, e.Currency)
			}
		}
	})
}

func TestAmountIsExact(t *testing.T) {
	play(t, "", func(s *scene) {
		s.member("Ada", monday)
		s.edit = func(entry object) { entry["rate"] = 0.29 }
		if got := s.only().Entries[0].Amount.Decimal.String(); got != "0.29" {
			s.Errorf("amount %s, want 0.29", got)
		}
	})
}

// Kimai answers a request for the entries of a user whom it does not know with those of the token's owner.
func TestWeekOfAnUnknownUserIsGoneAndNoOtherUsers(t *testing.T) {
	for _, more := range []string{"", "approval: none\napproved_when: {tag: approved}"} {
		play(t, more, func(s *scene) {
			s.Members = append(s.Members, &trackertest.Member{ID: "900001", Name: "Boss", Zone: "UTC"})
			s.Approve(s.Members[0], monday, s.Work(monday))
			if w, err := s.Week(s.Context(), weekID("77", monday)); !errors.Is(err, tracker.ErrGone) {
				s.Errorf("Week of an unknown user = week of %s, %v, want %v", w.Member.Name, err, tracker.ErrGone)
			}
			if w, err := s.Week(s.Context(), weekID("900001", monday)); err != nil || len(w.Entries) != 1 {
				s.Errorf("Week of the owner has %d entries, %v, want 1", len(w.Entries), err)
			}
		})
	}
}

func TestMarksOfEntriesTellHowFarAWeekIsApproved(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		marked     []bool
		state      tracker.State
		entries    int
	}{
		{"all", "approval: none\napproved_when: {tag: Approved}", []bool{true, true}, tracker.Approved, 2},
		{"some", "approval: none\napproved_when: {tag: approved}", []bool{true, false}, tracker.Growing, 1},
		{"some, which are taken", "approval: none\npartial: take\napproved_when: {tag: approved}", []bool{true, false}, tracker.Approved, 1},
		{"none", "approval: none\napproved_when: {tag: approved}", []bool{false, false}, tracker.Pending, 2},
		{"all are exported", "approval: none\napproved_when: {exported: true}", []bool{true, true}, tracker.Approved, 2},
		{"some are exported", "approval: none\napproved_when: {exported: true}", []bool{false, true}, tracker.Growing, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.more, func(s *scene) {
				s.bare = true
				m := s.Join("Ada", "UTC")
				var entries []*trackertest.Entry
				for _, marked := range tt.marked {
					e := s.Work(monday)
					e.Open, e.Invoiced = !marked, marked
					entries = append(entries, e)
				}
				running := s.Work(monday)
				running.Open, running.Running = true, true
				s.World.Submit(m, trackertest.Week(monday), append(entries, running)...).State = tracker.Approved
				want := tt.entries
				if tt.state == tracker.Pending {
					want++ // The timer that runs.
				}
				w := s.only()
				if w.State != tt.state || len(w.Entries) != want {
					s.Errorf("told %s with %d entries, want %s with %d", w.State, len(w.Entries), tt.state, want)
				}
				if elsewhere := strings.Contains(tt.more, "tag") && w.State.Approves(); w.Entries[0].Elsewhere != elsewhere {
					s.Errorf("billed elsewhere: %v, want %v", w.Entries[0].Elsewhere, elsewhere)
				}
			})
		})
	}
}

func TestRangeIsOfTheMondaysInIt(t *testing.T) {
	day := func(n int) civil.Date { return monday.AddDays(n) }
	now := monday.AddDays(9).In(time.UTC)
	for _, tt := range []struct {
		name        string
		days        civil.Period
		first, last civil.Date
	}{
		{"a week", civil.Period{First: day(0), Last: day(6)}, day(0), day(6)},
		{"begins on a Tuesday", civil.Period{First: day(-6), Last: day(0)}, day(0), day(0)},
		{"open to the end", civil.Period{First: day(0)}, day(0), day(10)},
		{"open to both ends", civil.Period{}, day(-350), day(10)},
		{"without a Monday", civil.Period{First: day(1), Last: day(5)}, day(7), day(5)},
	} {
		first, last := span(tracker.Query{Now: now, First: tt.days})
		if first != tt.first || last != tt.last {
			t.Errorf("%s: from %s to %s, want from %s to %s", tt.name, first, last, tt.first, tt.last)
		}
	}
}
