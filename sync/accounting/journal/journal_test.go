package journal

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestMain lets a test run this binary as a second process that writes the same books.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

func settings(path string) Settings {
	return Settings{Account: "agency", Path: config.Path(path), Taxes: map[string]Percent{"VAT19": "19%", "CH": "8.1%", "ZERO": "0%"}}
}

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := New(settings(path))
	if err != nil {
		t.Fatalf("New = %v, want none", err)
	}
	return j
}

// fresh returns a journal whose file does not exist yet, and the path of that file.
func fresh(t *testing.T) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "books.journal")
	return open(t, path), path
}

func day(s string) civil.Date {
	d, err := civil.Parse(s)
	if err != nil {
		panic(err)
	}
	return d
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func invoice(reference string) accounting.Invoice {
	return accounting.Invoice{
		Reference: reference,
		Customer:  "acme",
		Tax:       "VAT19",
		Client:    "Acme GmbH",
		Title:     "Website relaunch, week 45 of 2026",
		Currency:  "EUR",
		Period:    civil.Period{First: day("2026-11-02"), Last: day("2026-11-08")},
		Date:      day("2026-11-08"),
		Due:       day("2026-11-22"),
		Lines: []accounting.Line{
			{Text: "Anna Berg", Seconds: 138600, Rate: dec("95"), Amount: dec("3657.50")},
			{Text: "Jon Reyes: design", Seconds: 22800, Rate: dec("82.125"), Amount: dec("520.13")},
			{Text: "Fixed price", Seconds: 3600, Stated: true, Amount: dec("250.00")},
			{Text: "Goodwill", Amount: dec("0")},
		},
	}
}

func prepare(t *testing.T, j *Journal, inv accounting.Invoice) accounting.Request {
	t.Helper()
	req, err := j.Prepare(inv)
	if err != nil {
		t.Fatalf("Prepare(%s) = %v, want none", inv.Reference, err)
	}
	return req
}

func create(t *testing.T, j *Journal, inv accounting.Invoice) accounting.Receipt {
	t.Helper()
	r, err := j.Create(t.Context(), inv.Reference, prepare(t, j, inv), accounting.Progress{}, nil)
	if err != nil {
		t.Fatalf("Create(%s) = %v, want none", inv.Reference, err)
	}
	return r
}

func find(t *testing.T, j *Journal, reference string) []accounting.Receipt {
	t.Helper()
	found, err := j.Find(t.Context(), reference)
	if err != nil {
		t.Fatalf("Find(%s) = %v, want none", reference, err)
	}
	return found
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit replaces one piece of a file as a person's editor would.
func edit(t *testing.T, path, before, after string) {
	t.Helper()
	text := content(t, path)
	if !strings.Contains(text, before) {
		t.Fatalf("%s does not hold %q:\n%s", path, before, text)
	}
	put(t, path, strings.Replace(text, before, after, 1))
}

func TestFullInvoiceIsAsTheGoldenFile(t *testing.T) {
	j, path := fresh(t)
	create(t, j, invoice("ts-26w45-abcdefghij"))
	golden := filepath.Join("testdata", "invoice.journal")
	if *update {
		put(t, golden, content(t, path))
	}
	if diff := cmp.Diff(content(t, golden), content(t, path)); diff != "" {
		t.Errorf("books differ from %s (-want +got):\n%s", golden, diff)
	}
}

func TestPrepareIsPure(t *testing.T) {
	j, path := fresh(t)
	one, two := prepare(t, j, invoice("ts-1")), prepare(t, j, invoice("ts-1"))
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("Prepare twice differs:\n%s", diff)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat(books) after Prepare = %v, want not exist", err)
	}
}

func TestPrepareRefusesWithAdvice(t *testing.T) {
	tests := map[string]struct {
		spoil  func(*accounting.Invoice)
		advice string
	}{
		"unknown tax code":       {func(i *accounting.Invoice) { i.Tax = "VAT7" }, "add it there, such as VAT7: 19%"},
		"customer with colon":    {func(i *accounting.Invoice) { i.Customer = "a:b" }, "use letters"},
		"customer on two lines":  {func(i *accounting.Invoice) { i.Customer = "a\n  income:fees" }, "use letters"},
		"customer of two spaces": {func(i *accounting.Invoice) { i.Customer = "a  1 EUR" }, "nor two in a row"},
		"no customer":            {func(i *accounting.Invoice) { i.Customer = "" }, "customer is empty"},
		"no currency":            {func(i *accounting.Invoice) { i.Currency = "" }, "names no currency"},
		"invented currency":      {func(i *accounting.Invoice) { i.Currency = "EURO" }, "ISO 4217"},
		"no date":                {func(i *accounting.Invoice) { i.Date = civil.Date{} }, "no date"},
		"no lines":               {func(i *accounting.Invoice) { i.Lines = nil }, "no lines"},
		"half a cent":            {func(i *accounting.Invoice) { i.Lines[0].Amount = dec("0.005") }, "more decimals"},
		"reference as a code":    {func(i *accounting.Invoice) { i.Reference = "ts) x" }, "not a reference"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, _ := fresh(t)
			inv := invoice("ts-1")
			test.spoil(&inv)
			_, err := j.Prepare(inv)
			if !errors.Is(err, accounting.ErrRejected) || !strings.Contains(err.Error(), test.advice) {
				t.Errorf("Prepare = %v, want ErrRejected with %q", err, test.advice)
			}
		})
	}
}

