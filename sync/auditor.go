package sync

import (
	"context"
	"fmt"
	"slices"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/tracker"
)

// auditor compares one range, over a copy of the state into which the tracker is read.
type auditor struct {
	*poster
	live     *state.Store // the state itself, over which passes go on
	out      *Audit
	listed   []accounting.Receipt
	recorded map[string]bool // ids of the invoices that are recorded, of the whole account
	absent   map[string]bool // ids of stored weeks that the tracker does not list
	told     map[string]bool // references of the invoices that were compared
	accused  map[string]bool // ids of invoices that were found to look like others
}

// audited is a group that is compared.
type audited struct {
	*task
	seen     []sighting
	common   Finding // what every finding about it says
	approved []state.Billed
	found    []Finding
	waits    bool
}

// weeks returns the ids of the weeks that the invoices of a group bill.
func (x *audited) weeks() (ids []string) {
	for _, d := range x.sit.Documents {
		for _, b := range d.Billed {
			if !slices.Contains(ids, b.Week) {
				ids = append(ids, b.Week)
			}
		}
	}
	return ids
}

// find notes a defect of a group.
func (x *audited) find(kind Defect, invoices []accounting.Receipt, format string, args ...any) {
	f := x.common
	f.Kind, f.Text, f.Invoices = kind, fmt.Sprintf(format, args...), invoices
	x.found = append(x.found, f)
}

func (a *auditor) run(ctx context.Context) (err error) {
	if err := a.read(ctx); err != nil {
		return err
	}
	if err := a.load(); err != nil {
		return err
	}
	if a.recorded, err = a.store.Recorded(a.channel.Account); err != nil {
		return err
	}
	a.told, a.accused = map[string]bool{}, map[string]bool{}
	tasks, err := a.decideRange(ctx)
	if err != nil {
		return err
	}
	all, err := a.lookAll(ctx, tasks)
	if err != nil {
		return err
	}
	for _, x := range all {
		if err := a.compare(x); err != nil {
			return err
		}
	}
	if err := a.strays(); err != nil {
		return err
	}
	a.mode()
	sortFindings(a.out.Findings)
	sortFindings(a.out.Decided)
	return nil
}

// read takes the weeks of the range into the copy, and finds out which the tracker does not list any more.
func (a *auditor) read(ctx context.Context) error {
	if err := a.followSettings(a.standing, a.report); err != nil {
		return err
	}
	t := traversal{
		Engine: a.Engine, log: zerolog.Nop(), query: tracker.Query{Now: a.clock.Now, First: a.out.Days}, report: a.report, announced: map[string]bool{},
	}
	switch err := t.read(ctx); {
	case err != nil:
		return err
	case a.report.Partial:
		return fmt.Errorf("tracker: %w", errPartial)
	}
	known, missing, err := t.unlisted()
	if err != nil {
		return err
	}
	a.out.Weeks = len(known) - len(missing)
	a.out.Notes = append(a.out.Notes, a.report.Warnings...)
	a.out.wait(BeforeStart, a.report.BeforeStart, "", decimal.Zero)
	a.out.wait(NotRead, a.report.Unread, "", decimal.Zero)
	a.absent = map[string]bool{}
	switch {
	case len(missing) == 0:
	case !a.tracker.Traits().Whole:
		a.note("%d of %d weeks are not at the tracker any more, and were compared as they were taken in", len(missing), len(known))
	default:
		for _, k := range missing {
			a.absent[k.ID] = true
		}
		a.note("%d of %d weeks are not listed by the tracker any more: look whether the token still sees everybody", len(missing), len(known))
	}
	return nil
}

