package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/remote"
	"tidemark/sync"
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

// billed is the quickstart after a pass, in this process, on the first of December.
type billed struct {
	desk
	*app
	*session
	now time.Time
	log bytes.Buffer
}

func newBilled(t *testing.T) *billed {
	t.Helper()
	b := &billed{desk: newDesk(t, ""), now: time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)}
	path := filepath.Join(b.folder, "tidemark.yaml")
	b.rewrite("tidemark.yaml", func(text string) string { return "audit: {schedule: \"0 6 1 * *\"}\n" + text })
	logger := zerolog.New(&b.log)
	b.app = &app{out: io.Discard, err: io.Discard, path: path, now: func() time.Time { return b.now }, log: &logger, net: remote.New(remote.Options{})}
	s, err := b.open()
	if err != nil {
		t.Fatal(err)
	}
	b.session = s
	t.Cleanup(func() { _ = s.store.Close() })
	if _, err := s.engines[0].Pass(t.Context(), b.now); err != nil {
		t.Fatal(err)
	}
	return b
}

// rewrite changes a file as a person does with an editor.
func (b *billed) rewrite(name string, change func(text string) string) {
	b.Helper()
	path := filepath.Join(b.folder, name)
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := age(filepath.Join(b.folder, "exports")); err != nil {
		b.Fatal(err)
	}
}

const books = "var/books.journal"

// invoice returns the transaction of the books with a title.
func (b *billed) invoice(title string) (block string) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.folder, books))
	if err != nil {
		b.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		if head, _, _ := strings.Cut(block, "\n"); strings.HasSuffix(head, title) {
			return strings.TrimRight(block, "\n") + "\n"
		}
	}
	b.Fatalf("no invoice is for %s:\n%s", title, text)
	return ""
}

// edit changes the transaction with a title.
func (b *billed) edit(title string, change func(block string) string) {
	b.Helper()
	old := b.invoice(title)
	b.rewrite(books, func(text string) string { return strings.Replace(text+"\n", old, change(old), 1) })
}

func TestAuditsRunByThemselves(t *testing.T) {
	b := newBilled(t)
	b.edit("Retainer, week 46 of 2026", func(string) string { return "" })
	jobs := b.auditJobs(&home{session: b.session, stop: func(error) {}}, b.work)
	if len(jobs) != 1 || jobs[0].Name != "(audit) agency" {
		t.Fatalf("jobs = %+v, want the audit of the one sync", jobs)
	}
	if next := jobs[0].Next(b.now); !next.Equal(time.Date(2027, 1, 1, 5, 0, 0, 0, time.UTC)) {
		t.Errorf("the next audit is at %s, want 06:00 of the first in Berlin", next)
	}
	outcome, err := jobs[0].Run(t.Context(), b.now)
	if err != nil {
		t.Fatal(err)
	}
	audit, is := outcome.(sync.Audit)
	if !is || audit.Days.String() != "2026-11-01..2026-11-30" || audit.Count(sync.Gone) != 1 || len(audit.Findings) != 1 {
		t.Errorf("outcome = %+v, want one draft of November that was deleted", outcome)
	}
	if got := b.log.String(); !strings.Contains(got, `"finding":"deleted"`) || !strings.Contains(got, "is not there any more") {
		t.Errorf("log = %s, want the finding", got)
	}
}

// TestAuditFindsWhatPeopleDoToAJournal plants defects in the books and the exports of the quickstart, all at once.
func TestAuditFindsWhatPeopleDoToAJournal(t *testing.T) {
	b := newBilled(t)
	b.edit("Website relaunch, week 45 of 2026", func(block string) string { return block + "\n" + block })
	b.edit("Autumn catalogue, week 45 of 2026", func(block string) string {
		hand := strings.NewReplacer(" ! ", " * ", "Nordlicht Verlag |", "By hand |").Replace(block)
		var kept []string
		for line := range strings.Lines(hand) {
			if !strings.Contains(line, "    ; ") {
				kept = append(kept, regexp.MustCompile(`\(ts-\S+\)`).ReplaceAllString(line, "(INV-118)"))
			}
		}
		return block + "\n" + strings.Join(kept, "")
	})
	b.edit("Retainer, week 46 of 2026", func(string) string { return "" })
	b.edit("Autumn catalogue, week 46 of 2026", func(block string) string { return strings.ReplaceAll(block, "-2433.75", "-2400.00") })
	b.edit("Website relaunch, week 46 of 2026", func(block string) string {
		return regexp.MustCompile(`(?m)^ +income:fees .*Jonas.*\n`).ReplaceAllString(block, "")
	})
	b.edit("Reporting dashboard, week 46 of 2026", func(block string) string {
		return "; " + strings.ReplaceAll(strings.TrimRight(block, "\n"), "\n", "\n; ") + "\n"
	})
	b.rewrite(books, func(text string) string {
		return text + "\n2026-11-13 ! (ts-26w46-aaaaaaaaaa) Somebody\n    ; customer: acme\n    assets:receivable:acme   100.00 EUR\n    income:fees             -100.00 EUR\n"
	})
	b.rewrite("exports/harvest-2026-11-23.csv", func(text string) string {
		gone := regexp.MustCompile(`(?m)^2026-11-0[35],Acme GmbH,Shop maintenance,.*\n`)
		row := regexp.MustCompile(`(?m)^2026-11-10,Acme GmbH,Shop maintenance,.*\n`).FindString(text)
		return gone.ReplaceAllString(text, "") + strings.Replace(row, "Shop maintenance", "Photo shoot", 1)
	})
	audit, err := b.audit(t.Context(), "agency", b.now)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range audit.Findings {
		got = append(got, string(f.Kind)+": "+f.Title)
	}
	want := []string{
		"duplicate: Website relaunch, week 45 of 2026", "look-alike: Autumn catalogue, week 45 of 2026", "withdrawn: Shop maintenance, week 45 of 2026",
		"unrecorded: invoice ts-26w46-aaaaaaaaaa", "drift: Website relaunch, week 46 of 2026", "drift: Autumn catalogue, week 46 of 2026",
		"deleted: Retainer, week 46 of 2026", "voided: Reporting dashboard, week 46 of 2026", "missing: Photo shoot, week 46 of 2026",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings = %q\nwant %q", got, want)
	}
}

func TestNoAuditRunsByItselfUnlessItIsWanted(t *testing.T) {
	d := newDesk(t, "")
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
