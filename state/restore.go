package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// Restored says what a restore did.
type Restored struct {
	Moved []string  // the names that what was there before has now
	Last  time.Time // when the last pass ended that the copy knows of; zero: it knows of none
}

// Restore puts a copy of the state, such as a backup, in its place. The copy stays where it is. One that is damaged,
// newer, or of another state is refused, and nothing is changed then. What was there before is kept under another
// name. The state knows from then on that it is older than it was: see [Store.Older]. Where this dies half-way, the
// next opening finds the old state or the restored one, and Restore can be called again.
func Restore(path, backup string, now time.Time) (Restored, error) {
	return restore(path, backup, Options{}, now)
}

func restore(path, backup string, o Options, now time.Time) (r Restored, err error) {
	l, err := takeLock(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return r, noFile(path, info.Mode())
	}
	known, marked, err := readMarker(path)
	unreadable := errors.Is(err, ErrDamaged)
	if err != nil && !unreadable {
		return r, err
	}
	wanted, err := r.take(path, backup, known)
	if err != nil {
		return r, fmt.Errorf("restore: nothing was changed: %w", err)
	}
	o.Faults.Hit("restore-copied")
	if r.Moved, err = keepAside(path, now, r.Moved); err != nil {
		return r, err
	}
	o.Faults.Hit("restore-aside")
	if unreadable {
		if r.Moved, err = keepAside(markerPath(path), now, r.Moved); err != nil {
			return r, err
		}
	}
	// Before the copy has its name: without a marker that knows of something newer, nobody could tell that it is older.
	if !marked || wanted != known {
		if err := wanted.write(path, true); err != nil {
			return r, err
		}
	}
	o.Faults.Hit("restore-marked")
	return r, install(path, o)
}

// take copies the backup beside the state, checks the copy, and returns what the marker has to say beside it.
func (r *Restored) take(path, backup string, known marker) (wanted marker, err error) {
	fresh := prepared(path)
	if err := distinct(backup, path, fresh); err != nil {
		return wanted, err
	}
	if err := removeIfThere(fresh); err != nil {
		return wanted, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(fresh))
		}
	}()
	if err := copyResting(backup, fresh); err != nil {
		return wanted, err
	}
	report, err := examine(fresh)
	if err != nil {
		return wanted, err
	}
	if err := report.Err(); err != nil {
		return wanted, fmt.Errorf("%s: %w", backup, err)
	}
	if wanted, r.Last, err = introduced(fresh); err != nil {
		return wanted, fmt.Errorf("%s: %w", backup, err)
	}
	if known.Instance != "" && known.Instance != wanted.Instance {
		return wanted, fmt.Errorf("%s: %w: it is a copy of another state than the one of %s", backup, ErrForeign, markerPath(path))
	}
	wanted.Generation = max(known.Generation, wanted.Generation+1)
	return wanted, nil
}

// distinct refuses a backup that is no file, or one of those that are about to be replaced.
func distinct(backup string, others ...string) error {
	info, err := os.Stat(backup)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w: it is no file", backup, ErrForeign)
	case info.Size() == 0:
		return fmt.Errorf("%s: %w: it is empty", backup, ErrDamaged)
	}
	for _, name := range others {
		if other, err := os.Stat(name); err == nil && os.SameFile(info, other) {
			return fmt.Errorf("%s is the state itself: name a copy", backup)
		}
	}
	return nil
}

// copyResting copies a file that no process has open as its state: a copy of one that is written to may be broken.
func copyResting(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := syscall.Flock(int(in.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return &HeldError{Path: from}
	}
	return copyFrom(in, to)
}

// copyFrom writes a new file that is on the disk.
func copyFrom(in io.Reader, to string) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// introduced reads out of a good file which state it is, and when its last pass ended.
func introduced(path string) (m marker, last time.Time, err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return m, last, err
	}
	s := &Store{db: db, path: path}
	m, err = s.marker()
	if err == nil {
		err = s.view(func(tx *bbolt.Tx) error { last, err = lastSign(tx); return err })
	}
	return m, last, errors.Join(err, db.Close())
}

// keepAside gives the file at path, if there is one, a second name that no other file has: a name that is replaced
// afterwards is never without a file.
func keepAside(path string, now time.Time, moved []string) ([]string, error) {
	if !exists(path) {
		return moved, nil
	}
	aside := asideOf(path, now)
	if err := os.Link(path, aside); err != nil { // There are file systems without links.
		in, err := os.Open(path)
		if err != nil {
			return moved, fmt.Errorf("state file: %w", err)
		}
		defer in.Close()
		if err := copyFrom(in, aside); err != nil {
			return moved, errors.Join(fmt.Errorf("state file: %w", err), removeIfThere(aside))
		}
	}
	return append(moved, aside), syncFolder(path)
}
