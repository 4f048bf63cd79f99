package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

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
const wayOut = "put a backup in its place, or run `tidemark state rebuild`, which adopts what stands in the accounting system and creates nothing"

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
		return nil, fmt.Errorf("%s: %w: the file is gone, and %s says that there was one: %s; or, to begin anew, `tidemark state init`", path, ErrLost, markerPath(path), wayOut)
	case !there:
		if err := makeState(path, o, time.Time{}, nil); err != nil {
			return nil, err
		}
	}
	s, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	if err := s.adopt(mark, marked && there); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// look reports whether there is a file at path, and refuses what cannot be a state.
func look(path string) (there bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("state file: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s: %w: it is a %s, not a file; give the setting state another path", path, ErrForeign, kindOf(info.Mode()))
	case info.Size() == 0:
		return false, fmt.Errorf("%s: %w: it is empty: %s", path, ErrDamaged, wayOut)
	}
	return true, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	}
	return "device or socket"
}

// openFile probes the file in a child process, reads it once from the front, so that what follows comes
// from memory, and opens it.
func openFile(path string, o Options) (*Store, error) {
	if !o.NoProbe {
		report, err := Check(path)
		if err != nil {
			return nil, err
		}
		if err := report.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", path, err, wayOut)
		}
	}
	if err := readThrough(path); err != nil {
		return nil, err
	}
	db, err := openBolt(path, o.NoSync)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, path: path}
	if err := s.view(checkSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return s, nil
}

func openBolt(path string, noSync bool) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		InitialMmapSize: 64 << 20, MaxSize: most, NoSync: noSync,
	})
	if err != nil {
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

// makeState makes a new state under another name, and gives it its own when it is complete and on the disk.
// A new state may begin in a rebuild of some channels.
func makeState(path string, o Options, now time.Time, rebuild []Channel) error {
	fresh := path + ".new"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), removeIfThere(fresh)); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	if err := fillState(fresh, o, now, rebuild); err != nil {
		return errors.Join(fmt.Errorf("state file: create: %w", err), removeIfThere(fresh))
	}
	o.Faults.Hit("state-filled")
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	o.Faults.Hit("state-named")
	return syncFolder(path)
}

func fillState(path string, o Options, now time.Time, rebuild []Channel) error {
	db, err := openBolt(path, o.NoSync)
	if err != nil {
		return err
	}
	o.Faults.Hit("state-opened")
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		for _, ch := range rebuild {
			if err := put(tx, bucketChannel, ch.key(), Standing{Mode: Rebuild, Since: now}); err != nil {
				return err
			}
		}
		return errors.Join(put(tx, bucketMeta, keySchema, SchemaVersion), put(tx, bucketMeta, keyInstance, newInstance()))
	})
	return errors.Join(err, db.Sync(), db.Close())
}

func newInstance() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails: crypto/rand
	return hex.EncodeToString(id[:])
}

// Init begins anew at path, deliberately: what is there is moved aside, never deleted. The channels of
// rebuild adopt what they find in the accounting system and create nothing else. It returns what was moved.
func Init(path string, now time.Time, rebuild []Channel) (moved []string, err error) {
	l, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	for _, old := range []string{path, markerPath(path)} {
		aside := old + "." + now.UTC().Format("20060102T150405Z") + ".old"
		switch err := os.Rename(old, aside); {
		case err == nil:
			moved = append(moved, aside)
		case !errors.Is(err, fs.ErrNotExist):
			return moved, fmt.Errorf("state file: %w", err)
		}
	}
	return moved, makeState(path, Options{}, now, rebuild)
}

// Close ends the ownership of the file.
func (s *Store) Close() error {
	var err error
	if s.lock != nil {
		err = s.mirror()
	}
	return errors.Join(err, s.db.Close(), s.lock.release())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes a new name in the folder of path outlive a power cut.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}
