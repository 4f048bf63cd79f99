package folder

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/sync/money"
)

// harvest reads Harvest's detailed time report. What is billed follows the rounded hours.
func harvest(*table) (func(*cells) row, error) {
	return func(c *cells) row {
		r := c.placed("date", c.get("first name")+" "+c.get("last name"), "first name")
		hours := "hours"
		if c.get("hours rounded") != "" {
			hours = "hours rounded"
		}
		r.entry.Seconds = c.seconds(hours)
		r.entry.Billable = c.flag("billable?", false)
		r.entry.Elsewhere = c.flag("invoiced?", false)
		r.entry.Rate = c.amount("billable rate")
		r.entry.Currency = c.money("currency")
		r.entry.Note = c.get("notes")
		r.pending = !c.flag("approved?", true)
		r.odd = c.compare("billable amount", r.entry)
		return r
	}, nil
}

// clockify reads Clockify's detailed report. The currency stands in its header.
func clockify(t *table) (func(*cells) row, error) {
	rates, err := pricedColumns(t, "billable rate")
	if err != nil {
		return nil, err
	}
	if len(rates) > 1 {
		return nil, fmt.Errorf("%s:1: has the columns %s and %s: leave the currency that the work is billed in",
			t.file, shown(rates[0].column), shown(rates[1].column))
	}
	return func(c *cells) row {
		r := c.timed()
		r.entry.Seconds = c.seconds("duration (h)")
		c.agree("duration (decimal)", r.entry.Seconds)
		r.entry.Currency = c.currency
		for _, p := range rates {
			r.entry.Rate = c.amount(p.column)
			r.entry.Currency = p.or(r.entry.Currency)
			r.odd = c.compare(strings.Replace(p.column, "rate", "amount", 1), r.entry)
		}
		return r
	}, nil
}

// toggl reads Toggl Track's detailed report. It states amounts, in a column for each currency.
func toggl(t *table) (func(*cells) row, error) {
	amounts, err := pricedColumns(t, "amount")
	if err != nil {
		return nil, err
	}
	return func(c *cells) row {
		r := c.timed()
		r.entry.Seconds = c.seconds("duration")
		r.entry.Amount, r.entry.Currency = c.oneOf(amounts)
		return r
	}, nil
}

// or returns the currency of the column, or the other where its name states none.
func (p priced) or(other money.Currency) money.Currency {
	if p.currency != "" {
		return p.currency
	}
	return other
}

// oneOf returns the amount that is not zero among columns of several currencies; more than one is a fault.
func (c *cells) oneOf(amounts []priced) (decimal.NullDecimal, money.Currency) {
	var found decimal.NullDecimal
	currency := c.currency
	if len(amounts) == 1 {
		currency = amounts[0].or(currency)
	}
	for _, p := range amounts {
		d := c.amount(p.column)
		switch {
		case !d.Valid, found.Valid && d.Decimal.IsZero():
		case found.Valid && !found.Decimal.IsZero():
			c.note(p.column, errors.New("is a second amount of one entry: leave the one that is billed"))
		default:
			found, currency = d, p.or(c.currency)
		}
	}
	return found, currency
}

// timed reads what Clockify and Toggl Track call the same.
func (c *cells) timed() row {
	r := c.placed("start date", c.get("user"), "user")
	r.start = c.clock("start time")
	r.entry.Billable = c.flag("billable", false)
	r.entry.Running = c.running()
	r.entry.Note = c.get("description")
	return r
}

// placed reads who worked, when and for whom. A fault in the first two leaves the row without a place.
func (c *cells) placed(day, member, column string) row {
	r := row{member: name(member)}
	r.entry.Date = c.date(day)
	if r.member == "" {
		c.note(column, errNone)
	}
	c.note(column, fit(r.member))
	r.unplaced = c.fault
	r.entry.Client, r.entry.Project, r.entry.Task = c.ref("client"), c.ref("project"), c.ref("task")
	return r
}
