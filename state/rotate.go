package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stampForm is how the time of a scheduled backup stands in its name, so that names sort by time.
const stampForm = "2006-01-02T150405Z"

// Rotated says what a scheduled backup did.
type Rotated struct {
	Path    string   // of the backup
	Size    int64    // bytes
	Deleted []string // older ones
}

// Rotate writes a checked copy of the state into a folder, named after the state and the time, such as
// tidemark-2026-12-06T030500Z.db, and then deletes the oldest of that form beyond keep, which counts the new one.
// Nothing else in the folder is touched, and nothing is deleted before the new one is on the disk.
func (s *Store) Rotate(folder string, keep int, now time.Time) (r Rotated, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return r, fmt.Errorf("backup: %w", err)
	}
	if err := s.removeHalfMade(folder); err != nil {
		return r, err
	}
	path := filepath.Join(folder, s.stem()+now.UTC().Format(stampForm)+".db")
	if err := s.Backup(path); err != nil {
		return r, err
	}
	r.Path = path
	if r.Size, err = size(path); err != nil {
		return r, fmt.Errorf("backup: %w", err)
	}
	r.Deleted, err = s.deleteOldest(folder, keep, path)
	return r, err
}

// LastBackup returns when the newest scheduled backup in a folder was made; zero if there is none.
func (s *Store) LastBackup(folder string) (last time.Time, err error) {
	all, err := s.backups(folder, ".db")
	if len(all) == 0 || err != nil {
		return last, err
	}
	last, _ = s.stamp(all[len(all)-1], ".db")
	return last, nil
}

// stem is what the names of scheduled backups begin with.
func (s *Store) stem() string {
	name := filepath.Base(s.path)
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-"
}

// stamp reads the time out of the name of a scheduled backup.
func (s *Store) stamp(name, end string) (at time.Time, ok bool) {
	text, begins := strings.CutPrefix(name, s.stem())
	text, ends := strings.CutSuffix(text, end)
	at, err := time.Parse(stampForm, text)
	return at, begins && ends && err == nil
}

// backups returns the names of the scheduled backups in a folder, the oldest first. Nothing is a backup that
// is not a file.
func (s *Store) backups(folder, end string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if _, ok := s.stamp(e.Name(), end); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// removeHalfMade removes what a backup left that a crash has ended.
func (s *Store) removeHalfMade(folder string) error {
	names, err := s.backups(folder, prepared(".db"))
	for _, name := range names {
		err = errors.Join(err, os.Remove(filepath.Join(folder, name)))
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// deleteOldest leaves as many backups as are kept. The newest is among them even if a clock that was ahead has
// made others.
func (s *Store) deleteOldest(folder string, keep int, newest string) (deleted []string, err error) {
	names, err := s.backups(folder, ".db")
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	surplus := len(names) - keep
	for _, name := range names {
		path := filepath.Join(folder, name)
		if len(deleted) >= surplus || path == newest {
			continue
		}
		if err := os.Remove(path); err != nil {
			return deleted, fmt.Errorf("backup: %w", err)
		}
		deleted = append(deleted, path)
		s.faults.Hit("backup-deleted")
	}
	return deleted, nil
}
