// Package money says what a currency is and how an amount is rounded to it. Amounts themselves are
// decimals of github.com/shopspring/decimal, exact and never floating point.
//
// Its one hard rule: an amount is rounded in [Currency.Round] alone, half away from zero, to the
// currency's minor unit, and once.
package money

import (
	"fmt"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"
)

// Currency is an ISO 4217 code in upper case, such as EUR. The zero Currency means that none was stated.
type Currency string

// ParseCurrency accepts the code of a currency that is in use under ISO 4217.
func ParseCurrency(code string) (Currency, error) {
	if code == "" || !currency.IsValid(code) {
		return "", fmt.Errorf("%q is not a currency code of ISO 4217 (write EUR, USD, GBP …)", code)
	}
	return Currency(code), nil
}

// Digits returns how many decimals the minor unit has: 0 for JPY, 2 for EUR, 3 for KWD. For a code
// that [ParseCurrency] would refuse it is 2.
func (c Currency) Digits() int32 {
	digits, known := currency.GetDigits(string(c))
	if !known {
		return 2
	}
	return int32(digits)
}

// Round rounds amount half away from zero to the minor unit of c.
func (c Currency) Round(amount decimal.Decimal) decimal.Decimal { return amount.Round(c.Digits()) }

// Quotient returns dividend ÷ divisor rounded as Round does, without an intermediate rounding.
// The divisor must not be zero.
func (c Currency) Quotient(dividend, divisor decimal.Decimal) decimal.Decimal {
	return dividend.DivRound(divisor, c.Digits())
}

// Format writes amount with all decimals of the minor unit and the code behind: "1095.00 EUR".
func (c Currency) Format(amount decimal.Decimal) string {
	return amount.StringFixed(c.Digits()) + " " + string(c)
}
