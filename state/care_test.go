package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

func TestBackupIsWholeAndRefusesToOverwrite(t *testing.T) {
	path := stateWithRows(t)
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(copied); err != nil {
		t.Fatal(err)
	}
	r, err := Check(copied)
	if err := errors.Join(err, r.Err()); err != nil || r.Rows["event"] != 2000 {
		t.Errorf("the copy has %d events, %v, want 2000", r.Rows["event"], err)
	}
	if err := s.Backup(copied); err == nil {
		t.Error("a second backup to the same file was not refused")
	}
}

func TestCompactKeepsEveryRowAndTheMarker(t *testing.T) {
	path := stateWithRows(t)
	s, err := Open(path, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.update(func(tx *bbolt.Tx) error {
		return removeAll(tx, bucketEvent, keysWith(tx, bucketEvent, nil)[:1900])
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	before, after, err := Compact(path)
	if err != nil || after >= before {
		t.Fatalf("Compact = %d → %d, %v, want less", before, after, err)
	}
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Older() {
		t.Error("a compacted file was taken for an older copy")
	}
	if n := len(keysOf(t, s, bucketEvent)); n != 100 {
		t.Errorf("%d events are left, want 100", n)
	}
}

func keysOf(t *testing.T, s *Store, bucket []byte) (keys [][]byte) {
	t.Helper()
	if err := s.view(func(tx *bbolt.Tx) error { keys = keysWith(tx, bucket, nil); return nil }); err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestCareOfAStateThatIsNotThereMakesNone looks at and compacts a path where there is nothing, or no longer.
func TestCareOfAStateThatIsNotThereMakesNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tidemark.db")
	for _, want := range []error{os.ErrNotExist, ErrLost} {
		_, checked := Check(path)
		_, _, compacted := Compact(path)
		for what, err := range map[string]error{"Check": checked, "Compact": compacted} {
			if !errors.Is(err, want) {
				t.Errorf("%s = %v, want %v", what, err, want)
			}
		}
		if exists(path) {
			t.Fatal("a state was made")
		}
		if err := (marker{Instance: "1"}).write(path, false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestABackupThatFailsLeavesNothing backs up what is not good, and then to a folder that is not there.
func TestABackupThatFailsLeavesNothing(t *testing.T) {
	s, err := Open(stateWithRows(t), Options{NoProbe: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketEvent).Put([]byte("bad"), []byte("not sealed")) })
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := s.Backup(filepath.Join(folder, "copy.db")); !errors.Is(err, ErrDamaged) {
		t.Errorf("Backup = %v, want %v", err, ErrDamaged)
	}
	if err := s.Backup(filepath.Join(folder, "missing", "copy.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Backup = %v, want %v", err, os.ErrNotExist)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v, want none", len(left), err)
	}
}
