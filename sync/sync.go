// Package sync is the engine: it takes approved weeks in, makes groups of them, and sees to it that
// each group is billed exactly once in effect.
//
// Its one hard rule: nothing is sent before its key and its bytes are on the disk, and nothing is sent
// again unless the accounting system was asked and did not have it. What the program cannot know, it
// leaves to a person.
//
// A pass pulls and then posts. The decisions are pure functions that can be read beside the tables of
// docs/design.md: [Judge] for a week that comes in, [Decide] for a group.
package sync

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/fault"
	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Tracker is where weeks come from.
type Tracker interface {
	// Account returns the tracker account as an immutable id.
	Account() string
	Traits() tracker.Traits
	// Weeks yields what the query asks for, or more, page by page. An error ends the traversal; what
	// was yielded before it is true nevertheless.
	Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error]
	// Week returns one record by its id; [tracker.ErrGone] if there is none.
	Week(ctx context.Context, id string) (tracker.Week, error)
}

// Finder looks invoices up. An error never means that there is none.
type Finder interface {
	// Find returns every invoice that bears exactly this reference, in whatever state it is.
	Find(ctx context.Context, reference string) ([]accounting.Receipt, error)
	// Read returns one invoice by its id; [accounting.ErrAbsent] if there is none.
	Read(ctx context.Context, id string) (accounting.Receipt, error)
}

// Writer makes and changes drafts. Its errors are those of package accounting; any other error means
// that the outcome is unknown.
type Writer interface {
	// Prepare makes the request for an invoice. It is pure: the same invoice gives the same bytes.
	Prepare(inv accounting.Invoice) (accounting.Request, error)
	// Create sends a request that makes a draft, from where progress stands on. Repeating it under
	// the same key within the system's memory of keys has one effect.
	Create(ctx context.Context, key string, req accounting.Request, progress accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error)
	// Update sends a request that changes the draft that left describes, and no other.
	Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error)
}

// Lister lists what stands there.
type Lister interface {
	// List yields every invoice that bears one of the days, in whatever state and whoever made it; one that bears none
	// may be among them. An error ends it, and what is missing then never looks like the end.
	List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error]
}

// Accounting is where invoices are made.
type Accounting interface {
	// Account returns the accounting account as an immutable id.
	Account() string
	Traits() accounting.Traits
	Finder
	Lister
	Writer
}

// Engine runs one sync. Its methods may be called from several goroutines: pulls take turns, and each
// reference has one lock.
type Engine struct {
	store   *state.Store
	tracker Tracker
	books   Accounting
	rules   Settings
	channel state.Channel
	now     func() time.Time
	log     zerolog.Logger
	faults  *fault.Points
	started time.Time

	rebuild atomic.Bool // an invoice of ours was found that this state never claimed
}

// New returns the engine of a sync. The clock stamps the ends of attempts and look-ups; faults may be nil.
func New(store *state.Store, from Tracker, to Accounting, rules Settings, now func() time.Time, log zerolog.Logger, faults *fault.Points) *Engine {
	return &Engine{
		store: store, tracker: from, books: to, rules: rules, now: now, faults: faults, started: now(),
		log:     log.With().Str("sync", rules.Name).Logger(),
		channel: state.Channel{Tracker: from.Account(), Account: to.Account(), Prefix: rules.Prefix},
	}
}

// Name returns the name of the sync.
func (e *Engine) Name() string { return e.rules.Name }

// Channel returns where the engine's rows are in the state.
func (e *Engine) Channel() state.Channel { return e.channel }

// reading is the lock of taking in: passes and slices of a backfill take turns.
func (e *Engine) reading() string {
	return "reading " + e.channel.Tracker + " " + e.channel.Account + " " + e.channel.Prefix
}

// Pass runs one pass at now: pull, then post. What was pulled before an error is posted all the same.
// The report tells what was done, also beside an error.
// A sync that a person has paused does nothing: [ErrHalted].
func (e *Engine) Pass(ctx context.Context, now time.Time) (Report, error) {
	if err := e.mayRun(now); err != nil {
		return Report{Sync: e.rules.Name, Began: now}, err
	}
	return e.pass(ctx, now)
}

func (e *Engine) pass(ctx context.Context, now time.Time) (Report, error) {
	now = now.In(e.rules.Location) // the state takes today from it
	report := Report{Sync: e.rules.Name, Began: now}
	clock, err := e.store.Observe(now)
	if err != nil {
		return report, err
	}
	if clock.Note != "" {
		report.Warnings = append(report.Warnings, clock.Note)
	}
	pullErr := e.pull(ctx, now, &report)
	var postErr error
	if ctx.Err() == nil && !fatal(pullErr) {
		postErr = e.post(ctx, clock, scope{}, pullErr == nil && !report.Partial && !report.Empty, &report)
	}
	return report, e.beat(&report, pullErr, postErr)
}
