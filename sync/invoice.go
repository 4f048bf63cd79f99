package sync

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

var secondsAnHour = decimal.NewFromInt(3600)

// invoice makes the invoice for the entries of a group: the n-th document of it.
func (s Settings) invoice(g state.Group, n int, entries []state.Billed, customer Customer) accounting.Invoice {
	inv := accounting.Invoice{
		Reference: documentReference(g.Reference, n),
		Customer:  customer.Customer,
		Tax:       customer.Tax,
		Client:    clientOf(g, entries).Label(),
		Title:     title(g, entries),
		Currency:  g.Currency,
		Period:    g.Period,
		Date:      g.Period.Last,
		Lines:     s.lines(entries, g.Currency),
	}
	if s.Dated == PeriodStart {
		inv.Date = g.Period.First
	}
	if s.DueDays >= 0 {
		inv.Due = inv.Date.AddDays(s.DueDays)
	}
	return inv
}

// clientOf returns the client with the name that the tracker shows today.
func clientOf(g state.Group, entries []state.Billed) tracker.Ref {
	if len(entries) > 0 {
		return entries[0].Entry.Client
	}
	return g.Client
}

// title says what an invoice is for.
func title(g state.Group, entries []state.Billed) string {
	what := ""
	switch Per(g.Per) {
	case PerProject:
		what = g.Project.Label()
		if len(entries) > 0 {
			what = entries[0].Entry.Project.Label()
		}
	case PerWeek:
		what = g.Member.Label()
	case PerClient:
	}
	if what == "" {
		return period(g.Period)
	}
	return what + ", " + period(g.Period)
}

// period names the days of a group for a person.
func period(p civil.Period) string {
	if p.IsISOWeek() {
		w := civil.WeekOf(p.First)
		return fmt.Sprintf("week %d of %d", w.Number, w.Year)
	}
	return fmt.Sprintf("%s to %s", p.First, p.Last)
}

// lines makes the lines of an invoice. None mixes rates, or hours at a rate with stated amounts.
func (s Settings) lines(entries []state.Billed, currency money.Currency) []accounting.Line {
	type group struct {
		key, rate string
		entries   []state.Billed
	}
	var groups []*group
	for _, b := range entries {
		key, rate := s.lineKey(b), rateKey(b)
		i := slices.IndexFunc(groups, func(g *group) bool { return g.key == key && g.rate == rate })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{key: key, rate: rate})
		}
		groups[i].entries = append(groups[i].entries, b)
	}
	lines := make([]accounting.Line, len(groups))
	for i, g := range groups {
		lines[i] = line(s.lineText(g.entries[0]), g.entries, currency)
	}
	slices.SortStableFunc(lines, func(a, b accounting.Line) int {
		return cmp.Or(cmp.Compare(a.Text, b.Text), a.Rate.Cmp(b.Rate), cmp.Compare(a.Seconds, b.Seconds))
	})
	return lines
}

func (s Settings) lineKey(b state.Billed) string {
	switch s.Lines {
	case LineMember:
		return b.Member.ID
	case LineEntry:
		return b.Entry.ID
	case LineTask:
		return b.Entry.Task.ID
	case LineSingle:
	}
	return ""
}

func (s Settings) lineText(b state.Billed) string {
	switch s.Lines {
	case LineMember:
		return b.Member.Label()
	case LineEntry:
		return fmt.Sprintf("%s %s: %s", b.Entry.Date, b.Member.Label(), cmp.Or(b.Entry.Note, b.Entry.Task.Label(), b.Entry.Project.Label()))
	case LineTask:
		return cmp.Or(b.Entry.Task.Label(), b.Entry.Project.Label(), "Work")
	case LineSingle:
	}
	return cmp.Or(b.Entry.Project.Label(), "Work")
}

func rateKey(b state.Billed) string {
	if b.Entry.Amount.Valid {
		return "stated"
	}
	return b.Rate.Decimal.String()
}

// line adds entries up. They are either all at one rate or all stated. The sum is exact, and rounded once.
func line(text string, entries []state.Billed, currency money.Currency) accounting.Line {
	l := accounting.Line{Text: text, Stated: entries[0].Entry.Amount.Valid, Rate: entries[0].Rate.Decimal}
	stated := decimal.Zero
	for _, b := range entries {
		l.Seconds += b.Entry.Seconds
		stated = stated.Add(b.Entry.Amount.Decimal)
	}
	if l.Stated {
		l.Amount = currency.Round(stated)
		return l
	}
	l.Amount = currency.Quotient(l.Rate.Mul(decimal.NewFromInt(l.Seconds)), secondsAnHour)
	return l
}

// totals returns the hours and money of entries, as their lines add up.
func (s Settings) totals(entries []state.Billed, currency money.Currency) state.Totals {
	t := state.Totals{Currency: currency}
	for _, l := range s.lines(entries, currency) {
		t.Seconds += l.Seconds
		t.Amount = t.Amount.Add(l.Amount)
	}
	return t
}

// billedTotals returns the hours and money of recorded invoices.
func billedTotals(docs []state.Document, currency money.Currency) state.Totals {
	t := state.Totals{Currency: currency}
	for _, d := range docs {
		t.Amount = t.Amount.Add(d.Receipt.Net)
		for _, b := range d.Billed {
			t.Seconds += b.Entry.Seconds
		}
	}
	return t
}
