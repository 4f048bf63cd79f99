package state

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// inFolder returns the names in a folder.
func inFolder(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRotateKeepsTheNewestAndTouchesNothingElse(t *testing.T) {
	b := newBook(t)
	folder := filepath.Join(t.TempDir(), "deep", "backups")
	b.must(os.MkdirAll(filepath.Join(folder, "tidemark-2020-01-01T000000Z.db"), 0o700)) // a folder
	others := []string{"notes.txt", "other-2020-01-01T000000Z.db", "tidemark-2020-01-01.db", "tidemark-2020-01-01T000000Z.db.old", "tidemark.db"}
	for _, name := range others {
		mustWrite(t, filepath.Join(folder, name), []byte("mine"))
	}
	mustWrite(t, filepath.Join(folder, "tidemark-2026-11-01T000000Z.db.new"), []byte("half"))
	if last, err := b.LastBackup(folder); err != nil || !last.IsZero() {
		t.Errorf("LastBackup = %s, %v, want none", last, err)
	}
	var deleted []string
	for range 4 {
		r, err := b.Rotate(folder, 2, b.now)
		b.must(err)
		if r.Size == 0 || filepath.Dir(r.Path) != folder {
			t.Errorf("Rotate = %+v, want a file in %s", r, folder)
		}
		deleted = append(deleted, r.Deleted...)
		b.now = b.now.Add(day)
	}
	want := append(slices.Clone(others), "tidemark-2020-01-01T000000Z.db", "tidemark-2026-11-11T090000Z.db", "tidemark-2026-11-12T090000Z.db")
	slices.Sort(want)
	if got := inFolder(t, folder); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
	if len(deleted) != 2 || !strings.HasSuffix(deleted[0], "tidemark-2026-11-09T090000Z.db") {
		t.Errorf("deleted %q, want the two oldest, the oldest first", deleted)
	}
	if last, err := b.LastBackup(folder); err != nil || !last.Equal(time.Date(2026, time.November, 12, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("LastBackup = %s, %v, want that of the newest", last, err)
	}
	r, err := Check(filepath.Join(folder, "tidemark-2026-11-12T090000Z.db"))
	b.must(errors.Join(err, r.Err()))
}

// TestTheBackupJustMadeIsKept makes one with a clock that is behind those of the others.
func TestTheBackupJustMadeIsKept(t *testing.T) {
	b := newBook(t)
	folder := t.TempDir()
	for _, at := range []time.Time{b.now, b.now.Add(day), b.now.Add(-day)} {
		r, err := b.Rotate(folder, 1, at)
		b.must(err)
		if got := inFolder(t, folder); len(got) != 1 || got[0] != filepath.Base(r.Path) {
			t.Errorf("the folder holds %q, want the backup of %s", got, at)
		}
	}
}

func TestABackupThatFailsDeletesNoOlderOne(t *testing.T) {
	b := newBook(t)
	folder := t.TempDir()
	_, err := b.Rotate(folder, 1, b.now)
	b.must(err)
	b.must(b.Beat(agency, Heartbeat{Sync: "agency"}))
	b.flip(bucketHeartbeat, agency.key())
	if _, err := b.Rotate(folder, 1, b.now.Add(day)); !errors.Is(err, ErrDamaged) {
		t.Errorf("Rotate = %v, want %v", err, ErrDamaged)
	}
	if got := inFolder(t, folder); len(got) != 1 || got[0] != "tidemark-2026-11-09T090000Z.db" {
		t.Errorf("the folder holds %q, want the older one", got)
	}
}

// TestKillWhileBackupsAreRotated kills the process at each step: as many good backups as are kept are there before and
// after, and the next one clears up what was left.
func TestKillWhileBackupsAreRotated(t *testing.T) {
	for _, point := range []string{"backup-copied", "backup-named", "backup-deleted"} {
		t.Run(point, func(t *testing.T) {
			path := stateWithRows(t)
			folder := path + ".backups"
			s, err := Open(path, Options{NoProbe: true})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				_, one := s.Rotate(folder, 2, time.Date(2026, time.November, 1+n, 0, 0, 0, 0, time.UTC))
				err = errors.Join(err, one)
			}
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			wantKilled(t, child(t, "rotate", path, point).Run())
			good := 0
			for _, name := range inFolder(t, folder) {
				if r, err := examine(filepath.Join(folder, name)); err == nil && r.Err() == nil && strings.HasSuffix(name, ".db") {
					good++
				}
			}
			if good < 2 {
				t.Errorf("%d good backups are left: %q, want 2 at least", good, inFolder(t, folder))
			}
			if s, err = Open(path, Options{}); err != nil {
				t.Fatal(err)
			}
			_, err = s.Rotate(folder, 2, time.Date(2031, time.November, 1, 0, 0, 0, 0, time.UTC))
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			if got := inFolder(t, folder); len(got) != 2 || got[1] != "tidemark-2031-11-01T000000Z.db" {
				t.Errorf("the folder holds %q, want two backups, the newest among them", got)
			}
		})
	}
}
