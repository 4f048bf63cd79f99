package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/sync/accounting"
)

// books are a journal and every file that it includes, read at one time.
type books struct {
	files       []*file // the journal itself first
	accounts    map[string]bool
	commodities map[string]bool
	tags        map[string]bool
	commas      map[string]string // commodity, or "" for all → the place that asks for a decimal comma
}

// file is one file of the books.
type file struct {
	name   string      // as it was named; what it includes is relative to this
	real   string      // where the bytes are, with links followed
	info   fs.FileInfo // nil: it does not exist yet
	data   []byte
	closed string // why nothing can be added at the end; empty where it can
}

func readBooks(path string) (*books, error) {
	b := &books{
		accounts:    make(map[string]bool),
		commodities: make(map[string]bool),
		tags:        make(map[string]bool),
		commas:      make(map[string]string),
	}
	target, err := resolve(path)
	if err != nil {
		return nil, err
	}
	main := &file{name: path, real: target}
	b.files = append(b.files, main)
	err = main.read()
	if errors.Is(err, fs.ErrNotExist) {
		gone := neverThere(target)
		if gone == nil {
			return b, nil
		}
		// Another process may have made them, and said so, since they were not found.
		if err = main.read(); errors.Is(err, fs.ErrNotExist) {
			return b, gone
		}
	}
	if err == nil {
		err = b.scan(main)
	}
	return b, err
}

// neverThere tells books that do not exist yet from books that are gone, perhaps for a moment only: of
// those that were written once, the lock file says so.
func neverThere(path string) error {
	if info, err := os.Stat(path + ".lock"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s: the books are gone, and %s.lock says that there were some: put them back, or delete that file to begin new ones", path, path)
	}
	return nil
}

// resolve follows links. A link that leads nowhere is an error and not missing books: what it leads
// to may be a disk that is not mounted.
func resolve(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	switch info, err := os.Lstat(path); {
	case err == nil && info.Mode()&fs.ModeSymlink == 0:
		return filepath.EvalSymlinks(path) // Another process made it just now.
	case err == nil:
		return "", fmt.Errorf("%s: the link leads nowhere", path)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	dir, err := resolve(parent)
	return filepath.Join(dir, filepath.Base(path)), err
}

func (f *file) read() error {
	info, err := os.Stat(f.real)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is not a regular file", f.name)
	}
	f.data, err = os.ReadFile(f.real)
	f.info = info
	return err
}

// find returns the transactions of all files that bear reference.
func (b *books) find(reference string) []hit {
	var found []hit
	for _, f := range b.files {
		found = append(found, f.hits(reference)...)
	}
	return found
}

// voided returns what is left of a transaction that was commented out, and whether there is one.
func (b *books) voided(reference string) (accounting.Receipt, bool) {
	for _, f := range b.files {
		if line := f.commentedOut(reference); line > 0 {
			return accounting.Receipt{ID: reference, Reference: reference, Status: accounting.Void, Link: fmt.Sprintf("%s:%d", f.name, line)}, true
		}
	}
	return accounting.Receipt{}, false
}

// scan collects what f declares, and reads what it includes.
func (b *books) scan(f *file) error {
	var apply []string
	for k := range blocks(f.data) {
		if len(k.head) == 0 || k.isTransaction() {
			continue
		}
		place := fmt.Sprintf("%s:%d", f.name, k.line)
		word, rest := directive(k.head)
		switch word {
		case "include":
			if err := b.include(f, rest, place); err != nil {
				return err
			}
		case "apply":
			if account, ok := strings.CutPrefix(rest, "account"); ok {
				apply = append(apply, strings.TrimSpace(account))
			}
		case "end":
			if n := len(apply); n > 0 && (rest == "" || rest == "apply" || rest == "apply account") {
				apply = apply[:n-1]
			}
		case "comment", "test":
			if k.open {
				f.closed = fmt.Sprintf("%s: this %s is never closed: write `end %s` below it", place, word, word)
			}
		default:
			b.declare(word, rest, strings.Join(apply, ":"), f.data[k.start:k.end], place)
		}
	}
	if len(apply) > 0 {
		f.closed = fmt.Sprintf("%s: `apply account %s` is never ended: write `end apply account` below it", f.name, apply[0])
	}
	return nil
}

func (b *books) include(from *file, pattern, place string) error {
	format, glob, named := strings.Cut(pattern, ":")
	switch {
	case !named || strings.Contains(format, "/"):
		glob = pattern
	case format != "journal" && format != "ledger":
		return nil
	}
	paths, err := expand(filepath.Dir(from.name), strings.TrimSpace(glob))
	if err != nil {
		return fmt.Errorf("%s: include %s: %w", place, pattern, err)
	}
	for _, path := range paths {
		if err := b.includeFile(path); err != nil {
			return fmt.Errorf("%s: include: %w", place, err)
		}
	}
	return nil
}

func (b *books) includeFile(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv", ".ssv", ".tsv", ".timedot", ".timeclock":
		return nil // no transaction can be moved there
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(b.files, func(f *file) bool { return f.real == target }) {
		return nil
	}
	f := &file{name: path, real: target}
	if err := f.read(); err != nil {
		return err
	}
	b.files = append(b.files, f)
	return b.scan(f)
}

// expand returns the files that pattern names, at least one.
func expand(dir, pattern string) ([]string, error) {
	if home, ok := strings.CutPrefix(pattern, "~/"); ok {
		own, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		pattern = filepath.Join(own, home)
	}
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	if strings.Contains(pattern, "**") {
		return nil, errors.New("cannot follow **: name the folders one by one")
	}
	if _, err := os.Stat(pattern); err == nil {
		return []string{pattern}, nil
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, hidden)
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no such file", pattern)
	}
	return paths, nil
}

func hidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }
