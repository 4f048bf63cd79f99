package tempo

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/internal/described"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func dialect() trackertest.Dialect {
	return trackertest.Dialect{
		Handler: handler, Token: token, Approval: []string{"status"}, Lists: "/4/timesheet-approvals/", Zoneless: true,
		New: func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
			return tempoAt(t, net, base, token, func(s *Settings) { s.Currency = "EUR" })
		},
		See: see,
		State: func(s *trackertest.Sheet) tracker.State {
			if s.State == tracker.Withdrawn { // What was reopened is open.
				return tracker.Pending
			}
			return s.State
		},
		Reads: func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/search") || r.URL.Path == "/rest/api/3/issue/bulkfetch"
		},
		Wire: func(path string) any {
			switch {
			case strings.HasPrefix(path, logPath):
				return new(list[logRow])
			case strings.HasPrefix(path, "/4/timesheet-approvals/user/"):
				return new(approval)
			case strings.HasPrefix(path, "/4/worklogs/search"):
				return new(list[worklog])
			}
			return new(any)
		},
	}
}

// see returns an entry without what Tempo does not know: rates, and work without an issue.
func see(e tracker.Entry) tracker.Entry {
	e.Billable = e.Billable && e.Seconds > 0
	e.Running, e.Elsewhere, e.Rate, e.Currency = false, false, decimal.NullDecimal{}, "EUR"
	if e.Task.ID == "" {
		e.Project = tracker.Ref{}
		return e
	}
	e.Task = tracker.Ref{ID: issueID(e.Project.ID, e.Task.ID), Name: issueKey(e.Project.ID, e.Task.ID) + " " + e.Task.Name}
	return e
}

// priced is the dialect with rates from tables: the fake prices all work alike.
func priced() trackertest.Dialect {
	d := dialect()
	d.New = func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
		return tempoAt(t, net, base, token, withTables)
	}
	d.See = func(e tracker.Entry) tracker.Entry {
		if e = see(e); e.Billable {
			e.Rate = decimal.NewNullDecimal(decimal.NewFromInt(90))
		}
		return e
	}
	return d
}

func withTables(s *Settings) { s.Currency, s.Rates = "EUR", tables }

// tempoAt returns a tracker whose API is all at one base URL. Change changes its settings; nil: nothing.
func tempoAt(t testing.TB, net *remote.Network, base, token string, change func(*Settings)) *Tempo {
	t.Helper()
	s := good()
	s.URL, s.Jira.URL, s.Token, s.Jira.Token = base, base, config.SecretOf(token), config.SecretOf(token)
	if change != nil {
		change(&s)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	tempo, err := New(s, net)
	if err != nil {
		t.Fatal(err)
	}
	return tempo
}

// good are settings with all that is required.
func good() Settings {
	secret := config.SecretOf(token)
	return Settings{Site: site, Token: secret, Jira: Jira{User: jiraUser, Token: secret}}
}

func TestConformance(t *testing.T) { trackertest.Test(t, dialect()) }

func TestConformanceWithTables(t *testing.T) { trackertest.Test(t, priced()) }

// The vendor's document says of the list of states of accounts that it is one of its own items.
var listIsAnItem = regexp.MustCompile(`(statuses:\s+type: array\s+description: .*\s+)enum:\s+(- [A-Z]+\s+)+`)

func TestDescribed(t *testing.T) {
	mendDocument(t)
	trackertest.Described(t, priced(), document)
}

// No member that the vendor's document does not name is sent or answered on the way to a price.
func TestPricesAreDescribed(t *testing.T) {
	mendDocument(t)
	doc := described.Open(t, document)
	doc.Strict = true
	play(t, withTables, func(s *scene) {
		s.watch, s.world.PageSize = doc.Watch, 3
		for i := range 3 {
			s.join("Member").Entries[0].Client.ID = []string{"501", "502", "503"}[i]
		}
		for _, w := range s.all().Weeks {
			if !w.Entries[0].Rate.Valid {
				s.Errorf("no price for %s: %q", w.Member.Label(), w.Remarks)
			}
		}
		if _, err := s.tempo.Access(s.Context()); err != nil {
			s.Error(err)
		}
	})
	doc.Done()
}

// document is the vendor's.
const document = "tempo.yaml"

func mendDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(os.Getenv(described.Folder), document))
	if err != nil {
		return // The test will be skipped, and say so.
	}
	mended := t.TempDir()
	if err := os.WriteFile(filepath.Join(mended, document), listIsAnItem.ReplaceAll(text, []byte("$1")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(described.Folder, mended)
}

func TestEngineLivesThroughHistories(t *testing.T) { histories.Run(t, dialect()) }

func BenchmarkWeeks(b *testing.B) { trackertest.Benchmark(b, dialect()) }
