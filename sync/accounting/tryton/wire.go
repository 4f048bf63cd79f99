package tryton

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// number is a decimal number as it travels.
type number struct{ decimal.Decimal }

type wireDecimal struct {
	Class   string `json:"__class__"`
	Decimal string `json:"decimal"`
}

// MarshalJSON writes the number with its class.
func (n number) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireDecimal{"Decimal", n.String()})
}

// UnmarshalJSON reads a number with its class.
func (n *number) UnmarshalJSON(data []byte) (err error) {
	var w wireDecimal
	if err := json.Unmarshal(data, &w); err != nil || w.Class != "Decimal" {
		return fmt.Errorf("%.60s is not a decimal number", data)
	}
	n.Decimal, err = decimal.NewFromString(w.Decimal)
	return err
}

// day is a date as it travels.
type day civil.Date

// MarshalJSON writes the date with its class.
func (d day) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"__class__": "date", "year": d.Year, "month": int(d.Month), "day": d.Day})
}

// UnmarshalJSON reads a date, or the day of a moment, with its class.
func (d *day) UnmarshalJSON(data []byte) error {
	var w struct {
		Class            string `json:"__class__"`
		Year, Month, Day int
	}
	if err := json.Unmarshal(data, &w); err != nil || w.Class != "date" && w.Class != "datetime" {
		return fmt.Errorf("%.60s is not a date", data)
	}
	*d = day{Year: w.Year, Month: time.Month(w.Month), Day: w.Day}
	return nil
}

// midnight is the moment in UTC at which a day begins, as it travels.
type midnight civil.Date

// MarshalJSON writes the moment with its class.
func (m midnight) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"__class__": "datetime", "year": m.Year, "month": int(m.Month), "day": m.Day, "hour": 0, "minute": 0, "second": 0, "microsecond": 0,
	})
}

// truth is a boolean, which over SQLite, and among rights, travels as a number.
type truth bool

// UnmarshalJSON reads a boolean, a number or null.
func (t *truth) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true", "1":
		*t = true
	case "false", "0", "null":
		*t = false
	default:
		return fmt.Errorf("%.20s is neither true nor false", data)
	}
	return nil
}

// frozen is an invoice as it is kept: the values of its head and of its lines, and the line of text that is
// staged before, where there is one.
type frozen struct {
	Head   map[string]json.RawMessage `json:"head"`
	Lines  []json.RawMessage          `json:"lines"`
	Staged json.RawMessage            `json:"staged,omitempty"`
}

type head struct {
	Type        string `json:"type"`
	Company     int64  `json:"company"`
	Party       int64  `json:"party"`
	Currency    int64  `json:"currency"`
	Journal     int64  `json:"journal"`
	Reference   string `json:"reference"`
	Description string `json:"description"`
	Date        day    `json:"invoice_date"`
	Due         *day   `json:"payment_term_date,omitempty"`
}

type line struct {
	Type        string      `json:"type"`
	Company     int64       `json:"company"`
	Currency    int64       `json:"currency"`
	Account     int64       `json:"account"`
	Description string      `json:"description"`
	Quantity    json.Number `json:"quantity"`
	Unit        *int64      `json:"unit,omitempty"`
	Price       number      `json:"unit_price"`
	Taxes       []any       `json:"taxes,omitempty"`
}

// staged is a line of text without an invoice. It has no amount, so that it does no harm where it stays.
type staged struct {
	Type        string `json:"type"`
	InvoiceType string `json:"invoice_type"`
	Company     int64  `json:"company"`
	Party       int64  `json:"party"`
	Currency    int64  `json:"currency"`
	Description string `json:"description"`
}

// invoice returns the parts that are frozen.
func (t *Tryton) invoice(inv accounting.Invoice) (h head, lines []line, text staged, err error) {
	s := t.settings
	party, err := strconv.ParseInt(inv.Customer, 10, 64)
	if err != nil || party < 1 {
		return h, nil, text, fmt.Errorf("tryton: customer %q is not the id of a party, a whole number", inv.Customer)
	}
	currency := s.Currencies[string(inv.Currency)]
	if currency == 0 {
		return h, nil, text, fmt.Errorf("tryton: Tryton's id of %s is not known: list it under currencies", inv.Currency)
	}
	taxes, known := s.Taxes[inv.Tax]
	if inv.Tax != "" && !known {
		return h, nil, text, fmt.Errorf("tryton: tax %q is not among the taxes of the accounting section: add it there, such as %s: [1]", inv.Tax, inv.Tax)
	}
	limits := t.Traits().Limits
	title := limits.Short(inv.Title, 200)
	h = head{"out", s.Company, party, currency, s.Journal, inv.Reference, title, day(inv.Date), nil}
	if !inv.Due.IsZero() {
		h.Due = new(day(inv.Due))
	}
	text = staged{"comment", "out", s.Company, party, currency, limits.Short(title+" ("+inv.Reference+")", 240)}
	for _, l := range inv.Lines {
		terms := l.Terms(inv.Currency, limits)
		one := line{"line", s.Company, currency, s.Revenue, terms.Text, json.Number(terms.Quantity.String()), nil, number{terms.Price}, nil}
		if s.Unit > 0 && terms.Price.Equal(l.Rate) && !l.Stated {
			one.Unit = &s.Unit
		}
		if len(taxes) > 0 {
			one.Taxes = []any{[]any{"add", taxes}}
		}
		lines = append(lines, one)
	}
	return h, lines, text, nil
}

