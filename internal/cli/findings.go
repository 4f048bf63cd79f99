package cli

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/shopspring/decimal"

	"tidemark/sync"
	"tidemark/sync/accounting"
	"tidemark/sync/money"
)

// showAudits prints what audits came to.
func (a *app) showAudits(audits []sync.Audit) error {
	if a.json {
		return a.printJSON(audits)
	}
	for i, audit := range audits {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		a.showAudit(audit)
	}
	return nil
}

func (a *app) showAudit(r sync.Audit) {
	fmt.Fprintf(a.out, "%s: weeks that begin %s to %s: %s\n\n", r.Sync, r.Days.First, r.Days.Last, auditHeadline(r))
	a.showTallies(r)
	if len(r.Findings) > 0 {
		fmt.Fprintln(a.out)
		a.showFindings(r.Findings)
	}
	if len(r.Decided) > 0 {
		fmt.Fprintf(a.out, "\n  Decided by a person, and no finding for that:\n\n")
		a.showFindings(r.Decided)
	}
	if len(r.Waiting)+len(r.Notes) > 0 {
		fmt.Fprintln(a.out)
	}
	for _, w := range r.Waiting {
		fmt.Fprintf(a.out, "  %s\n", waitInWords(w))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(a.out, "  note: %s\n", clean(n))
	}
	if i := slices.IndexFunc(r.Findings, func(f sync.Finding) bool { return f.Recorded.Valid }); i >= 0 {
		fmt.Fprintf(a.out, "\n  The story of one: tidemark explain %s\n", r.Findings[i].Reference)
	}
}

// auditHeadline says in a sentence what was compared, and what was found.
func auditHeadline(r sync.Audit) string {
	if len(r.Findings) > 0 {
		var parts []string
		for _, kind := range sync.Defects() {
			if n := r.Count(kind); n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, kind))
			}
		}
		return many(len(r.Findings), "finding") + ": " + strings.Join(parts, ", ")
	}
	if r.Weeks+r.Recorded.Count+r.Booked.Count == 0 {
		return "nothing to compare: the tracker has no week, and the books no invoice of ours"
	}
	compared := fmt.Sprintf("%s at the tracker and %s", many(r.Weeks, "week"), many(r.Booked.Count, "invoice"))
	if len(r.Decided) > 0 {
		return "nothing is off that a person has not decided: " + compared + " compared"
	}
	return "nothing is off: " + compared + " compared, both ways"
}

// showTallies shows the three sides beside each other, each currency for itself.
func (a *app) showTallies(r sync.Audit) {
	sides := []struct {
		name  string
		tally sync.Tally
	}{{"Approved", r.Approved}, {"Recorded", r.Recorded}, {"In the books", r.Booked}}
	var currencies []money.Currency
	for _, s := range sides {
		for c := range s.tally.Net {
			if !slices.Contains(currencies, c) {
				currencies = append(currencies, c)
			}
		}
	}
	slices.Sort(currencies)
	head, columns := []any{"", "Invoices"}, []int{2}
	for i, c := range currencies {
		head, columns = append(head, string(c)), append(columns, 3+i)
	}
	t := grid(head...)
	right(t, columns...)
	for _, s := range sides {
		row := table.Row{s.name, s.tally.Count}
		for _, c := range currencies {
			row = append(row, s.tally.Net[c].StringFixed(c.Digits()))
		}
		t.AppendRow(row)
	}
	render(a.out, t)
}

// longest is how wide a sentence below a row gets.
const longest = 110

// showFindings shows findings as a table, with what each is about below its row.
func (a *app) showFindings(all []sync.Finding) {
	t := grid("Finding", "Reference", "Client", "For", "Approved", "Recorded", "In the books")
	right(t, 5, 6, 7)
	for _, f := range all {
		t.AppendRow(table.Row{
			string(f.Kind), short(f.Reference, 21), short(f.Client, 24), short(f.Title, 40), sum(f, f.Approved), sum(f, f.Recorded), sum(f, f.Booked),
		})
	}
	const head = 2
	for i, line := range strings.Split(t.Render(), "\n") {
		fmt.Fprintln(a.out, "  "+strings.TrimRight(line, " "))
		if i < head {
			continue
		}
		for _, below := range details(all[i-head]) {
			fmt.Fprintln(a.out, "      "+below)
		}
	}
}

