package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"tidemark/internal/fault"
)

// Options change how the file is opened. The zero Options is what the program uses.
type Options struct {
	NoProbe bool          // open without the look that a child process takes first; for tests of other things
	NoSync  bool          // do not wait for the disk; for tests of other things
	Faults  *fault.Points // where a test lets the process die
}

// Reasons not to open a file. Each text says the way out.
var (
	// ErrLost means that there was a state and that it is gone. Billing from an empty one would look
	// everything up as if it were new.
	ErrLost = errors.New("state is lost")
	// ErrNewer means that a newer release wrote the file.
	ErrNewer = errors.New("state file is of a newer release")
	// ErrForeign means that the file is not a state of this program, or not the one that belongs here.
	ErrForeign = errors.New("not the state file that belongs here")
)

// wayOut is what an admin can do about a file that cannot be used.
const wayOut = "put a backup back with `tidemark state restore FILE`, or run `tidemark state rebuild`, which adopts what stands in the accounting system and creates nothing"

// most is the largest size that the file may grow to: a brake, far above what is needed.
const most = 8 << 30

// Open opens the state at path and owns it until Close. Where there never was one, it is made. A file
// that is damaged, lost, foreign or newer is an error, and is left as it is.
func Open(path string, o Options) (*Store, error) {
	l, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s, err := openLocked(path, o)
	if err != nil {
		return nil, errors.Join(err, l.release())
	}
	s.lock = l
	return s, nil
}

func openLocked(path string, o Options) (*Store, error) {
	there, err := look(path)
	if err != nil {
		return nil, err
	}
	mark, marked, err := readMarker(path)
	switch {
	case err != nil:
		return nil, err
	case !there && marked:
		return nil, lost(path)
	case !there:
		if err := makeState(path, o); err != nil {
			return nil, err
		}
	}
	s, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	if err := s.adopt(mark, marked, o); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

func lost(path string) error {
	return fmt.Errorf("%s: %w: the file is gone, and %s says that there was one: %s; or, to begin anew, `tidemark state init`", path, ErrLost, markerPath(path), wayOut)
}

// look reports whether there is a file at path, and refuses what cannot be a state or cannot be opened.
func look(path string) (there bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("state file: %w", err)
	case !info.Mode().IsRegular():
		return false, noFile(path, info.Mode())
	case info.Size() == 0:
		return false, fmt.Errorf("%s: %w: it is empty: %s", path, ErrDamaged, wayOut)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, fmt.Errorf("state file: %w; it has to belong to the user that runs this program", err)
	}
	return true, f.Close()
}

// existing refuses a path at which there is no state.
func existing(path string) error {
	there, err := look(path)
	if err != nil || there {
		return err
	}
	switch _, marked, err := readMarker(path); {
	case err != nil:
		return err
	case marked:
		return lost(path)
	}
	return fmt.Errorf("state file: %s: %w; the first pass makes it", path, fs.ErrNotExist)
}

func noFile(path string, mode fs.FileMode) error {
	kind := "device or socket"
	switch {
	case mode.IsDir():
		kind = "folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "pipe"
	}
	return fmt.Errorf("%s: %w: it is a %s, not a file; give the setting state another path", path, ErrForeign, kind)
}

// openFile probes the file in a child process, reads it once from the front, so that what follows comes
// from memory, and opens it.
func openFile(path string, o Options) (*Store, error) {
	if !o.NoProbe {
		report, err := examine(path)
		if err != nil {
			return nil, err
		}
		if err := report.Err(); err != nil {
			return nil, withWayOut(path, err)
		}
	}
	if err := readThrough(path); err != nil {
		return nil, err
	}
	db, err := openBolt(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, path: path, notes: placed(path).notes(path), faults: o.Faults}
	if err := s.view(checkSchema); err != nil {
		return nil, errors.Join(withWayOut(path, err), db.Close())
	}
	if err := os.Chmod(path, 0o600); err != nil {
		s.notes = append(s.notes, fmt.Sprintf("%s is not this user's alone: %v", path, err))
	}
	return s, nil
}

// withWayOut adds what can be done. Against a newer file only its release helps, and checkSchema says so.
func withWayOut(path string, err error) error {
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) {
		return fmt.Errorf("%s: %w: %s", path, err, wayOut)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func openBolt(path string, o Options) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		InitialMmapSize: 64 << 20, MaxSize: most, NoSync: o.NoSync,
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, &HeldError{Path: path}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	db.AllocSize = 1 << 20
	return db, nil
}

func readThrough(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, f); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

// checkSchema refuses a file that this release did not write or cannot read.
func checkSchema(tx *bbolt.Tx) error {
	if tx.Bucket(bucketMeta) == nil {
		return fmt.Errorf("%w: it is a bbolt file of another program", ErrForeign)
	}
	var version int
	known, err := get(tx, bucketMeta, keySchema, &version)
	switch {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("%w: it names no schema", ErrForeign)
	case version > SchemaVersion:
		return fmt.Errorf("%w: schema %d, and this release knows %d: install the release that wrote it", ErrNewer, version, SchemaVersion)
	case version < 1:
		return fmt.Errorf("%w: schema %d", ErrDamaged, version)
	}
	for _, name := range buckets() {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: bucket %s is missing", ErrDamaged, name)
		}
	}
	return nil
}

// Close ends the ownership of the file.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.lock.release()) }

// Notes returns what an admin should know about the place of the file. The store works all the same.
func (s *Store) Notes() []string { return s.notes }
