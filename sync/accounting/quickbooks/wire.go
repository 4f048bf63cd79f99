package quickbooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// How tax is worked out. Amounts are always without tax.
const (
	excluded      = "TaxExcluded"
	notApplicable = "NotApplicable"
)

const (
	pending  = "Pending"
	saleLine = "SalesItemLineDetail"
)

// estimate is what is sent. It names no field that sends, accepts or posts.
type estimate struct {
	CustomerRef          ref
	TxnStatus            string
	DocNumber            string `json:",omitempty"`
	PrivateNote          string
	TxnDate              string
	DueDate              string `json:",omitempty"`
	CurrencyRef          ref
	EmailStatus          string
	GlobalTaxCalculation string `json:",omitempty"`
	Line                 []line
}

type ref struct {
	Value string `json:"value"`
}

type line struct {
	DetailType          string
	Description         string `json:",omitempty"`
	Amount              json.Number
	SalesItemLineDetail sale
}

type sale struct {
	ItemRef    ref
	Qty        json.Number
	UnitPrice  json.Number
	TaxCodeRef *ref `json:",omitempty"`
}

func (q *QuickBooks) estimate(inv accounting.Invoice) estimate {
	limits := q.Traits().Limits
	out := estimate{
		CustomerRef: ref{inv.Customer}, TxnStatus: pending, PrivateNote: limits.Short(inv.Title, 1000), TxnDate: inv.Date.String(),
		CurrencyRef: ref{string(inv.Currency)}, EmailStatus: "NotSet", GlobalTaxCalculation: q.calculation(inv.Tax),
	}
	if q.settings.Reference == privateNote {
		out.PrivateNote = strings.TrimSpace(marked(inv.Reference) + " " + out.PrivateNote)
	} else {
		out.DocNumber = inv.Reference
	}
	if !inv.Due.IsZero() {
		out.DueDate = inv.Due.String()
	}
	for _, l := range inv.Lines {
		t := l.Terms(inv.Currency, limits)
		one := sale{ItemRef: ref{q.settings.Item}, Qty: number(t.Quantity), UnitPrice: number(t.Price)}
		if inv.Tax != "" {
			one.TaxCodeRef = &ref{inv.Tax}
		}
		out.Line = append(out.Line, line{saleLine, t.Text, number(l.Amount), one})
	}
	return out
}

func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

// calculation returns how tax is worked out. Companies in the United States, whose codes are TAX and NON, have
// no such field.
func (q *QuickBooks) calculation(tax string) string {
	switch {
	case q.settings.Calculation != "":
		return q.settings.Calculation
	case tax == "", tax == "TAX", tax == "NON":
		return ""
	}
	return excluded
}

// marked is how a reference stands in a note, apart from all other words of it.
func marked(reference string) string { return "[" + reference + "]" }

var mark = regexp.MustCompile(`\[([a-z0-9-]{1,21})\]`)

// stored is an estimate as QuickBooks has it.
type stored struct {
	ID           string `json:"Id"`
	SyncToken    string
	DocNumber    string
	PrivateNote  string
	TxnStatus    string
	TxnDate      string
	EmailStatus  string
	CustomerRef  ref
	CurrencyRef  ref
	TotalAmt     *decimal.Decimal
	TxnTaxDetail struct{ TotalTax decimal.Decimal }
	LinkedTxn    []struct{ TxnType string }
	Line         []struct {
		DetailType string
		Amount     decimal.Decimal
	}
}

// bears reports whether an estimate holds a reference.
func (q *QuickBooks) bears(s stored, reference string) bool {
	if q.settings.Reference == privateNote {
		return strings.Contains(s.PrivateNote, marked(reference))
	}
	return s.DocNumber == reference
}

// referenceOf returns our reference on an estimate. In a note it is the first that is marked.
func (q *QuickBooks) referenceOf(s stored) string {
	if q.settings.Reference != privateNote {
		return s.DocNumber
	}
	if m := mark.FindStringSubmatch(s.PrivateNote); m != nil {
		return m[1]
	}
	return ""
}

// receipt is an error where a part is missing without which an estimate cannot be compared.
func (q *QuickBooks) receipt(s stored) (accounting.Receipt, error) {
	currency := or(s.CurrencyRef.Value, q.settings.Currency)
	switch {
	case s.ID == "" || s.SyncToken == "" || s.TotalAmt == nil || s.TxnStatus == "" || s.CustomerRef.Value == "":
		return accounting.Receipt{}, q.client.Misread("estimate "+s.ID, fmt.Errorf("id, version, total, status %q or customer %q is missing", s.TxnStatus, s.CustomerRef.Value))
	case currency == "":
		return accounting.Receipt{}, q.client.Misread("estimate "+s.ID, errors.New("it tells no currency: set currency to the company's own"))
	}
	r := accounting.Receipt{
		ID: s.ID, Number: s.DocNumber, Reference: q.referenceOf(s), Customer: s.CustomerRef.Value, Currency: money.Currency(currency),
		Status: s.status(), Token: s.SyncToken, Link: q.link(s.ID),
	}
	if date, err := civil.Parse(s.TxnDate); err == nil {
		r.Date = date
	}
	r.Amounts, r.Net = s.amounts()
	if r.Status == accounting.Draft && (s.foreign() || !r.Net.Equal(s.TotalAmt.Sub(s.TxnTaxDetail.TotalTax))) {
		r.Status = accounting.Edited
	}
	return r, nil
}

// amounts returns what each line adds before tax, and their sum. A discount takes away.
func (s stored) amounts() (all []decimal.Decimal, net decimal.Decimal) {
	for _, l := range s.Line {
		switch l.DetailType {
		case "SubTotalLineDetail":
			continue
		case "DescriptionOnly":
			if l.Amount.IsZero() {
				continue
			}
		case "DiscountLineDetail":
			l.Amount = l.Amount.Neg()
		}
		all, net = append(all, l.Amount), net.Add(l.Amount)
	}
	return all, net
}

// foreign reports whether there are lines of a kind that is never sent.
func (s stored) foreign() bool {
	for _, l := range s.Line {
		if l.DetailType != saleLine && l.DetailType != "SubTotalLineDetail" {
			return true
		}
	}
	return false
}

// status says what an estimate's status is to us. One that became an invoice, or went to the customer, is no
// draft any more, whatever else it says; a person who sets a status that is not known here has edited it.
func (s stored) status() accounting.Status {
	invoiced := slices.ContainsFunc(s.LinkedTxn, func(l struct{ TxnType string }) bool { return l.TxnType == "Invoice" })
	switch {
	case invoiced, s.TxnStatus == "Accepted", s.TxnStatus == "Closed", s.TxnStatus == "Converted":
		return accounting.Final
	case s.TxnStatus == "Rejected":
		return accounting.Void
	case s.EmailStatus == "NeedToSend", s.EmailStatus == "EmailSent":
		return accounting.Final
	case s.TxnStatus == pending:
		return accounting.Draft
	}
	return accounting.Edited
}

// link returns where a person looks at an estimate: companies of the sandbox have a host of their own.
func (q *QuickBooks) link(id string) string {
	host := "app.qbo.intuit.com"
	if strings.Contains(q.settings.url(), "//sandbox-") {
		host = "app.sandbox.qbo.intuit.com"
	}
	return "https://" + host + "/app/estimate?txnId=" + id
}
