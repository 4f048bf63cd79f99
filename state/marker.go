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
	Instance   string `json:"instance"`
	Generation uint64 `json:"generation"` // the newest that the file is known to have had
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
func (m marker) write(path string, durable bool) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := writeFile(prepared(markerPath(path)), append(data, '\n'), durable); err != nil {
		return fmt.Errorf("state marker: %w", err)
	}
	if err := os.Rename(prepared(markerPath(path)), markerPath(path)); err != nil {
		return fmt.Errorf("state marker: %w", err)
	}
	if !durable {
		return nil
	}
	return syncFolder(path)
}

func writeFile(path string, data []byte, durable bool) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// adopt compares the open file with the marker, where there is one, and writes it anew. A copy that is
// older than what the marker knows puts every channel into a rebuild: what was billed since then stands in
// the accounting system, and is not known here.
func (s *Store) adopt(known marker, marked bool, o Options) error {
	now, err := s.marker()
	if err != nil {
		return err
	}
	if marked && known.Instance != now.Instance {
		return fmt.Errorf("%s: %w: it was made at another place or time than %s says: %s", s.path, ErrForeign, markerPath(s.path), wayOut)
	}
	s.older = marked && now.Generation < known.Generation
	if s.older {
		if err := s.rebuildAll(); err != nil {
			return err
		}
	}
	return s.advance(max(now.Generation, known.Generation)+1, o)
}

// advance counts: what is copied from the file before is older than the file from now on.
func (s *Store) advance(generation uint64, o Options) error {
	err := s.update(func(tx *bbolt.Tx) error { return put(tx, bucketMeta, keyGeneration, generation) })
	if err != nil {
		return err
	}
	o.Faults.Hit("state-counted")
	now, err := s.marker()
	if err != nil {
		return err
	}
	if err := now.write(s.path, !s.db.NoSync); err != nil {
		return err
	}
	o.Faults.Hit("state-marked")
	return nil
}

// Older reports whether the file was found to be older than it once was. Its channels are in a rebuild then.
func (s *Store) Older() bool { return s.older }

// marker returns what the marker should say of the open file.
func (s *Store) marker() (m marker, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		known, err := get(tx, bucketMeta, keyInstance, &m.Instance)
		if err == nil && !known {
			err = fmt.Errorf("%w: it names no instance", ErrDamaged)
		}
		if err == nil {
			_, err = get(tx, bucketMeta, keyGeneration, &m.Generation)
		}
		return err
	})
	return m, err
}

// rebuildAll puts every channel that the file knows into a rebuild, and believes no release and no attempt.
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
		return errors.Join(forgetReleases(tx), doubtKeys(tx))
	})
}
