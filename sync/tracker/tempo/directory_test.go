package tempo

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func TestLookUpsAreAskedOnceATraversal(t *testing.T) {
	play(t, nil, func(s *scene) {
		for _, name := range []string{"Ada", "Bob"} {
			m := s.world.Join(name, "UTC")
			for i := range 3 {
				first := trackertest.Monday.AddDays(-7 * i)
				noClient := s.world.Work(first)
				noClient.Client = tracker.Ref{}
				s.world.Approve(m, first, s.world.Work(first), noClient)
			}
		}
		for round := 1; round <= 2; round++ {
			s.all()
			for _, what := range []string{"POST /rest/api/3/issue/bulkfetch", "GET /rest/api/3/user/bulk", "POST /4/accounts/search", "GET /4/account-links/project/601"} {
				if n := s.asked(what); n != round {
					s.Errorf("after %d traversals %s was asked %d times", round, what, n)
				}
			}
		}
	})
}

func TestIssueThatCannotBeRead(t *testing.T) {
	play(t, nil, func(s *scene) {
		ada := s.join("Ada")
		s.other = func(r *http.Request) (int, any) {
			if r.URL.Path == "/rest/api/3/issue/601701" {
				return 404, object{"errorMessages": []string{"Issue does not exist or you do not have permission to see it."}}
			}
			return 0, nil
		}
		s.mend = func(path string, body object) {
			if path == "/rest/api/3/issue/bulkfetch" {
				body["issues"] = []any{}
			}
		}
		w := s.only()
		if e := w.Entries[0]; e.Task != (tracker.Ref{ID: "601701"}) || e.Project != (tracker.Ref{}) || e.Client.Name != ada.Entries[0].Client.Name {
			s.Errorf("entry %+v, want the id of the issue, no project, and the client of the account", e)
		}
		if w.Trouble == nil || w.Trouble.Kind != tracker.Incomplete || !strings.Contains(w.Trouble.Text, "issue 601701 of worklog 2 ") {
			s.Errorf("trouble %+v, want one that names the issue and the worklog", w.Trouble)
		}
	})
}

// What Jira leaves out of a bulk answer is asked for by itself, and so is everything where it knows no bulk.
func TestIssuesAreFoundOneByOne(t *testing.T) {
	for name, other := range map[string]func(r *http.Request) (int, any){
		"no bulk": func(r *http.Request) (int, any) {
			if r.URL.Path == "/rest/api/3/issue/bulkfetch" {
				return 404, object{}
			}
			return 0, nil
		},
		"left out": func(r *http.Request) (int, any) {
			if r.URL.Path == "/rest/api/3/issue/bulkfetch" {
				return 200, object{"issues": []any{}, "issueErrors": []any{object{"id": "601701", "errorMessage": "try again"}}}
			}
			return 0, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.join("Ada")
				s.other = other
				if w := s.only(); w.Trouble != nil || w.Entries[0].Project.Name != "Site" || w.Entries[0].Task.Name != "P601-701 Build" {
					s.Errorf("entry %+v, trouble %v", w.Entries[0], w.Trouble)
				}
			})
		})
	}
}

// What Jira refuses as a whole is not the fault of a timesheet.
func TestJiraThatRefusesIsAnError(t *testing.T) {
	for _, tt := range []struct {
		path   string
		status int
		want   error
	}{
		{"/rest/api/3/issue/bulkfetch", 401, remote.Unauthorised},
		{"/rest/api/3/issue/bulkfetch", 403, remote.Forbidden},
		{"/rest/api/3/issue/bulkfetch", 400, remote.Rejected},
		{"/rest/api/3/user/bulk", 401, remote.Unauthorised},
	} {
		play(t, nil, func(s *scene) {
			s.join("Ada")
			s.join("Bob")
			s.other = func(r *http.Request) (int, any) {
				if r.URL.Path == tt.path {
					return tt.status, object{}
				}
				return 0, nil
			}
			page, err := s.read(lastMonth())
			if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "tempo: jira: ") || len(page.Weeks)+len(page.Unread) > 0 {
				s.Errorf("%d of %s: error %v and page %+v, want %v of Jira alone", tt.status, tt.path, err, page, tt.want)
			}
		})
	}
}

func TestManyFaultsAreNotAllTold(t *testing.T) {
	play(t, nil, func(s *scene) {
		var entries []*trackertest.Entry
		for range 20 {
			entries = append(entries, s.world.Work(trackertest.Monday))
		}
		s.world.Approve(s.world.Join("Ada", "UTC"), trackertest.Monday, entries...)
		s.mend = func(path string, body object) {
			if path == "/4/worklogs/search" {
				for _, row := range rows(body) {
					delete(row, "billableSeconds")
				}
			}
		}
		if w := s.only(); w.Trouble == nil || strings.Count(w.Trouble.Text, "worklog") != 5 || !strings.HasSuffix(w.Trouble.Text, "; and 15 more") {
			s.Errorf("trouble %+v, want 5 worklogs and 15 more", w.Trouble)
		}
	})
}

func TestMemberWithoutANameIsAnID(t *testing.T) {
	play(t, nil, func(s *scene) {
		ada := s.join("Ada")
		s.other = func(r *http.Request) (int, any) {
			if r.URL.Path == "/rest/api/3/user/bulk" {
				return 403, object{}
			}
			return 0, nil
		}
		if w := s.only(); w.Member != (tracker.Ref{ID: ada.Member.ID, Name: ada.Member.ID}) {
			s.Errorf("member %+v, want the id alone", w.Member)
		}
	})
}

