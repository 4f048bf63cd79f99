package state

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/fault"
)

// A process of this test binary that finds these in its environment plays a part with a state, and ends.
const (
	childPart = "TIDEMARK_STATE_PART"
	childPath = "TIDEMARK_STATE_PATH"
)

// parts are what a child process can do with the state at a path.
func parts() map[string]func(path string) error {
	return map[string]func(path string) error{
		"hold":     hold,
		"init":     initAnew,
		"stranger": openAsStranger,
		"fill":     fillUp,
		"restore":  restoreCopy,
		"rotate":   rotate,
	}
}

func TestMain(m *testing.M) {
	if handled, code := Probe(os.Args[1:]); handled {
		syscall.Exit(code) // not os.Exit: under the race detector that one sleeps for a second
	}
	if part := parts()[os.Getenv(childPart)]; part != nil {
		if err := part(os.Getenv(childPath)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold opens a state, holds it while its standard input is open, and closes it.
func hold(path string) error {
	s, err := Open(path, Options{Faults: fault.FromEnvironment()})
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = os.Stdin.Read(make([]byte, 1))
	return s.Close()
}

// initAnew begins a new state that is in a rebuild.
func initAnew(path string) error {
	_, err := initialise(path, Options{Faults: fault.FromEnvironment()}, time.Unix(0, 0), []Channel{{Tracker: "t", Account: "b", Prefix: "ts-"}})
	return err
}

// restoreCopy puts the copy beside a state in its place.
func restoreCopy(path string) error {
	_, err := restore(path, path+".copy", Options{Faults: fault.FromEnvironment()}, time.Unix(0, 0))
	return err
}

// rotate makes a scheduled backup of a state, and keeps two.
func rotate(path string) error {
	s, err := Open(path, Options{NoProbe: true, Faults: fault.FromEnvironment()})
	if err != nil {
		return err
	}
	_, err = s.Rotate(path+".backups", 2, time.Unix(0, 0).AddDate(60, 0, 0))
	return errors.Join(err, s.Close())
}

// openAsStranger opens a state as a user to whom nothing belongs, where this one is the superuser.
func openAsStranger(path string) error {
	const nobody = 65534
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	return hold(path)
}

// fillUp writes when files may not grow any more: the first commit that has to fails, and each one after it.
func fillUp(path string) error {
	s, err := Open(path, Options{NoProbe: true})
	if err != nil {
		return err
	}
	there, err := size(path)
	if err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: uint64(there), Max: uint64(there)}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	ch := Channel{Tracker: "t", Account: "b", Prefix: "ts-"}
	for _, summary := range []string{strings.Repeat("x", 4<<20), "short"} {
		if err := s.Beat(ch, Heartbeat{Summary: summary}); !errors.Is(err, ErrCommit) {
			return fmt.Errorf("Beat = %w, want %w", err, ErrCommit)
		}
	}
	if _, err := s.Heartbeat(ch); err != nil {
		return err
	}
	return s.Close()
}
