package sync

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tidemark/sync/tracker"
)

// TestNoSpaceStopsBeforeTheRequest runs a pass in a process that may write files of a limited size only, so
// that a commit fails at one place after another. In the end every group has one invoice all the same, and at
// some limit the pass failed before anything was sent.
func TestNoSpaceStopsBeforeTheRequest(t *testing.T) {
	before := 0
	for blocks := 300; blocks <= 2700; blocks += 300 { // of 512 bytes
		s := crashScene{folder: t.TempDir(), clock: time.Date(2026, 11, 10, 9, 0, 0, 0, time.UTC)}
		w := crashWeek("w1", "ana", 3600)
		for i := range w.Entries {
			w.Entries[i].Task = tracker.Ref{ID: "t", Name: strings.Repeat("t", 100<<10)} // on no invoice, and in every commit
		}
		if err := save(s.weeks(), []tracker.Week{w}); err != nil {
			t.Fatal(err)
		}
		if s.limited(t, blocks) != nil && len(s.sent(t)) == 0 {
			before++
		}
		s.goOn(t)
		s.expect(t, []tracker.Week{w})
	}
	if before == 0 {
		t.Error("no limit made a commit fail before the request")
	}
}

// limited runs a pass in a process that may write files of so many blocks only.
func (s crashScene) limited(t *testing.T, blocks int) error {
	t.Helper()
	if err := save(s.time(), s.clock); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("ulimit -f %d; exec %q", blocks, os.Args[0]))
	cmd.Env = append(os.Environ(), crashFolder+"="+s.folder)
	out, err := cmd.CombinedOutput()
	t.Logf("%d blocks: %v %.200s; %d sent", blocks, err, out, len(s.sent(t)))
	return err
}

func (s crashScene) sent(t *testing.T) []fileDoc {
	t.Helper()
	docs, err := (&fileBooks{path: s.books()}).docs()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}
