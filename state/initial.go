package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// makeState makes a new state where there is none.
func makeState(path string, o Options) error {
	if err := prepare(path, o, newInstance(), time.Time{}, nil); err != nil {
		return err
	}
	return install(path, o)
}

// prepared is the name under which a file is made that will replace the one at path.
func prepared(path string) string { return path + ".new" }

// prepare makes a new state under another name, complete and on the disk. It may begin in a rebuild of
// some channels.
func prepare(path string, o Options, instance string, now time.Time, rebuild []Channel) error {
	fresh := prepared(path)
	if err := removeIfThere(fresh); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	db, err := openBolt(fresh, o)
	if err == nil {
		o.Faults.Hit("state-opened")
		err = db.Update(func(tx *bbolt.Tx) error { return begin(tx, instance, now, rebuild) })
		err = errors.Join(err, db.Sync(), db.Close())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("state file: create: %w", err), removeIfThere(fresh))
	}
	o.Faults.Hit("state-filled")
	return nil
}

func begin(tx *bbolt.Tx, instance string, now time.Time, rebuild []Channel) error {
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
	return errors.Join(put(tx, bucketMeta, keySchema, SchemaVersion), put(tx, bucketMeta, keyInstance, instance))
}

func newInstance() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails: crypto/rand
	return hex.EncodeToString(id[:])
}

// install gives the file that was prepared its name.
func install(path string, o Options) error {
	if err := os.Rename(prepared(path), path); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	o.Faults.Hit("state-named")
	return syncFolder(path)
}

// Init begins anew at path, deliberately: what is there is moved aside, never deleted. The channels of
// rebuild adopt what they find in the accounting system and create nothing else. It returns what was moved.
// Where it dies half-way, opening is refused or finds the new state, and Init can be called again.
func Init(path string, now time.Time, rebuild []Channel) (moved []string, err error) {
	return initialise(path, Options{}, now, rebuild)
}

func initialise(path string, o Options, now time.Time, rebuild []Channel) (moved []string, err error) {
	l, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, noFile(path, info.Mode())
	}
	fresh := marker{Instance: newInstance()}
	if err := prepare(path, o, fresh.Instance, now, rebuild); err != nil {
		return nil, err
	}
	// The old marker goes last: as long as it is there, no half-made state is taken for a first run.
	if moved, err = moveAside(path, now, moved); err != nil {
		return moved, err
	}
	o.Faults.Hit("state-aside")
	if err := install(path, o); err != nil {
		return moved, err
	}
	if moved, err = moveAside(markerPath(path), now, moved); err != nil {
		return moved, err
	}
	o.Faults.Hit("state-unmarked")
	return moved, fresh.write(path, true)
}

// moveAside gives the file at path, if there is one, a name that no other file has.
func moveAside(path string, now time.Time, moved []string) ([]string, error) {
	aside := asideOf(path, now)
	switch err := os.Rename(path, aside); {
	case err == nil:
		return append(moved, aside), syncFolder(path)
	case errors.Is(err, fs.ErrNotExist):
		return moved, nil
	default:
		return moved, fmt.Errorf("state file: %w", err)
	}
}

// asideOf returns a name beside path that no file has.
func asideOf(path string, now time.Time) string {
	stem := path + "." + now.UTC().Format("20060102T150405Z")
	aside := stem + ".old"
	for n := 2; exists(aside); n++ {
		aside = fmt.Sprintf("%s-%d.old", stem, n)
	}
	return aside
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
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
