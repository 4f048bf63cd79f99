package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// restored is the channel that the copies of these tests know.
var restored = Channel{Tracker: "t", Account: "b", Prefix: "ts-"}

// withCopy makes a state with a normal channel and a backup of it at path.copy, after which a heartbeat was written.
func withCopy(t *testing.T) (path string) {
	t.Helper()
	path = stateWithRows(t)
	s, err := Open(path, Options{NoProbe: true})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		s.ChangeStanding(restored, time.Unix(1, 0), func(st *Standing) { st.Mode = Normal }),
		s.Beat(restored, Heartbeat{Ended: time.Unix(100, 0)}),
		s.Backup(path+".copy"),
		s.Beat(restored, Heartbeat{Ended: time.Unix(200, 0)}),
		s.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// lastPass opens a state, tells when its last pass ended, whether it is older than it was, and closes it.
func lastPass(t *testing.T, path string) (last int64, older bool) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Heartbeat(restored)
	st, standingErr := s.Standing(restored, time.Unix(300, 0))
	if err := errors.Join(err, standingErr, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s.Older() && st.Mode != Rebuild {
		t.Errorf("an older copy is in mode %s, want %s", st.Mode, Rebuild)
	}
	return h.Ended.Unix(), s.Older()
}

func TestRestorePutsTheCopyBackAndKeepsTheOldFile(t *testing.T) {
	path := withCopy(t)
	old, copied := mustRead(t, path), mustRead(t, path+".copy")
	r, err := Restore(path, path+".copy", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Moved) != 1 || !bytes.Equal(mustRead(t, r.Moved[0]), old) {
		t.Errorf("moved = %q, want the old file as it was", r.Moved)
	}
	if !r.Last.Equal(time.Unix(100, 0)) {
		t.Errorf("the last pass ended at %s, want that of the copy", r.Last)
	}
	if last, older := lastPass(t, path); last != 100 || !older {
		t.Errorf("last pass at %d, older %v, want the copy, and that it is older", last, older)
	}
	if !bytes.Equal(mustRead(t, path+".copy"), copied) {
		t.Error("the copy was changed")
	}
	if _, older := lastPass(t, path); older {
		t.Error("the restored state is older a second time")
	}
}

// TestRestoreWorksWhateverIsLeft restores where the state or its marker is gone, damaged, or no newer than the copy.
func TestRestoreWorksWhateverIsLeft(t *testing.T) {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Remove(path + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	both := func(all ...func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			for _, one := range all {
				one(t, path)
			}
		}
	}
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, path string) { mustWrite(t, path+name, []byte(text)) }
	}
	for name, spoil := range map[string]func(*testing.T, string){
		"no file":           remove(""),
		"no marker":         remove(".id"),
		"neither":           both(remove(""), remove(".id")),
		"an empty file":     write("", ""),
		"a damaged file":    write("", "nonsense"),
		"a damaged marker":  write(".id", "{"),
		"a copy made by cp": func(t *testing.T, path string) { mustWrite(t, path+".copy", mustRead(t, path)) },
		"a half-made one":   write(".new", "nonsense"),
	} {
		t.Run(name, func(t *testing.T) {
			path := withCopy(t)
			spoil(t, path)
			if _, err := Restore(path, path+".copy", time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
			if _, older := lastPass(t, path); !older {
				t.Error("Older = false after a restore")
			}
		})
	}
}

func TestRestoreRefusesWhatCannotBeTheState(t *testing.T) {
	copied := func(path string) string { return path + ".copy" }
	tests := map[string]struct {
		name  func(path string) string
		spoil func(t *testing.T, path string)
		want  error
	}{
		"no copy":        {copied, func(t *testing.T, path string) { mustRemove(t, path+".copy") }, fs.ErrNotExist},
		"an empty copy":  {copied, func(t *testing.T, path string) { mustWrite(t, path+".copy", nil) }, ErrDamaged},
		"another file":   {copied, func(t *testing.T, path string) { mustWrite(t, path+".copy", []byte("nonsense")) }, ErrForeign},
		"a cut copy":     {copied, func(t *testing.T, path string) { mustWrite(t, path+".copy", mustRead(t, path)[:9000]) }, ErrDamaged},
		"another state":  {copied, func(t *testing.T, path string) { mustWrite(t, path+".copy", mustRead(t, stateWithRows(t))) }, ErrForeign},
		"a newer schema": {copied, func(t *testing.T, path string) { withSchema(t, path+".copy", SchemaVersion+1) }, ErrNewer},
		"a folder":       {filepath.Dir, func(*testing.T, string) {}, ErrForeign},
		"the state":      {func(path string) string { return path }, func(*testing.T, string) {}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := withCopy(t)
			tt.spoil(t, path)
			state, mark := mustRead(t, path), mustRead(t, markerPath(path))
			_, err := Restore(path, tt.name(path), time.Unix(0, 0))
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("Restore = %v, want %v", err, tt.want)
			}
			if !bytes.Equal(mustRead(t, path), state) || !bytes.Equal(mustRead(t, markerPath(path)), mark) {
				t.Error("the state or its marker was changed")
			}
			for _, pattern := range []string{path + ".*.old", prepared(path)} {
				if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
					t.Errorf("%q, %v are left, want nothing", left, err)
				}
			}
		})
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// withSchema writes the version of the schema into a file.
func withSchema(t *testing.T, path string, version int) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return put(tx, bucketMeta, keySchema, version) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestACopyThatIsInUseIsNotRestored names the file that another process writes to.
func TestACopyThatIsInUseIsNotRestored(t *testing.T) {
	path, other := withCopy(t), withCopy(t)
	_, stop := holding(t, other)
	defer stop()
	var held *HeldError
	if _, err := Restore(path, other, time.Unix(0, 0)); !errors.As(err, &held) {
		t.Errorf("Restore = %v, want a HeldError", err)
	}
}

// TestKillWhileACopyIsPutBack kills the process at each step: the next start finds the old state or the copy, never
// none, and knows that the copy is older; and the same restore can be done again.
func TestKillWhileACopyIsPutBack(t *testing.T) {
	for point, want := range map[string]int64{"restore-copied": 200, "restore-aside": 200, "restore-marked": 200, "state-named": 100} {
		t.Run(point, func(t *testing.T) {
			path := withCopy(t)
			wantKilled(t, child(t, "restore", path, point).Run())
			if last, older := lastPass(t, path); last != want || older != (want == 100) {
				t.Errorf("last pass at %d, older %v, want %d and %v", last, older, want, want == 100)
			}
			if err := restoreCopy(path); err != nil {
				t.Fatalf("a second Restore = %v", err)
			}
			if last, older := lastPass(t, path); last != 100 || !older {
				t.Errorf("last pass at %d, older %v, want the copy, and that it is older", last, older)
			}
		})
	}
}
