package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/money"
)

// grid is a table without lines, its head set off by a rule.
func grid(head ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	style.Format.Footer = text.FormatDefault
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	t.SetStyle(style)
	t.AppendHeader(table.Row(head))
	return t
}

// right aligns columns to the right.
func right(t table.Writer, columns ...int) {
	configs := make([]table.ColumnConfig, len(columns))
	for i, n := range columns {
		configs[i] = table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight}
	}
	t.SetColumnConfigs(configs)
}

// render writes a table, indented.
func render(w io.Writer, t table.Writer) {
	for line := range strings.SplitSeq(t.Render(), "\n") {
		fmt.Fprintln(w, "  "+strings.TrimRight(line, " "))
	}
}

// printJSON writes v for programs.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// clean makes remote text harmless for a terminal: what is not printable shows as �.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || (r >= 0x200e && r <= 0x200f) || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return '�'
		}
		return r
	}, s)
}

// short cuts text to a width, with a mark.
func short(s string, width int) string { return text.Trim(clean(s), width) }

func hours(seconds int64) string {
	return decimal.NewFromInt(seconds).DivRound(decimal.NewFromInt(3600), 2).StringFixed(2)
}

// amount writes money, and nothing where there is none.
func amount(t state.Totals) string {
	if t.Currency == "" {
		return ""
	}
	return t.Currency.Format(t.Amount)
}

// signed writes a difference with its sign.
func signed(d decimal.Decimal, c money.Currency) string {
	if c == "" {
		return ""
	}
	if d.IsPositive() {
		return "+" + c.Format(d)
	}
	return c.Format(d)
}

// moneyOf writes sums, each currency for itself.
func moneyOf(sums map[money.Currency]decimal.Decimal) string {
	currencies := make([]money.Currency, 0, len(sums))
	for c := range sums {
		currencies = append(currencies, c)
	}
	slices.Sort(currencies)
	parts := make([]string, len(currencies))
	for i, c := range currencies {
		parts[i] = c.Format(sums[c])
	}
	return strings.Join(parts, " and ")
}

// when writes a moment with its zone, and a dash for none.
func when(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "never"
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// many writes a count with its noun.
func many(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
