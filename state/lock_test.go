package state

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

// holding starts a process that holds the state at path. Stop lets it end, and waits for that.
func holding(t *testing.T, path string) (pid int, stop func()) {
	t.Helper()
	cmd := child(t, "hold", path, "")
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
	return cmd.Process.Pid, func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	}
}

func TestASecondProcessIsRefusedAndToldWho(t *testing.T) {
	path := stateWithRows(t)
	pid, stop := holding(t, path)
	uses := map[string]func() error{
		"Open":    func() error { _, err := Open(path, Options{}); return err },
		"Check":   func() error { _, err := Check(path); return err },
		"Init":    func() error { _, err := Init(path, time.Unix(0, 0), nil); return err },
		"Restore": func() error { _, err := Restore(path, path+".copy", time.Unix(0, 0)); return err },
		"Compact": func() error { _, _, err := Compact(path); return err },
	}
	t.Run("each", func(t *testing.T) {
		for name, use := range uses {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				wantHeld(t, use(), path, pid)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("refused after %s, want at most 2 s", took)
				}
			})
		}
	})
	stop()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatalf("after the holder ended: Open = %v", err)
	}
	_ = s.Close()
}

func wantHeld(t *testing.T, err error, path string, pid int) {
	t.Helper()
	var held *HeldError
	switch {
	case !errors.As(err, &held):
		t.Errorf("error %v, want a HeldError", err)
	case held.PID != pid || held.Since.IsZero() || held.Path != path:
		t.Errorf("%s held by %d since %s, want %s by %d and a time", held.Path, held.PID, held.Since, path, pid)
	case errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), strconv.Itoa(pid)):
		t.Errorf("error %v, want the process named, and no word of damage", err)
	}
}

// TestARestartWaitsForTheOldProcess lets the holder go while the next one waits.
func TestARestartWaitsForTheOldProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tidemark.db")
	synctest.Test(t, func(t *testing.T) {
		old, err := takeLock(path)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			next, err := takeLock(path)
			got <- errors.Join(err, next.release())
		}()
		synctest.Wait()
		if err := old.release(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("takeLock = %v, want it to wait for the holder", err)
		}
	})
}

// TestWhatADeadProcessLeftIsTakenOver kills the holder: its lock file stays, and says what is no longer true.
func TestWhatADeadProcessLeftIsTakenOver(t *testing.T) {
	path := stateWithRows(t)
	dead := child(t, "hold", path, "state-counted")
	wantKilled(t, dead.Run())
	if left := string(mustRead(t, path+".lock")); !strings.HasPrefix(left, strconv.Itoa(dead.Process.Pid)+" ") {
		t.Fatalf("the lock file says %q, want the pid %d", left, dead.Process.Pid)
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := string(mustRead(t, path+".lock"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pid, since, _ := strings.Cut(strings.TrimSpace(said), " ")
	if _, err := time.Parse(time.RFC3339, since); err != nil || pid != strconv.Itoa(os.Getpid()) {
		t.Errorf("the lock file says %q, want the pid %d and a time", said, os.Getpid())
	}
	if !exists(path + ".lock") {
		t.Error("the lock file was deleted")
	}
}

// TestAFileThatAnotherProgramHoldsIsNotDamaged locks the file itself, as the tool of bbolt does.
func TestAFileThatAnotherProgramHoldsIsNotDamaged(t *testing.T) {
	path := stateWithRows(t)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, noProbe := range []bool{false, true} {
		var held *HeldError
		if _, err := Open(path, Options{NoProbe: noProbe}); !errors.As(err, &held) || errors.Is(err, ErrDamaged) {
			t.Errorf("Open = %v, want a HeldError", err)
		}
	}
}
