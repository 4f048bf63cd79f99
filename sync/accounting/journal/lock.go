package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// remember writes into the lock file that there are books. Without it they would only be taken for new
// ones when they are gone, as before the first write.
func remember(path string) {
	if info, err := os.Stat(path + ".lock"); err == nil && info.Size() == 0 {
		_ = os.WriteFile(path+".lock", []byte("These books were written by tidemark. Where they are gone, put them back.\n"), 0o640)
	}
}

// lock waits until this process may write path, and returns how to let go. The lock file stays; it
// keeps out other writers of ours only, never a person's editor.
func lock(ctx context.Context, path string) (release func(), err error) {
	if err := os.Mkdir(filepath.Dir(path), 0o750); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("%s.lock: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%s.lock: held by another process: %w", path, ctx.Err()), f.Close())
		case <-again.C:
		}
	}
}
