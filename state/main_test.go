package state

import (
	"fmt"
	"os"
	"testing"
	"time"

	"tidemark/internal/fault"
)

// childFolder makes a process of this test binary open the state in a folder and end.
const childFolder = "TIDEMARK_STATE_FOLDER"

func TestMain(m *testing.M) {
	if handled, code := Probe(os.Args[1:]); handled {
		os.Exit(code)
	}
	if path := os.Getenv(childFolder); path != "" {
		os.Exit(openAsChild(path))
	}
	os.Exit(m.Run())
}

// openAsChild opens a state, holds it while its standard input is open, and closes it.
func openAsChild(path string) int {
	s, err := Open(path, Options{Faults: fault.FromEnvironment()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("open", time.Now().UTC().Format(time.RFC3339))
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
