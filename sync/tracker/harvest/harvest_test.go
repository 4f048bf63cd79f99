package harvest

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

func dialect() trackertest.Dialect { return dialectOf(func(*vendor) {}) }

func dialectOf(change func(*vendor)) trackertest.Dialect {
	return trackertest.Dialect{
		Handler: func(w *trackertest.World) http.Handler {
			v := harvest(w)
			change(v)
			return v
		},
		Token: token, Approval: []string{"approval_status", "is_closed"}, Lists: "/v2/time_entries", Zoneless: true, Strip: "/v2",
		See: see, State: stateOf,
		New: func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
			return harvestAt(t, net, base, token, nil)
		},
		Wire: func(path string) any {
			switch {
			case strings.HasPrefix(path, "/v2/time_entries"), strings.HasPrefix(path, "/v2/clients"):
				return new(listing)
			case strings.HasPrefix(path, "/v2/company"):
				return new(company)
			}
			return new(any)
		},
	}
}

// see returns an entry as Harvest tells it: hours with two decimals, a rate where it is billable, the currency of
// its client.
func see(e tracker.Entry) tracker.Entry {
	written, err := decimal.NewFromString(hours(e.Seconds).String())
	if err != nil {
		panic(err)
	}
	e.Seconds = written.Mul(decimal.NewFromInt(3600)).IntPart()
	if !e.Billable {
		e.Rate = decimal.NullDecimal{}
	}
	e.Currency = ""
	if e.Client.ID != "" {
		e.Currency = "EUR"
	}
	return e
}

// stateOf is how a sheet is told: as its entries are, and not at all where it has none.
func stateOf(s *trackertest.Sheet) tracker.State {
	open := func(e *trackertest.Entry) bool { return e.Open }
	closed := func(e *trackertest.Entry) bool { return !e.Open }
	switch {
	case len(s.Entries) == 0:
		return ""
	case s.State != tracker.Approved, !slices.ContainsFunc(s.Entries, closed):
		return tracker.Pending
	case slices.ContainsFunc(s.Entries, open):
		return tracker.Growing
	}
	return tracker.Approved
}

// good are settings with all that is required.
func good() Settings {
	return Settings{Account: accountID, Token: config.SecretOf(token), Contact: contact}
}

// harvestAt returns a tracker at a base URL. Change changes its settings; nil: nothing.
func harvestAt(t testing.TB, net *remote.Network, base, token string, change func(*Settings)) *Harvest {
	t.Helper()
	s := good()
	s.URL, s.Token = base, config.SecretOf(token)
	if change != nil {
		change(&s)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	h, err := New(s, net)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHarvest(t *testing.T) { trackertest.Test(t, dialect()) }

func TestHarvestWhereOnlyIsClosedTells(t *testing.T) {
	trackertest.Test(t, dialectOf(func(v *vendor) { v.closed, v.linkless = true, true }))
}

func TestHarvestWithCursors(t *testing.T) {
	trackertest.Test(t, dialectOf(func(v *vendor) { v.cursors = true }))
}

// The document writes the statuses of answers as numbers, where OpenAPI wants text.
var statusIsANumber = regexp.MustCompile(`(?m)^(\s+)(\d{3}):`)

func TestHarvestAsDescribed(t *testing.T) {
	const folder, name = "TIDEMARK_OPENAPI", "harvest.yaml"
	if text, err := os.ReadFile(filepath.Join(os.Getenv(folder), name)); err == nil {
		mended := t.TempDir()
		if err := os.WriteFile(filepath.Join(mended, name), statusIsANumber.ReplaceAll(text, []byte("$1'$2':")), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(folder, mended)
	}
	trackertest.Described(t, dialect(), name)
}

func TestEngineLivesThroughHistories(t *testing.T) { histories.Run(t, dialect()) }

// The answers are replayed by another server, so links lead to where Harvest's do.
func BenchmarkWeeks(b *testing.B) {
	trackertest.Benchmark(b, dialectOf(func(v *vendor) { v.origin = defaultURL }))
}