func TestCustomerHasOwnAccounts(t *testing.T) {
	s := settings("/nowhere")
	s.Customers = []Customer{{Customer: "acme", Accounts: Accounts{Receivable: "assets:acme inc", Tax: "liabilities:export"}}}
	j, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	body := string(prepare(t, j, invoice("ts-1")).Steps[0].Body)
	for _, want := range []string{"    assets:acme inc  ", "    income:fees  ", "    liabilities:export  "} {
		if !strings.Contains(body, want) {
			t.Errorf("body lacks %q:\n%s", want, body)
		}
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New(Settings{
		Accounts:  Accounts{Receivable: "assets::x", Revenue: "income;fees", Tax: "a  b"},
		Customers: []Customer{{Customer: "x"}, {Customer: "x"}, {Customer: "(y)"}},
		Taxes:     map[string]Percent{"VAT": "19", "a b": "7%"},
	})
	if err == nil {
		t.Fatal("New = nil, want faults")
	}
	for _, want := range []string{"account: is missing", "path: is missing", "receivable", "revenue", "tax: account", "listed twice", `"(y)"`, `"19" is not a tax rate`, `"a b" is not a tax code`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New lacks %q:\n%v", want, err)
		}
	}
}

func TestMissingBooksAreEmpty(t *testing.T) {
	j, _ := fresh(t)
	if found := find(t, j, "ts-1"); len(found) != 0 {
		t.Errorf("Find = %v, want none", found)
	}
	if _, err := j.Read(t.Context(), "ts-1"); !errors.Is(err, accounting.ErrAbsent) {
		t.Errorf("Read = %v, want ErrAbsent", err)
	}
}

