package kimai

import (
	"fmt"
	"strings"
	"testing"
)

func TestAccessSaysWhatIsMissingAndItsCure(t *testing.T) {
	for _, tt := range []struct {
		name, more  string
		change      func(*vendor)
		reads, note string
	}{
		{"all is well", "", func(*vendor) {}, "ApprovalBundle 2.3.0", ""},
		{"week by week", "", func(v *vendor) { v.overtime = false }, "week by week", ""},
		{"no plugin", "", func(v *vendor) { v.bare = true }, "entries of all users", "approval: none"},
		{"no plugin, and none wanted", "approval: none\napproved_when: {tag: approved}", func(v *vendor) { v.bare = true }, "entries of all users", ""},
		{"approvals may not be seen", "", func(v *vendor) { v.blind = true }, "ApprovalBundle", "view_all_approval"},
		{"overtime is off", "approval: weekly_overtime", func(v *vendor) { v.overtime = false }, "ApprovalBundle", "switch it on"},
		{"rates may not be seen", "", func(v *vendor) { v.rates = false }, "ApprovalBundle", "view_rate_other_timesheet"},
		{"others may not be seen", "", func(v *vendor) { v.alone = true }, "ApprovalBundle", "view_other_timesheet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.more, func(s *scene) {
				s.member("Ada", monday)
				tt.change(s.vendor)
				a, err := s.Access(s.Context())
				if err != nil || a.User != "Boss" || a.Plan != "Kimai 2.66.0" {
					s.Fatalf("Access = %+v, %v", a, err)
				}
				if !strings.Contains(fmt.Sprint(a.Reads), tt.reads) {
					s.Errorf("reads %q, want %q among it", a.Reads, tt.reads)
				}
				if notes := strings.Join(a.Notes, "\n"); !strings.Contains(notes, tt.note) || (notes == "") != (tt.note == "") {
					s.Errorf("notes %q, want %q", notes, tt.note)
				}
			})
		})
	}
}
