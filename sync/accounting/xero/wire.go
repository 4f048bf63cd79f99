package xero

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// invoice is what is sent. Names are Xero's.
type invoice struct {
	Type            string
	Contact         contact
	Date            string
	DueDate         string `json:",omitempty"`
	LineAmountTypes string
	CurrencyCode    string
	Reference       string
	Status          string
	LineItems       []line
}

type contact struct{ ContactID string }

type line struct {
	Description string
	Quantity    json.Number
	UnitAmount  json.Number
	AccountCode string `json:",omitempty"`
	TaxType     string `json:",omitempty"`
}

func (x *Xero) invoice(inv accounting.Invoice) invoice {
	out := invoice{
		Type: "ACCREC", Contact: contact{inv.Customer}, Date: inv.Date.String(), LineAmountTypes: "Exclusive",
		CurrencyCode: string(inv.Currency), Reference: inv.Reference, Status: "DRAFT",
	}
	if !inv.Due.IsZero() {
		out.DueDate = inv.Due.String()
	}
	limits := x.Traits().Limits
	for _, l := range inv.Lines {
		t := l.Terms(inv.Currency, limits)
		out.LineItems = append(out.LineItems, line{t.Text, json.Number(t.Quantity.String()), json.Number(t.Price.String()), x.settings.AccountCode, inv.Tax})
	}
	return out
}

// answer is what comes back, also where the request was refused.
type answer struct {
	Invoices   *[]stored
	Pagination *pagination `json:"pagination"`
	Message    string
	Elements   []refused
}

type pagination struct {
	PageCount int `json:"pageCount"`
	ItemCount int `json:"itemCount"`
}

// more reports whether there is a page after this one: as the answer says, or where it does not, if this one
// is full.
func (p *pagination) more(page, items int) bool {
	if p == nil || p.PageCount == 0 {
		return items >= pageSize
	}
	return page < p.PageCount
}

func (a answer) more(page int) bool { return a.Pagination.more(page, len(*a.Invoices)) }

type refused struct {
	HasErrors        bool
	ValidationErrors []struct{ Message string }
}

// stored is an invoice as Xero has it. Amounts of lines and the subtotal are without tax, since it was sent so.
type stored struct {
	refused
	InvoiceID      string
	InvoiceNumber  string
	Reference      string
	Status         string
	CurrencyCode   string
	Date           string // "/Date(1785801600000+0000)/", midnight of the day in UTC
	SubTotal       *decimal.Decimal
	UpdatedDateUTC string
	Contact        contact
	LineItems      []struct{ LineAmount decimal.Decimal }
}

const noID = "00000000-0000-0000-0000-000000000000"

// made reports whether an answer names an invoice.
func (a answer) made() bool {
	return a.Invoices != nil && slices.ContainsFunc(*a.Invoices, func(i stored) bool { return i.InvoiceID != "" && i.InvoiceID != noID })
}

// refusal returns why an answer is none, though its status may be 200; empty where it is one.
func (a answer) refusal() string {
	all := a.Elements
	var text []string
	if a.Invoices != nil {
		for _, inv := range *a.Invoices {
			if inv.InvoiceID == noID && len(inv.ValidationErrors) == 0 {
				text = append(text, "the invoice was given no id")
			}
			all = append(all, inv.refused)
		}
	}
	for _, r := range all {
		for _, e := range r.ValidationErrors {
			text = append(text, e.Message)
		}
		if r.HasErrors && len(r.ValidationErrors) == 0 {
			text = append(text, "the invoice has errors that are not named")
		}
	}
	return strings.Join(text, "; ")
}

// receipt is an error where a part is missing without which an invoice cannot be compared.
func (x *Xero) receipt(s stored) (accounting.Receipt, error) {
	status, known := statuses()[s.Status]
	if !known || s.InvoiceID == "" || s.SubTotal == nil || s.CurrencyCode == "" {
		return accounting.Receipt{}, x.client.Misread("invoice "+s.InvoiceID, fmt.Errorf("status %q, currency %q or subtotal is missing or not known", s.Status, s.CurrencyCode))
	}
	r := accounting.Receipt{
		ID: s.InvoiceID, Number: s.InvoiceNumber, Reference: s.Reference, Customer: s.Contact.ContactID, Currency: money.Currency(s.CurrencyCode),
		Date: dayOf(s.Date), Status: status, Net: *s.SubTotal, Token: s.UpdatedDateUTC,
		Link: "https://go.xero.com/AccountsReceivable/Edit.aspx?InvoiceID=" + s.InvoiceID,
	}
	for _, l := range s.LineItems {
		r.Amounts = append(r.Amounts, l.LineAmount)
	}
	return r, nil
}

var milliseconds = regexp.MustCompile(`^/Date\((-?\d+)[+)]`)

// dayOf reads a date of Xero; zero where there is none.
func dayOf(date string) civil.Date {
	m := milliseconds.FindStringSubmatch(date)
	if m == nil {
		return civil.Date{}
	}
	ms, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return civil.Date{}
	}
	return civil.DateOf(time.UnixMilli(ms).UTC())
}

// statuses says what Xero's statuses are to us. A submitted invoice is with somebody who approves it.
func statuses() map[string]accounting.Status {
	return map[string]accounting.Status{
		"DRAFT": accounting.Draft, "SUBMITTED": accounting.Final, "AUTHORISED": accounting.Final, "PAID": accounting.Final,
		"VOIDED": accounting.Void, "DELETED": accounting.Void,
	}
}
