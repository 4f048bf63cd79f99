package stripe

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/sync/money"
)

// digits returns how many decimals Stripe's smallest unit of a currency has. That is not always ISO 4217's: ISK
// and UGX have none there, and two at Stripe.
func digits(c money.Currency) int32 {
	switch {
	case slices.Contains([]money.Currency{"BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"}, c):
		return 0
	case threeDecimals(c):
		return 3
	}
	return 2
}

func threeDecimals(c money.Currency) bool {
	return slices.Contains([]money.Currency{"BHD", "JOD", "KWD", "OMR", "TND"}, c)
}

// units returns an amount in Stripe's smallest unit, if it can be said in it.
func units(amount decimal.Decimal, c money.Currency) (int64, error) {
	n := amount.Shift(digits(c))
	switch {
	case !n.IsInteger() || !n.BigInt().IsInt64():
		return 0, fmt.Errorf("stripe: %s cannot be said in Stripe's smallest unit of %s: bill it in another currency", amount, c)
	case threeDecimals(c) && n.IntPart()%10 != 0:
		return 0, fmt.Errorf("stripe: %s: Stripe takes amounts of %s that end in 0 only: bill it in another currency, or round the rate", c.Format(amount), c)
	}
	return n.IntPart(), nil
}

// amount returns what so many of Stripe's smallest units are.
func amount(units int64, c money.Currency) decimal.Decimal { return decimal.New(units, -digits(c)) }
