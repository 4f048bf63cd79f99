package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/fault"
	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// crashFolder names the folder in which a process plays its part of a crash test.
const crashFolder = "TIDEMARK_CRASH_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(crashFolder); folder != "" {
		if err := crashChild(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if handled, code := state.Probe(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// crashScene is what the processes of a crash test share: files in a folder.
type crashScene struct {
	folder string
	clock  time.Time
}

func (s crashScene) weeks() string { return filepath.Join(s.folder, "weeks.json") }
func (s crashScene) books() string { return filepath.Join(s.folder, "books.json") }
func (s crashScene) state() string { return filepath.Join(s.folder, "tidemark.db") }
func (s crashScene) time() string  { return filepath.Join(s.folder, "time.json") }

func save(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func load(path string, v any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, json.Unmarshal(data, v))
}

// crashChild runs one pass against the files of a folder. It dies where the environment says.
func crashChild(folder string) error {
	s := crashScene{folder: folder}
	var weeks []tracker.Week
	if err := errors.Join(load(s.weeks(), &weeks), load(s.time(), &s.clock)); err != nil {
		return err
	}
	store, err := state.Open(s.state(), state.Options{})
	if err != nil {
		return err
	}
	peer := newPeerTracker(weeks...)
	peer.size = 1
	engine := New(store, peer, &fileBooks{path: s.books()}, crashRules(), func() time.Time { return s.clock }, zerolog.Nop(), fault.FromEnvironment())
	_, err = engine.Pass(context.Background(), s.clock)
	return errors.Join(err, store.Close())
}

func crashRules() Settings {
	return Settings{
		Name: "crash", Prefix: "ts-", Location: time.UTC, Overlap: time.Hour, TTL: 72 * time.Hour, Start: civil.Date{Year: 2026, Month: 10, Day: 5},
		Per: PerProject, WaitAtMost: 14 * 24 * time.Hour, Lines: LineEntry, DueDays: -1, Corrections: Window, Late: LateReview, MaxNew: 200, Workers: 2,
		Customers: []Customer{{Client: "acme", Customer: "c-acme"}},
	}
}

// fileDoc is an invoice of fileBooks. It has lines only after the second step.
type fileDoc struct {
	ID      string
	Invoice accounting.Invoice
	Lines   bool // the second step was done; doing it again changes nothing
	Edition int
}

// fileBooks is an accounting system in a file, whose creates take two steps: the invoice, then its lines.
type fileBooks struct{ path string }

func (b *fileBooks) Account() string { return "books-1" }
func (b *fileBooks) Traits() accounting.Traits {
	return accounting.Traits{Authoritative: true, GuardsDrafts: true}
}

func (b *fileBooks) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	body, err := json.Marshal(inv)
	return accounting.Request{Steps: []accounting.Step{{Method: "POST", Path: "/invoices", Body: body}, {Method: "POST", Path: "/lines", Body: body}}}, err
}

// change reads the file, lets fn change it, and writes it. The lock is the file system's: processes
// of a test come one after another, goroutines of one do not.
func (b *fileBooks) change(fn func(docs []fileDoc) ([]fileDoc, error)) error {
	lock, err := os.OpenFile(b.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	var docs []fileDoc
	if err := load(b.path, &docs); err != nil {
		return err
	}
	docs, err = fn(docs)
	if err != nil {
		return err
	}
	return save(b.path, docs)
}

func (d fileDoc) receipt() accounting.Receipt {
	r := accounting.Receipt{ID: d.ID, Reference: d.Invoice.Reference, Customer: d.Invoice.Customer, Currency: d.Invoice.Currency, Status: accounting.Draft, Token: fmt.Sprint(d.Edition)}
	if d.Lines {
		r.Net, r.Amounts = d.Invoice.Net(), d.Invoice.Amounts()
	}
	return r
}

func (b *fileBooks) docs() (docs []fileDoc, err error) { return docs, load(b.path, &docs) }

func (b *fileBooks) Find(_ context.Context, reference string) (found []accounting.Receipt, err error) {
	docs, err := b.docs()
	for _, d := range docs {
		if d.Invoice.Reference == reference {
			found = append(found, d.receipt())
		}
	}
	return found, err
}

func (b *fileBooks) List(_ context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		docs, err := b.docs()
		if err != nil {
			yield(accounting.Receipt{}, err)
			return
		}
		for _, d := range docs {
			if days.Contains(d.Invoice.Date) && !yield(d.receipt(), nil) {
				return
			}
		}
	}
}

func (b *fileBooks) Read(_ context.Context, id string) (accounting.Receipt, error) {
	docs, err := b.docs()
	for _, d := range docs {
		if d.ID == id {
			return d.receipt(), err
		}
	}
	return accounting.Receipt{}, errors.Join(err, accounting.ErrAbsent)
}

func (b *fileBooks) Create(_ context.Context, _ string, req accounting.Request, p accounting.Progress, saved func(accounting.Progress) error) (receipt accounting.Receipt, err error) {
	var inv accounting.Invoice
	if err := json.Unmarshal(req.Steps[0].Body, &inv); err != nil {
		return receipt, err
	}
	if p.Done == 0 {
		err := b.change(func(docs []fileDoc) ([]fileDoc, error) {
			p = accounting.Progress{Done: 1, Document: fmt.Sprintf("inv-%d", len(docs)+1)}
			return append(docs, fileDoc{ID: p.Document, Invoice: inv}), nil
		})
		if err := errors.Join(err, saved(p)); err != nil {
			return receipt, err
		}
	}
	err = b.change(func(docs []fileDoc) ([]fileDoc, error) {
		for i := range docs {
			if docs[i].ID == p.Document {
				docs[i].Lines = true
				receipt = docs[i].receipt()
			}
		}
		return docs, nil
	})
	return receipt, err
}

func (b *fileBooks) Update(_ context.Context, _ string, req accounting.Request, left accounting.Receipt) (receipt accounting.Receipt, err error) {
	err = b.change(func(docs []fileDoc) ([]fileDoc, error) {
		for i := range docs {
			if docs[i].ID != left.ID {
				continue
			}
			if !docs[i].receipt().Untouched(left) {
				return docs, accounting.ErrTouched
			}
			docs[i].Edition++
			if err := json.Unmarshal(req.Steps[0].Body, &docs[i].Invoice); err != nil {
				return docs, err
			}
			receipt = docs[i].receipt()
		}
		return docs, nil
	})
	return receipt, err
}

// run starts a process that runs a pass, and returns whether it was killed.
func (s crashScene) run(t *testing.T, point string) (killed bool) {
	t.Helper()
	if err := save(s.time(), s.clock); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashFolder+"="+s.folder, fault.Env+"="+point)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return true
	}
	t.Fatalf("pass: %v\n%s", err, out)
	return false
}

