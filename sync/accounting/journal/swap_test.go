package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	stdsync "sync"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/sync/accounting"
)

// meanwhile lets a person act once, after the books were read and before they are written.
func meanwhile(ask revise, act func()) revise {
	return func(b *books, want frozen) (revision, error) {
		r, err := ask(b, want)
		if act != nil {
			act()
			act = nil
		}
		return r, err
	}
}

func TestCreateKeepsWhatAPersonSavesMeanwhile(t *testing.T) {
	j, path := fresh(t)
	for _, before := range []string{"", "; old\n"} {
		if before != "" {
			put(t, path, before)
		}
		act := func() { put(t, path, "; saved meanwhile\n") }
		if _, err := j.write(t.Context(), prepare(t, j, invoice("ts-1")), meanwhile(j.created, act)); err != nil {
			t.Fatalf("write = %v, want none", err)
		}
		if text := content(t, path); !strings.HasPrefix(text, "; saved meanwhile\n") || len(find(t, j, "ts-1")) != 1 {
			t.Errorf("books = %q, want what was saved and the transaction", text)
		}
		wantAlone(t, path)
	}
}

func TestUpdateRefusesADraftClearedMeanwhile(t *testing.T) {
	j, path := fresh(t)
	left := create(t, j, invoice("ts-1"))
	act := func() { edit(t, path, "2026-11-08 !", "2026-11-08 *") }
	want := invoice("ts-1")
	want.Lines = want.Lines[:1]
	_, err := j.write(t.Context(), prepare(t, j, want), meanwhile(j.updated(left), act))
	if !errors.Is(err, accounting.ErrTouched) {
		t.Errorf("write = %v, want ErrTouched", err)
	}
	if found := find(t, j, "ts-1"); len(found) != 1 || found[0].Status != accounting.Final {
		t.Errorf("Find = %+v, want the cleared transaction", found)
	}
	wantAlone(t, path)
}

func TestUpdateGoesThroughAnEditElsewhere(t *testing.T) {
	j, path := fresh(t)
	left := create(t, j, invoice("ts-1"))
	act := func() { put(t, path, content(t, path)+"\n; mine\n") }
	want := invoice("ts-1")
	want.Lines = want.Lines[:1]
	got, err := j.write(t.Context(), prepare(t, j, want), meanwhile(j.updated(left), act))
	if err != nil || !got.Bills(want) {
		t.Errorf("write = %+v, %v, want the new lines", got, err)
	}
	if !strings.HasSuffix(content(t, path), "\n; mine\n") {
		t.Error("the edit is gone, want it kept")
	}
}

func TestWriteGivesUpOnAnEditorThatNeverRests(t *testing.T) {
	j, path := fresh(t)
	put(t, path, ";\n")
	restless := func(b *books, want frozen) (revision, error) {
		r, err := j.created(b, want)
		put(t, path, content(t, path)+";\n")
		return r, err
	}
	if _, err := j.write(t.Context(), prepare(t, j, invoice("ts-1")), restless); !errors.Is(err, accounting.ErrNotSent) {
		t.Errorf("write = %v, want ErrNotSent", err)
	}
	if want := strings.Repeat(";\n", attempts+1); content(t, path) != want {
		t.Errorf("books = %q, want %q", content(t, path), want)
	}
	wantAlone(t, path)
}

// crashed is a file of the books as a writer that died left it.
func crashed(t *testing.T, path, base string) *file {
	t.Helper()
	put(t, path, base)
	f := &file{name: path, real: path}
	must(t, f.read())
	return f
}

func TestLeftoversOfACrash(t *testing.T) {
	const base, next, saved = "; base\n", "; base\n; next\n", "; saved by hand\n"
	tests := map[string]struct {
		die  func(t *testing.T, f *file)
		want string
	}{
		"half a file": {func(t *testing.T, f *file) { put(t, f.beside("part"), "; ba") }, base},
		"not exchanged": {func(t *testing.T, f *file) {
			_, err := f.stage([]byte(next))
			must(t, err)
		}, base},
		"exchanged": {func(t *testing.T, f *file) {
			staged, err := f.stage([]byte(next))
			must(t, err)
			must(t, exchange(staged, f.real))
		}, next},
		"exchanged for an edit": {func(t *testing.T, f *file) {
			staged, err := f.stage([]byte(next))
			must(t, err)
			put(t, f.real, saved)
			must(t, exchange(staged, f.real))
		}, saved},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			test.die(t, crashed(t, path, base))
			create(t, j, invoice("ts-1"))
			if text := content(t, path); !strings.HasPrefix(text, test.want+"\n") {
				t.Errorf("books = %q, want them to begin with %q", text, test.want)
			}
			wantAlone(t, path)
		})
	}
}

