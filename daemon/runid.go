package daemon

import (
	"context"
	"crypto/rand"

	"github.com/rs/zerolog"
)

type runKey struct{}

// WithRun gives a run a name of its own. Every line that is logged with this context, or a child of it, by a logger of
// [NewLogger] bears the name as its field run, so that the lines of one pass are found by one word.
func WithRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, runKey{}, rand.Text()[:8])
}

// stampRun is a hook that writes the name of the run.
func stampRun(e *zerolog.Event, _ zerolog.Level, _ string) {
	if name, known := e.GetCtx().Value(runKey{}).(string); known {
		e.Str("run", name)
	}
}
