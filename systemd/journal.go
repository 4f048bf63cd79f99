package systemd

import (
	"fmt"
	"os"
	"syscall"
)

// Journal tells whether what is written to f goes to the journal: systemd names the device and inode of its
// stream in JOURNAL_STREAM. It is false for a file that was put in the place of that stream.
func Journal(f *os.File) bool {
	stream := os.Getenv("JOURNAL_STREAM")
	if stream == "" || f == nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
