package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"
)

// marker is a small file beside the state. It tells a lost state from a first run, and an older copy
// of a state from the newest.
type marker struct {
	Instance    string `json:"instance"`
	Transaction int    `json:"transaction"` // the newest that is known to have been in the file
}

func markerPath(path string) string { return path + ".id" }

// readMarker returns the marker of the state at path, and whether there is one.
func readMarker(path string) (m marker, there bool, err error) {
	data, err := os.ReadFile(markerPath(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, false, nil
	case err != nil:
		return m, false, fmt.Errorf("state marker: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Instance == "" {
		return m, false, fmt.Errorf("%s: %w: it is not a marker: if the state beside it is the right one, delete the marker; else %s", markerPath(path), ErrDamaged, wayOut)
	}
	return m, true, nil
}

// write puts the marker beside the state, complete or not at all.
func (m marker) write(path string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	fresh := markerPath(path) + ".new"
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("state marker: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("state marker: %w", err)
	}
	if err := os.Rename(fresh, markerPath(path)); err != nil {
		return fmt.Errorf("state marker: %w", err)
	}
	return syncFolder(path)
}

// adopt compares the open file with the marker, and writes the marker again where there was none. A
// copy that is older than what the marker knows puts every channel into a rebuild: what was billed since
// then stands in the accounting system, and is not known here.
func (s *Store) adopt(known marker, marked bool) error {
	now, err := s.marker()
	if err != nil {
		return err
	}
	switch {
	case !marked:
		return now.write(s.path)
	case known.Instance != now.Instance:
		return fmt.Errorf("%s: %w: it was made at another place or time than %s says: %s", s.path, ErrForeign, markerPath(s.path), wayOut)
	case now.Transaction < known.Transaction:
		s.older = true
		return s.rebuildAll()
	}
	return nil
}

// Older reports whether the file was found to be older than it once was. Its channels are in a rebuild then.
func (s *Store) Older() bool { return s.older }

// marker returns what the marker should say of the open file.
func (s *Store) marker() (m marker, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		m.Transaction = tx.ID()
		known, err := get(tx, bucketMeta, keyInstance, &m.Instance)
		if err == nil && !known {
			err = fmt.Errorf("%w: it names no instance", ErrDamaged)
		}
		return err
	})
	return m, err
}

// mirror writes the marker for the file as it is now.
func (s *Store) mirror() error {
	now, err := s.marker()
	if err != nil {
		return err
	}
	return now.write(s.path)
}

// rebuildAll puts every channel into a rebuild, those too that it does not know yet.
func (s *Store) rebuildAll() error {
	return s.update(func(tx *bbolt.Tx) error {
		for _, key := range keysWith(tx, bucketChannel, nil) {
			var st Standing
			if _, err := get(tx, bucketChannel, key, &st); err != nil {
				return err
			}
			st.Mode = Rebuild
			if err := put(tx, bucketChannel, key, st); err != nil {
				return err
			}
		}
		return nil
	})
}
