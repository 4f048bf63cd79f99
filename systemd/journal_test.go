package systemd

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// identity returns what systemd writes in JOURNAL_STREAM for a file.
func identity(t *testing.T, f *os.File) string {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

func TestJournal(t *testing.T) {
	_, stream, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	closed, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	own := identity(t, closed)
	closed.Close()
	t.Cleanup(func() { stream.Close(); file.Close() })

	for _, test := range []struct {
		name, variable string
		f              *os.File
		want           bool
	}{
		{"the stream", identity(t, stream), stream, true},
		{"a file that is the stream", identity(t, file), file, true},
		{"sent elsewhere", identity(t, stream), file, false},
		{"no systemd", "", stream, false},
		{"no identity", "journal", stream, false},
		{"only a device", "8", stream, false},
		{"a closed file", own, closed, false},
		{"no file", identity(t, stream), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("JOURNAL_STREAM", test.variable)
			if got := Journal(test.f); got != test.want {
				t.Errorf("Journal = %v with JOURNAL_STREAM=%q, want %v", got, test.variable, test.want)
			}
		})
	}
}
