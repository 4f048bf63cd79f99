package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"tidemark/sync"
)

// showReports prints what passes did. Tense is "done" for what was done, "planned" for what would be.
func (a *app) showReports(reports []sync.Report, tense string) error {
	if a.json {
		return a.printJSON(reports)
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		a.showReport(r, tense)
	}
	return nil
}

func (a *app) showReport(r sync.Report, tense string) {
	fmt.Fprintf(a.out, "%s: %s\n", r.Sync, headline(r, tense))
	if len(r.Invoices) > 0 {
		a.showInvoices(r)
	}
	a.showNotes(r)
	if len(r.Items) > 0 {
		a.showAsked(r.Items, tense)
	}
}

// headline says in a sentence what a pass did.
func headline(r sync.Report, tense string) string {
	read := many(r.Weeks, "week") + " read"
	var parts []string
	for _, d := range []sync.Deed{sync.Created, sync.Adopted, sync.Updated} {
		if n := r.Count(d); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", many(n, "invoice"), d, moneyOf(r.Net(d))))
		}
	}
	verb := ""
	if tense == "planned" {
		verb = "would be: "
	}
	if len(parts) == 0 {
		return read + ", nothing new to bill"
	}
	return read + ", " + verb + strings.Join(parts, ", ")
}

func (a *app) showInvoices(r sync.Report) {
	t := grid("Invoice", "Client", "For", "Hours", "Amount", "")
	right(t, 4, 5)
	for _, m := range r.Invoices {
		t.AppendRow(table.Row{m.Reference, short(m.Client, 28), short(m.Title, 48), hours(m.Seconds), m.Currency.Format(m.Amount), string(m.Deed)})
	}
	fmt.Fprintln(a.out)
	render(a.out, t)
	fmt.Fprintln(a.out)
}

// showNotes says what else a person should know.
func (a *app) showNotes(r sync.Report) {
	notes := []struct {
		n    int
		text string
	}{
		{r.Waiting, "waiting, to be complete or for a person"},
		{r.Unknown, "with unknown outcome: looked up again in the next pass"},
		{r.Failed, "failed: tried again in the next pass"},
		{r.Unread, "could not be read: asked for again in the next pass"},
		{r.BeforeStart, "ended before start, and are never billed"},
	}
	for _, n := range notes {
		if n.n > 0 {
			fmt.Fprintf(a.out, "  %d %s\n", n.n, n.text)
		}
	}
	for _, s := range r.FailedSlices() {
		fmt.Fprintf(a.out, "  not read: weeks that begin %s: %s\n", s.Days, clean(s.Error))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(a.out, "  note: %s\n", clean(w))
	}
}

func (a *app) showAsked(items []sync.Asked, tense string) {
	verb := "needs"
	if len(items) > 1 {
		verb = "need"
	}
	if tense == "planned" {
		verb = "would " + strings.TrimSuffix(verb, "s")
	}
	fmt.Fprintf(a.out, "  %s %s a person:\n\n", many(len(items), "item"), verb)
	t := grid("Review", "Kind", "What", "Billed", "Wanted", "Difference")
	right(t, 4, 5, 6)
	for _, i := range items {
		diff := signed(i.Wanted.Amount.Sub(i.Billed.Amount), i.Wanted.Currency)
		t.AppendRow(table.Row{i.Subject, string(i.Kind), short(i.Title, 44), amount(i.Billed), amount(i.Wanted), diff})
	}
	render(a.out, t)
	fmt.Fprintf(a.out, "\n  Look at one: tidemark review show %s\n", items[0].Subject)
}
