package systemd

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// childVariable makes the test binary a program that panics.
const childVariable = "TIDEMARK_TEST_PANIC"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		os.Exit(1)
	}
	panic("as asked")
}
