package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// pending is the mark of a draft and the only one that is ever written.
const pending = '!'

// transaction is what an invoice is in a journal. The first posting is the receivable; one that bears
// a tax tag is tax; each other is a line of the invoice.
type transaction struct {
	date        civil.Date
	code        string
	description string
	tags        []tag
	postings    []posting
}

type tag struct{ name, value string }

type posting struct {
	account  string
	amount   decimal.Decimal
	currency money.Currency
	comment  string
}

const (
	tagReference = "reference"
	tagCustomer  = "customer"
	tagPeriod    = "period"
	tagDue       = "due"
	tagTax       = "tax"
)

func (j *Journal) transaction(inv accounting.Invoice) (transaction, error) {
	if err := suits(inv); err != nil {
		return transaction{}, err
	}
	t := transaction{date: inv.Date, code: inv.Reference, description: describe(inv)}
	t.tag(tagReference, inv.Reference)
	t.tag(tagCustomer, inv.Customer)
	t.tag(tagPeriod, inv.Period.String())
	t.tag(tagDue, inv.Due.String())

	accounts := j.of(inv.Customer)
	total := inv.Net()
	t.post(accounts.Receivable, total, inv.Currency, "")
	for _, l := range inv.Lines {
		t.post(accounts.Revenue, l.Amount.Neg(), inv.Currency, remark(l, inv.Currency))
	}
	if inv.Tax == "" {
		return t, nil
	}
	percent, known := j.taxes[inv.Tax]
	if !known {
		return transaction{}, fmt.Errorf("tax code %q is not among the journal's taxes: add it there, such as %s: 19%%", inv.Tax, inv.Tax)
	}
	rate, err := percent.rate()
	if err != nil {
		return transaction{}, err
	}
	tax := inv.Currency.Quotient(total.Mul(rate), decimal.NewFromInt(100))
	t.postings[0].amount = total.Add(tax)
	t.post(accounts.Tax, tax.Neg(), inv.Currency, tagTax+": "+inv.Tax+" "+string(percent))
	return t, nil
}

func (t *transaction) tag(name, value string) {
	if value != "" {
		t.tags = append(t.tags, tag{name, value})
	}
}

func (t *transaction) post(account string, amount decimal.Decimal, currency money.Currency, comment string) {
	t.postings = append(t.postings, posting{account, amount, currency, comment})
}

// suits refuses what could not be read back as it was meant.
func suits(inv accounting.Invoice) error {
	if inv.Reference == "" || len(inv.Reference) > 21 || strings.Trim(inv.Reference, lower+digits+"-") != "" {
		return fmt.Errorf("%q is not a reference", inv.Reference)
	}
	if err := validName("customer", inv.Customer); err != nil {
		return err
	}
	if inv.Currency == "" {
		return errors.New("the invoice names no currency")
	}
	if _, err := money.ParseCurrency(string(inv.Currency)); err != nil {
		return err
	}
	if inv.Date.IsZero() || inv.Period.First.IsZero() || inv.Period.Last.IsZero() {
		return errors.New("the invoice has no date or no period")
	}
	if len(inv.Lines) == 0 {
		return errors.New("the invoice has no lines")
	}
	for _, l := range inv.Lines {
		if !l.Amount.Equal(inv.Currency.Round(l.Amount)) {
			return fmt.Errorf("amount %s has more decimals than %s has", l.Amount, inv.Currency)
		}
	}
	return nil
}

func describe(inv accounting.Invoice) string {
	client, title := clean(inv.Client, longestName), clean(inv.Title, longestName)
	if client == "" {
		client = inv.Customer
	}
	if title == "" {
		return client
	}
	return client + " | " + title
}

// remark is the comment of a line: "Anna Berg, 38.50 h at 95.00 EUR".
func remark(l accounting.Line, currency money.Currency) string {
	parts := make([]string, 0, 2)
	if text := clean(l.Text, longestNote); text != "" {
		parts = append(parts, text)
	}
	work := hours(l.Seconds)
	if !l.Stated {
		work += " at " + price(l.Rate, currency)
	}
	if l.Seconds != 0 {
		parts = append(parts, work)
	}
	return strings.Join(parts, ", ")
}

// price keeps every decimal of a rate, and shows no fewer than the currency has.
func price(rate decimal.Decimal, currency money.Currency) string {
	if rate.Equal(currency.Round(rate)) {
		return currency.Format(rate)
	}
	return rate.String() + " " + string(currency)
}

// hours is exact: 38.50 h where two decimals say it, else 6 h 20 min 5 s.
func hours(seconds int64) string {
	if seconds%36 == 0 {
		return decimal.New(seconds/36, -2).StringFixed(2) + " h"
	}
	text := fmt.Sprintf("%d h %d min", seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		text += fmt.Sprintf(" %d s", seconds%60)
	}
	return text
}

// bytes writes the transaction with \n at every line end and amounts in one column.
func (t transaction) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %c (%s) %s\n", t.date, pending, t.code, t.description)
	for _, g := range t.tags {
		fmt.Fprintf(&b, "    ; %s: %s\n", g.name, g.value)
	}
	var account, amount int
	for _, p := range t.postings {
		account = max(account, utf8.RuneCountInString(p.account))
		amount = max(amount, len(p.currency.Format(p.amount)))
	}
	for _, p := range t.postings {
		fmt.Fprintf(&b, "    %-*s  %*s", account, p.account, amount, p.currency.Format(p.amount))
		if p.comment != "" {
			fmt.Fprintf(&b, "  ; %s", p.comment)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
