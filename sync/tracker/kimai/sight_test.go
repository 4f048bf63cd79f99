package kimai

import (
	"strings"
	"testing"

	"tidemark/sync/tracker"
)

// A token that lost the right to see others gets approved weeks without entries, which must not look like work that
// was taken back.
func TestApprovedWeekWhoseEntriesAreHiddenIsNotToldAsEmpty(t *testing.T) {
	for _, overtime := range []bool{true, false} {
		play(t, "", func(s *scene) {
			s.overtime, s.alone = overtime, true
			ada, _ := s.member("Ada", monday)
			page := s.good(monday)
			if overtime {
				if len(page.Weeks) != 1 || page.Weeks[0].Trouble == nil || page.Weeks[0].Trouble.Kind != tracker.Incomplete {
					s.Errorf("told %+v, want one week that is incomplete", page.Weeks)
				}
				return
			}
			if len(page.Weeks) != 0 || len(page.Unread) != 1 || !strings.Contains(page.Unread[0].Reason, "view_other_timesheet") {
				s.Errorf("told %+v, unread %+v, want one that is unread for a permission", page.Weeks, page.Unread)
			}
			if w, err := s.Week(s.Context(), weekID("1", monday)); err == nil {
				s.Errorf("Week of %s = %+v, want an error", ada.Name, w)
			}
		})
	}
}

func TestApprovedWeekThatShowsLessThanWasCountedIsIncomplete(t *testing.T) {
	for _, tt := range []struct {
		name    string
		counted int64 // more than there is
		wrong   bool
	}{{"as counted", 0, false}, {"grown since", -60, false}, {"less", 60, true}} {
		play(t, "", func(s *scene) {
			_, sheet := s.member("Ada", monday)
			s.counted = worked(sheet) + tt.counted
			if w := s.only(); (w.Trouble != nil) != tt.wrong || w.State != tracker.Approved {
				s.Errorf("%s: told %s with the trouble %+v", tt.name, w.State, w.Trouble)
			}
		})
	}
}

func TestApprovedWeekWithoutWorkIsEmptyWhereOthersAreSeen(t *testing.T) {
	play(t, "", func(s *scene) {
		s.overtime = false
		s.member("Ada", monday)
		s.Approve(s.Join("Bob", "UTC"), monday)
		if page := s.good(monday); len(page.Weeks) != 2 || len(page.Unread) != 0 {
			s.Errorf("told %+v, unread %+v, want both weeks", page.Weeks, page.Unread)
		}
	})
}

func TestPriceOfNothingIsNoPriceOfBillableWork(t *testing.T) {
	for _, billable := range []bool{true, false} {
		play(t, "", func(s *scene) {
			work := s.Work(monday)
			work.Billable = billable
			s.Approve(s.Join("Ada", "UTC"), monday, work)
			s.edit = func(entry object) { entry["rate"] = 0.0 }
			if e := s.only().Entries[0]; e.Amount.Valid == billable {
				s.Errorf("billable %v: amount %+v", billable, e.Amount)
			}
		})
	}
}
