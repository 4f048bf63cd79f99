package accounting

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"tidemark/sync/money"
)

// Limits are what the documents of a system can say.
type Limits struct {
	Quantity  int32  // decimals of a quantity
	Price     int32  // decimals of a price
	Amount    int32  // decimals to which it rounds amounts of every currency; 0: those of the currency
	Text      int    // characters of a line's text; 0: no limit
	Forbidden string // characters that no text may hold; each becomes a blank
}

// Terms are a line as a system can say it: Quantity × Price is the amount to the minor unit.
type Terms struct {
	Quantity, Price decimal.Decimal
	Text            string
}

var secondsAnHour = decimal.NewFromInt(3600)

// Terms says a line within limits. Where hours × rate cannot give the amount, whichever way a half is
// rounded, it is 1 × amount, with the hours and the rate in the text.
func (l Line) Terms(c money.Currency, limits Limits) Terms {
	hours := decimal.NewFromInt(l.Seconds).DivRound(secondsAnHour, limits.Quantity)
	if !l.Stated && l.Rate.Equal(l.Rate.Round(limits.Price)) && gives(hours.Mul(l.Rate), l.Amount, max(limits.Amount, c.Digits())) {
		return Terms{hours, l.Rate, limits.text(l.Text, "")}
	}
	how := fmt.Sprintf(" (%s h)", decimal.NewFromInt(l.Seconds).DivRound(secondsAnHour, 2).StringFixed(2))
	if !l.Stated {
		how = strings.TrimSuffix(how, ")") + " × " + exactly(l.Rate, c) + ")"
	}
	return Terms{decimal.NewFromInt(1), l.Amount, limits.text(l.Text, how)}
}

// exactly writes a price with all of its decimals, and as many as the currency has at least.
func exactly(price decimal.Decimal, c money.Currency) string {
	if price.Equal(c.Round(price)) {
		return c.Format(price)
	}
	return price.String() + " " + string(c)
}

// gives reports whether a product is rounded to an amount by everybody: it is nearer to it than half of the
// last digit.
func gives(product, amount decimal.Decimal, digits int32) bool {
	half := decimal.New(5, -digits-1)
	return product.Sub(amount).Abs().LessThan(half)
}

// text makes one line of a text with an end that is kept, cut between characters.
func (l Limits) text(text, end string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(l.Forbidden, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	clean = strings.Join(strings.Fields(clean), " ")
	if room := l.Text - utf8.RuneCountInString(end); l.Text > 0 && utf8.RuneCountInString(clean) > room {
		clean = string([]rune(clean)[:max(room-1, 0)]) + "…"
	}
	return clean + end
}

// Short makes one line of a text of at most so many characters, without those that are forbidden.
func (l Limits) Short(text string, most int) string {
	l.Text = most
	return l.text(text, "")
}