// decideRange decides every group of the range, as a pass would.
func (a *auditor) decideRange(ctx context.Context) ([]*task, error) {
	var due []state.Due
	err := a.store.Groups(a.channel.Account, func(g state.Group) error {
		if g.Channel == a.channel && a.scope.holds(g) {
			due = append(due, state.Due{Group: g})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.decideThese(ctx, due)
}

// compare compares a group, and keeps what is off.
func (a *auditor) compare(x *audited) error {
	a.describe(x)
	switch {
	case x.kase.unknown():
		a.wait(x, InFlight)
	case len(x.sit.Documents) == 0:
		a.unbilled(x)
	default:
		if err := a.billed(x); err != nil {
			return err
		}
	}
	return a.tell(x)
}

// describe fills in what is common to all findings of a group, and counts it.
func (a *auditor) describe(x *audited) {
	g, docs := x.sit.Group, x.sit.Documents
	for _, b := range x.kase.Content.Entries {
		if !a.absent[b.Week] {
			x.approved = append(x.approved, b)
		}
	}
	f := Finding{Reference: g.Reference, Period: g.Period, Currency: g.Currency}
	f.Client, f.Title = names(g, x.kase.Content.Entries, docs)
	if len(docs) > 0 || len(x.approved) > 0 && x.decision.Do != Finish {
		f.Approved = decimal.NewNullDecimal(a.rules.totals(x.approved, g.Currency).Amount)
	}
	if f.Approved.Valid && len(x.approved) > 0 {
		a.out.Approved.add(g.Currency, f.Approved.Decimal)
	}
	for _, d := range docs {
		f.Recorded = decimal.NewNullDecimal(f.Recorded.Decimal.Add(d.Receipt.Net))
		a.out.Recorded.add(d.Receipt.Currency, d.Receipt.Net)
	}
	f.Booked.Valid = len(docs) > 0
	for _, s := range x.seen {
		for _, r := range s.live() {
			f.Booked = decimal.NewNullDecimal(f.Booked.Decimal.Add(r.Net))
			a.out.Booked.add(r.Currency, r.Net)
			a.told[r.Reference] = true
		}
	}
	x.common = f
}

// wait counts a group as one that waits, or is left alone.
func (a *auditor) wait(x *audited, why Reason) {
	x.waits = true
	amount := x.common.Approved.Decimal
	if why == NothingDue {
		amount = decimal.Zero
	}
	a.out.wait(why, 1, x.common.Currency, amount)
}

// tell keeps what was found about a group, unless a pass was at work on it meanwhile.
func (a *auditor) tell(x *audited) error {
	if len(x.found) == 0 {
		if i := x.sit.Item; i != nil && i.Status == state.Undecided && !x.waits {
			a.wait(x, WithPerson)
		}
		return nil
	}
	now, _, err := a.live.Group(a.channel.Account, x.reference())
	if err != nil {
		return err
	}
	if now.Operations > x.sit.Group.Operations {
		a.wait(x, InFlight)
		return nil
	}
	for _, f := range x.found {
		a.keep(a.weigh(x, f))
	}
	return nil
}

func (a *auditor) keep(f Finding) {
	if f.Decision != "" {
		a.out.Decided = append(a.out.Decided, f)
		return
	}
	a.out.Findings = append(a.out.Findings, f)
}

// strays finds the invoices that bear a reference of ours and that nothing is known of.
func (a *auditor) strays() error {
	for _, r := range a.listed {
		week, is := ours(a.channel.Prefix, r.Reference)
		named := week.Number > 0
		switch {
		case !is, r.Status == accounting.Void, a.recorded[r.ID], a.told[r.Reference]:
			continue
		case named && (week.Last().Before(a.out.Days.First) || week.First().After(a.out.Days.Last)):
			continue // It is of another range.
		case !named && !r.Date.IsZero() && !a.out.Days.Contains(r.Date):
			continue
		}
		now, err := a.live.Recorded(a.channel.Account)
		if err != nil {
			return err
		}
		if now[r.ID] {
			continue
		}
		a.out.Booked.add(r.Currency, r.Net)
		a.keep(Finding{
			Kind: NotRecorded, Reference: r.Reference, Client: r.Customer, Title: "invoice " + invoiceName(r), Currency: r.Currency,
			Booked: decimal.NewNullDecimal(r.Net), Invoices: []accounting.Receipt{r},
			Text: "it bears a reference like ours, and nothing is known of it",
		})
	}
	return nil
}
