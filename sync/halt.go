package sync

import (
	"errors"
	"fmt"
	"time"

	"tidemark/state"
)

// ErrHalted means that a person has paused the sync: nothing is read and nothing is posted until it is resumed. Plans,
// and what a person decides about items, go on.
var ErrHalted = errors.New("paused")

// mayRun returns why no pass may run now; nil if one may.
func (e *Engine) mayRun(now time.Time) error {
	st, err := e.store.Standing(e.channel, now)
	if err != nil || st.Halted == nil {
		return err
	}
	since := st.Halted.At.In(e.rules.Location).Format("2006-01-02 15:04 MST")
	why := ""
	if st.Halted.Note != "" {
		why = ": " + st.Halted.Note
	}
	return fmt.Errorf("%w by %s since %s%s", ErrHalted, st.Halted.Who, since, why)
}

// Pause lets no pass and no backfill begin until [Engine.Resume], also in later processes. One that is under way ends
// as it would. It reports whether the sync was running; one that is paused stays as it is.
func (e *Engine) Pause(who, note string, now time.Time) (changed bool, err error) {
	return e.store.Halt(e.channel, e.rules.Name, who, now, &state.Halt{At: now, Who: who, Note: note})
}

// Resume lets passes begin again. It reports whether the sync was paused.
func (e *Engine) Resume(who string, now time.Time) (changed bool, err error) {
	return e.store.Halt(e.channel, e.rules.Name, who, now, nil)
}
