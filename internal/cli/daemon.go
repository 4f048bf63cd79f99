package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"tidemark/daemon"
	"tidemark/daemon/control"
	"tidemark/state"
	"tidemark/sync"
	"tidemark/systemd"
)

// runDaemon runs every sync on its schedule until it is told to stop, and the commands of those who call at its socket.
// SIGHUP, as `tidemark reload`, reads the config again; one that is wrong is said, and the old one stays.
func (a *app) runDaemon(ctx context.Context) (err error) {
	if a.home != nil {
		return usage("a daemon is running")
	}
	first, err := a.load()
	if err != nil {
		return err
	}
	log, err := a.logger(first.config.Log.Level, first.config.Log.Format)
	if err != nil {
		return err
	}
	a.log = &log
	notifier, err := systemd.FromEnvironment()
	if err != nil {
		log.Warn().Err(err).Msg("no watchdog")
	}
	opened := extend(notifier)
	s, err := a.openWork(first)
	opened()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h := &home{session: s, reload: make(chan func(error)), stop: stop, began: a.now()}
	defer func() { err = errors.Join(err, h.close()) }()
	defer hangUp(ctx, h.reload)()
	log.Info().Str("state", string(first.config.State)).Str("version", version()).Msg("state open")
	return a.runHome(ctx, h, &daemon.Daemon{Log: log, Now: a.now, Load: a.jobs(h, first), Notify: notifier})
}

// runHome lets the loop run, and answers at the socket, until ctx ends.
func (a *app) runHome(ctx context.Context, h *home, d *daemon.Daemon) error {
	l, err := control.Listen(string(h.session.config.Socket))
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() {
		err := control.Serve(ctx, l, a.serve(h), http.NotFoundHandler())
		h.stop(err) // a daemon that nobody can reach does not go on
		served <- err
	}()
	err = d.Run(ctx, h.reload)
	h.stop(nil)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause) // a command has found that the state cannot be relied on
	}
	return errors.Join(err, <-served)
}

// extend asks systemd for more time, again and again until the start is over: a large state takes a while to check.
func extend(n *systemd.Notifier) (end func()) {
	const more = 30 * time.Second
	again, done := time.NewTicker(more/3), make(chan struct{})
	go func() {
		for {
			select {
			case <-again.C:
				_ = n.ExtendTimeout(more) // The end of the start tells whether it mattered.
			case <-done:
				return
			}
		}
	}()
	return func() { again.Stop(); close(done) }
}

// hangUp turns SIGHUP into a wish to reload. It returns what ends that.
func hangUp(ctx context.Context, reload chan<- func(error)) (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			select {
			case reload <- nil:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { signal.Stop(signals); cancel() }
}

// jobs returns what loads the jobs: from the config that was read at the start for the first time, and
// from the file again each time after that.
func (a *app) jobs(h *home, first *work) func(context.Context) ([]daemon.Job, error) {
	next := first
	return func(context.Context) ([]daemon.Job, error) {
		w := next
		if next = nil; w != nil {
			return slices.Concat(jobsOf(h, w), backupJobs(h, w), a.auditJobs(h, w)), nil
		}
		w, err := a.load()
		if err != nil {
			return nil, err
		}
		s, leave, err := h.enter()
		if err != nil {
			return nil, err
		}
		defer leave()
		switch {
		case w.config.State != s.config.State:
			return nil, fmt.Errorf("state: %s is open, and %s is wanted now: restart to change the file", s.config.State, w.config.State)
		case w.config.Socket != s.config.Socket:
			return nil, fmt.Errorf("socket: %s is in use, and %s is wanted now: restart to change it", s.config.Socket, w.config.Socket)
		}
		h.take(w.over(s.store, a.now, *a.log))
		return slices.Concat(jobsOf(h, w), backupJobs(h, w), a.auditJobs(h, w)), nil
	}
}

// jobsOf returns the jobs of a config. Each works over the session that is open when it runs.
func jobsOf(h *home, w *work) []daemon.Job {
	jobs := []daemon.Job{{
		Name: "(sweep)", Schedule: w.config.Sweep, Location: time.UTC, Deadline: time.Hour,
		Run: func(_ context.Context, now time.Time) (daemon.Outcome, error) {
			return over(h, func(s *session) (daemon.Outcome, error) { return sweep(s.store, now, s.config.Keys.TTL()) })
		},
	}}
	for _, e := range w.ends {
		c := e.sync
		jobs = append(jobs, daemon.Job{
			Name: c.Name, Schedule: c.Schedule, Location: c.Timezone.Location(), Jitter: time.Duration(c.Jitter), Deadline: time.Duration(c.Deadline),
			Last: func() (time.Time, error) {
				return over(h, func(s *session) (time.Time, error) { return s.lastGood(c.Name) })
			},
			Run: func(ctx context.Context, now time.Time) (daemon.Outcome, error) {
				return over(h, func(s *session) (daemon.Outcome, error) { return s.pass(ctx, c.Name, now) })
			},
		})
	}
	return jobs
}

// over does one piece of work over the open state. An error that ends the daemon is marked as one.
func over[T any](h *home, do func(s *session) (T, error)) (done T, err error) {
	s, leave, err := h.enter()
	if err != nil {
		return done, err
	}
	defer leave()
	done, err = do(s)
	return done, ending(err)
}

// pass runs a pass of one sync.
func (s *session) pass(ctx context.Context, name string, now time.Time) (daemon.Outcome, error) {
	one, err := s.only(name)
	if err != nil {
		return nil, err
	}
	report, err := one.engines[0].Pass(ctx, now)
	if errors.Is(err, sync.ErrHalted) {
		err = fmt.Errorf("%w: %w", daemon.ErrIdle, err)
	}
	return report, err
}

// lastGood returns the end of the last good pass of a sync.
func (s *session) lastGood(name string) (time.Time, error) {
	one, err := s.only(name)
	if err != nil {
		return time.Time{}, err
	}
	heart, err := s.store.Heartbeat(one.engines[0].Channel())
	return heart.Good, err
}

// sweptKeys is the outcome of a sweep, for the log.
type sweptKeys state.Swept

// MarshalZerologObject writes how many keys were deleted.
func (s sweptKeys) MarshalZerologObject(ev *zerolog.Event) {
	ev.Int("keys", s.Keys)
	if s.Broken > 0 {
		ev.Int("broken", s.Broken)
	}
}

func sweep(store *state.Store, now time.Time, ttl time.Duration) (sweptKeys, error) {
	clock, err := store.Observe(now)
	if err != nil {
		return sweptKeys{}, err
	}
	swept, err := store.Sweep(clock, ttl)
	return sweptKeys(swept), err
}
