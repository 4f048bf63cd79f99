package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/sync/accounting"
)

// childEnv names the books that a second process writes to.
const childEnv = "JOURNAL_TEST_CHILD"

// child creates fifty invoices, ts-NAME-1 and so on, and prints each reference once it is created.
func child(path string) int {
	j, err := New(settings(path))
	if err != nil {
		return 1
	}
	for n := range 50 {
		inv := invoice(fmt.Sprintf("ts-%s-%d", os.Args[1], n))
		req, err := j.Prepare(inv)
		if err == nil {
			_, err = j.Create(context.Background(), inv.Reference, req, accounting.Progress{}, nil)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(inv.Reference)
	}
	return 0
}

func start(t *testing.T, path, name string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], name)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func TestTwoProcessesLoseNothing(t *testing.T) {
	j, path := fresh(t)
	one, linesOne := start(t, path, "a")
	two, linesTwo := start(t, path, "b")
	for linesOne.Scan() {
	}
	for linesTwo.Scan() {
	}
	must(t, one.Wait())
	must(t, two.Wait())
	for _, name := range []string{"a", "b"} {
		for n := range 50 {
			if found := find(t, j, fmt.Sprintf("ts-%s-%d", name, n)); len(found) != 1 {
				t.Errorf("Find(ts-%s-%d) = %d hits, want 1", name, n, len(found))
			}
		}
	}
	checkBooks(t, path)
	wantAlone(t, path)
}

func TestKilledWriterLosesNothing(t *testing.T) {
	j, path := fresh(t)
	put(t, path, "; kept by hand\n")
	cmd, lines := start(t, path, "k")
	var said []string
	for len(said) < 10 && lines.Scan() {
		said = append(said, lines.Text())
	}
	must(t, cmd.Process.Kill())
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	_ = cmd.Wait()
	create(t, j, invoice("ts-after"))
	for _, reference := range append(said, "ts-after") {
		if found := find(t, j, reference); len(found) != 1 {
			t.Errorf("Find(%s) = %d hits, want 1", reference, len(found))
		}
	}
	if !strings.HasPrefix(content(t, path), "; kept by hand\n") {
		t.Error("the first line is gone, want it kept")
	}
	checkBooks(t, path)
	wantAlone(t, path)
}

// wantAlone fails if anything but the books and their lock is in the folder.
func wantAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	for _, e := range entries {
		if e.Name() != filepath.Base(path) && e.Name() != filepath.Base(path)+".lock" {
			t.Errorf("%s lies beside the books, want nothing", e.Name())
		}
	}
}

func TestCreateTwiceWritesOnce(t *testing.T) {
	j, path := fresh(t)
	first := create(t, j, invoice("ts-1"))
	before := content(t, path)
	second := create(t, j, invoice("ts-1"))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("second receipt differs:\n%s", diff)
	}
	if content(t, path) != before {
		t.Error("the second Create changed the books, want them as they were")
	}
}

func TestCreateRefusesATakenReference(t *testing.T) {
	j, path := fresh(t)
	create(t, j, invoice("ts-1"))
	before := content(t, path)
	other := invoice("ts-1")
	other.Lines = other.Lines[:1]
	_, err := j.Create(t.Context(), "ts-1", prepare(t, j, other), accounting.Progress{}, nil)
	if !errors.Is(err, accounting.ErrRejected) || !strings.Contains(err.Error(), "already in the books") {
		t.Errorf("Create = %v, want ErrRejected, already in the books", err)
	}
	if content(t, path) != before {
		t.Error("a refused Create changed the books")
	}
}

func TestCreateKeepsEveryByte(t *testing.T) {
	tests := map[string]string{
		"no line end":   "; mine",
		"line end":      "; mine\n",
		"empty line":    "; mine\n\n",
		"CRLF":          "; mine\r\n; more\r\n",
		"BOM":           "\uFEFF; mine\n",
		"empty":         "",
		"ledger blocks": "comment\nfree text\nend comment\napply account x\nend apply account\n",
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			put(t, path, before)
			created := create(t, j, invoice("ts-1"))
			after := content(t, path)
			if !strings.HasPrefix(after, before) {
				t.Errorf("books begin with %q, want %q", after[:min(len(after), 40)], before)
			}
			if name == "CRLF" && strings.Count(after, "\n") != strings.Count(after, "\r\n") {
				t.Error("line ends are mixed, want CRLF alone")
			}
			if got, err := j.Read(t.Context(), "ts-1"); err != nil || !got.Untouched(created) || !got.Bills(invoice("ts-1")) {
				t.Errorf("Read = %+v, %v, want the draft as it was created", got, err)
			}
			checkBooks(t, path)
		})
	}
}

