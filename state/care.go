package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"
)

// Backup writes a copy of the state as it is at this moment to path, complete or not at all. A file
// that is there already is refused.
func (s *Store) Backup(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("backup: %s exists already: name another file", path)
	}
	fresh := path + ".new"
	err := s.view(func(tx *bbolt.Tx) error { return tx.CopyFile(fresh, 0o600) })
	if err != nil {
		return errors.Join(fmt.Errorf("backup: %w", err), removeIfThere(fresh))
	}
	if err := syncFile(fresh); err != nil {
		return errors.Join(fmt.Errorf("backup: %w", err), removeIfThere(fresh))
	}
	report, err := Check(fresh)
	if err := errors.Join(err, report.Err()); err != nil {
		return errors.Join(fmt.Errorf("backup: the copy is not good: %w", err), removeIfThere(fresh))
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return syncFolder(path)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Compact writes the state at path anew without its free pages, and returns the size in bytes before and
// after. The old file stays until the new one is complete, checked, and on the disk.
func Compact(path string) (before, after int64, err error) {
	s, err := Open(path, Options{})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.db.Close(), s.lock.release()) }()
	fresh := path + ".new"
	if err := compactTo(fresh, s.db); err != nil {
		return 0, 0, errors.Join(fmt.Errorf("compact: %w", err), removeIfThere(fresh))
	}
	if before, after, err = sizes(path, fresh); err != nil {
		return 0, 0, err
	}
	// The copy counts its transactions from the beginning: until the marker is written again it is the
	// right file with a marker that knows more. Without a marker it is the right file, too.
	if err := removeIfThere(markerPath(path)); err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	if err := syncFolder(path); err != nil {
		return 0, 0, err
	}
	return before, after, remark(path)
}

func compactTo(fresh string, from *bbolt.DB) error {
	if err := removeIfThere(fresh); err != nil {
		return err
	}
	to, err := openBolt(fresh, false)
	if err != nil {
		return err
	}
	to.AllocSize = 64 << 10 // not the room to grow that a file in use is given
	if err := errors.Join(bbolt.Compact(to, from, 1<<20), to.Sync(), to.Close()); err != nil {
		return err
	}
	report, err := Check(fresh)
	return errors.Join(err, report.Err())
}

func sizes(old, fresh string) (before, after int64, err error) {
	a, err := os.Stat(old)
	if err != nil {
		return 0, 0, err
	}
	b, err := os.Stat(fresh)
	if err != nil {
		return 0, 0, err
	}
	return a.Size(), b.Size(), nil
}

// remark writes the marker of a file that was put into its place.
func remark(path string) error {
	db, err := openBolt(path, false)
	if err != nil {
		return err
	}
	s := &Store{db: db, path: path}
	return errors.Join(s.mirror(), db.Close())
}
