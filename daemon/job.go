package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"
)

// ErrFatal means that what the process remembers cannot be trusted any more. A run that returns it
// ends the daemon: the other runs are stopped, and nothing is posted before the next start of the
// process has looked at its state again.
var ErrFatal = errors.New("state cannot be trusted")

// ErrIdle means that a job was not to run now: nothing was done, and nothing has failed.
var ErrIdle = errors.New("not to run now")

// Outcome is what one run has to say of itself, as fields of its log line. It may be nil. Its fields
// are not called job, run, outcome, took, next, error, time, level or message.
type Outcome = zerolog.LogObjectMarshaler

// Schedule tells when a job is due.
type Schedule interface {
	// Next returns the first time after a moment, to the digits of the clock in that moment's location;
	// zero if there is none. It has no location of its own.
	Next(after time.Time) time.Time
}

// Job is one thing that is done again and again: the passes of a sync, or the sweep.
type Job struct {
	Name     string // unique among the jobs
	Schedule Schedule
	Location *time.Location // whose clock the schedule means; nil is UTC
	Jitter   time.Duration  // up to this much is added to each start, but never more than half of the way to the next one
	Deadline time.Duration  // a run is cancelled after this; must be positive

	// Last returns the end of the last good run, zero if there was none. It is asked once, when the job
	// is new to the daemon: a job that was due since then, or that never ran, starts at once. Without
	// Last, only the schedule counts.
	Last func() (time.Time, error)
	// Run does the job once, at now. It returns soon after ctx ends, with its record in hand finished.
	Run func(ctx context.Context, now time.Time) (Outcome, error)
}

func (j Job) check() error {
	switch {
	case j.Name == "":
		return errors.New("job: no name")
	case j.Schedule == nil, j.Run == nil:
		return fmt.Errorf("job %s: nothing to run, or no schedule", j.Name)
	case j.Deadline <= 0:
		return fmt.Errorf("job %s: no deadline", j.Name)
	}
	return nil
}

// start returns the next start after a moment, with its jitter; zero if there is none.
func (j Job) start(after time.Time) time.Time {
	slot := j.Next(after)
	if slot.IsZero() || j.Jitter <= 0 {
		return slot
	}
	spread := j.Jitter
	if next := j.Next(slot); !next.IsZero() {
		spread = min(spread, next.Sub(slot)/2)
	}
	return slot.Add(rand.N(spread + 1))
}

// resume returns the first start of a job that ran last at some time: now if it is overdue, if it never
// ran, or if that time lies in the future, which no clock that was right has said.
func (j Job) resume(last, now time.Time) time.Time {
	if last.IsZero() || last.After(now) {
		return now
	}
	slot := j.Next(last)
	switch {
	case slot.IsZero():
		return slot
	case !slot.After(now):
		return now
	}
	return j.start(last)
}
