package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
)

// result is how a run ended.
type result struct {
	name    string
	ctx     context.Context // of the run, for its name
	took    time.Duration
	outcome Outcome
	err     error
	ended   error  // of the run's context: cancelled by a stop, or past the deadline
	stack   []byte // where it panicked
}

// run does a job once and reports it, whatever it does.
func (l *loop) run(ctx context.Context, j Job, now time.Time) {
	ctx, cancel := context.WithTimeout(WithRun(ctx), j.Deadline)
	defer cancel()
	began := time.Now()
	r := result{name: j.Name, ctx: ctx}
	r.stack, r.err = guard(func() (err error) {
		r.outcome, err = j.Run(ctx, now)
		return err
	})
	r.took, r.ended = time.Since(began), ctx.Err()
	select {
	case l.done <- r:
	case <-l.over:
	}
}

// guard calls f and makes a panic its error.
func guard(f func() error) (stack []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack, err = debug.Stack(), fmt.Errorf("panic: %v", p)
		}
	}()
	return nil, f()
}

// kind returns the outcome in one word, and how loud it is said.
func (r result) kind() (string, zerolog.Level) {
	switch {
	case errors.Is(r.err, ErrFatal):
		return "fatal", zerolog.FatalLevel
	case errors.Is(r.err, ErrIdle):
		return "idle", zerolog.InfoLevel
	case r.stack != nil:
		return "panic", zerolog.ErrorLevel
	case r.err == nil:
		return "done", zerolog.InfoLevel
	case errors.Is(r.ended, context.DeadlineExceeded):
		return "deadline", zerolog.WarnLevel
	case r.ended != nil:
		return "stopped", zerolog.InfoLevel
	}
	return "failed", zerolog.ErrorLevel
}

// write writes the one line of a run.
func (r result) write(log zerolog.Logger, next time.Time) {
	outcome, level := r.kind()
	// WithLevel, since Fatal would end the process here and leave the state open.
	line := log.WithLevel(level).Ctx(r.ctx).Str("job", r.name).Str("outcome", outcome).Str("took", r.took.Round(time.Millisecond).String())
	if !next.IsZero() {
		line.Str("next", stamp(next))
	}
	if r.outcome != nil {
		line.EmbedObject(r.outcome)
	}
	if outcome == "idle" {
		line.Str("why", r.err.Error()).Msg("run")
		return
	}
	line.Err(r.err).Msg("run")
	if r.stack != nil {
		log.Debug().Ctx(r.ctx).Str("job", r.name).Bytes("stack", r.stack).Msg("panic")
	}
}
