package sync

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

var (
	histories = flag.Int("histories", 2000, "random histories of the model test")
	seed      = flag.Uint64("seed", 0, "seed of the first history; 0 takes one from the clock")
)

// TestRandomHistories plays random histories against what must hold whatever happens. A history that
// fails is played again by its own seed: go test ./sync -run RandomHistories -histories 1 -seed N.
func TestRandomHistories(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("%d histories, first seed %d", *histories, first)
	count := *histories
	if testing.Short() {
		count = min(count, 100)
	}
	for i := range uint64(count) {
		t.Run(fmt.Sprint(first+i), func(t *testing.T) {
			t.Parallel()
			play(t, first+i)
		})
	}
}

// firstStart is the start of every history.
var firstStart = civil.Date{Year: 2026, Month: 10, Day: 5}

// world is everything that a history happens in.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	path    string
	clock   time.Time
	tracker *peerTracker
	books   *watchedBooks
	store   *state.Store
	engine  *Engine
	rules   Settings
	former  map[string]tracker.Week // what each week was before its last change
	serial  int                     // of the next entry
	log     []string
	newest  time.Time // stamp that the tracker ever gave
	real    time.Time // what the clock would say if nobody had set it
	lives   int       // how often the state began anew: keys are counted from the beginning then
}

func play(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer func() {
		if t.Failed() {
			for _, line := range w.log {
				t.Log(line)
			}
		}
	}()
	for range 10 + w.rnd.IntN(30) {
		w.step()
		w.check()
		if t.Failed() {
			return
		}
	}
	w.quiet()
	w.checkQuiet()
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), path: filepath.Join(t.TempDir(), "tidemark.db"),
		clock: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), real: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), tracker: newPeerTracker(), former: map[string]tracker.Week{},
	}
	w.tracker.size = 1 + w.rnd.IntN(4)
	w.tracker.traits = tracker.Traits{Feed: w.chance(70), Wide: w.chance(30), Whole: w.chance(50)}
	w.books = &watchedBooks{peerBooks: newPeerBooks(), world: w, bodies: map[string]string{}, written: map[string]time.Time{}}
	if w.chance(40) {
		w.books.traits.SearchLag = time.Hour
		w.books.traits.SettleAfter = 10 * time.Minute
	}
	if w.chance(15) {
		w.books.traits.Authoritative = false
		w.books.traits.KeyMemory = time.Hour
	}
	w.rules = Settings{
		Name: "model", Prefix: "ts-", Location: time.UTC, Overlap: 48 * time.Hour, TTL: 72 * time.Hour,
		Lookback: 100 * 24 * time.Hour, Reread: 100 * 24 * time.Hour, RereadEvery: 24 * time.Hour, Start: firstStart, Per: PerProject,
		Settle: time.Duration(w.rnd.IntN(2)) * time.Hour, WaitAtMost: 14 * 24 * time.Hour, Lines: LineEntry, DueDays: 14,
		Corrections: Window, Late: LateReview, MaxNew: 200, Workers: 1 + w.rnd.IntN(4),
		Customers: []Customer{{Client: "client-0", Customer: "c0"}, {Client: "client-1", Customer: "c1"}},
	}
	w.open()
	t.Cleanup(func() { _ = w.store.Close() })
	return w
}

func (w *world) chance(percent int) bool { return w.rnd.IntN(100) < percent }

// sleep lets time go by.
func (w *world) sleep(d time.Duration) {
	w.clock = w.clock.Add(d)
	w.real = w.clock
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, w.clock.Format("01-02 15:04:05 ")+fmt.Sprintf(format, args...))
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatalf("%v", err)
	}
}

// open opens the state as the program does at its start.
func (w *world) open() {
	store, err := state.Open(w.path, state.Options{NoProbe: true, NoSync: true})
	w.must(err)
	w.store = store
	w.start()
}

func (w *world) start() {
	w.engine = New(w.store, w.tracker, w.books, w.rules, func() time.Time { return w.clock }, zerolog.Nop(), nil)
}

// step does one random thing.
func (w *world) step() {
	w.sleep(time.Duration(w.rnd.IntN(7200)) * time.Second)
	steps := []struct {
		weight int
		do     func()
	}{
		{14, w.newWeek}, {10, w.grow}, {10, w.correct}, {6, w.revert}, {6, w.withdraw}, {6, w.approve}, {6, w.move},
		{3, w.rename}, {5, w.resend}, {4, w.changeSettings}, {34, func() { w.pass() }}, {8, w.backfill}, {4, w.passBesideBackfill},
		{12, w.person}, {5, w.bookkeeper}, {12, w.disturb}, {6, w.breakTracker}, {4, w.late}, {12, w.crash}, {3, w.loseState}, {4, w.stepClock}, {8, w.rest}, {4, w.sweep},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	n := w.rnd.IntN(total)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			s.do()
			return
		}
	}
}

// store1 puts a changed week into the tracker, with a newer version and stamp.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// anyWeek returns a copy of a random week.
func (w *world) changeSettings() {
	switch w.rnd.IntN(6) {
	case 0:
		w.rules.Per = []Per{PerProject, PerWeek, PerClient}[w.rnd.IntN(3)]
	case 1:
		w.rules.Start = firstStart.AddDays(7 * w.rnd.IntN(3))
	case 2:
		w.rules.Corrections = []Corrections{Window, Review, UpdateDrafts}[w.rnd.IntN(3)]
	case 3:
		w.rules.Late = []Late{LateReview, SecondInvoice}[w.rnd.IntN(2)]
	case 4:
		w.rules.MaxNew = []int{1, 200}[w.rnd.IntN(2)]
	case 5:
		w.rules.Customers = append(w.rules.Customers, Customer{Client: "client-2", Customer: "c2"})
	}
	w.say("settings: per %s, start %s, corrections %s, late %s, max %d", w.rules.Per, w.rules.Start, w.rules.Corrections, w.rules.Late, w.rules.MaxNew)
	w.start()
}

