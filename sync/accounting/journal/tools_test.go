package journal

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tidemark/sync/accounting"
	"tidemark/sync/money"
)

// checkBooks lets both programs judge the books. A program that is not installed is a failure: these
// books are written for nobody else.
func checkBooks(t *testing.T, path string) {
	t.Helper()
	run(t, "hledger", "-f", path, "check", "--strict")
	run(t, "ledger", "--init-file", "/dev/null", "--pedantic", "-f", path, "bal")
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s = %v, want none:\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestBothProgramsReadTheSameMoney(t *testing.T) {
	j, path := fresh(t)
	amounts := map[money.Currency]string{"EUR": "1234.56", "JPY": "1234", "KWD": "1.234", "USD": "-0.01"}
	for n, currency := range currencies() {
		inv := invoice(fmt.Sprintf("ts-%d", n))
		inv.Currency, inv.Tax = currency, ""
		inv.Lines = []accounting.Line{{Text: "x", Seconds: 60, Rate: dec("1"), Amount: dec(amounts[currency])}}
		create(t, j, inv)
	}
	zero := invoice("ts-zero")
	zero.Tax, zero.Lines = "ZERO", []accounting.Line{{Text: "free", Seconds: 60}}
	create(t, j, zero)
	checkBooks(t, path)
	for n, currency := range currencies() {
		want := amounts[currency] + " " + string(currency)
		reference := fmt.Sprintf("ts-%d", n)
		if out := run(t, "hledger", "-f", path, "reg", "-w", "120", "--pending", "code:^"+reference+"$", "receivable"); !strings.Contains(out, " "+want) {
			t.Errorf("hledger reg %s = %q, want %q", reference, out, want)
		}
		if out := run(t, "ledger", "--init-file", "/dev/null", "-f", path, "reg", "-w", "--pending", "%reference="+reference, "and", "receivable"); !strings.Contains(out, " "+want) {
			t.Errorf("ledger reg %s = %q, want %q", reference, out, want)
		}
	}
}

// hostile texts try to end a line, begin a comment, a tag, a date, a posting or another transaction.
func hostile() []string {
	return []string{
		"line\nbreak", "a\n2026-01-01 * (ts-9) injected\n    a  1 EUR\n    b", "\r\n\r\n    income:fees  1 EUR",
		"nul\x00byte", "; comment", "a  ; comment", "a | b | c", "(code) (x", ") x", "* cleared", "! x", "two  spaces\tand tabs",
		"date: 2020-01-01", "date:x", "date2:zzz", "[2026-01-01]", "[=2026-99]", "[", ":a:b:", "reference: ts-0", "x:: 1/0",
		"Payee: other", "UUID: 1", "\u202Eevil\u202C", "שלום עולם", "\u2028para\u2029graph\u0085next", "\xff\xfe broken", "🎉 party",
		"{=1 EUR}", "@ 2 EUR", "= 5 EUR", "%tag", "# x", "\uFEFF", "include /etc/passwd", "comment", "end comment", `"q" 'q' \ $1,00`,
		strings.Repeat("Ünïcödé ", 2500), strings.Repeat("€", 7000), "",
	}
}

func TestHostileTextCannotChangeTheBooks(t *testing.T) {
	j, path := fresh(t)
	for n, text := range hostile() {
		inv := invoice(fmt.Sprintf("ts-%d", n))
		inv.Client, inv.Title = text, text
		for i := range inv.Lines {
			inv.Lines[i].Text = text
		}
		if got := create(t, j, inv); !got.Bills(inv) || got.Status != accounting.Draft {
			t.Errorf("Create(%q) = %+v, want a draft that bills it", text[:min(len(text), 30)], got)
		}
	}
	for n := range hostile() {
		if found := find(t, j, fmt.Sprintf("ts-%d", n)); len(found) != 1 {
			t.Errorf("Find(ts-%d) = %d hits, want 1", n, len(found))
		}
	}
	checkBooks(t, path)
	postings := strings.Split(strings.TrimSpace(run(t, "hledger", "-f", path, "reg", "-O", "csv")), "\n")[1:]
	if want := 6 * len(hostile()); len(postings) != want {
		t.Errorf("hledger reg = %d postings, want %d", len(postings), want)
	}
	for _, p := range postings {
		if !strings.Contains(p, `","2026-11-08","ts-`) {
			t.Errorf("hledger reg = %s, want 2026-11-08 and a reference", p)
		}
	}
	if out := run(t, "hledger", "-f", path, "tags"); out != "customer\ndue\nperiod\nreference\ntax\n" {
		t.Errorf("hledger tags = %q, want ours alone", out)
	}
}

func TestTextLosesItsMeaningAndKeepsItsSense(t *testing.T) {
	tests := map[string]string{
		"a; b":                  "a, b",
		"8:30 | x":              "8∶30 / x",
		"[2026-01-01] {x}":      "(2026-01-01) (x)",
		" a\r\n\tb\x00\x1bc  ":  "a b c",
		"\u202Eabc\u2069\uFEFF": "abc",
		"O'Keefe & Söhne €":     "O'Keefe & Söhne €",
		"\xff":                  "\uFFFD",
	}
	for text, want := range tests {
		if got := clean(text, 100); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLongTextIsCutBetweenRunes(t *testing.T) {
	for limit := 8; limit < 24; limit++ {
		got := clean(strings.Repeat("a€🎉", 20), limit)
		if len(got) > limit || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("clean to %d = %q, want valid text that ends in …", limit, got)
		}
	}
}

func anyInvoice(t *rapid.T) accounting.Invoice {
	inv := invoice("ts-" + rapid.StringMatching(`[a-z0-9-]{1,18}`).Draw(t, "reference"))
	inv.Currency = rapid.SampledFrom(currencies()).Draw(t, "currency")
	inv.Tax = rapid.SampledFrom([]string{"", "VAT19", "CH", "ZERO"}).Draw(t, "tax")
	inv.Customer = rapid.StringMatching(`[A-Za-zÄé0-9._&'-]{1,10}( [A-Z0-9]{1,5})?`).Draw(t, "customer")
	inv.Client = rapid.String().Draw(t, "client")
	inv.Title = rapid.String().Draw(t, "title")
	inv.Lines = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) accounting.Line {
		units := rapid.Int64Range(-100, 10_000_000).Draw(t, "units")
		return accounting.Line{
			Text:    rapid.String().Draw(t, "text"),
			Seconds: rapid.Int64Range(0, 500_000).Draw(t, "seconds"),
			Rate:    dec("33.3333"),
			Stated:  rapid.Bool().Draw(t, "stated"),
			Amount:  dec("1").Shift(-inv.Currency.Digits()).Mul(dec(fmt.Sprint(units))),
		}
	}), 1, 6).Draw(t, "lines")
	return inv
}

