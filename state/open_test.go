package state

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/internal/fault"
)

// stateWithRows makes a state with rows on many pages, closes it, and returns its path.
func stateWithRows(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tidemark.db")
	s, err := Open(path, Options{NoProbe: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.update(func(tx *bbolt.Tx) error {
		for n := range 2000 {
			if err := note(tx, "books", fmt.Sprintf("ts-%04d", n), Event{At: time.Unix(int64(n), 0), What: strings.Repeat("w", 50)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustWrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamageIsAnErrorWithTheWayOut(t *testing.T) {
	page := os.Getpagesize()
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	zero := func(from, to int) func([]byte) []byte {
		return func(b []byte) []byte {
			clear(b[from:to])
			return b
		}
	}
	tests := []struct {
		name string
		mend func([]byte) []byte
		want error
	}{
		{"nothing in it", cut(0), ErrDamaged},
		{"one byte", cut(1), ErrForeign},
		{"one page", cut(page), ErrDamaged},
		{"two pages", cut(2 * page), ErrDamaged},
		{"cut at 16 KiB", cut(16 << 10), ErrDamaged},
		{"all zero", func(b []byte) []byte { return make([]byte, len(b)) }, ErrForeign},
		{"both heads zero", zero(0, 2*page), ErrForeign},
		{"both checksums wrong", func(b []byte) []byte { b[70] ^= 1; b[page+70] ^= 1; return b }, ErrDamaged},
		{"text", func([]byte) []byte { return bytes.Repeat([]byte("not a state\n"), 4000) }, ErrForeign},
		{"a value flipped", func(b []byte) []byte {
			i := bytes.LastIndex(b, bytes.Repeat([]byte("w"), 50))
			b[i+10] = 'x'
			return b
		}, ErrDamaged},
		{"a page zero in the middle", func(b []byte) []byte {
			i := bytes.Index(b, bytes.Repeat([]byte("w"), 50)) / page * page
			clear(b[i : i+page])
			return b
		}, ErrDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := stateWithRows(t)
			bad := test.mend(mustRead(t, path))
			mustWrite(t, path, bad)
			s, err := Open(path, Options{})
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, test.want) {
				t.Fatalf("Open = %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "tidemark state rebuild") {
				t.Errorf("Open = %v, want the path and the way out", err)
			}
			if !bytes.Equal(mustRead(t, path), bad) {
				t.Error("the damaged file was changed")
			}
		})
	}
}

// TestEveryCutIsNoticed cuts the file at each page: none may open as if nothing had happened.
func TestEveryCutIsNoticed(t *testing.T) {
	path := stateWithRows(t)
	whole := mustRead(t, path)
	r, err := Check(path)
	if err := errors.Join(err, r.Err()); err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	used := int(r.Size) / page
	for n := 2; n < used; n += max(used/25, 1) {
		mustWrite(t, path, whole[:n*page])
		r, err := Check(path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Err() == nil {
			t.Errorf("cut at page %d of %d: nothing was noticed", n, used)
		}
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(folder, "folder")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, sub} {
		if _, err := Open(path, Options{}); !errors.Is(err, ErrForeign) {
			t.Errorf("Open(%s) = %v, want %v", filepath.Base(path), err, ErrForeign)
		}
	}
}

func TestForeignAndNewerFilesAreRefused(t *testing.T) {
	bolt := func(t *testing.T, fill func(tx *bbolt.Tx) error) string {
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := bolt(t, func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("somebody's"))
		return err
	})
	newer := bolt(t, func(tx *bbolt.Tx) error {
		if _, err := tx.CreateBucket(bucketMeta); err != nil {
			return err
		}
		return put(tx, bucketMeta, keySchema, SchemaVersion+1)
	})
	for path, want := range map[string]error{other: ErrForeign, newer: ErrNewer} {
		for _, noProbe := range []bool{false, true} {
			if _, err := Open(path, Options{NoProbe: noProbe}); !errors.Is(err, want) {
				t.Errorf("Open = %v, want %v", err, want)
			}
		}
	}
}

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

func TestInitMovesAsideAndBeginsAnew(t *testing.T) {
	path := stateWithRows(t)
	old := mustRead(t, path)
	ch := Channel{Tracker: "t", Account: "b", Prefix: "ts-"}
	moved, err := Init(path, time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC), []Channel{ch})
	if err != nil {
		t.Fatal(err)
	}
	if len(moved) != 2 || !bytes.Equal(mustRead(t, moved[0]), old) {
		t.Errorf("moved = %v, want the file and its marker, unchanged", moved)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if st, err := s.Standing(ch, time.Now()); err != nil || st.Mode != Rebuild {
		t.Errorf("Standing = %v, %v, want %s", st.Mode, err, Rebuild)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := stateWithRows(t)
	for _, name := range []string{path, path + ".lock", markerPath(path)} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", filepath.Base(name), mode)
		}
	}
}

// child starts a process that opens the state at path, and dies at a point if one is named.
func child(t *testing.T, path, point string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+path, fault.Env+"="+point)
	return cmd
}

func TestASecondProcessIsRefusedAndToldWho(t *testing.T) {
	path := stateWithRows(t)
	cmd := child(t, path, "")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, Options{})
	var held *HeldError
	switch {
	case !errors.As(err, &held):
		t.Errorf("Open = %v, want a HeldError", err)
	case held.PID != cmd.Process.Pid || held.Since.IsZero():
		t.Errorf("held by %d since %s, want %d and a time", held.PID, held.Since, cmd.Process.Pid)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("after the holder ended: Open = %v", err)
	}
	_ = s.Close()
}

// TestKillWhileTheStateIsMade kills the process at each step of the making: the next start makes it whole.
func TestKillWhileTheStateIsMade(t *testing.T) {
	for _, point := range []string{"state-opened", "state-filled", "state-named"} {
		t.Run(point, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tidemark.db")
			err := child(t, path, point).Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v", err)
			}
			s, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := Check(path)
			if err := errors.Join(err, r.Err()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNoSpaceWhileTheStateIsMade limits the size of files: nothing is left under the real name.
func TestNoSpaceWhileTheStateIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tidemark.db")
	script := fmt.Sprintf("ulimit -f 8; exec %q", os.Args[0])
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), childFolder+"="+path)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("the state was made without space: %s", out)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat = %v, want no file under the real name", err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("with space again: Open = %v", err)
	}
	_ = s.Close()
}

// TestACommitThatFailsEndsTheWriting makes a commit fail; everything after it is refused.
func TestACommitThatFailsEndsTheWriting(t *testing.T) {
	path := stateWithRows(t)
	s, err := Open(path, Options{NoProbe: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.db.MaxSize = 1 // the next commit that has to grow the file fails
	ch := Channel{Tracker: "t", Account: "b", Prefix: "ts-"}
	grow := func() error {
		return s.Beat(ch, Heartbeat{Summary: strings.Repeat("x", 4<<20)})
	}
	if err := grow(); !errors.Is(err, ErrCommit) {
		t.Fatalf("Beat = %v, want %v", err, ErrCommit)
	}
	if err := s.Beat(ch, Heartbeat{}); !errors.Is(err, ErrCommit) {
		t.Errorf("Beat after a failed commit = %v, want %v", err, ErrCommit)
	}
}

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
