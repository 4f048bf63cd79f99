package kimai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// in returns the words for the statuses, in the order approved, submitted, denied, not submitted.
func in(words ...string) func(string) string {
	return func(status string) string {
		return words[slices.Index([]string{"approved", "submitted", "denied", "not_submitted"}, status)]
	}
}

func TestLabelsAreKnownInThePluginsLanguagesAndFromTheSettings(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		label      func(string) string
	}{
		{"English", "", english},
		{"German", "", in("Angenommen", "Abgeschickt", "Abgelehnt", "Nicht abgeschickt")},
		{"Croatian", "", in("Odobreno", "Podneseno", "Odbijeno", "Nepodneseno")},
		{"another case", "", in("APPROVED", "submitted", "DENIED", "not SUBMITTED ")},
		{"keys that are not translated", "", in("approved", "submitted", "denied", "not_submitted")},
		{"from the settings", "labels: {approuvé: approved, Soumis: submitted, non soumis: not_submitted}", in("Approuvé", "Soumis", "Refusé", "Non soumis")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.more, func(s *scene) {
				s.overtime, s.label = false, tt.label
				_, sheet := s.member("Ada", monday)
				for _, state := range []tracker.State{tracker.Approved, tracker.Pending, tracker.Withdrawn} {
					s.Set(sheet, state)
					if w := s.only(); w.State.Approves() != (state == tracker.Approved) || len(w.Entries) != 2 {
						s.Errorf("%s: told %s with %d entries", state, w.State, len(w.Entries))
					}
				}
			})
		})
	}
}

func TestUnknownStatusIsAnErrorThatNamesItAndTheSetting(t *testing.T) {
	for _, word := range []string{"Godkendt", ""} {
		for _, overtime := range []bool{true, false} {
			play(t, "", func(s *scene) {
				s.overtime, s.label = overtime, in(word, word, word, word)
				s.key = s.label
				s.member("Ada", monday)
				page, err := s.told(monday)
				for _, part := range []string{"kimai: ", "labels", strconv.Quote(word), "2026-10-05"} {
					if !strings.Contains(fmt.Sprint(err), part) || len(page.Weeks) > 0 {
						s.Errorf("%d weeks, error %v, want one that says %q", len(page.Weeks), err, part)
					}
				}
			})
		}
	}
}

// Where the plugin is gone or says no, nothing may read as if all approvals had been taken back.
func TestMissingPluginAndPermissionAreErrorsWithACure(t *testing.T) {
	for _, tt := range []struct {
		name, more, cure string
		kind             error
		change           func(*vendor)
	}{
		{"no plugin", "", "install the plugin", remote.NotFound, func(v *vendor) { v.bare = true }},
		{"no plugin, week by week", "approval: week_status", "install the plugin", remote.NotFound, func(v *vendor) { v.bare = true }},
		{"no permission", "", "view_all_approval", remote.Rejected, func(v *vendor) { v.blind = true }},
		{"no permission, week by week", "approval: week_status", "view_all_approval", remote.Rejected, func(v *vendor) { v.blind = true }},
		{"overtime is off", "approval: weekly_overtime", "switch it on", errOff, func(v *vendor) { v.overtime = false }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.more, func(s *scene) {
				s.member("Ada", monday)
				tt.change(s.vendor)
				page, err := s.told(monday)
				if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.cure) || len(page.Weeks) > 0 {
					s.Errorf("%d weeks, error %v, want %v with %q", len(page.Weeks), err, tt.kind, tt.cure)
				}
			})
		})
	}
}

func TestUserWhoIsDisabledIsKeptAndNotAskedAboutWeekByWeek(t *testing.T) {
	for _, overtime := range []bool{true, false} {
		play(t, "", func(s *scene) {
			s.overtime = overtime
			early := monday.AddDays(-21)
			ada, _ := s.member("Ada", early)
			s.Approve(ada, monday, s.Work(monday))
			s.member("Bob", monday)
			s.Leave(ada)
			page := s.good(early)
			var kept []string
			for _, k := range page.Kept {
				kept = append(kept, k.ID)
			}
			if want := []string{weekID("1", early), weekID("1", monday)}; !slices.Equal(kept, want) {
				s.Errorf("kept %v, want %v", page.Kept, want)
			}
			// Five weeks of Bob and the token's owner, once whether Bob's approval stands, and Ada once.
			if n := s.requests(statusPath); !overtime && n != 12 {
				s.Errorf("week-status was asked %d times, want 12", n)
			}
			if len(page.Weeks) != 1 || page.Weeks[0].Member.Name != "Bob" || page.Weeks[0].State != tracker.Approved {
				s.Errorf("told %+v, want Bob's week", page.Weeks)
			}
			if _, err := s.Week(s.Context(), weekID("1", monday)); err == nil || errors.Is(err, tracker.ErrGone) {
				s.Errorf("Week of a user who is disabled = %v, want an error that does not say that it is gone", err)
			}
		})
	}
}

func TestUserWithoutASubmittedWeekHasPendingWork(t *testing.T) {
	play(t, "", func(s *scene) {
		_, sheet := s.member("Ada", monday)
		s.Set(sheet, tracker.Withdrawn)
		if w := s.only(); w.State != tracker.Pending || len(w.Entries) != 2 {
			s.Errorf("told %s with %d entries, want pending with 2", w.State, len(w.Entries))
		}
	})
}

