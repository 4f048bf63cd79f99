package kimai

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// dialect is that of a Kimai whose plugin tells all weeks of a user at once.
func dialect() trackertest.Dialect { return dialectOf(func(*vendor) {}, "") }

func dialectOf(change func(*vendor), more string) trackertest.Dialect {
	return trackertest.Dialect{
		Handler: func(w *trackertest.World) http.Handler {
			v := kimai(w)
			change(v)
			return v
		},
		Token: token, Approval: []string{"status"}, Lists: "/api/timesheets", Mondays: true, Mute: true, See: see,
		New: func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
			return kimaiAt(t, net, base, token, more)
		},
		State: func(s *trackertest.Sheet) tracker.State {
			if s.State == tracker.Withdrawn { // It is not submitted any more.
				return tracker.Pending
			}
			return s.State
		},
		Wire: func(path string) any {
			switch {
			case strings.HasPrefix(path, "/api/timesheets"):
				return new([]timesheet)
			case strings.HasPrefix(path, "/api/users"):
				return new([]user)
			case strings.HasPrefix(path, "/api"+overtimePath):
				return new(overtime)
			}
			return new(any)
		},
	}
}

// see returns an entry as Kimai tells it: with what it costs in place of its rate. Its client and currency are
// those of its project.
func see(e tracker.Entry) tracker.Entry {
	if e.Rate.Valid {
		e.Amount = decimal.NewNullDecimal(total(e.Rate.Decimal, e.Seconds))
	}
	e.Rate = decimal.NullDecimal{}
	if e.Project.ID == "" {
		e.Client = tracker.Ref{}
	}
	if e.Client.ID == "" {
		e.Currency = ""
	}
	return e
}

// kimaiAt returns a tracker with more settings.
func kimaiAt(t testing.TB, net *remote.Network, base, token, more string) *Kimai {
	t.Helper()
	s, err := settings(t, "account: agency\nurl: "+base+"\ntoken: {file: token}\n"+more, token)
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(s, net)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// settings decodes a tracker's section. The token is in a file beside it.
func settings(t testing.TB, lines, token string) (s Settings, err error) {
	t.Helper()
	folder := t.TempDir()
	text := "state: s.db\nsyncs:\n  agency:\n    schedule: '@hourly'\n    start: 2026-01-05\n    accounting: {kind: journal}\n    tracker:\n      kind: kimai\n      " + strings.ReplaceAll(lines, "\n", "\n      ") + "\n"
	for name, content := range map[string]string{"token": token, "config.yaml": text} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(filepath.Join(folder, "config.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Syncs[0].Tracker.Decode(&s)
	return s, err
}

func TestConformance(t *testing.T) { trackertest.Test(t, dialect()) }

func TestConformanceWeekByWeek(t *testing.T) {
	trackertest.Test(t, dialectOf(func(v *vendor) { v.overtime, v.zone = false, time.FixedZone("", 14*3600) }, ""))
}

func TestConformanceWithoutThePlugin(t *testing.T) { trackertest.Test(t, withoutThePlugin()) }

func withoutThePlugin() trackertest.Dialect {
	d := dialectOf(func(v *vendor) { v.bare = true }, "approval: none\napproved_when: {tag: "+tag+"}")
	plain := d.State
	d.Approval, d.Mute = []string{"tags"}, false
	d.State = func(s *trackertest.Sheet) tracker.State {
		if s.State == tracker.Approved && slices.ContainsFunc(s.Entries, func(e *trackertest.Entry) bool { return e.Open }) {
			return tracker.Growing
		}
		return plain(s)
	}
	return d
}

func TestEngineLivesThroughHistories(t *testing.T) { histories.Run(t, dialect()) }

func TestEngineLivesThroughHistoriesWithoutThePlugin(t *testing.T) {
	histories.Run(t, withoutThePlugin())
}

func BenchmarkWeeks(b *testing.B) { trackertest.Benchmark(b, dialect()) }
