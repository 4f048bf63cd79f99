package stripe

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/money"
)

// form is a body as Stripe reads it. Its order is kept: that of url.Values would put line 10 before line 2.
type form []field

type field struct{ name, value string }

func (f *form) add(name, value string) { *f = append(*f, field{name, value}) }

func (f form) encode() []byte {
	parts := make([]string, len(f))
	for i, one := range f {
		parts[i] = url.QueryEscape(one.name) + "=" + url.QueryEscape(one.value)
	}
	return []byte(strings.Join(parts, "&"))
}

// lineForm are the fields of one line, without what stands around their names.
func (s *Stripe) lineForm(l accounting.Line, inv accounting.Invoice) (f form, err error) {
	whole, err := units(l.Amount, inv.Currency)
	if err != nil {
		return nil, err
	}
	limits := s.Traits().Limits
	limits.Amount = digits(inv.Currency) // Stripe rounds to its own smallest unit.
	if s.settings.Product == "" || whole < 0 {
		limits.Price = noPrice
	}
	t := l.Terms(inv.Currency, limits)
	f.add("[description]", t.Text)
	if limits.Price == noPrice {
		f.add("[amount]", strconv.FormatInt(whole, 10))
	} else {
		f.add("[quantity_decimal]", t.Quantity.String())
		f.add("[price_data][currency]", strings.ToLower(string(inv.Currency)))
		f.add("[price_data][product]", s.settings.Product)
		f.add("[price_data][unit_amount_decimal]", t.Price.Shift(digits(inv.Currency)).String())
	}
	if inv.Tax != "" {
		f.add("[tax_rates][0]", inv.Tax)
	}
	return f, nil
}

// frozen is what a frozen request wants, read back from its bytes.
type frozen struct {
	accounting.Invoice        // its reference, customer, currency and the amounts of its lines
	lines              []form // as they were frozen
}

// thaw reads a request. It is an error if that is not one of ours.
func thaw(req accounting.Request) (f frozen, err error) {
	if len(req.Steps) != 2 {
		return f, fmt.Errorf("frozen request: %d steps, and a draft takes 2", len(req.Steps))
	}
	head, err := url.ParseQuery(string(req.Steps[0].Body))
	if err != nil {
		return f, fmt.Errorf("frozen request: %w", err)
	}
	f.Reference, f.Customer, f.Currency = head.Get(metadata), head.Get("customer"), money.Currency(strings.ToUpper(head.Get("currency")))
	for part := range strings.SplitSeq(string(req.Steps[1].Body), "&") {
		if err := f.read(part); err != nil {
			return f, fmt.Errorf("frozen request: %w", err)
		}
	}
	for i, line := range f.lines {
		sum, err := line.amount(f.Currency)
		if err != nil {
			return f, fmt.Errorf("frozen request: line %d: %w", i+1, err)
		}
		f.Lines = append(f.Lines, accounting.Line{Amount: sum})
	}
	return f, nil
}

// read takes in one field of a line, such as lines[3][amount]=14250.
func (f *frozen) read(part string) error {
	name, value, _ := strings.Cut(part, "=")
	name, err := url.QueryUnescape(name)
	if err != nil {
		return err
	}
	if value, err = url.QueryUnescape(value); err != nil {
		return err
	}
	index, rest, is := strings.Cut(strings.TrimPrefix(name, "lines["), "]")
	n, err := strconv.Atoi(index)
	switch {
	case !is || err != nil || n != len(f.lines) && n != len(f.lines)-1:
		return fmt.Errorf("%q is not a field of the next line", name)
	case n == len(f.lines):
		f.lines = append(f.lines, nil)
	}
	f.lines[n].add(rest, value)
	return nil
}

// amount returns what a frozen line bills.
func (f form) amount(c money.Currency) (decimal.Decimal, error) {
	quantity, price := decimal.NewFromInt(1), decimal.Zero
	for _, one := range f {
		var err error
		switch one.name {
		case "[amount]", "[price_data][unit_amount_decimal]":
			price, err = decimal.NewFromString(one.value)
		case "[quantity_decimal]":
			quantity, err = decimal.NewFromString(one.value)
		}
		if err != nil {
			return decimal.Zero, err
		}
	}
	return quantity.Mul(price).Round(0).Shift(-digits(c)), nil
}

// numbered writes lines into a body: each with its place, and with what goes before its own fields.
func numbered(lines []form, first func(n int) form) (body form) {
	for n, line := range lines {
		prefix := "lines[" + strconv.Itoa(n) + "]"
		for _, one := range append(first(n), line...) {
			body.add(prefix+one.name, one.value)
		}
	}
	return body
}
