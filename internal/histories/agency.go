package histories

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	stdsync "sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// fixed is a tracker that lists the same weeks whenever it is asked.
type fixed []tracker.Week

// Account names the tracker.
func (f fixed) Account() string { return "fixed" }

// Traits says that everything is listed each time.
func (f fixed) Traits() tracker.Traits { return tracker.Traits{Feed: true, Wide: true} }

// Weeks yields all on one page.
func (f fixed) Weeks(context.Context, tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) { yield(tracker.Page{Weeks: f}, nil) }
}

// Week finds none: every week is readable in the list.
func (f fixed) Week(context.Context, string) (tracker.Week, error) {
	return tracker.Week{}, tracker.ErrGone
}

// many is how many invoices an agency has to make.
const many = 40

// agency bills many weeks to a system that is reached over HTTP.
type agency struct {
	*testing.T
	accountingtest.Dialect
	books   *accountingtest.Books
	path    string
	store   *state.Store
	system  accountingtest.System
	engine  *sync.Engine
	between time.Duration      // passes
	sick    int                // percent of requests that fail, before or after their effect
	always  []remotetest.Fault // of these

	mu  stdsync.Mutex // requests come at the same time
	rnd *rand.Rand
}

// fall makes so many percent of all requests fail with these faults; none: with those as before.
func (a *agency) fall(percent int, faults ...remotetest.Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sick = percent
	if len(faults) > 0 {
		a.always = faults
	}
}

// fault draws whether a request fails, and how.
func (a *agency) fault() (fault remotetest.Fault, ill bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ill = a.rnd.IntN(100) < a.sick
	return a.always[a.rnd.IntN(len(a.always))], ill
}

// pick returns a random number below n.
func (a *agency) pick(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rnd.IntN(n)
}

func newAgency(t *testing.T, d accountingtest.Dialect, seed uint64) *agency {
	time.Sleep(time.Until(time.Date(2026, time.October, 12, 9, 0, 0, 0, time.UTC))) // the clock of the bubble
	a := &agency{T: t, Dialect: d, rnd: rand.New(rand.NewPCG(seed, 3)), books: accountingtest.NewBooks(), path: filepath.Join(t.TempDir(), "tidemark.db"), between: 15 * time.Minute}
	a.always = []remotetest.Fault{remotetest.Status(500), remotetest.Status(503), remotetest.Reset, remotetest.Short, remotetest.Cut, remotetest.HTML, remotetest.Empty, remotetest.Status(429)}
	handler := d.Handler(a.books)
	transport := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault, ill := a.fault()
		if !ill {
			handler.ServeHTTP(w, r)
			return
		}
		switch n := a.pick(3); {
		case fault == remotetest.Status(429): // Whoever says so has done nothing.
		case n == 0: // The effect, and no answer.
			handler.ServeHTTP(httptest.NewRecorder(), r)
		case n == 1: // The effect later on, and no answer.
			a.later(handler, r)
		}
		fault.Answer(w, r)
	}))
	a.system = d.New(t, remote.New(remote.Options{Transport: transport}), remotetest.Base, d.Token)
	a.open()
	t.Cleanup(func() { _ = a.store.Close() })
	return a
}

// later lets a request have its effect when its answer is lost already, within the time that the system says.
func (a *agency) later(handler http.Handler, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	one := r.Clone(context.WithoutCancel(a.Context()))
	one.Body = io.NopCloser(bytes.NewReader(body))
	go func() {
		time.Sleep(a.system.Traits().SettleAfter / 2)
		handler.ServeHTTP(httptest.NewRecorder(), one)
	}()
}

// open opens the state, new if there is none, and starts the engine over it.
func (a *agency) open() {
	a.Helper()
	store, err := state.Open(a.path, state.Options{NoProbe: true, NoSync: true})
	if err != nil {
		a.Fatal(err)
	}
	a.store = store
	day := 24 * time.Hour
	a.engine = sync.New(store, weeks(), a.system, sync.Settings{
		Name: "agency", Prefix: "ts-", Location: time.UTC, Overlap: 2 * day, TTL: 3 * day, Lookback: 70 * day, Reread: 35 * day, RereadEvery: 7 * day,
		Start: start, Per: sync.PerProject, WaitAtMost: 14 * day, Lines: sync.LineEntry, Dated: sync.PeriodEnd, DueDays: 14,
		Corrections: sync.Window, Late: sync.LateReview, MaxNew: 200, Workers: 1,
		Customers: []sync.Customer{{Client: "c1", Customer: a.customer("71")}},
	}, time.Now, zerolog.Nop(), nil)
}

func (a *agency) customer(id string) string {
	if a.Customer == nil {
		return id
	}
	return a.Customer(id)
}

// weeks are approved, each of another project.
func weeks() (all fixed) {
	for i := range many {
		ref := tracker.Ref{ID: fmt.Sprintf("p%d", i), Name: fmt.Sprintf("Project %d", i)}
		all = append(all, tracker.Week{
			ID: fmt.Sprintf("w%d", i), State: tracker.Approved, Period: trackertest.Week(start), Member: tracker.Ref{ID: "m", Name: "Ada"},
			Version: tracker.Version{Kind: tracker.None},
			Entries: []tracker.Entry{{
				ID: fmt.Sprintf("e%d", i), Date: start, Seconds: int64(1800 * (i + 1)), Billable: true, Client: tracker.Ref{ID: "c1", Name: "Acme"}, Project: ref,
				Rate: decimal.NewNullDecimal(decimal.RequireFromString("90.50")), Currency: "EUR",
			}},
		})
	}
	return all
}

// pass runs one pass, some time after the last one. With faults about, it may fail.
func (a *agency) pass() (sync.Report, error) {
	time.Sleep(a.between)
	ctx, cancel := context.WithTimeout(a.Context(), 4*time.Hour)
	defer cancel()
	return a.engine.Pass(ctx, time.Now())
}

// passes runs passes until every invoice stands in the state, and at most n.
func (a *agency) passes(n int) (adopted, created int) {
	a.Helper()
	var err error
	for range n {
		var r sync.Report
		r, err = a.pass()
		adopted, created = adopted+r.Count(sync.Adopted), created+r.Count(sync.Created)
		if adopted+created >= many {
			return adopted, created
		}
	}
	a.Errorf("after %d passes %d of %d invoices are known; the last pass: %v", n, adopted+created, many, err)
	return adopted, created
}

// once holds that each week is on exactly one document.
func (a *agency) once(what string) {
	a.Helper()
	defer a.books.Lock()()
	seen := map[string]int{}
	for _, d := range a.books.Documents {
		seen[d.Reference]++
	}
	for reference, n := range seen {
		if n != 1 {
			a.Errorf("%s: %d documents bear %s", what, n, reference)
		}
	}
	if len(seen) != many {
		a.Errorf("%s: %d references in the books, want %d", what, len(seen), many)
	}
}

// lose closes the state and removes it, with its marker or without.
func (a *agency) lose(marker bool) {
	a.Helper()
	if err := a.store.Close(); err != nil {
		a.Fatal(err)
	}
	if err := os.Remove(a.path); err != nil {
		a.Fatal(err)
	}
	if marker {
		if err := os.Remove(a.path + ".id"); err != nil {
			a.Fatal(err)
		}
	}
}
