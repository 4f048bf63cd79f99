package clockify

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func TestFeedStopsEarly(t *testing.T) {
	play(t, func(s *Settings) { s.PageSize = 5 }, func(s *scene) {
		for i := range 40 {
			m := s.vendor.Join(fmt.Sprintf("Member %d", i), "Europe/Berlin")
			s.vendor.Approve(m, trackertest.Monday.AddDays(-70), s.vendor.Work(trackertest.Monday.AddDays(-70)))
		}
		time.Sleep(48 * time.Hour)
		since := time.Now()
		s.join("Ada")
		page, err := s.read(tracker.Query{Since: since})
		if err != nil || len(page.Weeks) != 1 {
			s.Fatalf("%d weeks, %v; want the one that changed", len(page.Weeks), err)
		}
		if n := s.count("sort-column=UPDATED_AT"); n > 10 {
			s.Errorf("%d requests by change, want at most 10: the rest is older", n)
		}
		if n := s.count("sort-column=START"); n > 4 {
			s.Errorf("%d requests by beginning, want at most 4: the rest began earlier", n)
		}
	})
}

func TestQuietFeedAsksForNoEntries(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		time.Sleep(72 * time.Hour)
		page, err := s.read(tracker.Query{Since: time.Now().Add(-48 * time.Hour)})
		if err != nil || len(page.Weeks) != 0 || page.Partial {
			s.Errorf("%d weeks, partial %v, %v; want nothing new", len(page.Weeks), page.Partial, err)
		}
		if n := s.count("sort-column=START"); n != 0 {
			s.Errorf("%d requests for what did not change", n)
		}
	})
}

func TestPageThatComesAgainAndAgainIsAnError(t *testing.T) {
	play(t, func(s *Settings) { s.PageSize = 1 }, func(s *scene) {
		s.join("Ada")
		s.join("Bob")
		s.other = func(r *http.Request) (int, any) {
			q := r.URL.Query()
			if q.Get("page") != "1" {
				q.Set("page", "1")
				r.URL.RawQuery = q.Encode()
			}
			return 0, nil
		}
		_, err := s.read(tracker.Query{})
		if err == nil || !strings.Contains(err.Error(), "again and again") {
			s.Errorf("a page that never ends = %v", err)
		}
	})
}

func TestInvoicedEntriesAreElsewhere(t *testing.T) {
	for _, tt := range []struct {
		invoiced string
		want     bool
	}{{report, true}, {ignore, false}} {
		play(t, func(s *Settings) { s.Invoiced = tt.invoiced }, func(s *scene) {
			sheet := s.join("Ada")
			s.vendor.Edit(sheet.Entries[0], func(e *trackertest.Entry) { e.Invoiced = true })
			if got := s.only().Entries[0].Elsewhere; got != tt.want {
				s.Errorf("invoiced: %s: elsewhere %v, want %v", tt.invoiced, got, tt.want)
			}
			if asked := s.count("reports/detailed") > 0; asked != tt.want {
				s.Errorf("invoiced: %s: asked for the report: %v", tt.invoiced, asked)
			}
		})
	}
}

func TestReportUnderEveryName(t *testing.T) {
	for _, name := range []string{"_id", "id", "get_id"} {
		play(t, nil, func(s *scene) {
			sheet := s.join("Ada")
			s.other = func(r *http.Request) (int, any) {
				if !strings.HasSuffix(r.URL.Path, "/reports/detailed") {
					return 0, nil
				}
				return 200, object{"timeentries": []object{{name: fmt.Sprint(sheet.Entries[0].Number)}}}
			}
			if !s.only().Entries[0].Elsewhere {
				s.Errorf("an invoiced entry under %q is not elsewhere", name)
			}
		})
	}
}

func TestReportThatCannotBeReadBillsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   any
		want   string
	}{
		"forbidden":  {403, object{"message": "no"}, "invoiced: ignore"},
		"no entries": {200, object{"totals": nil}, "no timeentries"},
		"no ids":     {200, object{"timeentries": []object{{"description": "x"}}}, "has no id"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.join("Ada")
				s.other = func(r *http.Request) (int, any) {
					if strings.HasSuffix(r.URL.Path, "/reports/detailed") {
						return tt.status, tt.body
					}
					return 0, nil
				}
				_, err := s.read(tracker.Query{})
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					s.Errorf("error %v, want %q", err, tt.want)
				}
			})
		})
	}
}

func TestCheckTellsWhatIsMissing(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.other = func(r *http.Request) (int, any) {
			switch {
			case r.URL.Path == "/v1/workspaces/"+workspace:
				return 200, object{"name": "Agency", "featureSubscriptionType": "FREE", "features": []string{"TIME_TRACKING"}}
			case strings.HasSuffix(r.URL.Path, "/reports/detailed"):
				return 403, object{"message": "Access denied"}
			}
			return 0, nil
		}
		a, err := s.clockify.Access(s.Context())
		if err != nil || a.User != "Olga" || a.Account != "Agency" || a.Plan != "FREE" || len(a.Reads) != 2 || len(a.Notes) != 2 {
			s.Fatalf("Access = %+v, %v", a, err)
		}
		if !strings.Contains(a.Notes[0], "Standard plan") || !strings.Contains(a.Notes[1], "everybody's reports") {
			s.Errorf("notes %q", a.Notes)
		}
	})
}

func TestHourlyQuotaParksTheWorkspace(t *testing.T) {
	play(t, nil, func(s *scene) {
		s.join("Ada")
		s.other = func(*http.Request) (int, any) { return 429, object{"message": "Too many requests"} }
		if _, err := s.read(tracker.Query{}); err == nil {
			s.Error("a spent quota is no error")
		}
	})
}
