package grant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// token is what is kept of a grant.
type token struct {
	Account string    `json:"account"`
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token"`
	Expires time.Time `json:"expires"`
	Renewed time.Time `json:"renewed"`
}

// file keeps one grant, readable by its owner alone.
type file struct{ path string }

// lock waits until no other process renews the grant.
func (f *file) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	held, err := os.OpenFile(f.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = held.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("%s.lock: %w", f.path, err), held.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), held.Close())
		case <-again.C:
		}
	}
}

func (f *file) read() (t token, err error) {
	data, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, ErrNone
	case err != nil:
		return t, err
	}
	if err := json.Unmarshal(data, &t); err != nil || t.Refresh == "" {
		return t, fmt.Errorf("%s is damaged: run tidemark connect to sign in again", f.path)
	}
	return t, nil
}

// writable writes a file beside the grant and removes it again.
func (f *file) writable() error {
	probe := f.path + ".probe"
	return errors.Join(put(probe, []byte("{}\n")), os.Remove(probe))
}

// write puts the grant on the disk: written beside, flushed, and given its name in one step.
func (f *file) write(t token) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	part := f.path + ".new"
	if err := put(part, append(data, '\n')); err != nil {
		return err
	}
	if err := os.Rename(part, f.path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func put(path string, data []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Sync(), out.Close())
}

// plain strips the URL that net/http puts around an error.
func plain(err error) error {
	if around, is := errors.AsType[*url.Error](err); is {
		return around.Err
	}
	return err
}
