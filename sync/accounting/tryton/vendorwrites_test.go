package tryton_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/civil"
)

func (v *vendor) stage(params []json.RawMessage) (any, error) {
	var all []struct {
		Type                     string
		InvoiceType              string `json:"invoice_type"`
		Company, Party, Currency int
		Description              string
	}
	if len(params) != 1 || strict(params[0], &all) != nil || len(all) != 1 || all[0].Type != "comment" || all[0].InvoiceType != "out" || all[0].Company != 1 {
		return nil, unforeseen("not one line of text: %s", params)
	}
	l := all[0]
	if !v.Knows(strconv.Itoa(l.Party)) {
		return nil, unforeseen("violates foreign key constraint")
	}
	now := time.Now()
	one := &loose{ID: 1 + len(v.loose), Text: l.Description, Party: l.Party, Currency: l.Currency, Stamp: fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)}
	v.loose = append(v.loose, one)
	return []int{one.ID}, nil
}

type wireDate struct {
	Class            string `json:"__class__"`
	Year, Month, Day int
}

func (d *wireDate) date() (civil.Date, error) {
	if d == nil {
		return civil.Date{}, nil
	}
	if d.Class != "date" {
		return civil.Date{}, userError("not a date")
	}
	return civil.Date{Year: d.Year, Month: time.Month(d.Month), Day: d.Day}, nil
}

// sent is what an invoice may hold.
type sent struct {
	Type, Reference, Description *string
	Company, Party, Currency     *int
	Journal, Account             *int
	Address                      *int                `json:"invoice_address"`
	Term                         *int                `json:"payment_term"`
	Date                         *wireDate           `json:"invoice_date"`
	Due                          *wireDate           `json:"payment_term_date"`
	Lines                        [][]json.RawMessage `json:"lines"`
}

type sentLine struct {
	Type                       string
	Company, Currency, Account int
	Description                string
	Quantity                   json.Number
	Unit                       *int
	Raw                        map[string]string `json:"unit_price"`
	Taxes                      []any
}

func (v *vendor) create(params []json.RawMessage, stamps map[string]string) (any, error) {
	var all []sent
	if len(params) != 1 || strict(params[0], &all) != nil || len(all) != 1 {
		return nil, unforeseen("not one invoice: %s", params)
	}
	in := all[0]
	for name, value := range map[string]*int{"Company": in.Company, "Party": in.Party, "Currency": in.Currency, "Journal": in.Journal, "Account": in.Account, "Invoice Address": in.Address} {
		if value == nil {
			return nil, userError("A value is required for field %q in %q.", name, "Invoice")
		}
	}
	customer := strconv.Itoa(*in.Party)
	code := currencies[*in.Currency]
	if !v.Knows(customer) || *in.Address != *in.Party*10+2 || in.Type == nil || *in.Type != "out" || in.Reference == nil || code == "" || *in.Journal != 7 || *in.Account != 5 {
		return nil, userError("The value of a field is not valid.")
	}
	d := &accountingtest.Document{Reference: *in.Reference, Customer: customer, Currency: code, Status: accounting.Draft}
	var taken []*loose
	for _, step := range in.Lines {
		if string(step[0]) != `"add"` {
			continue
		}
		one, err := v.take(step[1], stamps)
		if err != nil {
			return nil, err
		}
		taken = append(taken, one)
	}
	if err := in.fill(d, nil); err != nil {
		return nil, err
	}
	v.Add(d)
	for _, l := range taken {
		l.Invoice, l.Stamp = d, stamp(d)
	}
	n, _ := strconv.Atoi(d.ID)
	return []int{n}, nil
}

// take looks for a loose line under its timestamp.
func (v *vendor) take(raw json.RawMessage, stamps map[string]string) (*loose, error) {
	var ids []int
	if json.Unmarshal(raw, &ids) != nil || len(ids) != 1 {
		return nil, unforeseen("not one line")
	}
	i := slices.IndexFunc(v.loose, func(l *loose) bool { return l.ID == ids[0] })
	if i < 0 {
		return nil, userError("You are trying to read records of %q that don't exist anymore.", "Invoice Line")
	}
	if want, given := stamps[fmt.Sprintf("account.invoice.line,%d", ids[0])]; given && want != v.loose[i].Stamp {
		return nil, refusal{"ConcurrencyException", "Records were modified in the meanwhile"}
	}
	return v.loose[i], nil
}

// fill writes what is sent into a document. Old are the lines that it had: those that stay must be deleted first.
func (in sent) fill(d *accountingtest.Document, old []int) (err error) {
	if d.Date, err = in.Date.date(); err != nil {
		return err
	}
	if d.Due, err = in.Due.date(); err != nil {
		return err
	}
	d.Lines = nil
	for _, step := range in.Lines {
		switch string(step[0]) {
		case `"create"`:
			var lines []sentLine
			if err := strict(step[1], &lines); err != nil {
				return unforeseen("%v", err)
			}
			for _, l := range lines {
				one, err := l.line(d)
				if err != nil {
					return err
				}
				d.Lines = append(d.Lines, one)
			}
		case `"delete"`:
			var ids []int
			if json.Unmarshal(step[1], &ids) != nil || !slices.Equal(ids, old) {
				return userError("lines %v are not those of the invoice, %v", ids, old)
			}
		case `"add"`:
		default:
			return unforeseen("%s", step[0])
		}
	}
	return nil
}

func (l sentLine) line(d *accountingtest.Document) (accountingtest.Line, error) {
	quantity, err := decimal.NewFromString(l.Quantity.String())
	price, bad := decimal.NewFromString(l.Raw["decimal"])
	switch {
	case err != nil || bad != nil || l.Raw["__class__"] != "Decimal" || l.Type != "line" || l.Account != 6 || l.Company != 1 || currencies[l.Currency] != d.Currency:
		return accountingtest.Line{}, userError("The value of a field of a line is not valid.")
	case quantity.Exponent() < -2 || price.Exponent() < -4:
		return accountingtest.Line{}, userError("The number of digits in the value of a field exceeds the limit.")
	}
	return accountingtest.Line{Text: l.Description, Quantity: quantity, Price: price, Amount: d.Currency.Round(quantity.Mul(price))}, nil
}

func (v *vendor) write(params []json.RawMessage, stamps map[string]string) (any, error) {
	var ids []int
	var in sent
	if len(params) != 2 || json.Unmarshal(params[0], &ids) != nil || len(ids) != 1 || strict(params[1], &in) != nil {
		return nil, unforeseen("not one invoice: %s", params)
	}
	d := v.Get(strconv.Itoa(ids[0]))
	if d == nil {
		return nil, userError("You are trying to write records that don't exist anymore.")
	}
	shown := map[string]string{fmt.Sprintf("account.invoice,%d", ids[0]): stamp(d)}
	var old []int
	for _, l := range v.linesOf(d) {
		l := l.(map[string]any)
		shown[fmt.Sprintf("account.invoice.line,%d", l["id"])] = l["_timestamp"].(string)
		if l["type"] == "line" {
			old = append(old, l["id"].(int))
		}
	}
	for name, at := range stamps {
		if shown[name] != at {
			return nil, refusal{"ConcurrencyException", "Records were modified in the meanwhile"}
		}
	}
	if string(params[1]) != "{}" {
		if d.Status != accounting.Draft {
			return nil, userError("You cannot modify invoice %q because it is posted, paid or cancelled.", d.Reference)
		}
		if err := in.fill(d, old); err != nil {
			return nil, err
		}
	} else {
		d.Extra = map[string]string{"taxed": "yes"}
	}
	d.Edition++
	return none, nil
}
