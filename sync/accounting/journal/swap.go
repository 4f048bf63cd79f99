package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errStale means that a person wrote the file after it was read. Nothing of ours is in it.
var errStale = errors.New("the file was written meanwhile")

// errAside means that what a person wrote lies beside the books, where a person must fetch it.
var errAside = errors.New("an edit lies beside the books: merge it into them and remove it")

// swap puts next in the place of what f read. Until the names are exchanged, every error is
// ErrNotSent or errStale; after that, an error without either leaves the outcome unknown.
func (f *file) swap(next []byte) error {
	if f.info != nil && f.info.Mode()&0o222 == 0 {
		return notSent(fmt.Errorf("%s: is write-protected (mode %v)", f.name, f.info.Mode()))
	}
	staged, err := f.stage(next)
	if err != nil {
		return notSent(err)
	}
	if f.info == nil {
		return f.place(staged)
	}
	if err := exchange(staged, f.real); err != nil {
		return errors.Join(err, os.Remove(staged))
	}
	if out, err := os.ReadFile(staged); err != nil || !bytes.Equal(out, f.data) {
		return f.restore(staged, next)
	}
	if err := flushFolder(f.real); err != nil {
		return err
	}
	return os.Remove(staged)
}

// stage writes next to a second file with the mode and owner of the first, flushed, under a name that
// tells what lies in it after a crash: never exchanged (next), exchanged (base), or a person's edit.
func (f *file) stage(next []byte) (string, error) {
	part := f.beside("part")
	if err := f.write(part, next); err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	staged := f.beside(digest(f.data) + "-" + digest(next))
	return staged, os.Rename(part, staged)
}

func (f *file) beside(suffix string) string {
	return filepath.Join(filepath.Dir(f.real), "."+filepath.Base(f.real)+".tidemark-"+suffix)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

func (f *file) write(path string, data []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err == nil && f.info != nil {
		err = errors.Join(likeness(out, f.info), accessList(out, f.real))
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// likeness gives out the owner and mode of the file that it will replace.
func likeness(out *os.File, info fs.FileInfo) error {
	own, err := out.Stat()
	if err != nil {
		return err
	}
	was, is := info.Sys().(*syscall.Stat_t), own.Sys().(*syscall.Stat_t)
	if was.Uid != is.Uid || was.Gid != is.Gid {
		if err := out.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return fmt.Errorf("cannot keep the owner of the books: %w", err)
		}
	}
	return out.Chmod(info.Mode())
}

// accessList copies an access control list. Without it the mode's group bits, which then are only the
// list's mask, would let in the whole group.
func accessList(out *os.File, from string) error {
	const name = "system.posix_acl_access"
	list := make([]byte, 64<<10)
	n, err := unix.Getxattr(from, name, list)
	switch {
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP):
		return nil
	case err == nil:
		err = unix.Fsetxattr(int(out.Fd()), name, list[:n], 0)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the access list of the books: %w", err)
	}
	return nil
}

// place gives books that did not exist their name, unless a person was quicker.
func (f *file) place(staged string) error {
	err := unix.Renameat2(unix.AT_FDCWD, staged, unix.AT_FDCWD, f.real, unix.RENAME_NOREPLACE)
	if err == nil {
		return flushFolder(f.real)
	}
	if errors.Is(err, fs.ErrExist) {
		err = errStale
	}
	return errors.Join(unsupported(f.real, err), os.Remove(staged))
}

func exchange(staged, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, staged, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	if errors.Is(err, fs.ErrNotExist) {
		return errStale
	}
	return unsupported(path, err)
}

// unsupported says so where a file system cannot rename as it must.
func unsupported(path string, err error) error {
	switch {
	case err == nil, errors.Is(err, errStale):
		return err
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
		return notSent(fmt.Errorf("%s: this file system cannot exchange two files in one step: keep the books on a local one such as ext4, XFS or Btrfs", path))
	}
	return notSent(fmt.Errorf("%s: %w", path, err))
}

// restore gives a person's edit its name back. If another edit came while ours bore the name, that
// newer one keeps it, and the older one is left beside the books.
func (f *file) restore(staged string, next []byte) error {
	if err := exchange(staged, f.real); err != nil {
		return fmt.Errorf("%s: %w (%v)", staged, errAside, err)
	}
	out, err := os.ReadFile(staged)
	if err != nil {
		return fmt.Errorf("%s: %w (%v)", staged, errAside, err)
	}
	if bytes.Equal(out, next) {
		return errors.Join(errStale, flushFolder(f.real), os.Remove(staged))
	}
	if err := exchange(staged, f.real); err != nil {
		return fmt.Errorf("%s: %w (%v)", staged, errAside, err)
	}
	return fmt.Errorf("%s: %w", staged, errAside)
}

func flushFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// clearLeftovers clears up what a crash left beside the file, under its lock. errStale means that a person's
// edit got its name back.
func (f *file) clearLeftovers() error {
	paths, err := filepath.Glob(escape(f.beside("")) + "*")
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := f.clear(path); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) clear(path string) error {
	base, next, staged := strings.Cut(strings.TrimPrefix(path, f.beside("")), "-")
	if !staged {
		return os.Remove(path)
	}
	left, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if is := digest(left); is == next || is == base {
		return os.Remove(path)
	}
	// We died between the two exchanges: what lies here was saved by a person just before.
	stands, err := os.ReadFile(f.real)
	if err != nil || digest(stands) != next {
		return errors.Join(fmt.Errorf("%s: %w", path, errAside), err)
	}
	return f.restore(path, stands)
}

// escape keeps glob characters in a folder's name from meaning anything.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
