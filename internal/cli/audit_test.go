package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/remote"
	"tidemark/sync"
	"tidemark/sync/civil"
)

func TestTheMonthBefore(t *testing.T) {
	losAngeles, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	for want, now := range map[string]time.Time{
		"2026-11-01..2026-11-30": time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC),
		"2026-10-01..2026-10-31": time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC).In(losAngeles), // It is still November there.
		"2027-12-01..2027-12-31": time.Date(2028, 1, 31, 23, 59, 0, 0, time.UTC),
		"2028-02-01..2028-02-29": time.Date(2028, 3, 31, 0, 0, 0, 0, time.UTC),
	} {
		if got := monthBefore(now).String(); got != want {
			t.Errorf("monthBefore(%s) = %s, want %s", now, got, want)
		}
	}
}

// TestAuditsRunByThemselves bills the quickstart, deletes a draft, and lets the audit of the daemon look at the month.
func TestAuditsRunByThemselves(t *testing.T) {
	d := newDesk(t, program(t))
	path := filepath.Join(d.folder, "tidemark.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("audit: {schedule: \"0 6 1 * *\"}\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := zerolog.New(&log)
	now := time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
	a := &app{out: io.Discard, err: io.Discard, path: path, now: func() time.Time { return now }, log: &logger, net: remote.New(remote.Options{})}
	s, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	if _, err := s.engines[0].Pass(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(d.folder, "var/books.journal")
	books, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.Index(books, []byte("\n2026-"))
	end := first + 1 + bytes.Index(books[first+1:], []byte("\n\n"))
	if err := os.WriteFile(journal, append(books[:first:first], books[end:]...), 0o600); err != nil {
		t.Fatal(err)
	}

	jobs := a.auditJobs(&home{session: s, stop: func(error) {}}, s.work)
	if len(jobs) != 1 || jobs[0].Name != "(audit) agency" {
		t.Fatalf("jobs = %+v, want the audit of the one sync", jobs)
	}
	if next := jobs[0].Next(now); !next.Equal(time.Date(2027, 1, 1, 5, 0, 0, 0, time.UTC)) {
		t.Errorf("the next audit is at %s, want 06:00 of the first in Berlin", next)
	}
	outcome, err := jobs[0].Run(context.Background(), now)
	if err != nil {
		t.Fatal(err)
	}
	audit, is := outcome.(sync.Audit)
	if !is || audit.Days != (civil.Period{First: civil.Date{Year: 2026, Month: 11, Day: 1}, Last: civil.Date{Year: 2026, Month: 11, Day: 30}}) || audit.Count(sync.Gone) != 1 || len(audit.Findings) != 1 {
		t.Errorf("outcome = %+v, want one draft of November that was deleted", outcome)
	}
	if got := log.String(); !strings.Contains(got, `"finding":"deleted"`) || !strings.Contains(got, "is not there any more") {
		t.Errorf("log = %s, want the finding", got)
	}
}

func TestNoAuditRunsByItselfUnlessItIsWanted(t *testing.T) {
	d := newDesk(t, program(t))
	a := &app{path: filepath.Join(d.folder, "tidemark.yaml"), now: time.Now, net: remote.New(remote.Options{})}
	w, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	if jobs := a.auditJobs(nil, w); len(jobs) != 0 {
		t.Errorf("jobs = %d, want none", len(jobs))
	}
}

func TestCellsAreNoFormulas(t *testing.T) {
	for text, want := range map[string]string{"=1+1": "'=1+1", "-2": "'-2", "@x": "'@x", "+49": "'+49", "Acme = Co": "Acme = Co", "": ""} {
		if got := cell(text); got != want {
			t.Errorf("cell(%q) = %q, want %q", text, got, want)
		}
	}
}
