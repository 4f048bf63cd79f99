package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A second process waits this long for the first one to go away, so that a restart works at once.
const (
	lockWait = 1500 * time.Millisecond
	lockPoll = 50 * time.Millisecond
)

// HeldError means that another process owns the state.
type HeldError struct {
	Path  string
	PID   int       // 0 if the holder has not said yet
	Since time.Time // zero if the holder has not said yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: in use by another process; try again when it has ended", e.Path)
	}
	return fmt.Sprintf("%s: in use by process %d since %s; stop it first, or let it do the work", e.Path, e.PID, e.Since.Format("2006-01-02 15:04:05 MST"))
}

// lock is the lock file beside the state. It is held for the life of the process and never deleted:
// to delete it would let two processes hold two files of one name.
type lock struct{ file *os.File }

// takeLock takes the lock of the state at path. What a process left that no longer lives is taken over.
func takeLock(path string) (*lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state lock: %w", err)
	}
	for began := time.Now(); ; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(began) >= lockWait {
			break
		}
		time.Sleep(lockPoll)
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(holder(path, f), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("state lock %s: %w", name, err), f.Close())
	}
	l := &lock{f}
	if err := l.sign(); err != nil {
		return nil, errors.Join(fmt.Errorf("state lock: %w", err), l.release())
	}
	return l, nil
}

// sign writes who holds the lock.
func (l *lock) sign() error {
	text := fmt.Sprintf("%d %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

func holder(path string, f *os.File) *HeldError {
	held := &HeldError{Path: path}
	var since string
	if _, err := fmt.Fscan(f, &held.PID, &since); err == nil {
		held.Since, _ = time.Parse(time.RFC3339, since)
	}
	return held
}

func (l *lock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
