package stripe

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// list is one page. Its items are newest first, and a page goes on after the last one of the page before.
type list[T any] struct {
	Data    *[]T  `json:"data"`
	HasMore *bool `json:"has_more"`
}

// identified is what pages go on after.
type identified interface{ id() string }

// stored is an invoice as Stripe has it.
type stored struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	Deleted   bool              `json:"deleted"`
	Livemode  bool              `json:"livemode"`
	Number    string            `json:"number"`
	Status    string            `json:"status"`
	Customer  string            `json:"customer"`
	Currency  string            `json:"currency"`
	Metadata  map[string]string `json:"metadata"`
	Created   int64             `json:"created"`
	Effective *int64            `json:"effective_at"`           // the date that it bears; null where it bears none
	Subtotal  *int64            `json:"subtotal"`               // before discounts of the whole invoice, with tax that is included
	BeforeTax *int64            `json:"subtotal_excluding_tax"` // the same without any tax; null where Stripe has not worked it out
	Discounts []struct {
		Amount int64 `json:"amount"`
	} `json:"total_discount_amounts"`
	Lines list[line] `json:"lines"`
}

func (s stored) id() string { return s.ID }

type line struct {
	ID     string `json:"id"`
	Amount *int64 `json:"amount"`
	Taxes  []struct {
		Amount   int64  `json:"amount"`
		Behavior string `json:"tax_behavior"`
	} `json:"taxes"`
}

func (l line) id() string { return l.ID }

// beforeTax takes out the tax that an amount includes.
func (l line) beforeTax() int64 {
	sum := *l.Amount
	for _, t := range l.Taxes {
		if t.Behavior == "inclusive" {
			sum -= t.Amount
		}
	}
	return sum
}

type customer struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

func (c customer) id() string { return c.ID }

// whole reads the lines of an invoice that its answer did not hold.
func (s *Stripe) whole(ctx context.Context, inv stored) (stored, error) {
	if inv.Lines.Data == nil || inv.Lines.HasMore == nil {
		return inv, s.client.Misread("invoice "+inv.ID, fmt.Errorf("the answer holds no lines"))
	}
	if !*inv.Lines.HasMore {
		return inv, nil
	}
	var all []line
	err := pages(ctx, s, "/v1/invoices/"+url.PathEscape(inv.ID)+"/lines", nil, func(l line) error {
		all = append(all, l)
		return nil
	})
	inv.Lines.Data = &all
	return inv, err
}

// receipt is an error where a part is missing without which an invoice cannot be compared.
func (s *Stripe) receipt(inv stored) (accounting.Receipt, error) {
	status, known := statuses()[inv.Status]
	if !known || inv.ID == "" || inv.Object != "invoice" || inv.Currency == "" || inv.Subtotal == nil || inv.Lines.Data == nil {
		return accounting.Receipt{}, s.client.Misread("invoice "+inv.ID, fmt.Errorf("status %q, currency %q, subtotal or lines are missing or not known", inv.Status, inv.Currency))
	}
	c := money.Currency(strings.ToUpper(inv.Currency))
	net := *inv.Subtotal
	if inv.BeforeTax != nil {
		net = *inv.BeforeTax
	}
	for _, d := range inv.Discounts {
		net -= d.Amount
	}
	r := accounting.Receipt{
		ID: inv.ID, Number: inv.Number, Reference: inv.Metadata[referenceKey], Customer: inv.Customer, Currency: c,
		Date: inv.day(), Status: status, Net: amount(net, c), Link: s.link(inv),
	}
	for _, l := range *inv.Lines.Data {
		if l.Amount == nil || l.ID == "" {
			return accounting.Receipt{}, s.client.Misread("invoice "+inv.ID, fmt.Errorf("a line has no amount or id"))
		}
		r.Amounts = append(r.Amounts, amount(l.beforeTax(), c))
	}
	return r, nil
}

// day returns the date that an invoice bears, else the day on which it was made. Stripe counts in UTC.
func (s stored) day() civil.Date {
	switch {
	case s.Effective != nil:
		return civil.DateOf(time.Unix(*s.Effective, 0).UTC())
	case s.Created > 0:
		return civil.DateOf(time.Unix(s.Created, 0).UTC())
	}
	return civil.Date{}
}

func (s *Stripe) link(inv stored) string {
	test := "/test"
	if inv.Livemode {
		test = ""
	}
	return "https://dashboard.stripe.com/" + s.settings.Account + test + "/invoices/" + inv.ID
}

// statuses says what Stripe's statuses are to us. Nothing is left of a draft that was deleted.
func statuses() map[string]accounting.Status {
	return map[string]accounting.Status{
		"draft": accounting.Draft, "open": accounting.Final, "paid": accounting.Final, "uncollectible": accounting.Final, "void": accounting.Void,
	}
}

// said is how a receipt is told to a person.
func said(r accounting.Receipt) string {
	return fmt.Sprintf("%s, %s in %d lines for %s", r.Status, r.Currency.Format(r.Net), len(r.Amounts), r.Customer)
}

// noPrice lets [accounting.Line.Terms] say no line as hours × price: there is no rate of so few decimals.
const noPrice = -18
