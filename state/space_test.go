package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

func TestCompactionIsProposedForALargeFileThatIsMostlyFree(t *testing.T) {
	const large = 64 << 20
	for _, tt := range []struct {
		space Space
		want  bool
	}{
		{Space{}, false},
		{Space{large, large}, false},
		{Space{large + 2, large/2 + 1}, false},
		{Space{large + 2, large/2 + 2}, true},
		{Space{4 * large, 4 * large}, true},
	} {
		if got := tt.space.Wasteful(); got != tt.want {
			t.Errorf("%+v: Wasteful = %v, want %v", tt.space, got, tt.want)
		}
	}
}

// TestStatsAgreeWithACheck counts the rows of an open state and those of the closed file.
func TestStatsAgreeWithACheck(t *testing.T) {
	path := stateWithRows(t)
	s, err := Open(path, Options{NoProbe: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.update(func(tx *bbolt.Tx) error {
		return removeAll(tx, bucketEvent, keysWith(tx, bucketEvent, nil)[:1500])
	})
	open, statsErr := s.Stats()
	space, spaceErr := s.Space()
	checked, checkErr := s.Check()
	if err := errors.Join(err, statsErr, spaceErr, checkErr, checked.Err(), s.Close()); err != nil {
		t.Fatal(err)
	}
	closed, err := Check(path)
	if err := errors.Join(err, closed.Err()); err != nil {
		t.Fatal(err)
	}
	if open.Rows["event"] != 500 {
		t.Errorf("Stats counts %d events, want 500", open.Rows["event"])
	}
	for name, n := range open.Rows {
		if checked.Rows[name] != n || closed.Rows[name] != n {
			t.Errorf("%d rows in %s, a check of the open state says %d, one of the closed file %d", n, name, checked.Rows[name], closed.Rows[name])
		}
	}
	if space != open.Space || checked.Size != open.Size || closed.Size != open.Size {
		t.Errorf("Space = %+v, Stats %+v, checks %+v and %+v, want one size", space, open.Space, checked.Space, closed.Space)
	}
	if open.Free < open.Size/4 {
		t.Errorf("%d of %d bytes are free after most rows were deleted", open.Free, open.Size)
	}
	if checked.Path != path {
		t.Errorf("the check names %s, want %s", checked.Path, path)
	}
}

// TestAnOpenStateIsCheckedWhileItIsWritten looks at a state that somebody writes to all the time.
func TestAnOpenStateIsCheckedWhileItIsWritten(t *testing.T) {
	b := newBook(t)
	stop, written := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for n := 0; err == nil; n++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
				err = b.Beat(agency, Heartbeat{Began: time.Unix(int64(n), 0)})
			}
		}
		written <- err
	}()
	for range 5 {
		r, err := b.Check()
		if err := errors.Join(err, r.Err()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	b.must(<-written)
}

// TestDamageOfAnOpenStateIsFound flips what the process that has it open does not read again.
func TestDamageOfAnOpenStateIsFound(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	damages := map[string]func(b *book){
		"a value": func(b *book) {
			b.must(b.Beat(agency, Heartbeat{Sync: "agency"}))
			b.flip(bucketHeartbeat, agency.key())
		},
		"a head": func(b *book) {
			f, err := os.OpenFile(b.path, os.O_RDWR, 0)
			b.must(err)
			head := make([]byte, 1)
			_, err = f.ReadAt(head, 70)
			b.must(err)
			head[0] ^= 1
			_, err = f.WriteAt(head, 70)
			b.must(errors.Join(err, f.Close()))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			damage(b)
			if r, err := b.Check(); err != nil || !errors.Is(r.Err(), ErrDamaged) {
				t.Errorf("Check = %v, %v, want %v", r.Err(), err, ErrDamaged)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v are left, want nothing", left, err)
	}
}
