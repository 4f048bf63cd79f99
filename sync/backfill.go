package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Slice is one part of a backfill: the weeks whose first day is in it.
type Slice struct {
	Days  civil.Period `json:"days"`
	Known bool         `json:"known,omitempty"` // read by an earlier run of the same backfill
	Error string       `json:"error,omitempty"`
}

// rememberSlice is how long a slice that was read needs not be read again by the same backfill.
const rememberSlice = 24 * time.Hour

// ErrRange means that a backfill was asked for days that it may not cover.
var ErrRange = errors.New("backfill")

// errPartial means that a reading has not seen everything.
var errPartial = errors.New("the tracker holds something back for now: try again later")

// ErrSlices means that parts of a backfill could not be read. The others were, and are posted.
var ErrSlices = errors.New("slices of the backfill failed")

// Backfill takes in and posts the weeks whose first day is in the range, ends included. It reads slice by
// slice and remembers each, so that one that was killed goes on where it was; it never moves the watermark.
// Progress is told of each slice that is done. A sync that a person has paused does nothing: [ErrHalted].
func (e *Engine) Backfill(ctx context.Context, now time.Time, days civil.Period, progress func(done, total int, s Slice)) (Report, error) {
	if err := e.mayRun(now); err != nil {
		return Report{Sync: e.rules.Name, Began: now}, err
	}
	return e.backfill(ctx, now, days, progress)
}

func (e *Engine) backfill(ctx context.Context, now time.Time, days civil.Period, progress func(done, total int, s Slice)) (Report, error) {
	now = now.In(e.rules.Location)
	report := Report{Sync: e.rules.Name, Began: now}
	if err := e.CheckRange(days); err != nil {
		return report, err
	}
	clock, err := e.store.Observe(now)
	if err != nil {
		return report, err
	}
	slices := slicesOf(days)
	for i, s := range slices {
		s, err := e.readSlice(ctx, now, days, s, &report)
		report.Slices = append(report.Slices, s)
		if fatal(err) || ctx.Err() != nil {
			return report, errors.Join(err, ctx.Err())
		}
		progress(i+1, len(slices), s)
	}
	postErr := e.post(ctx, clock, scope{first: days}, false, &report)
	report.Ended = e.now()
	if failed := report.FailedSlices(); len(failed) > 0 {
		return report, errors.Join(postErr, fmt.Errorf("%w: %d of %d", ErrSlices, len(failed), len(slices)))
	}
	if postErr != nil {
		return report, postErr
	}
	return report, e.store.ForgetSlices(e.channel, days.String())
}

// FailedSlices returns the slices that could not be read.
func (r Report) FailedSlices() (failed []Slice) {
	for _, s := range r.Slices {
		if s.Error != "" {
			failed = append(failed, s)
		}
	}
	return failed
}

// CheckRange returns why a backfill may not cover days; nil if it may. The error is an [ErrRange].
func (e *Engine) CheckRange(days civil.Period) error {
	switch monday := civil.WeekOf(e.rules.Start).First(); {
	case days.Last.Before(days.First):
		return fmt.Errorf("%w: the last day %s comes before the first, %s", ErrRange, days.Last, days.First)
	case days.First.Before(monday):
		return fmt.Errorf("%w: %s is before the week of syncs.%s.start, %s: weeks that ended before start are never billed; move start back, or begin at %s", ErrRange, days.First, e.rules.Name, e.rules.Start, monday)
	}
	return nil
}

// slicesOf cuts a range of days at the ends of ISO weeks: each day is in exactly one slice.
func slicesOf(days civil.Period) (all []Slice) {
	for first := days.First; !first.After(days.Last); {
		last := civil.WeekOf(first).Last()
		if last.After(days.Last) {
			last = days.Last
		}
		all = append(all, Slice{Days: civil.Period{First: first, Last: last}})
		first = last.AddDays(1)
	}
	return all
}

// readSlice takes in one slice, unless an earlier run of this backfill has.
func (e *Engine) readSlice(ctx context.Context, now time.Time, days civil.Period, s Slice, report *Report) (Slice, error) {
	defer e.store.Lock(e.reading())()
	at, err := e.store.SliceDone(e.channel, days.String(), s.Days.First)
	if err != nil {
		return s, err
	}
	if s.Known = !at.IsZero() && !at.After(now) && now.Sub(at) < rememberSlice; s.Known {
		return s, nil
	}
	t := traversal{Engine: e, log: e.log.With().Ctx(ctx).Logger(), query: tracker.Query{Now: now, First: s.Days}, report: report, announced: map[string]bool{}}
	report.Partial = false
	if err = t.run(ctx); err == nil && report.Partial {
		err = errPartial
	}
	if err == nil {
		err = e.store.FinishSlice(e.channel, days.String(), s.Days.First, now)
	}
	if err != nil {
		s.Error = err.Error()
	}
	e.faults.Hit("slice-done")
	return s, err
}