// pass runs a pass and checks that its report is true.
func (w *world) pass() error {
	before := len(w.books.effects)
	report, err := w.engine.Pass(context.Background(), w.clock)
	w.say("pass: %s, error %v", report.Summary(), err)
	made := report.Count(Created)
	if done := w.books.created(before); made > done {
		w.t.Errorf("the report says %d created, the accounting system %d", made, done)
	}
	return err
}

func (w *world) days() civil.Period {
	first := w.rules.Start.AddDays(7 * w.rnd.IntN(3))
	return civil.Period{First: first, Last: first.AddDays(7*w.rnd.IntN(3) + 6)}
}

func (w *world) backfill() {
	mark, err := w.store.Watermark(w.engine.Channel())
	w.must(err)
	days := w.days()
	report, err := w.engine.Backfill(context.Background(), w.clock, days, func(int, int, Slice) {})
	w.say("backfill %s: %s, error %v", days, report.Summary(), err)
	after, err := w.store.Watermark(w.engine.Channel())
	w.must(err)
	if !after.Equal(mark) {
		w.t.Errorf("a backfill moved the watermark from %s to %s", mark, after)
	}
}

func (w *world) passBesideBackfill() {
	done := make(chan struct{})
	days := w.days()
	go func() {
		defer close(done)
		_, _ = w.engine.Backfill(context.Background(), w.clock, days, func(int, int, Slice) {})
	}()
	_, err := w.engine.Pass(context.Background(), w.clock)
	<-done
	w.say("pass beside a backfill of %s, error %v", days, err)
}

// person does what a person would about a random item.
// sensible keeps a person from what no person would do: to release or retry what stands in the
// accounting system already.
// standsThere reports whether an entry that a group wants stands on a live invoice.
// bookkeeper does what a person does in the accounting system.
// disturb lets calls fail in the passes to come.
func (w *world) disturb() {
	f := []peerFault{lostReply, lostRequest, refusedNow, rejected}[w.rnd.IntN(4)]
	for range w.rnd.IntN(3) {
		w.books.faults = append(w.books.faults, "")
	}
	w.books.faults = append(w.books.faults, f)
	w.say("disturb: %s", f)
	if w.chance(30) {
		w.books.finding = fmt.Errorf("503")
		_ = w.pass()
		w.books.finding = nil
	}
}

// crash lets a pass die at a random call, and starts the program again from what was on the disk then.
func (w *world) crash() {
	w.books.dieAt = 1 + w.rnd.IntN(6)
	_, passErr := w.engine.Pass(context.Background(), w.clock)
	died := w.books.dead
	w.books.dieAt, w.books.dead = 0, false
	marker, err := os.ReadFile(w.path + ".id")
	w.must(errors.Join(err, w.store.Close()))
	if died {
		w.must(os.WriteFile(w.path, w.books.image, 0o600))
		w.must(os.WriteFile(w.path+".id", marker, 0o600)) // A process that dies does not write it.
	}
	w.say("crash: died %v, error %v", died, passErr)
	w.open()
}

// loseState takes the state file away. With its marker gone too it is a first run, which can only be
// told from a lost one by what stands in the accounting system: so the tracker rests meanwhile.
func (w *world) loseState() {
	if w.rules.Per != PerProject || w.rules.Start != firstStart || !w.settled() {
		return
	}
	w.must(w.store.Close())
	w.must(os.Remove(w.path))
	w.lives++
	if w.chance(50) {
		w.must(os.Remove(w.path + ".id"))
		w.open()
	} else {
		store, err := state.Open(w.path, state.Options{NoProbe: true, NoSync: true})
		if err == nil {
			_ = store.Close()
			w.t.Fatal("a lost state was taken for a first run")
		}
		_, err = state.Init(w.path, w.clock, []state.Channel{w.engine.Channel()})
		w.must(err)
		w.open()
		w.newWeek()
	}
	w.books.faults = nil
	before := len(w.books.effects)
	for range 2 {
		w.sleep(2 * time.Hour)
		w.say("state lost; pass: %v", w.pass())
	}
	if n := w.books.created(before); n > 0 {
		w.t.Errorf("%d invoices were created after the state was lost", n)
	}
}

// settled reports whether every live invoice is what its group wants, with nothing open.
func (w *world) settled() bool {
	if w.pass() != nil {
		return false
	}
	items, err := w.store.Items("")
	w.must(err)
	due, err := w.store.Due(w.engine.Channel())
	w.must(err)
	return len(items) == 0 && len(due) == 0
}

func (w *world) stepClock() {
	d := []time.Duration{-time.Hour, -48 * time.Hour, 400 * 24 * time.Hour}[w.rnd.IntN(3)]
	w.clock = w.clock.Add(d)
	w.say("clock stepped by %s", d)
	_ = w.pass()
	w.clock = w.real
}

func (w *world) rest() { w.sleep(time.Duration(w.rnd.IntN(100)) * time.Hour) }

// breakTracker lets a pass fail at a page, or meet a record that cannot be read.
// late stores a change that bears a stamp of the day before, as one does that was committed late.
func (w *world) sweep() {
	clock, err := w.store.Observe(w.clock)
	w.must(err)
	swept, err := w.store.Sweep(clock, w.rules.TTL)
	w.must(err)
	w.say("sweep: %d keys", swept.Keys)
}
