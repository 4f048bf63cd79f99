package sync

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// unbilled compares a group of which no invoice is recorded.
func (a *auditor) unbilled(x *audited) {
	others := x.seen[0].others
	switch {
	case len(others) > 1:
		x.find(BilledTwice, others, "%d live invoices bear this reference, and none is recorded", len(others))
	case len(others) == 1:
		x.find(NotRecorded, others, "an invoice bears this reference, and is not recorded: %s", a.whyUnbilled(x))
	case x.decision.Do == Make && !a.withList(x.reference()):
		a.missing(x, x.common.Approved.Decimal, "it is approved")
	default:
		a.wait(x, a.reason(x))
	}
}

// whyUnbilled says what the program makes of a group without an invoice.
func (a *auditor) whyUnbilled(x *audited) string {
	if x.decision.Do == Make {
		return "the next pass looks at it"
	}
	return x.decision.Text
}

// missing notes that something is due and that no invoice was made. One that somebody made by hand may be there.
func (a *auditor) missing(x *audited, net decimal.Decimal, what string) {
	due := ""
	if at := x.kase.Content.Approved; !at.IsZero() {
		due = " since " + at.Add(a.rules.Settle).In(a.rules.Location).Format("2006-01-02 15:04 MST")
	}
	text := fmt.Sprintf("%s and due%s, and no invoice was made", what, due)
	var hand []accounting.Receipt
	if c, mapped := a.rules.customer(clientOf(x.sit.Group, x.approved), a.pins); mapped {
		like := accounting.Receipt{Customer: c.Customer, Currency: x.common.Currency, Net: net}
		hand = a.alike(like, x.sit.Group.Period)
	}
	if len(hand) > 0 {
		text += "; one of the same customer, days and total is there: was it billed by hand?"
	}
	x.find(Missing, hand, "%s", text)
}

// withList reports whether a group waits for a person to release a list.
func (a *auditor) withList(reference string) bool {
	for _, i := range a.items {
		if slices.ContainsFunc(i.List, func(l state.Listed) bool { return l.Reference == reference }) {
			return true
		}
	}
	return false
}

// reason says why a group without an invoice has none.
func (a *auditor) reason(x *audited) Reason {
	switch x.decision.Do {
	case Hold:
		return Incomplete
	case Finish:
		return NothingDue
	case Leave:
		switch x.sit.Item.Status {
		case state.Held:
			return HeldBack
		case state.Settled:
			return SettledHere
		case state.Skipped:
			return SkippedHere
		case state.Undecided:
		}
	case Make, Further, Mend, Resolve, Verify, Ask:
	}
	return WithPerson
}

// billed compares a group with its invoices.
func (a *auditor) billed(x *audited) error {
	unknown, err := a.neverHad(x)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		x.find(Unfounded, nil, "it bills what the tracker never had: %s", few(unknown))
	}
	there := 0
	for _, s := range x.seen {
		if a.document(x, s) {
			there++
		}
	}
	if there > 0 && len(unknown) == 0 {
		a.contents(x)
	}
	a.lookalikes(x)
	return nil
}

// neverHad returns the billed weeks that were never taken in.
func (a *auditor) neverHad(x *audited) (unknown []string, err error) {
	for _, id := range x.weeks() {
		_, found, err := a.store.Find(a.channel, id)
		if err != nil {
			return nil, err
		}
		if !found {
			unknown = append(unknown, "week "+id)
		}
	}
	return unknown, nil
}

// document compares one document with its invoice, and reports whether a live one is there.
func (a *auditor) document(x *audited, s sighting) (there bool) {
	was := s.document.Receipt
	if len(s.others) > 0 {
		x.find(BilledTwice, s.live(), "%d live invoices bear the reference %s; %s", len(s.live()), was.Reference, map[bool]string{true: "the first of them is recorded", false: "none of them is the one that was recorded"}[s.stands()])
	}
	switch {
	case s.stands():
		if s.here.Reference != was.Reference {
			x.find(Differs, s.live(), "invoice %s bears the reference %q now: it would not be found again by ours", invoiceName(was), s.here.Reference)
		}
		if text := edited(*s.here, was); text != "" {
			x.find(Differs, nil, "%s", text)
		}
		return true
	case len(x.approved) == 0:
		a.wait(x, BothGone)
	case s.here == nil:
		x.find(Gone, nil, "invoice %s was recorded on %s, and is not there any more", invoiceName(was), civil.DateOf(s.document.At.In(a.rules.Location)))
	default:
		x.find(Voided, nil, "invoice %s is void, and what it billed is still approved", invoiceName(was))
	}
	return false
}

// contents compares what the invoices of a group bill with what is approved now.
func (a *auditor) contents(x *audited) {
	changed, added := x.kase.compare()
	more := a.rules.totals(added, x.common.Currency)
	switch absent := a.absentOf(x); {
	case len(absent) > 0:
		x.find(NotApproved, nil, "the tracker does not list what was billed any more: %s", few(absent))
	case len(x.approved) == 0:
		x.find(NotApproved, nil, "nothing of what was billed is approved any more")
	case x.decision.Do == Further:
		a.missing(x, more.Amount, hours(more.Seconds)+" were approved after the invoice was made")
	case x.decision.Do == Hold:
		a.wait(x, Incomplete)
	case len(changed) > 0:
		var texts []string
		for _, n := range sortedKeys(changed) {
			texts = append(texts, changed[n]...)
		}
		x.find(Differs, nil, "changed after the invoice was made: %s", few(texts))
	case len(added) > 0 && x.decision.Do != Finish:
		x.find(Differs, nil, "%s were approved after the invoice was made, and are not billed", hours(more.Seconds))
	}
}

// absentOf names the billed weeks that the tracker does not list any more.
func (a *auditor) absentOf(x *audited) (names []string) {
	for _, d := range x.sit.Documents {
		for _, b := range d.Billed {
			if text := "the week of " + b.Member.Label(); a.absent[b.Week] && !slices.Contains(names, text) {
				names = append(names, text)
			}
		}
	}
	return names
}

// byHand is how many days after a period an invoice may bear that somebody made for it by hand.
const byHand = 7

// lookalikes finds invoices that are not ours and bill the same as one of a group's.
func (a *auditor) lookalikes(x *audited) {
	for _, s := range x.seen {
		if !s.stands() {
			continue
		}
		for _, r := range a.alike(*s.here, x.sit.Group.Period) {
			booked := x.common.Booked
			x.common.Booked.Decimal = booked.Decimal.Add(r.Net)
			x.find(LooksAlike, []accounting.Receipt{*s.here, r}, "invoice %s is for the same customer, days and total as %s", invoiceName(r), invoiceName(*s.here))
			x.common.Booked = booked
		}
	}
}

// alike returns the live invoices for a customer, a total and a period that are not ours. Each is told of once.
func (a *auditor) alike(like accounting.Receipt, period civil.Period) (all []accounting.Receipt) {
	days := civil.Period{First: period.First, Last: period.Last.AddDays(byHand)}
	for _, r := range a.listed {
		_, our := ours(a.channel.Prefix, r.Reference)
		if our || r.Status == accounting.Void || a.recorded[r.ID] || a.accused[r.ID] || !days.Contains(r.Date) {
			continue
		}
		if r.Customer == like.Customer && r.Currency == like.Currency && r.Net.Equal(like.Net) {
			a.accused[r.ID] = true
			all = append(all, r)
		}
	}
	return all
}
