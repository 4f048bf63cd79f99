package folder

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// date reads 2026-07-02, 26.01.2015, and, where the order is known or the day is past the twelfth,
// 03/06/2024.
func date(cell, order string) (civil.Date, error) {
	const cure = "write 2026-11-02"
	if d, err := civil.Parse(strings.ReplaceAll(cell, "/", "-")); err == nil {
		return d, nil
	}
	separator := strings.TrimLeft(cell, "0123456789")
	parts := []string{}
	if separator != "" {
		parts = strings.Split(cell, separator[:1])
	}
	if len(parts) != 3 || !strings.ContainsAny(separator[:1], "./-") || len(parts[2]) != 4 {
		return civil.Date{}, fmt.Errorf("%q is not a date: %s", shown(cell), cure)
	}
	if separator[0] == '.' {
		order = dayFirst
	}
	first, second := number(parts[0]), number(parts[1])
	switch {
	case order == "" && first > 12, order == "" && first == second:
		order = dayFirst
	case order == "" && second > 12:
		order = monthFirst
	case order == "":
		return civil.Date{}, fmt.Errorf("%q may be two days: set `dates: %s` or `dates: %s`, or %s", shown(cell), dayFirst, monthFirst, cure)
	}
	if order == monthFirst {
		first, second = second, first
	}
	d, err := civil.Parse(fmt.Sprintf("%s-%02d-%02d", parts[2], second, first))
	if err != nil {
		return civil.Date{}, fmt.Errorf("%q is not a date with the day %s: %s", shown(cell), place(order), cure)
	}
	return d, nil
}

func place(order string) string {
	if order == monthFirst {
		return "second"
	}
	return "first"
}

// number reads one or two digits; 0 if it is anything else, which is no day and no month.
func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || len(s) > 2 {
		return 0
	}
	return int(n)
}

// mostHours is more hours than a year has.
const mostHours = 10_000

// seconds reads 8:30, 01:36:00, 8.5 and 7,5. A part of a second is rounded.
func seconds(cell string) (int64, error) {
	if strings.Contains(cell, ":") {
		return clocked(cell)
	}
	hours, err := amount(cell)
	if err != nil || hours.Abs().GreaterThan(decimal.NewFromInt(mostHours)) {
		return 0, fmt.Errorf("%q is not a number of hours: write 8.5 or 8:30", shown(cell))
	}
	return hours.Mul(decimal.NewFromInt(3600)).Round(0).IntPart(), nil
}

// clocked reads hours, minutes and perhaps seconds between colons.
func clocked(cell string) (int64, error) {
	plain, negative := strings.CutPrefix(cell, "-")
	parts := strings.Split(plain, ":")
	bad := func() error { return fmt.Errorf("%q is not a number of hours: write 8.5 or 8:30", shown(cell)) }
	if len(parts) > 3 {
		return 0, bad()
	}
	var total int64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || n > mostHours || i > 0 && (len(part) != 2 || n > 59) {
			return 0, bad()
		}
		total = total*60 + int64(n)
	}
	if len(parts) == 2 {
		total *= 60
	}
	if negative {
		total = -total
	}
	return total, nil
}

// amount reads a number with a decimal point or comma. Where both occur, the last of them is the
// decimal one. A comma before three digits may be either, and is refused.
func amount(cell string) (decimal.Decimal, error) {
	bad := func() error { return fmt.Errorf("%q is not a number: write 1234.50", shown(cell)) }
	plain, negative := strings.CutPrefix(strings.Map(apart, cell), "-")
	whole, part, decimalMark := plain, "", byte('.')
	if at := strings.LastIndexAny(plain, ",."); at >= 0 {
		if whole, part, decimalMark = plain[:at], plain[at+1:], plain[at]; part == "" {
			return decimal.Decimal{}, bad()
		}
	}
	switch grouped := strings.ContainsAny(whole, ",.'"); {
	case grouped:
		var ok bool
		if whole, ok = ungroup(whole, decimalMark); !ok {
			return decimal.Decimal{}, bad()
		}
	case decimalMark == ',' && len(part) == 3 && len(whole) <= 3 && whole != "0":
		return decimal.Decimal{}, fmt.Errorf("%q may be two numbers: write 1234 or 1.234", shown(cell))
	}
	// The limits keep a decimal from growing beyond what a person can mean.
	if whole == "" || len(whole) > 12 || len(part) > 12 || strings.Trim(whole+part, "0123456789") != "" {
		return decimal.Decimal{}, bad()
	}
	d, err := decimal.NewFromString(whole + "." + part + "0")
	if negative {
		d = d.Neg()
	}
	return d, err
}

// apart makes one of the spaces and apostrophes that set thousands apart.
func apart(r rune) rune {
	if strings.ContainsRune(" \u00a0\u202f’", r) {
		return '\''
	}
	return r
}

// ungroup takes the marks out of 1.234.567, unless they are what the decimals begin with or stand in
// the wrong places.
func ungroup(whole string, decimalMark byte) (string, bool) {
	mark := ","
	switch {
	case strings.Contains(whole, "'"):
		mark = "'"
	case decimalMark == ',':
		mark = "."
	}
	groups := strings.Split(whole, mark)
	for i, g := range groups {
		if g == "" || len(g) > 3 || i > 0 && len(g) != 3 {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

// optional is amount for a cell that may be empty, which is not zero.
func optional(cell string) (decimal.NullDecimal, error) {
	if cell == "" {
		return decimal.NullDecimal{}, nil
	}
	d, err := amount(cell)
	return decimal.NullDecimal{Decimal: d, Valid: err == nil}, err
}

// flag reads Yes and No.
func flag(cell string) (bool, error) {
	switch strings.ToLower(cell) {
	case "yes", "true", "y", "1":
		return true, nil
	case "no", "false", "n", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither Yes nor No: write one of them", shown(cell))
}

// currency reads EUR and `Euro - EUR`; empty text is no currency.
func currency(cell string) (money.Currency, error) {
	if cell == "" {
		return "", nil
	}
	code := cell
	if i := strings.LastIndex(cell, " - "); i >= 0 {
		code = cell[i+len(" - "):]
	}
	c, err := money.ParseCurrency(strings.TrimSpace(code))
	if err != nil {
		return "", fmt.Errorf("%q names no currency: write its code, such as EUR", shown(cell))
	}
	return c, nil
}

// clock reads 14:05, 14:05:00 and 2:05:00 PM, and writes the second form, so that the account's choice
// of a clock makes no difference.
func clock(cell string) (string, error) {
	if cell == "" {
		return "", nil
	}
	plain := strings.ToUpper(strings.Join(strings.Fields(cell), " "))
	for _, form := range []string{"15:04:05", "15:04", "3:04:05 PM", "3:04 PM", "3:04:05PM", "3:04PM"} {
		if t, err := time.Parse(form, plain); err == nil {
			return t.Format(time.TimeOnly), nil
		}
	}
	return "", fmt.Errorf("%q is not a time of day: write 14:05", shown(cell))
}

// errNone is the fault of a cell that must be filled.
var errNone = errors.New("is empty: fill it in")