// fields are those of an invoice that are read.
func fields() []string {
	return []string{
		"reference", "number", "state", "party", "currency.code", "untaxed_amount", "invoice_date", "create_date", "_timestamp",
		"lines.type", "lines.amount", "lines._timestamp",
	}
}

// stored is an invoice as Tryton has it. Amounts are without tax.
type stored struct {
	ID        remote.ID                     `json:"id"`
	Reference string                        `json:"reference"`
	Number    string                        `json:"number"`
	State     string                        `json:"state"`
	Party     remote.ID                     `json:"party"`
	Date      *day                          `json:"invoice_date"` // null on a draft that was made by hand or copied
	Made      *day                          `json:"create_date"`
	Currency  struct{ Code money.Currency } `json:"currency."`
	Untaxed   *number                       `json:"untaxed_amount"`
	Stamp     string                        `json:"_timestamp"`
	Lines     *[]storedLine                 `json:"lines."`
}

type storedLine struct {
	ID     int64   `json:"id"`
	Type   string  `json:"type"`
	Amount *number `json:"amount"`
	Stamp  string  `json:"_timestamp"`
}

// receipt is an error where a part is missing without which an invoice cannot be compared.
func (t *Tryton) receipt(s stored) (accounting.Receipt, error) {
	status, known := statuses()[s.State]
	if !known || s.ID == "" || s.Currency.Code == "" || s.Untaxed == nil || s.Lines == nil {
		return accounting.Receipt{}, t.client.Misread("invoice "+string(s.ID), fmt.Errorf("state %q, currency %q, amount or lines are missing or not known", s.State, s.Currency.Code))
	}
	r := accounting.Receipt{
		ID: string(s.ID), Number: s.Number, Reference: s.Reference, Customer: string(s.Party), Currency: s.Currency.Code,
		Status: status, Net: s.Untaxed.Decimal, Link: t.link(s.ID),
	}
	switch {
	case s.Date != nil:
		r.Date = civil.Date(*s.Date)
	case s.Made != nil:
		r.Date = civil.Date(*s.Made)
	}
	for _, l := range *s.Lines {
		if l.Type == "line" {
			if l.Amount == nil {
				return r, t.client.Misread("invoice "+r.ID, fmt.Errorf("line %d has no amount", l.ID))
			}
			r.Amounts = append(r.Amounts, l.Amount.Decimal)
		}
	}
	var err error
	if r.Token, err = s.token(); err != nil {
		return r, t.client.Misread("invoice "+r.ID, err)
	}
	return r, nil
}

// token is the moment of the last change of the invoice or one of its lines, and how many these are: a line can
// be changed, added or removed without the invoice itself.
func (s stored) token() (string, error) {
	var last decimal.Decimal
	stamps := []string{s.Stamp}
	for _, l := range *s.Lines {
		stamps = append(stamps, l.Stamp)
	}
	for _, stamp := range stamps {
		at, err := decimal.NewFromString(stamp)
		if err != nil {
			return "", fmt.Errorf("%.40q is not a timestamp", stamp)
		}
		if at.GreaterThan(last) {
			last = at
		}
	}
	return fmt.Sprintf("%s/%d", last, len(*s.Lines)), nil
}

// stamps are those under which the invoice and its lines may be changed.
func (s stored) stamps() map[string]string {
	all := map[string]string{"account.invoice," + string(s.ID): s.Stamp}
	for _, l := range *s.Lines {
		all[stampOf(l.ID)] = l.Stamp
	}
	return all
}

func stampOf(line int64) string { return fmt.Sprintf("account.invoice.line,%d", line) }

// statuses says what Tryton's states are to us.
func statuses() map[string]accounting.Status {
	return map[string]accounting.Status{
		"draft": accounting.Draft, "validated": accounting.Final, "posted": accounting.Final, "paid": accounting.Final, "cancelled": accounting.Void,
	}
}
