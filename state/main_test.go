package state

import (
	"fmt"
	"os"
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
	}
}

func TestMain(m *testing.M) {
	if handled, code := Probe(os.Args[1:]); handled {
		os.Exit(code)
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
