package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Snapshot is a copy of the state as it was at one moment. What is written to it is forgotten.
type Snapshot struct {
	*Store
	folder string
}

// Snapshot copies the state into a folder of its own, for a look at what would happen.
func (s *Store) Snapshot() (*Snapshot, error) {
	folder, path, err := s.copied("plan")
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("state snapshot: %w", err), os.RemoveAll(folder))
	}
	return &Snapshot{&Store{db: db, older: s.older}, folder}, nil
}

// copied copies the state as it is at this moment into a folder of its own.
func (s *Store) copied(purpose string) (folder, path string, err error) {
	if folder, err = os.MkdirTemp("", "tidemark-"+purpose+"-"); err != nil {
		return "", "", fmt.Errorf("state snapshot: %w", err)
	}
	path = filepath.Join(folder, "snapshot.db")
	err = s.view(func(tx *bbolt.Tx) error { return tx.CopyFile(path, 0o600) })
	if err != nil {
		return "", "", errors.Join(fmt.Errorf("state snapshot: %w", err), os.RemoveAll(folder))
	}
	return folder, path, nil
}

// Path returns where the copy is.
func (s *Snapshot) Path() string { return filepath.Join(s.folder, "snapshot.db") }

// Discard removes the copy.
func (s *Snapshot) Discard() error { return errors.Join(s.db.Close(), os.RemoveAll(s.folder)) }
