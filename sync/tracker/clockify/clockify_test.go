package clockify

import (
	"net/http"
	"strings"
	"testing"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func dialect() trackertest.Dialect { return dialectOf(vendor{growth: ownRequest}) }

// dialectOf is that of a Clockify that behaves like a vendor.
func dialectOf(like vendor) trackertest.Dialect {
	return trackertest.Dialect{
		Handler: func(w *trackertest.World) http.Handler {
			v := like
			v.World = w
			return v.handler()
		},
		Token: token, Approval: []string{"state"}, Lists: listPath, See: see,
		New: func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
			return clockifyAt(t, net, base, token, nil)
		},
		Reads: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/reports/detailed") },
		Wire: func(path string) any {
			if strings.HasPrefix(path, listPath) {
				return new([]request)
			}
			return new(any)
		},
	}
}

// see returns an entry as Clockify tells it: its client is that of its project, its currency that of its rate.
func see(e tracker.Entry) tracker.Entry {
	if e.Project.ID == "" {
		e.Client = tracker.Ref{}
	}
	if !e.Rate.Valid {
		e.Currency = ""
	}
	return e
}

// good are settings with all that is required.
func good() Settings { return Settings{Workspace: workspace, Token: config.SecretOf(token)} }

// clockifyAt returns a tracker whose API is all at one base URL. Change changes its settings; nil: nothing.
func clockifyAt(t testing.TB, net *remote.Network, base, token string, change func(*Settings)) *Clockify {
	t.Helper()
	s := good()
	s.URL, s.ReportsURL, s.Token = base, base, config.SecretOf(token)
	if change != nil {
		change(&s)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	c, err := New(s, net)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) { trackertest.Test(t, dialect()) }

func TestConformanceOfAPartThatWaits(t *testing.T) {
	trackertest.Test(t, dialectOf(vendor{growth: stillApproved, headless: true}))
	trackertest.Test(t, dialectOf(vendor{growth: stillPending}))
}

func TestDescribed(t *testing.T) { trackertest.Described(t, dialect(), "clockify.yaml") }

func TestEngineLivesThroughHistories(t *testing.T) { histories.Run(t, dialect()) }

func BenchmarkWeeks(b *testing.B) { trackertest.Benchmark(b, dialect()) }
