package journal

import (
	"os"
	"slices"
	"testing"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// listed returns what the books list of the days of the invoice of the tests.
func listed(t *testing.T, j *Journal) (all []accounting.Receipt) {
	t.Helper()
	for r, err := range j.List(t.Context(), civil.Period{First: day("2026-11-02"), Last: day("2026-11-08")}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestListYieldsInvoicesOfTheDaysWhoeverWroteThem(t *testing.T) {
	j, path := fresh(t)
	inv := invoice("ts-1")
	create(t, j, inv)
	put(t, path, content(t, path)+`
2026/11/2 * By hand
    assets:receivable   90.00 EUR
    income:consulting  -90.00 EUR

2026-11-08=2026-11-30 (ts-2)
    ; reference: ts-2
    assets:receivable   10 EUR
    income:consulting  -10 EUR

11/05 A year that stands elsewhere
    assets:receivable   20 EUR
    income:consulting  -20 EUR

2026-11-03 A payment
    assets:bank         90.00 EUR
    assets:receivable  -90.00 EUR

2026-11-09 Another week
    assets:receivable   90.00 EUR
    income:consulting  -90.00 EUR
`)
	var references []string
	for _, r := range listed(t, j) {
		references = append(references, r.Reference+" "+r.Net.String()+" "+string(r.Status)+" "+r.Date.String())
		if r.ID == "" || r.Link == "" {
			t.Errorf("%+v has no id or place", r)
		}
	}
	want := []string{"ts-1 4427.63 draft 2026-11-08", " 90 final 2026-11-02", "ts-2 10 edited 2026-11-08", " 20 edited "}
	if !slices.Equal(references, want) {
		t.Errorf("List = %q, want %q", references, want)
	}
}

// TestListTellsACustomerByItsAccount: who writes an invoice by hand writes no tags.
func TestListTellsACustomerByItsAccount(t *testing.T) {
	j, path := fresh(t)
	create(t, j, invoice("ts-1"))
	put(t, path, content(t, path)+`
2026-11-03 * By hand
    assets:receivable:acme   90.00 EUR
    income:consulting       -90.00 EUR

2026-11-04 * Somebody
    assets:receivable   90.00 EUR
    income:consulting  -90.00 EUR
`)
	all := listed(t, j)
	if len(all) != 3 || all[1].Customer != "acme" || all[2].Customer != "" {
		t.Errorf("List = %+v, want what acme owes, and what nobody is named for", all)
	}
}

func TestListOfBooksThatAreGoneIsAnError(t *testing.T) {
	j, path := fresh(t)
	if all := listed(t, j); len(all) != 0 {
		t.Errorf("List of books that are still to be made = %v, want nothing", all)
	}
	create(t, j, invoice("ts-1"))
	must(t, os.Remove(path))
	for _, err := range j.List(t.Context(), civil.Period{First: day("2026-11-02"), Last: day("2026-11-08")}) {
		if err == nil {
			t.Error("List of books that are gone yields something, want an error")
		}
		return
	}
	t.Error("List of books that are gone ends like one of empty books, want an error")
}
