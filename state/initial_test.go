package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

// TestInitNeverReplacesWhatWasMovedAside begins anew twice within one second.
func TestInitNeverReplacesWhatWasMovedAside(t *testing.T) {
	path := stateWithRows(t)
	now := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	var all []string
	for range 3 {
		moved, err := Init(path, now, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, moved...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 6 {
		t.Errorf("moved to %d names, want 6: %q", n, all)
	}
	for _, name := range all {
		if !exists(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// wantKilled checks that a process ended by the signal that a fault point sends.
func wantKilled(t *testing.T, err error) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process was not killed: %v", err)
	}
}

// TestKillWhileTheStateIsMade kills the process at each step of the making: the next start makes it whole.
func TestKillWhileTheStateIsMade(t *testing.T) {
	for _, point := range []string{"state-opened", "state-filled", "state-named", "state-counted", "state-marked"} {
		t.Run(point, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tidemark.db")
			wantKilled(t, child(t, "hold", path, point).Run())
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
			if m, there, err := readMarker(path); err != nil || !there || m.Generation == 0 {
				t.Errorf("marker = %+v, %v, %v, want one that counts", m, there, err)
			}
		})
	}
}

// TestKillWhileTheStateIsBegunAnew kills the process at each step of a rebuild's beginning: the next start uses the
// old state or a new one that is in a rebuild, or is refused; it never begins a first run.
func TestKillWhileTheStateIsBegunAnew(t *testing.T) {
	ch := Channel{Tracker: "t", Account: "b", Prefix: "ts-"}
	tests := []struct {
		point string
		want  error // of opening; the mode is that of a rebuild otherwise
	}{
		{"state-opened", nil}, {"state-filled", nil}, {"state-aside", ErrLost}, {"state-named", ErrForeign}, {"state-unmarked", nil},
	}
	for _, test := range tests {
		t.Run(test.point, func(t *testing.T) {
			path := stateWithRows(t)
			s, err := Open(path, Options{NoProbe: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.SetRebuild([]Channel{ch}, time.Unix(0, 0)), s.Close()); err != nil {
				t.Fatal(err)
			}
			old := mustRead(t, path)
			wantKilled(t, child(t, "init", path, test.point).Run())
			if s, err = Open(path, Options{}); !errors.Is(err, test.want) {
				t.Fatalf("Open = %v, want %v", err, test.want)
			}
			if test.want == nil {
				wantRebuild(t, s, ch)
			}
			if err := initAnew(path); err != nil {
				t.Fatalf("a second Init = %v", err)
			}
			if s, err = Open(path, Options{}); err != nil {
				t.Fatal(err)
			}
			wantRebuild(t, s, ch)
			wantKept(t, path, old, test.want != nil)
		})
	}
}

// wantRebuild checks the mode of a channel, and closes the state.
func wantRebuild(t *testing.T, s *Store, ch Channel) {
	t.Helper()
	if st, err := s.Standing(ch, time.Unix(0, 0)); err != nil || st.Mode != Rebuild {
		t.Errorf("Standing = %v, %v, want %s", st.Mode, err, Rebuild)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantKept checks that what was moved aside holds the rows of the old state, and its very bytes if it was not
// opened again meanwhile.
func wantKept(t *testing.T, path string, old []byte, untouched bool) {
	t.Helper()
	aside, err := filepath.Glob(path + ".*Z*.old")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range aside {
		r, err := examine(name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows["event"] == 2000 && (!untouched || bytes.Equal(mustRead(t, name), old)) {
			return
		}
	}
	t.Errorf("%q do not hold the old state", aside)
}

// TestNoSpaceWhileTheStateIsMade limits the size of files: nothing is left under the real name.
func TestNoSpaceWhileTheStateIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tidemark.db")
	script := fmt.Sprintf("ulimit -f 8; exec %q", os.Args[0])
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), childPart+"=hold", childPath+"="+path)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "file too large") {
		t.Fatalf("the child ended with %v: %s, want exit code 1 and that there is no room", err, out)
	}
	for _, name := range []string{path, prepared(path), markerPath(path)} {
		if exists(name) {
			t.Errorf("%s was left", filepath.Base(name))
		}
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("with space again: Open = %v", err)
	}
	_ = s.Close()
}