func TestCreateRefusesBooksThatWouldMisreadIt(t *testing.T) {
	tests := map[string]struct{ books, advice string }{
		"open comment":            {"comment\nfree text\n", "end comment"},
		"open test":               {"test\n", "end test"},
		"open apply account":      {"apply account x\n", "end apply account"},
		"decimal-mark":            {"decimal-mark ,\n", "decimal point"},
		"comma commodity":         {"commodity 1.000,00 EUR\n", "decimal point"},
		"comma format":            {"commodity EUR\n  format 1.000,00 EUR\n", "decimal point"},
		"comma default commodity": {"D 1.000,00 EUR\n", "decimal point"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			put(t, path, test.books)
			_, err := j.Create(t.Context(), "ts-1", prepare(t, j, invoice("ts-1")), accounting.Progress{}, nil)
			if !errors.Is(err, accounting.ErrNotSent) || !strings.Contains(err.Error(), test.advice) {
				t.Errorf("Create = %v, want ErrNotSent with %q", err, test.advice)
			}
			if content(t, path) != test.books {
				t.Errorf("books = %q, want %q", content(t, path), test.books)
			}
		})
	}
}

func TestACommaInAnotherCurrencyIsNoMatter(t *testing.T) {
	j, path := fresh(t)
	put(t, path, "commodity 1.000,00 USD\n")
	create(t, j, invoice("ts-1"))
	if _, err := j.Read(t.Context(), "ts-1"); err != nil {
		t.Errorf("Read = %v, want none", err)
	}
}

func TestUpdateChangesOneTransaction(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		j, path := fresh(t)
		put(t, path, "; first"+end)
		left := create(t, j, invoice("ts-1"))
		before := content(t, path)
		tail := end + "; after" + end + "2026-11-10 own\n  assets:receivable:acme  1.00 EUR\n  income:fees  -1.00 EUR"
		put(t, path, before+tail)

		want := invoice("ts-1")
		want.Lines = append(want.Lines, accounting.Line{Text: "Late", Seconds: 3600, Rate: dec("80"), Amount: dec("80")})
		req := prepare(t, j, want)
		got, err := j.Update(t.Context(), "ts-1.2", req, left)
		if err != nil || !got.Bills(want) || got.Status != accounting.Draft {
			t.Fatalf("Update = %+v, %v, want a draft that bills it", got, err)
		}
		at := strings.Index(before, "2026-11-08 !")
		body := strings.ReplaceAll(string(req.Steps[0].Body), "\n", end)
		if diff := cmp.Diff(before[:at]+body+tail, content(t, path)); diff != "" {
			t.Errorf("books (-want +got):\n%s", diff)
		}
		if again, err := j.Update(t.Context(), "ts-1.2", req, left); err != nil || again.Token != got.Token {
			t.Errorf("Update again = %+v, %v, want the same receipt", again, err)
		}
		checkBooks(t, path)
		wantAlone(t, path)
	}
}

func TestUpdateDeclaresNewAccounts(t *testing.T) {
	j, path := fresh(t)
	left := create(t, j, invoice("ts-1"))
	s := settings(path)
	s.Accounts.Revenue = "income:consulting"
	moved, err := New(s)
	must(t, err)
	if _, err := moved.Update(t.Context(), "ts-1.2", prepare(t, moved, invoice("ts-1")), left); err != nil {
		t.Fatalf("Update = %v, want none", err)
	}
	if !strings.Contains(content(t, path), "\naccount income:consulting\n\n2026-11-08 ! (ts-1)") {
		t.Errorf("books lack the declaration before the transaction:\n%s", content(t, path))
	}
	checkBooks(t, path)
}

func TestDeclareCanBeTurnedOff(t *testing.T) {
	s := settings(filepath.Join(t.TempDir(), "books.journal"))
	s.Declare = new(bool)
	j, err := New(s)
	must(t, err)
	req := prepare(t, j, invoice("ts-1"))
	create(t, j, invoice("ts-1"))
	if diff := cmp.Diff(string(req.Steps[0].Body), content(t, string(s.Path))); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
}

func TestWhatIsDeclaredIsNotDeclaredAgain(t *testing.T) {
	j, path := fresh(t)
	own := "apply account assets\naccount receivable:acme  ; ours\nend apply account\n" +
		"account income:fees \t; type:R\naccount liabilities:vat\ncommodity 1,000.00 EUR  ; euros\ntag reference\ntag customer\ntag period\ntag due\ntag tax\n\n"
	put(t, path, own)
	create(t, j, invoice("ts-1"))
	body := string(prepare(t, j, invoice("ts-1")).Steps[0].Body)
	if diff := cmp.Diff(own+body, content(t, path)); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
	run(t, "hledger", "-f", path, "check", "--strict")
}