// sum writes an amount of a finding, and a dash for none.
func sum(f sync.Finding, amount decimal.NullDecimal) string {
	if !amount.Valid {
		return "-"
	}
	return f.Currency.Format(amount.Decimal)
}

// details says below the row of a finding what it is about.
func details(f sync.Finding) (lines []string) {
	lines = strings.Split(text.WrapSoft(clean(f.Text), longest), "\n")
	for _, r := range f.Invoices {
		lines = append(lines, "- "+invoiceInWords(r))
	}
	switch {
	case f.Decision != "":
		lines = append(lines, clean(f.Decision))
	case f.Review != "":
		lines = append(lines, fmt.Sprintf("a person is asked (%s): tidemark review show %s", f.Review, f.Reference))
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// invoiceInWords names an invoice with what helps to find it.
func invoiceInWords(r accounting.Receipt) string {
	name := r.Number
	if name == "" {
		name = r.ID
	}
	parts := []string{string(r.Status) + " " + name, r.Currency.Format(r.Net)}
	if !r.Date.IsZero() {
		parts = append(parts, r.Date.String())
	}
	if r.Reference != "" && r.Reference != name {
		parts = append(parts, r.Reference)
	}
	if r.Link != "" && r.Link != name {
		parts = append(parts, r.Link)
	}
	return clean(strings.Join(parts, ", "))
}

// waitInWords says what is left alone, and why.
func waitInWords(w sync.Wait) string {
	sums := maps.Clone(w.Net)
	maps.DeleteFunc(sums, func(_ money.Currency, amount decimal.Decimal) bool { return amount.IsZero() })
	worth := ""
	if len(sums) > 0 {
		worth = " (" + moneyOf(sums) + ")"
	}
	one, text := "group", ""
	switch w.Reason {
	case sync.Incomplete:
		text = "not complete yet: more may be approved, or it settles"
	case sync.WithPerson:
		text = "with a person: tidemark review list"
	case sync.HeldBack:
		text = "held by a person until a day"
	case sync.SettledHere:
		text = "settled by a person without an invoice of ours"
	case sync.SkippedHere:
		text = "never to be billed, as a person has said"
	case sync.InFlight:
		text = "in hand: an operation has no answer yet, or a pass was at work on it"
	case sync.NothingDue:
		text = "with nothing to bill"
	case sync.BothGone:
		text = "no longer approved, and no longer billed"
	case sync.BeforeStart:
		one, text = "week", "before start, never to be billed"
	case sync.NotRead:
		one, text = "record", "not read at the tracker, and not compared"
	}
	return many(w.Count, one) + " " + text + worth
}

// printFindings prints every finding as a line of CSV, those that a person has decided with the decision.
func (a *app) printFindings(audits []sync.Audit) error {
	w := csv.NewWriter(a.out)
	rows := [][]string{{"sync", "finding", "reference", "client", "for", "first", "last", "currency", "approved", "recorded", "booked", "difference", "what", "invoices", "review", "decision"}}
	for _, r := range audits {
		for _, f := range slices.Concat(r.Findings, r.Decided) {
			rows = append(rows, findingRow(r.Sync, f))
		}
	}
	return w.WriteAll(rows)
}

func findingRow(name string, f sync.Finding) []string {
	plain := func(d decimal.NullDecimal) string {
		if !d.Valid {
			return ""
		}
		return d.Decimal.StringFixed(f.Currency.Digits())
	}
	difference := f.Booked.Decimal.Sub(f.Approved.Decimal).StringFixed(f.Currency.Digits())
	var invoices []string
	for _, r := range f.Invoices {
		invoices = append(invoices, invoiceInWords(r))
	}
	return []string{
		name, string(f.Kind), cell(f.Reference), cell(f.Client), cell(f.Title), f.Period.First.String(), f.Period.Last.String(), string(f.Currency),
		plain(f.Approved), plain(f.Recorded), plain(f.Booked), difference, cell(f.Text), cell(strings.Join(invoices, "; ")), string(f.Review), cell(f.Decision),
	}
}

// cell keeps a spreadsheet from taking text that others wrote for a formula.
func cell(s string) string {
	if s = clean(s); strings.IndexAny(s, "=+-@") == 0 {
		return "'" + s
	}
	return s
}