func TestTwoEditsAreNeverChosenBetween(t *testing.T) {
	j, path := fresh(t)
	f := crashed(t, path, "; base\n")
	staged, err := f.stage([]byte("; next\n"))
	must(t, err)
	put(t, path, "; older\n")
	must(t, exchange(staged, path))
	put(t, path, "; newer\n")

	if err := f.restore(staged, []byte("; next\n")); !errors.Is(err, errAside) {
		t.Errorf("restore = %v, want errAside", err)
	}
	if content(t, path) != "; newer\n" || content(t, staged) != "; older\n" {
		t.Errorf("books, beside = %q, %q, want newer, older", content(t, path), content(t, staged))
	}
	_, err = j.Create(t.Context(), "ts-1", prepare(t, j, invoice("ts-1")), accounting.Progress{}, nil)
	if !errors.Is(err, accounting.ErrNotSent) || !strings.Contains(err.Error(), staged) {
		t.Errorf("Create = %v, want ErrNotSent that names %s", err, staged)
	}
	must(t, os.Remove(staged))
	create(t, j, invoice("ts-1"))
}

func TestAWriterWaitsForTheLockAsLongAsItMay(t *testing.T) {
	j, path := fresh(t)
	release, err := lock(t.Context(), path)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 1)
	defer cancel()
	req := prepare(t, j, invoice("ts-1"))
	if _, err := j.Create(ctx, "ts-1", req, accounting.Progress{}, nil); !errors.Is(err, accounting.ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Create = %v, want ErrNotSent and DeadlineExceeded", err)
	}
	release()
	create(t, j, invoice("ts-1"))
}

func TestAWriteThatCannotBeginChangesNothing(t *testing.T) {
	tests := map[string]func(t *testing.T, path string){
		"write-protected": func(t *testing.T, path string) { must(t, os.Chmod(path, 0o444)) },
		"no second file": func(t *testing.T, path string) {
			must(t, os.MkdirAll(filepath.Join((&file{real: path}).beside("part"), "x"), 0o755))
		},
		"no lock file": func(t *testing.T, path string) { must(t, os.Mkdir(path+".lock", 0o755)) },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			put(t, path, "; mine\n")
			spoil(t, path)
			_, err := j.Create(t.Context(), "ts-1", prepare(t, j, invoice("ts-1")), accounting.Progress{}, nil)
			if !errors.Is(err, accounting.ErrNotSent) {
				t.Errorf("Create = %v, want ErrNotSent", err)
			}
			if content(t, path) != "; mine\n" {
				t.Errorf("books = %q, want them as they were", content(t, path))
			}
		})
	}
}

func TestAFileSystemWithoutExchangeIsNamed(t *testing.T) {
	for _, cause := range []error{unix.EINVAL, unix.ENOSYS, unix.ENOTSUP} {
		err := unsupported("/books", cause)
		if !errors.Is(err, accounting.ErrNotSent) || !strings.Contains(err.Error(), "keep the books on a local one") {
			t.Errorf("unsupported(%v) = %v, want ErrNotSent with advice", cause, err)
		}
	}
}

// TestAccessListIsKept gives one more user the right to read, and the owning group none.
func TestAccessListIsKept(t *testing.T) {
	const name = "system.posix_acl_access"
	list := []byte("\x02\x00\x00\x00" +
		"\x01\x00\x06\x00\xff\xff\xff\xff" + // owner rw-
		"\x02\x00\x04\x00\x39\x30\x00\x00" + // user 12345 r--
		"\x04\x00\x00\x00\xff\xff\xff\xff" + // owning group ---
		"\x10\x00\x04\x00\xff\xff\xff\xff" + // mask r--
		"\x20\x00\x00\x00\xff\xff\xff\xff") // others ---
	j, path := fresh(t)
	put(t, path, "; mine\n")
	must(t, unix.Setxattr(path, name, list, 0))
	create(t, j, invoice("ts-1"))
	got := make([]byte, 1024)
	n, err := unix.Getxattr(path, name, got)
	if err != nil || string(got[:max(n, 0)]) != string(list) {
		t.Errorf("access list = %x, %v, want %x", got[:max(n, 0)], err, list)
	}
}

func TestManyAtOnceLoseNothing(t *testing.T) {
	j, path := fresh(t)
	var all stdsync.WaitGroup
	for n := range 24 {
		inv := invoice(fmt.Sprintf("ts-%d", n))
		req := prepare(t, j, inv)
		all.Go(func() {
			if _, err := j.Create(t.Context(), inv.Reference, req, accounting.Progress{}, nil); err != nil {
				t.Errorf("Create(%s) = %v, want none", inv.Reference, err)
			}
		})
	}
	all.Wait()
	for n := range 24 {
		if found := find(t, j, fmt.Sprintf("ts-%d", n)); len(found) != 1 {
			t.Errorf("Find(ts-%d) = %d hits, want 1", n, len(found))
		}
	}
	checkBooks(t, path)
}
