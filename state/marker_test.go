package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMarkerTellsALostStateFromAFirstRun(t *testing.T) {
	path := stateWithRows(t)
	whole := mustRead(t, path)
	if err := os.Remove(markerPath(path)); err != nil {
		t.Fatal(err)
	}
	reopen := func() error {
		s, err := Open(path, Options{})
		if err != nil {
			return err
		}
		return s.Close()
	}
	if err := reopen(); err != nil {
		t.Fatalf("file without marker: Open = %v, want the marker written again", err)
	}
	if _, there, err := readMarker(path); !there || err != nil {
		t.Fatalf("marker: %v, %v, want it there", there, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := reopen(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "tidemark state rebuild") {
		t.Fatalf("marker without file: Open = %v, want %v and the way out", err, ErrLost)
	}
	other := stateWithRows(t)
	mustWrite(t, path, mustRead(t, other))
	if err := reopen(); !errors.Is(err, ErrForeign) {
		t.Fatalf("another state's file: Open = %v, want %v", err, ErrForeign)
	}
	mustWrite(t, path, whole)
	mustWrite(t, markerPath(path), []byte("{"))
	if err := reopen(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("damaged marker: Open = %v, want %v", err, ErrDamaged)
	}
}

// TestAnOlderCopyBeginsARebuild puts an older copy of the same state into its place.
func TestAnOlderCopyBeginsARebuild(t *testing.T) {
	path := stateWithRows(t)
	old := mustRead(t, path)
	ch := Channel{Tracker: "t", Account: "b", Prefix: "ts-"}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Older() {
		t.Error("Older = true for the newest file")
	}
	if err := errors.Join(s.ChangeStanding(ch, time.Unix(1, 0), func(st *Standing) { st.Mode = Normal }), s.Close()); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, path, old)
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Older() {
		t.Error("Older = false for an older copy")
	}
	for _, ch := range []Channel{ch, {Tracker: "another", Account: "b", Prefix: "x-"}} {
		if st, err := s.Standing(ch, time.Unix(2, 0)); err != nil || st.Mode != Rebuild {
			t.Errorf("Standing(%v) = %v, %v, want %s", ch, st.Mode, err, Rebuild)
		}
	}
}

// TestAnOlderCopyIsNoticedAfterAKill puts back a copy that was made while the state rested, or a backup, after
// a process that never closed the state.
func TestAnOlderCopyIsNoticedAfterAKill(t *testing.T) {
	rested := func(t *testing.T, path string) []byte { return mustRead(t, path) }
	backup := func(t *testing.T, path string) []byte {
		s, err := Open(path, Options{NoProbe: true})
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := s.Backup(copied); err != nil {
			t.Fatal(err)
		}
		return closedWithoutAWord(t, s, copied)
	}
	compacted := func(t *testing.T, path string) []byte {
		old := mustRead(t, path)
		if _, _, err := Compact(path); err != nil {
			t.Fatal(err)
		}
		return old
	}
	for name, copied := range map[string]func(*testing.T, string) []byte{"rested": rested, "backup": backup, "before compaction": compacted} {
		t.Run(name, func(t *testing.T) {
			path := stateWithRows(t)
			old := copied(t, path)
			if name == "rested" {
				wantKilled(t, child(t, "hold", path, "state-marked").Run())
			}
			mustWrite(t, path, old)
			s, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if !s.Older() {
				t.Error("Older = false for an older copy")
			}
		})
	}
}

// closedWithoutAWord ends s as a kill would, and returns what is in a file.
func closedWithoutAWord(t *testing.T, s *Store, path string) []byte {
	t.Helper()
	if err := errors.Join(s.db.Close(), s.lock.release()); err != nil {
		t.Fatal(err)
	}
	return mustRead(t, path)
}

// TestTheNewestCopyIsOlderAfterAnotherWasUsed puts the newest file back after an older one had its turn:
// what was billed meanwhile is not in it.
func TestTheNewestCopyIsOlderAfterAnotherWasUsed(t *testing.T) {
	path := stateWithRows(t)
	old := mustRead(t, path)
	reopen := func() bool {
		s, err := Open(path, Options{NoProbe: true})
		if err != nil {
			t.Fatal(err)
		}
		older := s.Older()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return older
	}
	for range 3 {
		reopen()
	}
	newest := mustRead(t, path)
	mustWrite(t, path, old)
	if !reopen() {
		t.Error("Older = false for the older copy")
	}
	if reopen() {
		t.Error("Older = true for the older copy when it had become the state")
	}
	mustWrite(t, path, newest)
	if !reopen() {
		t.Error("Older = false for the copy that was put away meanwhile")
	}
}
