// Package daemon runs jobs on their schedules until it is told to stop: the passes of each sync, and the
// sweep of the state.
//
// Its one hard rule: a job is never run twice at once, neither by a schedule that is faster than the job
// nor across a reload.
//
// One loop decides; it looks at the clock at least every 30 seconds and whenever something happens.
//
//   - A start that comes while the job still runs is skipped, counted and said.
//   - After downtime, a suspended machine or a clock that was put forward, an overdue job runs once,
//     however many of its starts were missed.
//   - After a clock that was put back, the next start is found anew from what the clock says now.
//   - A run that fails, panics or passes its deadline is a line in the log; the next start is the
//     schedule's. Only [ErrFatal] ends the daemon.
//
// How a schedule meets daylight saving is told at [Job.Next].
package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"tidemark/systemd"
)

const (
	longestSleep = 30 * time.Second
	stopWithin   = 10 * time.Second
)

// Daemon runs jobs.
type Daemon struct {
	// Load returns the jobs, at the start and at each reload. While it works nothing else happens, so it
	// reads files and does not wait for a network.
	Load func(ctx context.Context) ([]Job, error)
	Log  zerolog.Logger
	Now  func() time.Time // the clock on the wall; nil is time.Now
	// Notify tells systemd of the start, reloads, runs and the stop, and that the loop is alive; nil: nobody.
	Notify *systemd.Notifier
}

// Run loads the jobs and runs them until ctx ends, which is a stop in good order: each run is cancelled
// at once and has ten seconds to finish what it has in hand. A job that takes longer is named in the
// error. What comes from reload loads the jobs again, and is told how that went, unless it is nil; if it failed, the
// old ones stay. Runs that are under way then end by the definition they began with.
func (d *Daemon) Run(ctx context.Context, reload <-chan func(error)) error {
	jobs, err := d.load(ctx)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	case err != nil:
		return fmt.Errorf("daemon: load: %w", err)
	}
	l := newLoop(d)
	defer close(l.over)
	if err := l.swap(jobs); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	d.Log.Info().Int("jobs", len(jobs)).Msg("started")
	l.ready()
	runs, cancel := context.WithCancel(ctx)
	defer cancel()
	err = l.turn(runs, reload)
	l.notify((*systemd.Notifier).Stopping)
	cancel()
	if err = errors.Join(err, l.drain()); err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	d.Log.Info().Msg("stopped")
	return nil
}

// load asks for the jobs and refuses those that cannot be run side by side.
func (d *Daemon) load(ctx context.Context) (jobs []Job, err error) {
	_, err = guard(func() (err error) {
		jobs, err = d.Load(ctx)
		return err
	})
	names := map[string]bool{}
	for _, j := range jobs {
		err = errors.Join(err, j.check())
		if names[j.Name] {
			err = errors.Join(err, fmt.Errorf("job %s: is there twice", j.Name))
		}
		names[j.Name] = true
	}
	return jobs, err
}
