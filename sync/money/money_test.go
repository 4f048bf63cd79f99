package money

import (
	"testing"

	"github.com/shopspring/decimal"
)

func TestMinorUnits(t *testing.T) {
	for code, want := range map[Currency]int32{"JPY": 0, "KRW": 0, "EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "KWD": 3, "BHD": 3} {
		if got := code.Digits(); got != want {
			t.Errorf("%s.Digits = %d, want %d", code, got, want)
		}
	}
}

func TestRoundingIsHalfAwayFromZero(t *testing.T) {
	tests := []struct {
		currency     Currency
		amount, want string
	}{
		{"EUR", "0.005", "0.01"},
		{"EUR", "-0.005", "-0.01"},
		{"EUR", "0.0049999999999999999999", "0.00"},
		{"EUR", "2.675", "2.68"},
		{"EUR", "1.005", "1.01"},
		{"EUR", "2.665", "2.67"},
		{"JPY", "0.5", "1"},
		{"JPY", "1.5", "2"},
		{"JPY", "2.5", "3"},
		{"JPY", "-2.5", "-3"},
		{"JPY", "8333.3", "8333"},
		{"KWD", "0.0005", "0.001"},
		{"KWD", "-0.0005", "-0.001"},
		{"KWD", "1.23449", "1.234"},
	}
	for _, tt := range tests {
		if got := tt.currency.Round(decimal.RequireFromString(tt.amount)).StringFixed(tt.currency.Digits()); got != tt.want {
			t.Errorf("%s.Round(%s) = %s, want %s", tt.currency, tt.amount, got, tt.want)
		}
	}
}

func TestQuotientIsRoundedOnce(t *testing.T) {
	tests := []struct {
		currency          Currency
		dividend, divisor string
		want              string
	}{
		{"EUR", "300000", "3600", "83.33"},
		{"EUR", "2052000", "3600", "570.00"},
		{"EUR", "18", "3600", "0.01"}, // exactly half a cent
		{"EUR", "17.99999999999999999999999999", "3600", "0.00"},
		{"EUR", "-18", "3600", "-0.01"},
		{"JPY", "1800", "3600", "1"},
		{"KWD", "1.8", "3600", "0.001"},
		{"EUR", "19775.86416", "3600", "5.49"}, // 33.3333 h at 0.1648
	}
	for _, tt := range tests {
		got := tt.currency.Quotient(decimal.RequireFromString(tt.dividend), decimal.RequireFromString(tt.divisor))
		if got.StringFixed(tt.currency.Digits()) != tt.want {
			t.Errorf("%s.Quotient(%s, %s) = %s, want %s", tt.currency, tt.dividend, tt.divisor, got, tt.want)
		}
	}
}

func TestParseCurrencyAcceptsCodesInUse(t *testing.T) {
	for _, code := range []string{"EUR", "USD", "JPY", "KWD"} {
		if got, err := ParseCurrency(code); err != nil || string(got) != code {
			t.Errorf("ParseCurrency(%q) = %q, %v; want it", code, got, err)
		}
	}
	for _, code := range []string{"", "eur", "Euro", "EU", "XQZ", "EUR "} {
		if got, err := ParseCurrency(code); err == nil {
			t.Errorf("ParseCurrency(%q) = %q, want an error", code, got)
		}
	}
}

func TestFormatShowsEveryDecimal(t *testing.T) {
	for want, c := range map[string]Currency{"1095.00 EUR": "EUR", "1095 JPY": "JPY", "1095.000 KWD": "KWD"} {
		if got := c.Format(decimal.NewFromInt(1095)); got != want {
			t.Errorf("Format = %q, want %q", got, want)
		}
	}
}
