package tempo

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func dialect() trackertest.Dialect {
	return trackertest.Dialect{
		Handler: handler, Token: token, Approval: []string{"status"}, Lists: "/4/timesheet-approvals/", Zoneless: true,
		New: func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
			return tempoAt(t, net, base, token, "currency: EUR")
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

// tempoAt returns a tracker whose API is all at one base URL, with more settings.
func tempoAt(t testing.TB, net *remote.Network, base, token, more string) *Tempo {
	t.Helper()
	s, err := settings(t, fmt.Sprintf(`site: %s
token: {file: token}
url: %q
jira: {url: %q, user: %s, token: {file: token}}
%s`, site, base, base, jiraUser, more), token)
	if err != nil {
		t.Fatal(err)
	}
	tempo, err := New(s, net)
	if err != nil {
		t.Fatal(err)
	}
	return tempo
}

// settings decodes a tracker's section. The token is in a file beside it.
func settings(t testing.TB, lines, token string) (s Settings, err error) {
	t.Helper()
	folder := t.TempDir()
	text := "syncs:\n  agency:\n    accounting: {kind: journal}\n    tracker:\n      kind: tempo\n      " + strings.ReplaceAll(lines, "\n", "\n      ") + "\n"
	for name, content := range map[string]string{"token": token, "config.yaml": text} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	called := false
	_, loadErr := config.Load(filepath.Join(folder, "config.yaml"), func(one config.Sync) error {
		called, err = true, one.Tracker.Decode(&s)
		return nil
	})
	if !called {
		t.Fatal(loadErr)
	}
	return s, err
}

func TestConformance(t *testing.T) { trackertest.Test(t, dialect()) }

// The vendor's document says of the list of states of accounts that it is one of its own items.
var listIsAnItem = regexp.MustCompile(`(statuses:\s+type: array\s+description: .*\s+)enum:\s+(- [A-Z]+\s+)+`)

func TestDescribed(t *testing.T) {
	const folder, name = "TIDEMARK_OPENAPI", "tempo.yaml"
	if text, err := os.ReadFile(filepath.Join(os.Getenv(folder), name)); err == nil {
		mended := t.TempDir()
		if err := os.WriteFile(filepath.Join(mended, name), listIsAnItem.ReplaceAll(text, []byte("$1")), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(folder, mended)
	}
	trackertest.Described(t, dialect(), name)
}

func TestEngineLivesThroughHistories(t *testing.T) { histories.Run(t, dialect()) }

func BenchmarkWeeks(b *testing.B) { trackertest.Benchmark(b, dialect()) }
