package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// largest is how big a file may be: it is read into memory as a whole.
const largest = 64 << 20

// skew is how far ahead of our clock a file may have been written and still be waited for. One that is
// further ahead would be waited for until the clock has caught up, perhaps for years.
const skew = time.Minute

// errBusy means that a file is still being written.
var errBusy = errors.New("is being written")

// source is one file as it was read.
type source struct {
	name     string
	data     []byte
	written  time.Time // the modification time
	declared time.Time // the day in its name; the modification time where it names none
	ahead    bool      // it was written in the future
}

// list returns the names of what may be exports. Folders below this one are not looked into, so that a
// person can put files away there.
func list(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !passing(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// passing reports whether a name is that of a file which a program makes on the way to another.
func passing(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~") || strings.HasSuffix(name, "~") {
		return true
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".part", ".tmp", ".crdownload", ".swp":
		return true
	}
	return false
}

// open reads a file as a whole. errBusy means that it is younger than quiet, or changed meanwhile.
func open(folder, name string, now time.Time, quiet time.Duration) (source, error) {
	path := filepath.Join(folder, name)
	// Stat before opening: to open a pipe would wait for its writer.
	before, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return source{}, absent(path, name, err)
	case err != nil:
		return source{}, fmt.Errorf("%s: cannot be read: %v", printable(name), withoutPath(err))
	case !before.Mode().IsRegular():
		return source{}, fmt.Errorf("%s: is not a regular file: put exports here only", printable(name))
	case before.Size() > largest:
		return source{}, fmt.Errorf("%s: is larger than %d MiB: export shorter ranges", printable(name), largest>>20)
	}
	age := now.Sub(before.ModTime())
	if age < quiet && age > -skew {
		return source{}, fmt.Errorf("%s: %w", printable(name), errBusy)
	}
	data, after, err := slurp(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return source{}, err
	case err != nil:
		return source{}, fmt.Errorf("%s: cannot be read: %v", printable(name), withoutPath(err))
	case !unchanged(before, after) || after.Size() != int64(len(data)):
		return source{}, fmt.Errorf("%s: %w", printable(name), errBusy)
	}
	src := source{name: name, data: data, written: before.ModTime(), declared: before.ModTime()}
	src.ahead = age <= -skew
	if day, ok := dayInName(name); ok {
		src.declared = day
	}
	return src, nil
}

// absent tells a file that was removed, which is no fault, from a link whose file is out of reach.
func absent(path, name string, err error) error {
	if _, e := os.Lstat(path); e != nil {
		return err
	}
	return fmt.Errorf("%s: is a link to a file that is not there: mend the link, or remove it", printable(name))
}

// unchanged reports whether two looks at a file saw the same.
func unchanged(before, after fs.FileInfo) bool {
	return os.SameFile(before, after) && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime())
}

// slurp reads at most one byte more than is allowed, and what the file was like at the end.
func slurp(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	return data, info, err
}

// withoutPath leaves the name of the file to the caller.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// stated is when what the file says was said, as far as can be known: on the day in its name, but never
// after it was written. The last day of a range in a name may still be to come.
func (s source) stated() time.Time {
	if s.declared.After(s.written) {
		return s.written.UTC()
	}
	return s.declared.UTC()
}

// dayInName returns the last date in a name, written 2026-11-09 or 20261109.
func dayInName(name string) (time.Time, bool) {
	var last time.Time
	for i := range len(name) {
		if i > 0 && isDigit(name[i-1]) {
			continue
		}
		for _, form := range []string{time.DateOnly, "20060102"} {
			end := i + len(form)
			if end > len(name) || end < len(name) && isDigit(name[end]) {
				continue
			}
			if t, err := time.Parse(form, name[i:end]); err == nil {
				last = t
			}
		}
	}
	return last, !last.IsZero()
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
