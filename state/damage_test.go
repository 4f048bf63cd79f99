package state

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func random(b []byte) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestDamageIsAnErrorWithTheWayOut(t *testing.T) {
	page := os.Getpagesize()
	text := bytes.Repeat([]byte("w"), 50) // what the rows hold
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	zero := func(from, to int) func([]byte) []byte {
		return func(b []byte) []byte {
			clear(b[from:to])
			return b
		}
	}
	tests := []struct {
		name string
		mend func([]byte) []byte
		want error
	}{
		{"nothing in it", cut(0), ErrDamaged},
		{"one byte", cut(1), ErrForeign},
		{"one page", cut(page), ErrDamaged},
		{"two pages", cut(2 * page), ErrDamaged},
		{"cut at 16 KiB", cut(16 << 10), ErrDamaged},
		{"all zero", func(b []byte) []byte { return make([]byte, len(b)) }, ErrForeign},
		{"both heads zero", zero(0, 2*page), ErrForeign},
		{"both checksums wrong", func(b []byte) []byte { b[70] ^= 1; b[page+70] ^= 1; return b }, ErrDamaged},
		{"random bytes", random, ErrForeign},
		{"one head has a bit flipped", func(b []byte) []byte { b[70] ^= 1; return b }, ErrDamaged},
		{"the other head has a bit flipped", func(b []byte) []byte { b[page+70] ^= 1; return b }, ErrDamaged},
		{"text", func([]byte) []byte { return bytes.Repeat([]byte("not a state\n"), 4000) }, ErrForeign},
		{"a value flipped", func(b []byte) []byte {
			i := bytes.LastIndex(b, text)
			b[i+10] = 'x'
			return b
		}, ErrDamaged},
		{"the head of a page flipped", func(b []byte) []byte {
			i := bytes.Index(b, text) / page * page
			b[i+8] ^= 0xff
			return b
		}, ErrDamaged},
		{"a page zero in the middle", func(b []byte) []byte {
			i := bytes.Index(b, text) / page * page
			clear(b[i : i+page])
			return b
		}, ErrDamaged},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := stateWithRows(t)
			bad := test.mend(mustRead(t, path))
			mustWrite(t, path, bad)
			s, err := Open(path, Options{})
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, test.want) {
				t.Fatalf("Open = %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "tidemark state rebuild") {
				t.Errorf("Open = %v, want the path and the way out", err)
			}
			if strings.Count(err.Error(), test.want.Error()) != 1 {
				t.Errorf("Open = %v, want it to say %q once", err, test.want)
			}
			if !bytes.Equal(mustRead(t, path), bad) {
				t.Error("the damaged file was changed")
			}
		})
	}
}

// TestEveryCutIsNoticed cuts the file at each page: none may open as if nothing had happened.
func TestEveryCutIsNoticed(t *testing.T) {
	path := stateWithRows(t)
	whole := mustRead(t, path)
	r, err := Check(path)
	if err := errors.Join(err, r.Err()); err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	used := int(r.Size) / page
	for n := 2; n < used; n += max(used/25, 1) {
		mustWrite(t, path, whole[:n*page])
		r, err := Check(path)
		if err != nil {
			t.Fatal(err)
		}
		if r.Err() == nil {
			t.Errorf("cut at page %d of %d: nothing was noticed", n, used)
		}
	}
}

// TestCutFilesAreRefusedWithoutAPanic opens files that end anywhere, and not at a page.
func TestCutFilesAreRefusedWithoutAPanic(t *testing.T) {
	path := stateWithRows(t)
	whole := mustRead(t, path)
	r, err := Check(path)
	if err := errors.Join(err, r.Err()); err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for _, n := range []int{2, 79, 100, page - 1, page + 1, 2*page - 1, 3*page + 17, int(r.Size)/2 + 5, int(r.Size) - 1} {
		mustWrite(t, path, whole[:n])
		s, err := Open(path, Options{})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Errorf("cut at %d of %d: Open = %v, want it refused", n, r.Size, err)
		}
	}
}

// TestAProbeThatSomebodyStoppedIsNoVerdict tells what damage does to a process from what people do.
func TestAProbeThatSomebodyStoppedIsNoVerdict(t *testing.T) {
	for script, want := range map[string]bool{
		"exit 2": true, "kill -SEGV $$": true, "kill -BUS $$": true, "kill -ABRT $$": true,
		"exit 1": false, "kill -INT $$": false, "kill -TERM $$": false, "kill -KILL $$": false,
	} {
		err := exec.Command("/bin/sh", "-c", script).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("%s: %v, want a process that failed", script, err)
		}
		if got := crashed(exit); got != want {
			t.Errorf("crashed after %q = %v, want %v", script, got, want)
		}
	}
}
