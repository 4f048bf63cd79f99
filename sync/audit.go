package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// Audit is what came of comparing, for the weeks of a range, what is approved at the tracker, what is recorded in the
// state, and what stands in the accounting system.
type Audit struct {
	Sync     string       `json:"sync"`
	Days     civil.Period `json:"days"` // on one of which each week begins
	Began    time.Time    `json:"began"`
	Weeks    int          `json:"weeks"` // that the tracker lists
	Approved Tally        `json:"approved"`
	Recorded Tally        `json:"recorded"`
	Booked   Tally        `json:"booked"`   // live invoices under references of ours
	Findings []Finding    `json:"findings"` // what is off, the gravest first
	Decided  []Finding    `json:"decided"`  // what a person has decided already
	Waiting  []Wait       `json:"waiting"`  // what is not billed, or not to be, for a reason
	Notes    []string     `json:"notes,omitempty"`
}

// Tally is a number of invoices and their money.
type Tally struct {
	Count int                                `json:"count"`
	Net   map[money.Currency]decimal.Decimal `json:"net,omitempty"`
}

func (t *Tally) add(c money.Currency, amount decimal.Decimal) {
	t.Count++
	if t.Net == nil {
		t.Net = map[money.Currency]decimal.Decimal{}
	}
	if c != "" {
		t.Net[c] = t.Net[c].Add(amount)
	}
}

// Reason says why a group is not billed, and nothing is off for that.
type Reason string

// The reasons.
const (
	Incomplete  Reason = "incomplete"   // more may be approved, or it settles
	WithPerson  Reason = "with-person"  // a question is open, or the next pass asks one
	HeldBack    Reason = "held"         // until a day that a person said
	SettledHere Reason = "settled"      // a person has handled it
	SkippedHere Reason = "skipped"      // a person does not want it billed
	InFlight    Reason = "in-flight"    // an operation has no answer yet, or was under way during the audit
	NothingDue  Reason = "nothing"      // no entry is billable, its client is ignored, it is billed elsewhere
	BothGone    Reason = "both-gone"    // no longer approved, and the invoice that was made is gone, too
	BeforeStart Reason = "before-start" // of weeks
	NotRead     Reason = "not-read"     // of records that the tracker announced
)

// Wait is what waits, or is left alone, for one reason.
type Wait struct {
	Reason Reason `json:"reason"`
	Tally
}

// Count returns how many findings are of a kind.
func (a Audit) Count(kind Defect) (n int) {
	for _, f := range a.Findings {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// wait counts groups, weeks or records that are left alone.
func (a *Audit) wait(why Reason, n int, c money.Currency, amount decimal.Decimal) {
	if n == 0 {
		return
	}
	i := slices.IndexFunc(a.Waiting, func(w Wait) bool { return w.Reason == why })
	if i < 0 {
		i = len(a.Waiting)
		a.Waiting = append(a.Waiting, Wait{Reason: why})
	}
	a.Waiting[i].add(c, amount)
	a.Waiting[i].Count += n - 1
}

// MarshalZerologObject writes what was found as the fields of one log line.
func (a Audit) MarshalZerologObject(ev *zerolog.Event) {
	ev.Str("sync", a.Sync).Str("days", a.Days.String()).Int("weeks", a.Weeks).Int("recorded", a.Recorded.Count).Int("booked", a.Booked.Count).
		Int("findings", len(a.Findings)).Int("decided", len(a.Decided))
	for _, kind := range Defects() {
		if n := a.Count(kind); n > 0 {
			ev.Int(string(kind), n)
		}
	}
	if len(a.Notes) > 0 {
		ev.Strs("notes", a.Notes)
	}
}

// beyond is how many days after its last week may end an invoice of a range still bears: the longest period, and the
// days in which somebody may have billed it by hand.
const beyond = longestPeriod + byHand

// Audit compares the weeks that begin in a range, ends included, in both directions. It changes nothing: the tracker is
// read into a copy of the state, and the groups are decided there as a pass would decide them.
func (e *Engine) Audit(ctx context.Context, now time.Time, days civil.Period) (a Audit, err error) {
	now = now.In(e.rules.Location)
	a = Audit{Sync: e.rules.Name, Days: days, Began: now, Findings: []Finding{}, Decided: []Finding{}, Waiting: []Wait{}}
	standing, err := e.store.Standing(e.channel, now)
	if err != nil {
		return a, err
	}
	if err := errors.Join(e.mayAsk("tracker", standing.Parked, now), e.mayAsk("accounting", standing.Paused, now)); err != nil {
		return a, err
	}
	// Before the state is copied: whatever of ours is listed was claimed before, and the copy knows it.
	listed, err := e.list(ctx, civil.Period{First: days.First, Last: days.Last.AddDays(beyond)})
	if err != nil {
		return a, err
	}
	snapshot, err := e.store.Snapshot()
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, snapshot.Discard()) }()
	clock, err := snapshot.Observe(now)
	if err != nil {
		return a, err
	}
	twin := New(snapshot.Store, ranged{e.tracker, days}, readOnly{e.books}, e.rules, e.now, zerolog.Nop(), nil)
	u := &auditor{poster: &poster{Engine: twin, clock: clock, scope: scope{first: days}, report: &Report{}, standing: standing}, live: e.store, out: &a, listed: listed}
	return a, u.run(ctx)
}

// list returns the invoices of some days.
func (e *Engine) list(ctx context.Context, days civil.Period) (all []accounting.Receipt, err error) {
	for r, err := range e.books.List(ctx, days) {
		if err != nil {
			return nil, fmt.Errorf("accounting: %w", err)
		}
		all = append(all, r)
	}
	return all, ctx.Err()
}

// ranged yields of a tracker only the weeks that begin in a range: some yield more than was asked for.
type ranged struct {
	Tracker
	days civil.Period
}

func (r ranged) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		for page, err := range r.Tracker.Weeks(ctx, q) {
			page.Weeks = slices.DeleteFunc(slices.Clone(page.Weeks), func(w tracker.Week) bool { return !r.days.Contains(w.Period.First) })
			if !yield(page, err) {
				return
			}
		}
	}
}

// sortFindings puts the gravest first, and then the oldest.
func sortFindings(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(slices.Index(Defects(), a.Kind)-slices.Index(Defects(), b.Kind), a.Period.First.Compare(b.Period.First), cmp.Compare(a.Reference, b.Reference))
	})
}

// mode says of a state what an auditor has to know of it.
func (a *auditor) mode() {
	switch {
	case a.standing.Mode != state.Normal:
		a.note("the sync is in its mode %s: what was billed before may not be known to it yet", a.standing.Mode)
	case a.standing.Halted != nil:
		a.note("the sync is paused by %s: nothing is billed meanwhile", a.standing.Halted.Who)
	}
}

func (a *auditor) note(format string, args ...any) {
	a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...))
}
