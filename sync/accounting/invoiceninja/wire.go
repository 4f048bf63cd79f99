package invoiceninja

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// invoice is what is sent. It names no field that sends, marks or pays.
type invoice struct {
	ClientID string `json:"client_id"`
	Number   string `json:"number,omitempty"`
	PoNumber string `json:"po_number,omitempty"`
	Date     string `json:"date"`
	DueDate  string `json:"due_date,omitempty"`
	Note     string `json:"private_notes"`
	// Inclusive is false: the amounts are before tax, whatever the settings of the client say.
	Inclusive bool   `json:"uses_inclusive_taxes"`
	Lines     []line `json:"line_items"`
}

type line struct {
	Quantity json.Number `json:"quantity"`
	Cost     json.Number `json:"cost"`
	Notes    string      `json:"notes"`
	Type     string      `json:"type_id"` // 2: a service
	TaxName  string      `json:"tax_name1,omitempty"`
	TaxRate  json.Number `json:"tax_rate1,omitempty"`
}

func (n *Ninja) invoice(inv accounting.Invoice) (invoice, error) {
	limits := n.Traits().Limits
	out := invoice{ClientID: inv.Customer, Date: inv.Date.String(), Note: limits.Short(inv.Title, 200)}
	if n.settings.Reference == number {
		out.Number = inv.Reference
	} else {
		out.PoNumber = inv.Reference
	}
	if !inv.Due.IsZero() {
		out.DueDate = inv.Due.String()
	}
	tax, known := n.settings.Taxes[inv.Tax]
	if inv.Tax != "" && !known {
		return out, fmt.Errorf("invoiceninja: tax %q is not among the taxes of the accounting section: add it there, such as %s: {name: VAT, rate: 20}", inv.Tax, inv.Tax)
	}
	for _, l := range inv.Lines {
		t := l.Terms(inv.Currency, limits)
		one := line{Quantity: json.Number(t.Quantity.String()), Cost: json.Number(t.Price.String()), Notes: t.Text, Type: "2"}
		if known {
			one.TaxName, one.TaxRate = tax.Name, json.Number(tax.Rate.String())
		}
		out.Lines = append(out.Lines, one)
	}
	return out, nil
}

type meta struct {
	Pagination struct {
		Total      int `json:"total"`
		TotalPages int `json:"total_pages"`
	} `json:"pagination"`
}

// invoices is one page of a list.
type invoices struct {
	Data *[]stored `json:"data"`
	Meta meta      `json:"meta"`
}

// more reports whether there is a page after this one.
func (l invoices) more(page int) bool {
	pages := l.Meta.Pagination.TotalPages
	return page < pages || pages == 0 && len(*l.Data) == 100
}

type client struct {
	ID       string `json:"id"`
	Name     string `json:"display_name"`
	Settings struct {
		CurrencyID string `json:"currency_id"`
	} `json:"settings"`
}

type single struct {
	Data stored `json:"data"`
}

// stored is an invoice as Invoice Ninja has it. The amounts of lines are without tax, unless taxes are inclusive.
type stored struct {
	ID         string    `json:"id"`
	Number     string    `json:"number"`
	PoNumber   string    `json:"po_number"`
	ClientID   string    `json:"client_id"`
	Date       string    `json:"date"`
	StatusID   remote.ID `json:"status_id"`
	IsDeleted  *bool     `json:"is_deleted"`
	CreatedAt  int64     `json:"created_at"`
	ArchivedAt int64     `json:"archived_at"`
	UpdatedAt  int64     `json:"updated_at"`
	Inclusive  bool      `json:"uses_inclusive_taxes"`
	Client     client    `json:"client"`
	Lines      []struct {
		LineTotal decimal.Decimal `json:"line_total"`
	} `json:"line_items"`
}

func (n *Ninja) referenceOf(s stored) string {
	if n.settings.Reference == number {
		return s.Number
	}
	return s.PoNumber
}

// receipt is an error where a part is missing without which an invoice cannot be compared.
func (n *Ninja) receipt(s stored) (accounting.Receipt, error) {
	status, known := statuses()[string(s.StatusID)]
	currency, err := n.settings.currencyOf(s.Client.Settings.CurrencyID)
	if !known || s.ID == "" || s.IsDeleted == nil || err != nil {
		return accounting.Receipt{}, n.client.Misread("invoice "+s.ID, fmt.Errorf("status %q or deletion is missing or not known (%v)", s.StatusID, err))
	}
	if *s.IsDeleted || s.ArchivedAt > 0 {
		status = accounting.Void
	} else if s.Inclusive && status == accounting.Draft {
		status = accounting.Edited
	}
	r := accounting.Receipt{
		ID: s.ID, Number: s.Number, Reference: n.referenceOf(s), Customer: s.ClientID, Currency: currency, Status: status,
		Date: s.day(), Token: fmt.Sprint(s.UpdatedAt), Link: n.settings.URL + "/#/invoices/" + s.ID + "/edit",
	}
	for _, l := range s.Lines {
		r.Amounts, r.Net = append(r.Amounts, l.LineTotal), r.Net.Add(l.LineTotal)
	}
	return r, nil
}

// day returns the day that an invoice bears, else that on which it was made.
func (s stored) day() civil.Date {
	if date, err := civil.Parse(s.Date); err == nil {
		return date
	}
	if s.CreatedAt == 0 {
		return civil.Date{}
	}
	return civil.DateOf(time.Unix(s.CreatedAt, 0).UTC())
}

// statuses says what Invoice Ninja's statuses are to us: draft, sent, partly paid, paid, cancelled, reversed.
func statuses() map[string]accounting.Status {
	return map[string]accounting.Status{
		"1": accounting.Draft, "2": accounting.Final, "3": accounting.Final, "4": accounting.Final, "5": accounting.Void, "6": accounting.Void,
	}
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
