package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"tidemark/systemd"
)

// loop is what a running daemon knows. Only its own goroutine touches it; runs report through done.
type loop struct {
	daemon  *Daemon
	log     zerolog.Logger
	clock   *clock
	entries map[string]*entry
	done    chan result
	status  string        // of the last run, for systemd
	over    chan struct{} // closed when nobody listens to done any more
}

// entry is a job with its place in time.
type entry struct {
	job     Job
	since   time.Time // its newest start, run or skipped; what comes next is found from here
	due     time.Time // zero: never
	began   time.Time // of the run under way; zero if there is none
	skipped int       // starts since the daemon runs
	owed    bool      // it was due while the machine slept in mid-run
	gone    bool      // no longer among the jobs, but still running
}

func newLoop(d *Daemon) *loop {
	return &loop{
		daemon: d, log: d.Log, clock: newClock(d.Now), entries: map[string]*entry{},
		done: make(chan result), over: make(chan struct{}),
	}
}

// turn runs what is due until the context ends or the state cannot be trusted.
func (l *loop) turn(ctx context.Context, reload <-chan func(error)) error {
	for ctx.Err() == nil {
		l.alive()
		timer := time.NewTimer(l.tick(ctx))
		var err error
		select {
		case <-ctx.Done():
		case <-timer.C:
		case r := <-l.done:
			err = l.finish(r)
		case told := <-reload:
			err = l.reload(ctx, told)
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// tick starts or skips what is due, and returns how long nothing else will be.
func (l *loop) tick(ctx context.Context) time.Duration {
	now, step := l.clock.read()
	if step != 0 {
		l.stepped(now, step)
	}
	sleep := l.longest()
	for _, name := range slices.Sorted(maps.Keys(l.entries)) {
		e := l.entries[name]
		switch {
		case e.due.IsZero():
			continue
		case e.due.After(now):
		case e.began.IsZero():
			l.begin(ctx, e, now)
		default:
			l.skip(e, now, step > 0)
		}
		if !e.due.IsZero() {
			sleep = min(sleep, e.due.Sub(now))
		}
	}
	return sleep
}

// stepped says that the wall clock did not go as time did. Put forward, it makes jobs due by itself; put
// back, it would leave them waiting for a time that is far away again.
func (l *loop) stepped(now time.Time, step time.Duration) {
	line := l.log.Warn().Str("step", step.Round(time.Second).String()).Str("now", stamp(now))
	if step > 0 {
		line.Msg("the clock was put forward, or the machine slept")
		return
	}
	line.Msg("the clock was put back")
	for _, e := range l.entries {
		if !e.gone {
			e.next(now)
		}
	}
}

// next plans the first start after now.
func (e *entry) next(now time.Time) {
	e.since, e.due = now, e.job.start(now)
}

func (l *loop) begin(ctx context.Context, e *entry, now time.Time) {
	e.began = now
	e.next(now)
	go l.run(ctx, e.job, now)
}

func (l *loop) skip(e *entry, now time.Time, slept bool) {
	e.skipped++
	e.owed = e.owed || slept
	l.log.Warn().Str("job", e.job.Name).Int("skipped", e.skipped).Str("running", now.Sub(e.began).Round(time.Second).String()).
		Msg("start skipped, the last run has not ended")
	e.next(now)
}

// finish takes the result of a run in. The error is one that ends the daemon.
func (l *loop) finish(r result) error {
	now := l.clock.now()
	e := l.entries[r.name]
	e.began = time.Time{}
	switch {
	case e.gone:
		delete(l.entries, r.name)
	case e.owed:
		e.owed, e.due = false, now
	}
	r.write(l.log, e.due)
	l.tellStatus(r)
	if errors.Is(r.err, ErrFatal) {
		return fmt.Errorf("job %s: %w", r.name, r.err)
	}
	return nil
}

// reload takes the jobs of a new load, or keeps the old ones if it failed. The error is one that ends the daemon.
func (l *loop) reload(ctx context.Context, told func(error)) error {
	l.notify((*systemd.Notifier).Reloading)
	defer l.ready()
	jobs, err := l.daemon.load(ctx)
	if told != nil {
		defer func() { told(err) }()
	}
	if err != nil {
		l.log.Error().Err(err).Msg("reload refused, the old jobs go on")
		return nil
	}
	if err = l.swap(jobs); err != nil {
		return err
	}
	l.log.Info().Int("jobs", len(jobs)).Msg("reloaded")
	return nil
}

// swap replaces the jobs. A job that was there before goes on from its newest start.
func (l *loop) swap(jobs []Job) error {
	now := l.clock.now()
	entries := map[string]*entry{}
	for _, j := range jobs {
		e := l.entries[j.Name]
		if e == nil {
			last, err := l.last(j, now)
			if err != nil {
				return fmt.Errorf("job %s: last run: %w", j.Name, err)
			}
			e = &entry{since: last}
		}
		e.job, e.gone = j, false
		e.due = j.resume(e.since, now)
		if !e.began.IsZero() && !e.due.After(now) {
			e.due = j.start(now)
		}
		if e.due.IsZero() {
			l.log.Warn().Str("job", j.Name).Msg("never due")
		}
		entries[j.Name] = e
	}
	for name, e := range l.entries {
		if entries[name] == nil && !e.began.IsZero() {
			e.gone, e.due = true, time.Time{}
			entries[name] = e
		}
	}
	l.entries = entries
	return nil
}

// last returns the end of the last good run of a job that is new here. If it cannot be told, the job
// runs at once; the error is one that ends the daemon.
func (l *loop) last(j Job, now time.Time) (time.Time, error) {
	if j.Last == nil {
		return now, nil
	}
	last, err := j.Last()
	if err != nil && !errors.Is(err, ErrFatal) {
		l.log.Error().Err(err).Str("job", j.Name).Msg("last run unknown, it runs at once")
		return time.Time{}, nil
	}
	return last, err
}

// drain waits for the runs under way, whose context has ended.
func (l *loop) drain() (err error) {
	limit := time.NewTimer(stopWithin)
	defer limit.Stop()
	for names := l.running(); len(names) > 0; names = l.running() {
		select {
		case r := <-l.done:
			err = errors.Join(err, l.finish(r))
		case <-limit.C:
			late := fmt.Errorf("stop: %s: still running after %s", strings.Join(names, ", "), stopWithin)
			return errors.Join(err, late)
		}
	}
	return err
}

func (l *loop) running() (names []string) {
	for name, e := range l.entries {
		if !e.began.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