func TestUnreadableBooksAreNeverAbsent(t *testing.T) {
	tests := map[string]func(t *testing.T, path string){
		"a folder":               func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) },
		"a link to nowhere":      func(t *testing.T, path string) { must(t, os.Symlink(path+".gone", path)) },
		"a link in a loop":       func(t *testing.T, path string) { must(t, os.Symlink(path, path)) },
		"a missing include":      func(t *testing.T, path string) { put(t, path, "include gone.journal\n") },
		"an empty glob":          func(t *testing.T, path string) { put(t, path, "include gone*.journal\n") },
		"a recursive glob":       func(t *testing.T, path string) { put(t, path, "include **/*.journal\n") },
		"an include of a folder": func(t *testing.T, path string) { put(t, path, "!include .\n") },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			spoil(t, path)
			if found, err := j.Find(t.Context(), "ts-1"); err == nil {
				t.Errorf("Find = %v, nil, want an error", found)
			}
			if _, err := j.Read(t.Context(), "ts-1"); err == nil || errors.Is(err, accounting.ErrAbsent) {
				t.Errorf("Read = %v, want an error that is not ErrAbsent", err)
			}
			_, err := j.Create(t.Context(), "ts-1", prepare(t, j, invoice("ts-1")), accounting.Progress{}, nil)
			if !errors.Is(err, accounting.ErrNotSent) {
				t.Errorf("Create = %v, want ErrNotSent", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFindSeesWhatAPersonMade(t *testing.T) {
	head := "2026-11-08 ! (ts-1) Acme GmbH"
	tests := map[string]struct {
		before, after string
		want          accounting.Status
		number        string
	}{
		"nothing":           {"", "", accounting.Draft, ""},
		"cleared":           {head, strings.Replace(head, "!", "*", 1), accounting.Final, ""},
		"mark removed":      {"! (ts-1)", "(ts-1)", accounting.Edited, ""},
		"other date":        {"2026-11-08 !", "2026/11/9=2026-12-01\t!", accounting.Draft, ""},
		"own number":        {"! (ts-1)", "* (R-2026-17)", accounting.Final, "R-2026-17"},
		"number in a draft": {"(ts-1)", "(R-2026-17)", accounting.Edited, "R-2026-17"},
		"code with spaces":  {"(ts-1)", "( ts-1 )", accounting.Draft, ""},
		"tag removed":       {"    ; reference: ts-1\n", "", accounting.Draft, ""},
		"digit groups":      {"-3657.50 EUR", "-3,657.50 EUR", accounting.Edited, ""},
		"elided amount":     {"0.00 EUR", "", accounting.Edited, ""},
		"two currencies":    {"-250.00 EUR", "-250.00 USD", accounting.Edited, ""},
		"posting cleared":   {"    income:fees", "  * income:fees", accounting.Edited, ""},
		"no currency":       {"-250.00 EUR", "-250.00", accounting.Edited, ""},
		"unbalanced":        {"-250.00 EUR", "-251.00 EUR", accounting.Edited, ""},
		"cleared nonsense":  {head + " | Website", strings.Replace(head, "!", "*", 1) + "\n    ????\n    ;", accounting.Final, ""},
		"nonsense":          {"    income:fees", "    ????\n    income:fees", accounting.Edited, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			left := create(t, j, invoice("ts-1"))
			edit(t, path, test.before, test.after)
			found := find(t, j, "ts-1")
			if len(found) != 1 {
				t.Fatalf("Find = %d hits, want 1", len(found))
			}
			if got := found[0]; got.Status != test.want || got.Number != test.number {
				t.Errorf("Find = %s %q, want %s %q", got.Status, got.Number, test.want, test.number)
			}
			if touched := test.before != ""; found[0].Untouched(left) == touched {
				t.Errorf("Untouched = %v, want %v", !touched, touched)
			}
		})
	}
}

func TestFindComparesExactly(t *testing.T) {
	j, _ := fresh(t)
	create(t, j, invoice("ts-26w45-abcdefghij-2"))
	for _, reference := range []string{"ts-26w45-abcdefghij", "ts", "abcdefghij", "TS-26W45-ABCDEFGHIJ-2"} {
		if found := find(t, j, reference); len(found) != 0 {
			t.Errorf("Find(%q) = %v, want none", reference, found)
		}
	}
}

func TestCommentedOutIsVoid(t *testing.T) {
	j, path := fresh(t)
	create(t, j, invoice("ts-1"))
	text := content(t, path)
	for name, out := range map[string]string{
		"as a whole":   "comment\n" + text + "end comment\n",
		"line by line": "; " + strings.ReplaceAll(text, "\n", "\n; ") + "\n",
		"with a hash":  "#" + strings.ReplaceAll(text, "\n", "\n#") + "\n",
	} {
		put(t, path, out)
		if found := find(t, j, "ts-1"); len(found) != 1 || found[0].Status != accounting.Void {
			t.Errorf("%s: Find = %v, want it void", name, found)
		}
		if found := find(t, j, "ts-2"); len(found) != 0 {
			t.Errorf("%s: Find of another = %v, want none", name, found)
		}
	}
	put(t, path, "; ask Anna about (ts-1)\n")
	if found := find(t, j, "ts-1"); len(found) != 0 {
		t.Errorf("a remark: Find = %v, want none", found)
	}
}

func TestTwoHitsAreBothSeen(t *testing.T) {
	j, path := fresh(t)
	create(t, j, invoice("ts-1"))
	put(t, path, content(t, path)+"\n2026-11-09 copy\n    ; see reference: ts-1\n    a  1\n    b\n")
	if found := find(t, j, "ts-1"); len(found) != 2 {
		t.Errorf("Find = %d hits, want 2", len(found))
	}
	if _, err := j.Read(t.Context(), "ts-1"); err == nil || errors.Is(err, accounting.ErrAbsent) {
		t.Errorf("Read = %v, want an error that is not ErrAbsent", err)
	}
}

func TestFindFollowsIncludes(t *testing.T) {
	tests := map[string]string{
		"plain":    "include old/2025.journal",
		"glob":     "include old/*.journal",
		"prefixed": "include journal:old/2025.journal",
		"ledger's": "!include old/2025.journal",
		"absolute": "include DIR/old/2025.journal",
		"CRLF":     "include old/2025.journal\r",
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			j, path := fresh(t)
			create(t, j, invoice("ts-1"))
			old := filepath.Join(filepath.Dir(path), "old", "2025.journal")
			must(t, os.Mkdir(filepath.Dir(old), 0o755))
			put(t, old, "include ../books.journal\n"+content(t, path))
			line = strings.Replace(line, "DIR", filepath.Dir(path), 1)
			put(t, filepath.Join(filepath.Dir(old), ".copy.journal"), content(t, path))
			put(t, filepath.Join(filepath.Dir(path), "bank.csv"), "2026-11-08 (ts-1)\n")
			put(t, path, "\uFEFF"+line+"\ninclude rules:bank.rules\ninclude bank.csv\n")
			if found := find(t, j, "ts-1"); len(found) != 1 {
				t.Errorf("Find = %d hits, want 1", len(found))
			}
		})
	}
}

