package accounting_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/money"
)

func TestTermsGiveTheAmount(t *testing.T) {
	limits := accounting.Limits{Quantity: 2, Price: 4}
	tests := []struct {
		name            string
		seconds         int64
		rate, amount    string
		stated          bool
		currency        money.Currency
		quantity, price string
		text            string
	}{
		{"plain", 27000, "95", "712.50", false, "EUR", "7.5", "95", "work"},
		{"hours that two decimals cannot say", 3000, "100", "83.33", false, "EUR", "1", "83.33", "work (0.83 h × 100.00 EUR)"},
		{"hours that two decimals can say well enough", 1200, "3", "1.00", false, "EUR", "1", "1", "work (0.33 h × 3.00 EUR)"},
		{"a rate with too many decimals", 3600, "33.33333", "33.33", false, "EUR", "1", "33.33", "work (1.00 h × 33.33333 EUR)"},
		{"stated", 3600, "0", "157.35", true, "EUR", "1", "157.35", "work (1.00 h)"},
		{"yen", 27000, "80.50", "604", false, "JPY", "7.5", "80.5", "work"},
		{"nothing", 5400, "0", "0", false, "EUR", "1.5", "0", "work"},
		{"half a cent, which some round down", 1800, "0.01", "0.01", false, "EUR", "1", "0.01", "work (0.50 h × 0.01 EUR)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := accounting.Line{Text: "work", Seconds: tt.seconds, Rate: decimal.RequireFromString(tt.rate), Stated: tt.stated, Amount: decimal.RequireFromString(tt.amount)}
			got := l.Terms(tt.currency, limits)
			if got.Quantity.String() != tt.quantity || got.Price.String() != tt.price || got.Text != tt.text {
				t.Errorf("Terms = %s × %s %q, want %s × %s %q", got.Quantity, got.Price, got.Text, tt.quantity, tt.price, tt.text)
			}
		})
	}
}

func TestAmountsThatTheSystemRoundsItsOwnWay(t *testing.T) {
	l := accounting.Line{Text: "work", Seconds: 27000, Rate: decimal.RequireFromString("80.50"), Amount: decimal.NewFromInt(604)}
	got := l.Terms("JPY", accounting.Limits{Quantity: 4, Price: 4, Amount: 2})
	if !got.Quantity.Equal(decimal.NewFromInt(1)) || !got.Price.Equal(decimal.NewFromInt(604)) {
		t.Errorf("Terms = %s × %s, want 1 × 604 where 603.75 would stand", got.Quantity, got.Price)
	}
}

func TestTextIsCutBetweenCharactersAndKeepsItsEnd(t *testing.T) {
	l := accounting.Line{Text: strings.Repeat("ü😀", 50) + "\n:MONTH\x00", Seconds: 3600, Stated: true, Amount: decimal.NewFromInt(5)}
	for most := 12; most < 60; most++ {
		got := l.Terms("EUR", accounting.Limits{Quantity: 2, Price: 2, Text: most}).Text
		if utf8.RuneCountInString(got) > most || !utf8.ValidString(got) || !strings.HasSuffix(got, "… (1.00 h)") {
			t.Errorf("text of at most %d = %q", most, got)
		}
	}
	if got := (accounting.Limits{Forbidden: ":<"}).Short("a:b<c\x00d\n e\xff", 100); got != "a b c d e�" {
		t.Errorf("Short = %q", got)
	}
}

func FuzzTermsAmount(f *testing.F) {
	f.Add(int64(5400), int64(9500), int64(2), false)
	f.Fuzz(func(t *testing.T, seconds, rate, quantity int64, stated bool) {
		if seconds < 0 || rate < 0 || seconds > 1e9 || rate > 1e9 {
			t.Skip()
		}
		c := money.Currency("EUR")
		l := accounting.Line{Text: "w", Seconds: seconds, Rate: decimal.New(rate, -3), Stated: stated}
		l.Amount = c.Quotient(l.Rate.Mul(decimal.NewFromInt(seconds)), decimal.NewFromInt(3600))
		got := l.Terms(c, accounting.Limits{Quantity: int32(quantity&7) + 1, Price: 4})
		if !c.Round(got.Quantity.Mul(got.Price)).Equal(l.Amount) {
			t.Errorf("%s × %s is not %s", got.Quantity, got.Price, l.Amount)
		}
	})
}