func TestUpdateRefusesWhatAPersonTouched(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"cleared":    {"2026-11-08 !", "2026-11-08 *"},
		"unmarked":   {"2026-11-08 !", "2026-11-08"},
		"reworded":   {"Website relaunch", "Web site"},
		"amount":     {"-250.00 EUR", "-251.00 EUR"},
		"own number": {"(ts-1)", "(17)"},
		"duplicated": {"; tax: VAT19 19%\n", "; tax: VAT19 19%\n\n2026-11-07 (ts-1) copy\n    a  1\n    b\n"},
		"removed":    {"2026-11-08 ! (ts-1)", ";"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			left := create(t, j, invoice("ts-1"))
			edit(t, path, test.before, test.after)
			if name == "removed" {
				edit(t, path, "; reference: ts-1", ";")
			}
			before := content(t, path)
			want := invoice("ts-1")
			want.Lines = want.Lines[:1]
			_, err := j.Update(t.Context(), "ts-1.2", prepare(t, j, want), left)
			if !errors.Is(err, accounting.ErrTouched) {
				t.Errorf("Update = %v, want ErrTouched", err)
			}
			if content(t, path) != before {
				t.Error("a refused Update changed the books")
			}
		})
	}
}

func TestUpdateFollowsAMovedDraft(t *testing.T) {
	j, path := fresh(t)
	left := create(t, j, invoice("ts-1"))
	other := filepath.Join(filepath.Dir(path), "2026.journal")
	must(t, os.Rename(path, other))
	put(t, path, "include 2026.journal\n")
	want := invoice("ts-1")
	want.Lines = want.Lines[:1]
	if _, err := j.Update(t.Context(), "ts-1.2", prepare(t, j, want), left); err != nil {
		t.Fatalf("Update = %v, want none", err)
	}
	if found := find(t, j, "ts-1"); len(found) != 1 || !found[0].Bills(want) {
		t.Errorf("Find = %+v, want the new lines", found)
	}
	if content(t, path) != "include 2026.journal\n" {
		t.Error("the including file changed, want it as it was")
	}
	checkBooks(t, path)
}

func TestModeAndLinkAreKept(t *testing.T) {
	j, link := fresh(t)
	target := filepath.Join(t.TempDir(), "real.journal")
	put(t, target, "; mine\n")
	must(t, os.Chmod(target, 0o604))
	must(t, os.Symlink(target, link))
	create(t, j, invoice("ts-1"))
	info, err := os.Lstat(target)
	must(t, err)
	if info.Mode() != 0o604 {
		t.Errorf("mode = %v, want -rw----r--", info.Mode())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat(link) = %v, %v, want a link", info, err)
	}
	wantAlone(t, target)
}

func TestNewBooksAreReadableByTheGroupAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "books.journal")
	create(t, open(t, path), invoice("ts-1"))
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode()&0o137 != 0 {
		t.Errorf("mode = %v, want at most -rw-r-----", info.Mode())
	}
}

// TestNoRequestMakesMoreThanADraft holds for requests of whichever origin, not only for Prepare's.
func TestNoRequestMakesMoreThanADraft(t *testing.T) {
	draft := "2026-11-08 ! (ts-1) x\n    a  1.00 EUR\n    b  -1.00 EUR\n"
	bodies := map[string]string{
		"cleared":          strings.Replace(draft, "!", "*", 1),
		"unmarked":         strings.Replace(draft, "! ", "", 1),
		"no reference":     strings.Replace(draft, "(ts-1) ", "", 1),
		"cleared posting":  strings.Replace(draft, "    a", "    * a", 1),
		"two":              draft + "\n" + strings.ReplaceAll(draft, "!", "*"),
		"with a directive": "include /etc/passwd\n" + draft,
		"more behind it":   draft + "; reference: ts-2\n",
		"no line end":      strings.TrimSuffix(draft, "\n"),
		"empty":            "",
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			put(t, path, draft)
			req := accounting.Request{Steps: []accounting.Step{{Method: "append", Body: []byte(body)}}}
			if _, err := j.Create(t.Context(), "ts-1", req, accounting.Progress{}, nil); !errors.Is(err, accounting.ErrRejected) {
				t.Errorf("Create = %v, want ErrRejected", err)
			}
			if _, err := j.Update(t.Context(), "ts-1", req, find(t, j, "ts-1")[0]); !errors.Is(err, accounting.ErrRejected) {
				t.Errorf("Update = %v, want ErrRejected", err)
			}
			if content(t, path) != draft {
				t.Error("a refused request changed the books")
			}
		})
	}
}

func TestBooksThatAreJustBeingMadeAreNoDeadLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "books.journal")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(path, nil, 0o640)
				_ = os.Remove(path)
			}
		}
	}()
	for range 20_000 {
		if _, err := resolve(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("resolve = %v while the file comes and goes, want the path", err)
			break
		}
	}
	close(stop)
	<-done
}
