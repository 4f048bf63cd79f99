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
)

// Defect is what is off between the tracker, the state and the accounting system.
type Defect string

// The defects.
const (
	BilledTwice Defect = "duplicate"  // several live invoices under one reference
	LooksAlike  Defect = "look-alike" // an invoice that is not ours, for the same customer, days and total
	NotApproved Defect = "withdrawn"  // billed, and no longer approved
	Unfounded   Defect = "unfounded"  // recorded, and the tracker never had it
	NotRecorded Defect = "unrecorded" // an invoice that bears a reference of ours, and that nothing is known of
	Differs     Defect = "drift"      // invoice, record and approved work do not come to the same
	Gone        Defect = "deleted"    // recorded, and not there any more
	Voided      Defect = "voided"     // recorded, and void
	Missing     Defect = "missing"    // approved, billable and due, and no invoice
)

// Defects lists them, the gravest first: what a client may pay without owing it.
func Defects() []Defect {
	return []Defect{BilledTwice, LooksAlike, NotApproved, Unfounded, NotRecorded, Differs, Gone, Voided, Missing}
}

// Finding is one defect. The amounts are those of the whole group: what is approved now, what its records say, and
// what the live invoices come to that are spoken of; invalid where there is none.
type Finding struct {
	Kind      Defect               `json:"kind"`
	Reference string               `json:"reference"`
	Client    string               `json:"client"`
	Title     string               `json:"title"`
	Period    civil.Period         `json:"period,omitzero"`
	Currency  money.Currency       `json:"currency"`
	Approved  decimal.NullDecimal  `json:"approved"`
	Recorded  decimal.NullDecimal  `json:"recorded"`
	Booked    decimal.NullDecimal  `json:"booked"`
	Text      string               `json:"text"`
	Invoices  []accounting.Receipt `json:"invoices,omitempty"` // that are spoken of
	Review    state.Kind           `json:"review,omitempty"`   // the question that is open about it
	Decision  string               `json:"decision,omitempty"` // of a person
}

// weigh tells of a finding what a person was asked, or has decided.
func (a *auditor) weigh(x *audited, f Finding) Finding {
	if i := x.sit.Item; i != nil {
		f = a.weighBy(f, *i, x.decision.Do == Leave)
	}
	for _, w := range x.weeks() {
		if i, asked := a.items[state.WeekSubject(a.channel, w)]; asked && f.Decision == "" && slices.Contains([]Defect{NotApproved, Differs, Gone, Voided}, f.Kind) {
			f = a.weighBy(f, i, true)
		}
	}
	return f
}

// weighBy tells what an item means for a finding. Same says that what was settled or skipped is as it was then.
func (a *auditor) weighBy(f Finding, i state.Item, same bool) Finding {
	switch {
	case i.Status == state.Held && todayOf(a.clock.Now, a.rules.Location).Before(i.Until):
		f.Decision = fmt.Sprintf("held until %s by %s", i.Until, i.Who) + because(i.Note)
	case i.Accepted != "" && same && i.Status != state.Undecided && covers(i.Kind, f.Kind):
		f.Decision = fmt.Sprintf("%s by %s on %s", i.Status, i.Who, civil.DateOf(i.Decided.In(a.rules.Location))) + because(i.Note)
	case i.Status == state.Undecided:
		f.Review = cmp.Or(f.Review, i.Kind)
	}
	return f
}

// covers reports whether somebody who answered a question has decided about a defect. Who has handled a change by hand
// has said nothing of a second invoice: that is decided by answering just that, or what was not asked.
func covers(asked state.Kind, kind Defect) bool {
	switch kind {
	case BilledTwice, LooksAlike:
		return asked == state.Duplicate || asked == state.Waiting
	case NotApproved, Unfounded, NotRecorded, Differs, Gone, Voided, Missing:
	}
	return true
}

func because(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

// invoiceName names an invoice for a person.
func invoiceName(r accounting.Receipt) string { return cmp.Or(r.Number, r.ID) }

// lineCount says how many lines an invoice has.
func lineCount(r accounting.Receipt) string {
	if len(r.Amounts) == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", len(r.Amounts))
}

// edited says how an invoice differs from what was recorded of it; empty if it bills the same.
func edited(now, recorded accounting.Receipt) string {
	switch {
	case now.Agrees(recorded):
		return ""
	case now.Customer != recorded.Customer:
		return fmt.Sprintf("invoice %s is for the customer %s, and was recorded for %s", invoiceName(now), now.Customer, recorded.Customer)
	case !now.Net.Equal(recorded.Net), now.Currency != recorded.Currency:
		return fmt.Sprintf("invoice %s comes to %s in %s; recorded were %s in %s",
			invoiceName(now), now.Currency.Format(now.Net), lineCount(now), recorded.Currency.Format(recorded.Net), lineCount(recorded))
	}
	return fmt.Sprintf("invoice %s comes to what was recorded, but its %s are not the %s that were recorded", invoiceName(now), lineCount(now), lineCount(recorded))
}
