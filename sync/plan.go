package sync

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// Plan reports what a pass at now would do, by the same engine on a copy of the state, with an accounting
// system that can be read and not written. Days that are not zero make it the plan of a backfill.
// It writes nothing anywhere.
func (e *Engine) Plan(ctx context.Context, now time.Time, days civil.Period) (report Report, err error) {
	snapshot, err := e.store.Snapshot()
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, snapshot.Discard()) }()
	twin := New(snapshot.Store, e.tracker, readOnly{e.books}, e.rules, e.now, zerolog.Nop(), nil)
	twin.started = e.started
	if days == (civil.Period{}) {
		return twin.pass(ctx, now)
	}
	return twin.backfill(ctx, now, days, func(int, int, Slice) {})
}

// readOnly answers writes as if they had been done, and does nothing.
type readOnly struct{ Accounting }

// planned is the id of an invoice that is not there.
const planned = "(planned)"

func (readOnly) Create(_ context.Context, _ string, _ accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	return accounting.Receipt{ID: planned, Status: accounting.Draft}, nil
}

func (readOnly) Update(_ context.Context, _ string, _ accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	return left, nil
}