func crashWeek(id, member string, seconds int64) tracker.Week {
	period := civil.Period{First: civil.Date{Year: 2026, Month: 11, Day: 2}, Last: civil.Date{Year: 2026, Month: 11, Day: 8}}
	w := tracker.Week{ID: id, Version: tracker.Version{Kind: tracker.Stamp, Number: seconds}, State: tracker.Approved, Period: period, Member: tracker.Ref{ID: member}, Changed: time.Unix(seconds, 0)}
	for p := range 3 {
		e := tracker.Entry{ID: fmt.Sprintf("%s-%d", id, p), Date: period.First, Seconds: seconds, Billable: true, Client: tracker.Ref{ID: "acme"}, Project: tracker.Ref{ID: fmt.Sprintf("%s-p%d", id, p)}, Currency: "EUR"}
		e.Rate.Valid, e.Rate.Decimal = true, rate(member)
		w.Entries = append(w.Entries, e)
	}
	return w
}

// TestKillAtEveryPoint kills the process for real at every row of the table "Crash here", at each time that
// the point is reached, and lets the next one go on: in the end every group is billed once, as is wanted.
func TestKillAtEveryPoint(t *testing.T) {
	create := []string{"page-fetched", "batch-stored", "watermark-moved", "key-claimed", "step-done", "created", "recorded"}
	for _, point := range create {
		for n := 1; n <= 3; n++ {
			t.Run(fmt.Sprintf("%s:%d", point, n), func(t *testing.T) {
				t.Parallel()
				s := crashScene{folder: t.TempDir(), clock: time.Date(2026, 11, 10, 9, 0, 0, 0, time.UTC)}
				weeks := []tracker.Week{crashWeek("w1", "ana", 3600), crashWeek("w2", "bo", 7200)}
				if err := save(s.weeks(), weeks); err != nil {
					t.Fatal(err)
				}
				killed := s.run(t, fmt.Sprintf("%s:%d", point, n))
				if n == 1 && !killed {
					t.Fatalf("the process did not reach %s", point)
				}
				s.goOn(t)
				s.expect(t, weeks)
			})
		}
	}
}

// TestKillInAnUpdate kills the process while a draft is updated after its key has expired.
func TestKillInAnUpdate(t *testing.T) {
	for _, point := range []string{"key-claimed", "update-sent", "recorded"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := crashScene{folder: t.TempDir(), clock: time.Date(2026, 11, 10, 9, 0, 0, 0, time.UTC)}
			if err := save(s.weeks(), []tracker.Week{crashWeek("w1", "ana", 3600)}); err != nil {
				t.Fatal(err)
			}
			s.goOn(t)
			changed := []tracker.Week{crashWeek("w1", "ana", 5400)}
			if err := save(s.weeks(), changed); err != nil {
				t.Fatal(err)
			}
			s.clock = s.clock.Add(80 * time.Hour)
			if !s.run(t, point) {
				t.Fatalf("the process did not reach %s", point)
			}
			s.goOn(t)
			s.expect(t, changed)
		})
	}
}

// goOn runs passes without a fault: the first may find out, the second has nothing left to do.
func (s *crashScene) goOn(t *testing.T) {
	t.Helper()
	for range 2 {
		s.clock = s.clock.Add(time.Minute)
		if s.run(t, "") {
			t.Fatal("a pass without a fault was killed")
		}
	}
}

// expect checks that each group has exactly one invoice, with its lines, for what the weeks say.
func (s crashScene) expect(t *testing.T, weeks []tracker.Week) {
	t.Helper()
	docs, err := (&fileBooks{path: s.books()}).docs()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, w := range weeks {
		for _, e := range w.Entries {
			rate, _ := crashRules().effective(w.Member, e)
			want[e.Project.ID+" "+line("", []state.Billed{{Member: w.Member, Entry: e, Rate: rate}}, "EUR").Amount.String()] = true
		}
	}
	seen := map[string]string{}
	for _, d := range docs {
		if other := seen[d.Invoice.Reference]; other != "" {
			t.Errorf("%s and %s both bear %s", other, d.ID, d.Invoice.Reference)
		}
		seen[d.Invoice.Reference] = d.ID
		if !d.Lines {
			t.Errorf("%s has no lines", d.ID)
		}
	}
	if len(docs) != len(want) {
		t.Errorf("%d invoices, want %d", len(docs), len(want))
	}
	for _, d := range docs {
		delete(want, projectOf(d.Invoice.Title)+" "+d.Invoice.Net().String())
	}
	if len(want) > 0 {
		t.Errorf("not billed as wanted: %v", want)
	}
}

func projectOf(title string) string {
	var project string
	fmt.Sscanf(title, "%s", &project)
	return project[:len(project)-1]
}