// clients are the ways in which a worklog tells for whom it was done.
var clients = map[string]struct {
	settings func(*Settings)
	change   func(path string, body object)
	client   tracker.Ref
	trouble  string
}{
	"the customer of the account": {client: tracker.Ref{ID: "501", Name: "Acme"}},
	"an account without a customer": {
		change: func(path string, body object) {
			if path == "/4/accounts/search" {
				delete(rows(body)[0], "customer")
			}
		},
		client: tracker.Ref{ID: "account:100501", Name: "Acme account"},
	},
	"an account that is not there": {
		change: func(path string, body object) {
			if path == "/4/accounts/search" {
				rows(body)[0]["key"] = "OTHER"
			}
		},
		trouble: `worklog 2 is on the account "ACC-501", which Tempo does not list`,
	},
	"the default account of the project": {
		change: func(path string, body object) {
			withoutAccount(path, body)
			if path == "/4/account-links/project/601" {
				body["results"] = []any{linkTo(100777, false), linkTo(100501, true)}
			}
		},
		client: tracker.Ref{ID: "501", Name: "Acme"},
	},
	"a default account that is not there": {
		change: func(path string, body object) {
			withoutAccount(path, body)
			if path == "/4/account-links/project/601" {
				body["results"] = []any{linkTo(100777, true)}
			}
		},
		trouble: `worklog 2 is on the account "https://api.tempo.io/4/accounts/100777", which Tempo does not list`,
	},
	"neither":                         {change: withoutAccount},
	"another attribute, with nothing": {settings: attributeIs("_Billing_")},
	"no accounts: the project":        {settings: attributeIs(""), client: tracker.Ref{ID: "project:601", Name: "Site"}},
	"another attribute, no account's": {settings: attributeIs("_Colour_"), trouble: `worklog 2 is on the account "green", which Tempo does not list`},
}

func attributeIs(key string) func(*Settings) {
	return func(s *Settings) { s.AccountAttribute = &key }
}

func withoutAccount(path string, body object) {
	if path == "/4/worklogs/search" {
		for _, row := range rows(body) {
			row["attributes"].(object)["values"] = []any{}
		}
	}
}

func linkTo(account int, standard bool) object {
	return object{"id": account, "default": standard, "account": object{"self": accountAddress(account)}, "scope": object{"id": 601, "type": "PROJECT"}}
}

func TestClientOfAWorklog(t *testing.T) {
	for name, tt := range clients {
		t.Run(name, func(t *testing.T) {
			play(t, tt.settings, func(s *scene) {
				s.join("Ada")
				s.mend = func(path string, body object) {
					if tt.change != nil {
						tt.change(path, body)
					}
				}
				w := s.only()
				if w.Entries[0].Client != tt.client {
					s.Errorf("client %+v, want %+v", w.Entries[0].Client, tt.client)
				}
				if tt.trouble == "" && w.Trouble != nil || tt.trouble != "" && (w.Trouble == nil || !strings.HasPrefix(w.Trouble.Text, tt.trouble)) {
					s.Errorf("trouble %+v, want %q", w.Trouble, tt.trouble)
				}
			})
		})
	}
}

func TestTimeOfAWorklog(t *testing.T) {
	for name, tt := range map[string]struct {
		change   func(row object)
		seconds  int64
		billable bool
		trouble  string
	}{
		"all of it":          {func(object) {}, 3600, true, ""},
		"some of it":         {func(r object) { r["billableSeconds"] = 1800 }, 1800, true, ""},
		"more than all":      {func(r object) { r["billableSeconds"] = 5400 }, 5400, true, ""},
		"nothing":            {func(r object) { r["billableSeconds"] = 0 }, 3600, false, ""},
		"nobody knows":       {func(r object) { delete(r, "billableSeconds") }, 3600, true, "worklog 2 does not say how much of it is billable"},
		"null":               {func(r object) { r["billableSeconds"] = nil }, 3600, true, "worklog 2 does not say how much of it is billable"},
		"less than nothing":  {func(r object) { r["billableSeconds"] = -1 }, 3600, false, "worklog 2 has less than no time"},
		"negative":           {func(r object) { r["timeSpentSeconds"] = -60 }, 3600, true, "worklog 2 has less than no time"},
		"on no day":          {func(r object) { r["startDate"] = "2026-02-30" }, 3600, true, "worklog 2 has no date that can be read"},
		"attributes of ours": {func(r object) { r["attributes"].(object)["values"] = []any{object{"key": "_Account_", "value": 7}} }, 3600, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(s *scene) {
				s.join("Ada")
				s.mend = func(path string, body object) {
					if path == "/4/worklogs/search" {
						tt.change(rows(body)[0])
					}
				}
				w := s.only()
				if e := w.Entries[0]; e.Seconds != tt.seconds || e.Billable != tt.billable {
					s.Errorf("%d seconds, billable %v; want %d, %v", e.Seconds, e.Billable, tt.seconds, tt.billable)
				}
				if tt.trouble == "" && w.Trouble != nil || tt.trouble != "" && (w.Trouble == nil || !strings.HasPrefix(w.Trouble.Text, tt.trouble)) {
					s.Errorf("trouble %+v, want %q", w.Trouble, tt.trouble)
				}
			})
		})
	}
}
