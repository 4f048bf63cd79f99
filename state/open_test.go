package state

import (
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

// child starts a process that plays a part with the state at path, and dies at a point if one is named.
func child(t *testing.T, part, path, point string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPart+"="+part, childPath+"="+path, fault.Env+"="+point)
	return cmd
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
		_, opened := Open(path, Options{})
		_, checked := Check(path)
		_, begun := Init(path, time.Unix(0, 0), nil)
		_, _, compacted := Compact(path)
		for what, err := range map[string]error{"Open": opened, "Check": checked, "Init": begun, "Compact": compacted} {
			if !errors.Is(err, ErrForeign) {
				t.Errorf("%s(%s) = %v, want %v", what, filepath.Base(path), err, ErrForeign)
			}
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
	tests := []struct {
		path    string
		want    error
		rebuild bool // is a way out
	}{{other, ErrForeign, true}, {newer, ErrNewer, false}}
	for _, test := range tests {
		for _, noProbe := range []bool{false, true} {
			_, err := Open(test.path, Options{NoProbe: noProbe})
			if !errors.Is(err, test.want) {
				t.Errorf("Open = %v, want %v", err, test.want)
			}
			if got := strings.Contains(fmt.Sprint(err), "rebuild"); got != test.rebuild {
				t.Errorf("Open = %v, which names a rebuild: %v, want %v", err, got, test.rebuild)
			}
		}
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := stateWithRows(t)
	if err := os.Chmod(path, 0o644); err != nil { // as a copy that was put back may be
		t.Fatal(err)
	}
	s, err := Open(path, Options{NoProbe: true})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
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

// TestAFileOfAnotherUserIsNotDamaged opens a file that may not be read.
func TestAFileOfAnotherUserIsNotDamaged(t *testing.T) {
	path := stateWithRows(t)
	// All but the file is open to everybody.
	for name, mode := range map[string]os.FileMode{
		filepath.Dir(filepath.Dir(path)): 0o755, filepath.Dir(path): 0o777, path + ".lock": 0o666, markerPath(path): 0o666, path: 0o000,
	} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	out, err := child(t, "stranger", path, "").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the child ended with %v, want exit code 1: %s", err, out)
	}
	if text := string(out); !strings.Contains(text, path+": permission denied") || strings.Contains(text, "damaged") {
		t.Errorf("Open = %s, want that permission is denied, and no word of damage", text)
	}
}

func TestNetworkFileSystemsAreNamed(t *testing.T) {
	for kind, want := range map[place]string{0x6969: "NFS", 0xff534d42: "SMB", 0xef53: "", 0x01021994: "", 0: ""} {
		if got := kind.network(); got != want {
			t.Errorf("network of %#x = %q, want %q", uint32(kind), got, want)
		}
		if got := kind.notes("/x/tidemark.db"); (len(got) == 1) != (want != "") {
			t.Errorf("notes of %#x = %q, want one only for a network", uint32(kind), got)
		}
	}
	if placed(t.TempDir()) == 0 {
		t.Error("the file system of a folder is not known")
	}
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

// TestNoSpaceInACommitEndsTheWriting limits the size of files for a process that writes.
func TestNoSpaceInACommitEndsTheWriting(t *testing.T) {
	path := stateWithRows(t)
	if out, err := child(t, "fill", path, "").CombinedOutput(); err != nil {
		t.Fatalf("the child: %v: %s", err, out)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("with space again: Open = %v", err)
	}
	defer s.Close()
	if n := len(keysOf(t, s, bucketEvent)); n != 2000 || s.Older() {
		t.Errorf("%d events are left, older: %v, want 2000 in the newest file", n, s.Older())
	}
}
