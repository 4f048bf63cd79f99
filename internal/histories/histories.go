// Package histories lets an engine live through random histories of a live tracker: approvals, growth,
// withdrawals, re-approvals, deletions, leavers, and faults on any request, over real requests to a fake of the
// vendor. It is for the tests of trackers.
//
// Its one hard rule: it judges by what stands in the world and in the books, and never by what the engine says
// of itself.
package histories

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/civil"
	"tidemark/sync/tracker/trackertest"
)

var (
	count = flag.Int("histories", 500, "random histories of a tracker")
	seed  = flag.Uint64("seed", 0, "seed of the first history; 0 takes one from the clock")
)

// Run plays random histories of a tracker. One that fails is played again by its own seed: -histories 1 -seed N.
func Run(t *testing.T, d trackertest.Dialect) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	n := *count
	if testing.Short() {
		n = min(n, 30)
	}
	t.Logf("%d histories, first seed %d", n, first)
	for i := range uint64(n) {
		t.Run(fmt.Sprint(first+i), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newHistory(t, d, first+i).play() })
		})
	}
}

// start is the first day that is billed; every history begins five weeks later.
var start = civil.Date{Year: 2026, Month: time.September, Day: 7}

// history is one life of a tracker and an engine.
type history struct {
	*testing.T
	trackertest.Dialect
	rnd    *rand.Rand
	world  *trackertest.World
	books  *books
	store  *state.Store
	engine *sync.Engine
	sick   int                            // percent of requests that fail
	ever   map[string]bool                // entries that were approved at some time, by their notes
	whose  map[string]*trackertest.Member // who made an entry, by its note
	said   []string
}

func newHistory(t *testing.T, d trackertest.Dialect, seed uint64) *history {
	time.Sleep(time.Until(time.Date(2026, time.October, 12, 9, 0, 0, 0, time.UTC))) // the clock of the bubble
	h := &history{T: t, Dialect: d, rnd: rand.New(rand.NewPCG(seed, 2)), world: &trackertest.World{}, books: &books{}, ever: map[string]bool{}, whose: map[string]*trackertest.Member{}}
	h.world.PageSize = 1 + h.rnd.IntN(4)
	for i, zone := range []string{"Europe/Berlin", "Pacific/Auckland", "America/New_York"} {
		h.world.Join(fmt.Sprintf("Member %d", i), zone)
	}
	handler := d.Handler(h.world)
	transport := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.chance(h.sick) {
			h.fault().Answer(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	store, err := state.Open(filepath.Join(t.TempDir(), "tidemark.db"), state.Options{NoProbe: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h.store = store
	from := d.New(t, remote.New(remote.Options{Transport: transport}), remotetest.Base, d.Token)
	h.engine = sync.New(store, from, h.books, h.rules(), time.Now, zerolog.Nop(), nil)
	return h
}

func (h *history) rules() sync.Settings {
	day := 24 * time.Hour
	s := sync.Settings{
		Name: "live", Prefix: "ts-", Location: time.UTC, Overlap: 2 * day, TTL: 3 * day, Lookback: 200 * day, Reread: 200 * day, RereadEvery: 7 * day,
		Start: start, Per: sync.PerProject, WaitAtMost: 14 * day, Lines: sync.LineEntry, Dated: sync.PeriodEnd, DueDays: 14,
		Corrections: sync.Window, Late: sync.LateReview, MaxNew: 200, Workers: 2,
		Customers: []sync.Customer{{Client: "Acme", Customer: "c1"}, {Client: "Beta", Customer: "c2"}},
		Rates:     []sync.Rate{{Rate: decimal.NewFromInt(80), Currency: "EUR"}},
	}
	s.Corrections = []sync.Corrections{sync.Window, sync.Review, sync.UpdateDrafts}[h.rnd.IntN(3)]
	s.Late = []sync.Late{sync.LateReview, sync.SecondInvoice}[h.rnd.IntN(2)]
	return s
}

func (h *history) chance(percent int) bool { return h.rnd.IntN(100) < percent }

func (h *history) say(format string, args ...any) {
	h.said = append(h.said, time.Now().UTC().Format("01-02 15:04 ")+fmt.Sprintf(format, args...))
}

// fault is something that goes wrong with a request.
func (h *history) fault() remotetest.Fault {
	all := []remotetest.Fault{
		remotetest.Status(500), remotetest.Status(503), remotetest.Status(429), remotetest.Status(404), remotetest.Status(403), remotetest.Status(401),
		remotetest.HTML, remotetest.Empty, remotetest.Cut, remotetest.Short, remotetest.Reset,
	}
	return all[h.rnd.IntN(len(all))]
}

// play lives the history, lets it come to rest, and judges it.
func (h *history) play() {
	defer func() {
		if h.Failed() {
			for _, line := range h.said {
				h.Log(line)
			}
		}
	}()
	for range 6 + h.rnd.IntN(14) {
		h.step()
		h.judge()
		if h.Failed() {
			return
		}
	}
	h.rest()
	h.judge()
	h.judgeRest()
}

// pass runs one pass. With faults about, it may fail.
func (h *history) pass() error {
	ctx, cancel := context.WithTimeout(h.Context(), time.Hour)
	defer cancel()
	report, err := h.engine.Pass(ctx, time.Now())
	h.say("pass: %s, %v, warnings %q", report.Summary(), err, report.Warnings)
	return err
}

// rest lets everything that was begun come to its end.
func (h *history) rest() {
	h.sick = 0
	for range 3 {
		time.Sleep(8 * 24 * time.Hour)
		if err := h.pass(); err != nil {
			h.Fatalf("a pass without faults failed: %v", err)
		}
	}
	if err := h.pass(); err != nil {
		h.Fatal(err)
	}
}
