package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"tidemark/daemon"
	"tidemark/state"
	"tidemark/sync"
	"tidemark/systemd"
)

var errEnd = daemon.ErrFatal

// runDaemon runs every sync on its schedule until it is told to stop. SIGHUP reads the config again; one
// that is wrong is said, and the old one stays.
func (a *app) runDaemon(ctx context.Context) (err error) {
	first, err := a.load()
	if err != nil {
		return err
	}
	log, err := a.logger(first.config.Log.Level, first.config.Log.Format)
	if err != nil {
		return err
	}
	notifier, err := systemd.FromEnvironment()
	if err != nil {
		log.Warn().Err(err).Msg("no watchdog")
	}
	opened := extend(notifier)
	s, err := a.openWork(first, "")
	opened()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	a.net.LogTo(log)
	reload := make(chan struct{}, 1)
	defer hangUp(reload)()
	d := &daemon.Daemon{Log: log, Now: a.now, Load: a.jobs(s, log), Notify: notifier}
	log.Info().Str("state", string(first.config.State)).Str("version", version()).Msg("state open")
	return d.Run(ctx, reload)
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
func hangUp(reload chan<- struct{}) (end func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-signals:
				select {
				case reload <- struct{}{}:
				default: // one is waiting already
				}
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(signals); close(done) }
}

// jobs returns what loads the jobs: from the config that was read at the start for the first time, and
// from the file again each time after that.
func (a *app) jobs(s *session, log zerolog.Logger) func(context.Context) ([]daemon.Job, error) {
	next := s.work
	return func(context.Context) ([]daemon.Job, error) {
		w := next
		next = nil
		if w == nil {
			var err error
			if w, err = a.load(); err != nil {
				return nil, err
			}
		}
		if w.config.State != s.config.State {
			return nil, fmt.Errorf("state: %s is open, and %s is wanted now: restart to change the file", s.config.State, w.config.State)
		}
		return a.jobsOf(w, s.store, log)
	}
}

func (a *app) jobsOf(w *work, store *state.Store, log zerolog.Logger) ([]daemon.Job, error) {
	engines, err := w.engines(store, "", a.now, log)
	if err != nil {
		return nil, err
	}
	jobs := []daemon.Job{{
		Name: "(sweep)", Schedule: w.config.Sweep, Location: time.UTC, Deadline: time.Hour,
		Run: func(_ context.Context, now time.Time) (daemon.Outcome, error) {
			swept, err := sweep(store, now, w.config.Keys.TTL())
			return swept, ending(err)
		},
	}}
	for i, e := range engines {
		c := w.config.Syncs[i]
		jobs = append(jobs, daemon.Job{
			Name: c.Name, Schedule: c.Schedule, Location: c.Timezone.Location(), Jitter: time.Duration(c.Jitter), Deadline: time.Duration(c.Deadline),
			Last: func() (time.Time, error) { return lastGood(store, e) },
			Run: func(ctx context.Context, now time.Time) (daemon.Outcome, error) {
				report, err := e.Pass(ctx, now)
				return report, ending(err)
			},
		})
	}
	return jobs, nil
}

func lastGood(store *state.Store, e *sync.Engine) (time.Time, error) {
	heart, err := store.Heartbeat(e.Channel())
	return heart.Good, ending(err)
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