func TestAnyInvoiceIsReadBackAsItWasMeant(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	rapid.Check(t, func(r *rapid.T) {
		path := fmt.Sprintf("%s/%d.journal", dir, len(paths)%20)
		_, _ = os.Remove(path), os.Remove(path+".lock")
		paths = append(paths, path)
		j, err := New(settings(path))
		if err != nil {
			r.Fatal(err)
		}
		inv := anyInvoice(r)
		req, err := j.Prepare(inv)
		if err != nil {
			r.Fatal(err)
		}
		created, err := j.Create(t.Context(), inv.Reference, req, accounting.Progress{}, nil)
		if err != nil {
			r.Fatal(err)
		}
		read, err := j.Read(t.Context(), inv.Reference)
		if err != nil || !read.Bills(inv) || !read.Untouched(created) {
			r.Errorf("Read = %+v, %v, want a draft that bills %+v", read, err, inv)
		}
	})
	for _, path := range paths[max(0, len(paths)-20):] {
		checkBooks(t, path)
	}
}

// FuzzFind holds that no file whatever brings the reader down, nor makes it write more than it was asked to.
func FuzzFind(f *testing.F) {
	f.Add([]byte("2026-11-08 ! (ts-1) x\n    a  1.00 EUR\n    b  -1.00 EUR\n"))
	f.Add([]byte("\uFEFFcomment\n2026 (ts-1\n\t;:reference:ts-1,\n \n0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		f := &file{data: data}
		for _, h := range f.hits("ts-1") {
			if r := h.receipt(); r.ID != "ts-1" {
				t.Errorf("receipt = %+v, want id ts-1", r)
			}
		}
		end := 0
		for b := range blocks(data) {
			if b.start < end || b.end <= b.start {
				t.Errorf("block %d to %d after %d, want it behind", b.start, b.end, end)
			}
			end = b.end
		}
		if len(data) > 3 && end != len(data) {
			t.Errorf("blocks end at %d, want %d", end, len(data))
		}
	})
}
