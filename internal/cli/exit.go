package cli

import (
	"context"
	"errors"
	"fmt"

	"tidemark/config"
	"tidemark/daemon"
	"tidemark/state"
	"tidemark/sync"
)

// The exit codes, the same for every command and the daemon. Those from 64 on are of sysexits.h.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitFound     = 3
	exitDamaged   = 74
	exitTemporary = 75
	exitConfig    = 78
)

// errFound ends a command that was asked to tell by its exit code that it found something.
var errFound = errors.New("something was found")

// usageError means that the command was called in a wrong way.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// temporaryError means that the same command may succeed later.
type temporaryError struct{ error }

func (e temporaryError) Unwrap() error { return e.error }

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var (
		faults    *config.Faults
		held      *state.HeldError
		wrong     usageError
		temporary temporaryError
	)
	var ended endedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &ended):
		return ended.code
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, state.ErrDamaged), errors.Is(err, state.ErrLost), errors.Is(err, state.ErrNewer), errors.Is(err, state.ErrForeign):
		return exitDamaged
	case errors.Is(err, state.ErrCommit), errors.As(err, &held), errors.As(err, &temporary), errors.Is(err, context.Canceled):
		return exitTemporary
	case errors.As(err, &faults):
		return exitConfig
	case errors.As(err, &wrong), errors.Is(err, sync.ErrRange):
		return exitUsage
	}
	return exitFailed
}

// ending wraps what ends the daemon: a state that cannot be relied on.
func ending(err error) error {
	if errors.Is(err, state.ErrCommit) || errors.Is(err, state.ErrDamaged) {
		return fmt.Errorf("%w: %w", daemon.ErrFatal, err)
	}
	return err
}
