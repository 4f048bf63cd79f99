package state

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

// Backup writes a copy of the state as it is at this moment to path, complete or not at all. A file
// that is there already is refused. A copy that is put back later is noticed to be older.
func (s *Store) Backup(path string) error {
	if exists(path) {
		return fmt.Errorf("backup: %s exists already: name another file", path)
	}
	fresh := prepared(path)
	if err := s.copyTo(fresh); err != nil {
		return errors.Join(fmt.Errorf("backup: %w", err), removeIfThere(fresh))
	}
	s.faults.Hit("backup-copied")
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(fmt.Errorf("backup: %w", err), removeIfThere(fresh))
	}
	if err := syncFolder(path); err != nil {
		return err
	}
	s.faults.Hit("backup-named")
	now, err := s.marker()
	if err != nil {
		return err
	}
	return s.advance(now.Generation+1, Options{})
}

// copyTo writes a copy that is on the disk and that a look found to be good.
func (s *Store) copyTo(path string) error {
	err := s.view(func(tx *bbolt.Tx) error { return tx.CopyFile(path, 0o600) })
	if err != nil {
		return err
	}
	if err := syncFile(path); err != nil {
		return err
	}
	report, err := examine(path)
	if err := errors.Join(err, report.Err()); err != nil {
		return fmt.Errorf("the copy is not good: %w", err)
	}
	return nil
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
	if err := existing(path); err != nil {
		return 0, 0, err
	}
	s, err := Open(path, Options{})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fresh := prepared(path)
	if err := compactTo(fresh, s.db); err != nil {
		return 0, 0, errors.Join(fmt.Errorf("compact: %w", err), removeIfThere(fresh))
	}
	if before, err = size(path); err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	if after, err = size(fresh); err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	return before, after, install(path, Options{})
}

func compactTo(fresh string, from *bbolt.DB) error {
	if err := removeIfThere(fresh); err != nil {
		return err
	}
	to, err := openBolt(fresh, Options{})
	if err != nil {
		return err
	}
	to.AllocSize = 64 << 10 // not the room to grow that a file in use is given
	if err := errors.Join(bbolt.Compact(to, from, 1<<20), to.Sync(), to.Close()); err != nil {
		return err
	}
	report, err := examine(fresh)
	return errors.Join(err, report.Err())
}

func size(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