func TestEndedContextReadsNothing(t *testing.T) {
	j, _ := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Find(ctx, "ts-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Find = %v, want context.Canceled", err)
	}
	_, err := j.Create(ctx, "ts-1", prepare(t, j, invoice("ts-1")), accounting.Progress{}, nil)
	if !errors.Is(err, accounting.ErrNotSent) {
		t.Errorf("Create = %v, want ErrNotSent", err)
	}
}

func TestTraitsPromiseWhatAFileCan(t *testing.T) {
	j, _ := fresh(t)
	want := accounting.Traits{Authoritative: true, GuardsDrafts: true}
	if j.Traits() != want || j.Account() != "agency" {
		t.Errorf("Traits, Account = %+v, %q, want %+v, agency", j.Traits(), j.Account(), want)
	}
}

func currencies() []money.Currency { return []money.Currency{"EUR", "JPY", "KWD", "USD"} }

func TestBooksThatAreGoneAreNoEmptyBooks(t *testing.T) {
	j, path := fresh(t)
	if found := find(t, j, "ts-1"); len(found) != 0 {
		t.Errorf("new books: Find = %v, want none", found)
	}
	create(t, j, invoice("ts-1"))
	if err := os.Rename(path, path+".saving"); err != nil {
		t.Fatal(err)
	}
	if found, err := j.Find(t.Context(), "ts-1"); err == nil {
		t.Errorf("Find = %v without an error, want one: the books are gone", found)
	}
	req, err := j.Prepare(invoice("ts-2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Create(t.Context(), "ts-2", req, accounting.Progress{}, nil); !errors.Is(err, accounting.ErrNotSent) {
		t.Errorf("Create = %v, want %v", err, accounting.ErrNotSent)
	}
	if err := os.Rename(path+".saving", path); err != nil {
		t.Fatal(err)
	}
	if found := find(t, j, "ts-1"); len(found) != 1 {
		t.Errorf("Find = %v, want it back", found)
	}
}