func TestApprovalThatIsTakenBackMeanwhileIsNotToldInTheEnd(t *testing.T) {
	for _, overtime := range []bool{true, false} {
		for _, found := range []string{"traversal", "by id"} {
			t.Run(fmt.Sprint(overtime, " ", found), func(t *testing.T) {
				play(t, "", func(s *scene) {
					s.overtime = overtime
					_, sheet := s.member("Ada", monday)
					s.before = func(r *http.Request) {
						if r.URL.Path == "/api/timesheets" && sheet.State == tracker.Approved {
							s.Set(sheet, tracker.Withdrawn)
							s.Edit(sheet.Entries[0], func(e *trackertest.Entry) { e.Seconds = 999 })
						}
					}
					last, err := s.lastOf(found, weekID("1", monday))
					if err != nil || last.State != tracker.Pending {
						s.Errorf("told %s, %v in the end, want pending", last.State, err)
					}
				})
			})
		}
	}
}

// lastOf returns what is told last of a week.
func (s *scene) lastOf(found, id string) (last tracker.Week, err error) {
	if found == "by id" {
		return s.Week(s.Context(), id)
	}
	page, err := s.told(monday)
	for _, w := range page.Weeks {
		if w.ID == id {
			last = w
		}
	}
	return last, err
}

func TestWeeklyOvertimeIsAskedOncePerUserAndOnceMoreForApprovals(t *testing.T) {
	play(t, "", func(s *scene) {
		for range 3 {
			m, _ := s.member("Ada", monday)
			for week := 1; week < 8; week++ {
				s.Approve(m, monday.AddDays(-7*week), s.Work(monday.AddDays(-7*week)))
			}
		}
		page := s.good(monday.AddDays(-7 * 7))
		if len(page.Weeks) != 24 {
			s.Errorf("told %d weeks, want 24", len(page.Weeks))
		}
		if n := s.requests(overtimePath); n != 7 { // The token's owner has no week.
			s.Errorf("weekly_overtime was asked %d times for 4 users, 3 of them with approvals, want 7", n)
		}
	})
}

func TestOvertimeIsReadInEachOfItsShapes(t *testing.T) {
	row := overtimeRow{StartDate: "2026-10-05", Status: "approved"}
	for _, tt := range []struct {
		text string
		want overtime
	}{
		{`"Overtime is deactivated"`, overtime{off: true}},
		{`[]`, overtime{}},
		{`[{"userId":7,"startDate":"2026-10-05","status":"approved"}]`, overtime{rows: []overtimeRow{row}}},
		{`{"1":{"userId":7,"startDate":"2026-10-05","status":"approved"}}`, overtime{rows: []overtimeRow{row}}},
		{`[{"startDate":"2026-10-05","status":"approved","actualDuration":7200}]`, overtime{rows: []overtimeRow{{"2026-10-05", "approved", "7200"}}}},
		{`[{"startDate":"2026-10-05","status":"approved","actualDuration":null}]`, overtime{rows: []overtimeRow{row}}},
		{`[{"overtimeYearly":3},{"startDate":"2026-10-05","status":"approved"}]`, overtime{rows: []overtimeRow{{}, row}}},
	} {
		var got overtime
		if err := json.Unmarshal([]byte(tt.text), &got); err != nil || got.off != tt.want.off || !slices.Equal(got.rows, tt.want.rows) {
			t.Errorf("%s = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{`7`, `true`, `[7]`, `{"0":"x"}`, `[{"startDate":7}]`} {
		var got overtime
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s = %+v, want an error", text, got)
		}
	}
}

func FuzzOvertime(f *testing.F) {
	f.Add(`[{"startDate":"2026-10-05","status":"approved"}]`)
	f.Add(`{"1":{"startDate":"2026-10-05","status":"denied"},"0":{"overtimeYearly":0}}`)
	f.Add(`"off"`)
	f.Fuzz(func(t *testing.T, text string) {
		var got overtime
		if json.Unmarshal([]byte(text), &got) != nil {
			return
		}
		if got.off && len(got.rows) > 0 {
			t.Errorf("%q is switched off and has weeks", text)
		}
		var list []json.RawMessage
		if got.off || json.Unmarshal([]byte(text), &list) != nil {
			return
		}
		holes := map[string]json.RawMessage{}
		for i, one := range list {
			holes[fmt.Sprint(i)] = one
		}
		object, err := json.Marshal(holes)
		var same overtime
		if err == nil {
			err = json.Unmarshal(object, &same)
		}
		if slices.SortFunc(same.rows, compareRows); err != nil || !slices.Equal(same.rows, slices.SortedFunc(slices.Values(got.rows), compareRows)) {
			t.Errorf("%q says %v, and as an object %v, %v", text, got.rows, same.rows, err)
		}
	})
}

func compareRows(a, b overtimeRow) int {
	return strings.Compare(a.StartDate+" "+a.Status, b.StartDate+" "+b.Status)
}

func FuzzLabel(f *testing.F) {
	for _, label := range []string{"Approved", "Not submitted", "nicht abgeschickt", "", "Freigegeben", "İ"} {
		f.Add(label, "approved")
	}
	f.Fuzz(func(t *testing.T, label, means string) {
		s, is := Settings{Labels: map[string]string{"x": means}}.meaning(label)
		if is != slices.Contains([]status{approved, submitted, denied, notSubmitted}, s) {
			t.Errorf("%q means %q, known: %v", label, s, is)
		}
		if s == approved && !slices.Contains([]string{"approved", "angenommen", "odobreno", "x"}, strings.ToLower(strings.TrimSpace(label))) {
			t.Errorf("%q is approved", label)
		}
	})
}
