// Package state remembers: what was taken in, what was billed under which key, and what a person
// decided. All of it lives in one bbolt file.
//
// Its one hard rule: one exported method is one transaction and one fact for the caller. What a method
// returned without an error is on the disk; after any other answer of a commit nobody knows, and the
// store refuses every further write until the file was opened anew.
package state

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"tidemark/internal/fault"
)

// ErrCommit means that a commit failed and that its outcome is unknown. Posting must stop, and the
// process must end: the next start reads what is there.
var ErrCommit = errors.New("state file: a commit failed")

// Store is the open state file. Its methods may be called from several goroutines.
type Store struct {
	path    string
	older   bool // the file was found to be older than it once was
	notes   []string
	db      *bbolt.DB
	lock    *lock
	commits atomic.Int64
	locks   locks
	faults  *fault.Points

	mu     sync.Mutex
	failed error
}

// Commits returns how many transactions were committed since the file was opened. Each costs two
// flushes: one of the data pages, one of the meta page.
func (s *Store) Commits() int64 { return s.commits.Load() }

// update runs fn in a write transaction. An error of fn changes nothing. An error of the commit
// itself closes the store for writing.
func (s *Store) update(fn func(tx *bbolt.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	tx, err := s.db.Begin(true)
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // After a commit there is nothing left to roll back.
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		s.failed = fmt.Errorf("%w: %w", ErrCommit, err)
		return s.failed
	}
	s.commits.Add(1)
	return nil
}

// view runs fn in a read transaction. What fn keeps must be decoded: bytes die with the transaction.
func (s *Store) view(fn func(tx *bbolt.Tx) error) error { return s.db.View(fn) }

// errNothing ends an update that found nothing to write, without a commit.
var errNothing = errors.New("nothing to write")

// change runs fn like update, but commits only if fn reports that it wrote.
func (s *Store) change(fn func(tx *bbolt.Tx) (wrote bool, err error)) error {
	err := s.update(func(tx *bbolt.Tx) error {
		wrote, err := fn(tx)
		if err == nil && !wrote {
			return errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}
