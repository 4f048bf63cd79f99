package folder

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/shopspring/decimal"
	"golang.org/x/text/unicode/norm"

	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// longest is how many bytes a name or an id may have.
const longest = 200

// reading is how cells are understood that do not tell it themselves.
type reading struct {
	dates    string
	currency money.Currency
}

// row is one line of an export. Its entry has no id yet.
type row struct {
	src     *source
	member  string
	start   string // the time of day at which the work began; empty where it is not told
	entry   tracker.Entry
	pending bool  // the tracker says that it is not approved yet
	fault   error // why it cannot be billed; nil where it can
	// unplaced is why it cannot be told whose row it is, or of which day.
	unplaced error
	odd      string // where an amount beside hours and rate is another than theirs, which counts; empty where none is
}

// cells reads the cells of one line and keeps the first fault.
type cells struct {
	line
	reading
	fault error
}

func (c *cells) note(column string, err error) {
	if err != nil && c.fault == nil {
		c.fault = c.line.fault(column, "%v", err)
	}
}

func (c *cells) date(column string) civil.Date {
	cell := c.get(column)
	if cell == "" {
		c.note(column, errNone)
		return civil.Date{}
	}
	d, err := date(cell, c.dates)
	c.note(column, err)
	return d
}

func (c *cells) seconds(column string) int64 {
	cell := c.get(column)
	if cell == "" {
		c.note(column, errNone)
		return 0
	}
	n, err := seconds(cell)
	c.note(column, err)
	return n
}

// hundredth is a hundredth of an hour in seconds: what two decimals can leave out.
const hundredth = 36

// agree notes where hours in decimals are not those of the clock beside them. An empty cell agrees.
func (c *cells) agree(column string, clocked int64) {
	cell := c.get(column)
	if cell == "" || c.fault != nil {
		return
	}
	n, err := seconds(cell)
	if err == nil && max(n-clocked, clocked-n) >= hundredth {
		err = fmt.Errorf("%q is not the time that the clock beside it says, %s: mend the one that is wrong", shown(cell), time.Duration(clocked)*time.Second)
	}
	c.note(column, err)
}

// compare returns where the amount beside hours and rate is another than theirs. Hours shown with two
// decimals may leave out half of a hundredth. It is no fault: what is billed are hours and rate.
func (c *cells) compare(column string, e tracker.Entry) string {
	stated, _ := optional(c.get(column)) // One that is not understood is none: it is not what is billed.
	if c.fault != nil || !stated.Valid || !e.Rate.Valid || !e.Billable {
		return ""
	}
	const hour = 3600
	ours := e.Rate.Decimal.Mul(decimal.NewFromInt(e.Seconds)).DivRound(decimal.NewFromInt(hour), 6)
	slack := e.Rate.Decimal.Abs().Mul(decimal.NewFromInt(hundredth/2)).DivRound(decimal.NewFromInt(hour), 6).
		Add(decimal.New(1, -e.Currency.Digits()))
	if stated.Decimal.Sub(ours).Abs().LessThanOrEqual(slack) {
		return ""
	}
	return c.line.fault(column, "%s is not hours × rate, which is %s and counts", stated.Decimal, e.Currency.Round(ours)).Error()
}

// flag reads a Yes or No that must be there, unless the whole column is missing.
func (c *cells) flag(column string, otherwise bool) bool {
	if !c.table.has(column) {
		return otherwise
	}
	yes, err := flag(c.get(column))
	c.note(column, err)
	return yes
}

func (c *cells) amount(column string) decimal.NullDecimal {
	d, err := optional(c.get(column))
	c.note(column, err)
	return d
}

// money reads a currency, or gives that of the settings.
func (c *cells) money(column string) money.Currency {
	stated, err := currency(c.get(column))
	c.note(column, err)
	if stated == "" {
		return c.currency
	}
	return stated
}

func (c *cells) clock(column string) string {
	s, err := clock(c.get(column))
	c.note(column, err)
	return s
}

// ref reads a name that is its own id.
func (c *cells) ref(column string) tracker.Ref {
	n := name(c.get(column))
	c.note(column, fit(n))
	return tracker.Ref{ID: n, Name: n}
}

// running reports whether work that began has no end.
func (c *cells) running() bool {
	return c.table.has("end time") && c.get("start time") != "" && c.get("end time") == "" && c.get("end date") == ""
}

// name writes a name the same way, however it was typed: spaces, and letters with accents.
func name(s string) string { return norm.NFC.String(strings.Join(strings.Fields(s), " ")) }

// fit refuses what can be no part of an id.
func fit(s string) error {
	switch {
	case len(s) > longest:
		return fmt.Errorf("%q is longer than %d bytes: shorten it", shown(s), longest)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%q holds a control character: remove it", shown(s))
	}
	return nil
}
