// Package outcome says what the error of a request means to the engine, for every system that is reached
// over HTTP.
//
// Its one hard rule: a write that may have arrived is never called refused or unsent. A sign-in that was
// refused says nothing of whether the write before it was done.
package outcome

import (
	"errors"
	"fmt"
	"net/http"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
)

// OfWrite returns the error of a create or an update in the words of package accounting.
func OfWrite(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, remote.Limited), errors.Is(err, remote.Unauthorised) && Status(err) == 0:
		return fmt.Errorf("%w, %w: %w", accounting.ErrNotSent, accounting.ErrPaused, err)
	case errors.Is(err, remote.Unavailable):
		return fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
	case errors.Is(err, remote.Unauthorised), errors.Is(err, remote.Forbidden):
		return fmt.Errorf("%w: %w", accounting.ErrPaused, err)
	case errors.Is(err, remote.Rejected) && Status(err) != http.StatusConflict:
		return fmt.Errorf("%w: %w", accounting.ErrRejected, err)
	}
	return err
}

// OfRead returns the error of a look-up: one that every other look-up would meet as well pauses the post.
func OfRead(err error) error {
	if errors.Is(err, remote.Limited) || errors.Is(err, remote.Unauthorised) || errors.Is(err, remote.Forbidden) {
		return fmt.Errorf("%w: %w", accounting.ErrPaused, err)
	}
	return err
}

// Status returns the HTTP status of an answer that is an error; 0 if there was none.
func Status(err error) int {
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return e.Status
	}
	return 0
}
