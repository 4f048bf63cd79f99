package sync

import (
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"tidemark/state"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

func billedAt(hours float64, rate string, currency money.Currency) []state.Billed {
	e := with(entry("a", hours), func(e *tracker.Entry) { e.Rate, e.Currency = price(rate), currency })
	b, _ := testRules().bill(week("w"), e)
	return []state.Billed{b}
}

func TestAmountIsRateTimesHoursRoundedOnce(t *testing.T) {
	tests := []struct {
		name     string
		seconds  int64
		rate     string
		currency money.Currency
		want     string
	}{
		{"50 min at 100", 50 * 60, "100", "EUR", "83.33"},
		{"6 h 20 at 90", 6*3600 + 20*60, "90", "EUR", "570"},
		{"0.2 h at 30", 720, "30", "EUR", "6"},
		{"33.3333 h at 0.1648, in whole seconds", 120000, "0.1648", "EUR", "5.49"},
		{"half a cent is rounded away from zero", 18, "1", "EUR", "0.01"},
		{"no decimals", 1800, "3", "JPY", "2"},
		{"three decimals", 1, "1.8", "KWD", "0.001"},
		{"one second at 1", 1, "1", "EUR", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := billedAt(0, tt.rate, tt.currency)
			b[0].Entry.Seconds = tt.seconds
			got := testRules().totals(b, tt.currency)
			if !got.Amount.Equal(decimal.RequireFromString(tt.want)) || got.Seconds != tt.seconds {
				t.Errorf("totals = %s for %d s, want %s for %d s", got.Amount, got.Seconds, tt.want, tt.seconds)
			}
		})
	}
}

// TestLinesAreSummedBeforeTheyAreRounded: three times a third of a cent is a cent.
func TestLinesAreSummedBeforeTheyAreRounded(t *testing.T) {
	var all []state.Billed
	for _, id := range []string{"a", "b", "c"} {
		e := with(entry(id, 0), func(e *tracker.Entry) { e.Seconds = 12 })
		e.Rate = price("1")
		b, _ := testRules().bill(week("w"), e)
		all = append(all, b)
	}
	if got := testRules().totals(all, "EUR").Amount; !got.Equal(decimal.RequireFromString("0.01")) {
		t.Errorf("amount on one line = %s, want 0.01", got)
	}
	each := testRules()
	each.Lines = LineEntry
	if got := each.totals(all, "EUR").Amount; !got.IsZero() {
		t.Errorf("amount on three lines = %s, want 0: each is less than half a cent", got)
	}
}

func TestLinesMixNeitherRatesNorStatedAmounts(t *testing.T) {
	bill := func(id, rate, amount string) state.Billed {
		e := with(entry(id, 1), func(e *tracker.Entry) { e.Rate = price(rate) })
		if amount != "" {
			e.Amount = price(amount)
		}
		b, _ := testRules().bill(week("w"), e)
		return b
	}
	all := []state.Billed{bill("a", "100", ""), bill("b", "100.00", ""), bill("c", "90", ""), bill("d", "100", "42")}
	for _, how := range []Lines{LineMember, LineTask, LineSingle} {
		s := testRules()
		s.Lines = how
		lines := s.lines(all, "EUR")
		if len(lines) != 3 {
			t.Errorf("lines per %s = %d, want 3: at 100, at 90, stated", how, len(lines))
		}
		for _, l := range lines {
			if l.Stated && !l.Amount.Equal(decimal.NewFromInt(42)) {
				t.Errorf("stated line per %s = %s, want 42", how, l.Amount)
			}
		}
	}
}

func TestLinesFollowTheSetting(t *testing.T) {
	bob := week("w2", entry("c", 3))
	bob.Member = tracker.Ref{ID: "m2", Name: "Bob"}
	rules := testRules()
	a, _ := rules.bill(week("w"), with(entry("a", 1), func(e *tracker.Entry) { e.Task, e.Note = tracker.Ref{ID: "t1", Name: "Design"}, "Logo" }))
	b, _ := rules.bill(week("w"), entry("b", 2))
	c, _ := rules.bill(bob, bob.Entries[0])
	tests := []struct {
		how  Lines
		want []string
	}{
		{LineMember, []string{"Ann", "Bob"}},
		{LineEntry, []string{"2026-11-03 Ann: Logo", "2026-11-03 Ann: Relaunch", "2026-11-03 Bob: Relaunch"}},
		{LineTask, []string{"Design", "Relaunch"}},
		{LineSingle, []string{"Relaunch"}},
	}
	for _, tt := range tests {
		s := testRules()
		s.Lines = tt.how
		lines := s.lines([]state.Billed{c, b, a}, "EUR")
		if len(lines) != len(tt.want) {
			t.Errorf("lines per %s = %v, want %v", tt.how, lines, tt.want)
			continue
		}
		for i, text := range tt.want {
			if lines[i].Text != text {
				t.Errorf("line %d per %s = %q, want %q", i, tt.how, lines[i].Text, text)
			}
		}
	}
}

// TestMoneyAddsUp: whatever is billed, the net is the sum of the lines, and each line is the exact sum of
// its entries, rounded once half away from zero.
func TestMoneyAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := testRules()
		s.Lines = rapid.SampledFrom([]Lines{LineMember, LineEntry, LineTask, LineSingle}).Draw(t, "lines")
		currency := rapid.SampledFrom([]money.Currency{"EUR", "JPY", "KWD"}).Draw(t, "currency")
		billed := draw(t)
		inv := s.invoice(state.Group{Reference: "ts-1", Per: string(PerProject), Period: week("w").Period, Currency: currency}, 1, billed, Customer{})
		sum, seconds, exact := decimal.Zero, int64(0), new(ratSum)
		for _, l := range inv.Lines {
			sum, seconds = sum.Add(l.Amount), seconds+l.Seconds
			if !l.Amount.Equal(l.Amount.Round(currency.Digits())) {
				t.Fatalf("line amount = %s, want at most %d decimals", l.Amount, currency.Digits())
			}
			if want := l.Rate.Mul(decimal.NewFromInt(l.Seconds)); !l.Stated && !exactRound(want, currency).Equal(l.Amount) {
				t.Fatalf("line of %d s at %s = %s, want %s", l.Seconds, l.Rate, l.Amount, exactRound(want, currency))
			}
		}
		for _, b := range billed {
			exact.add(b)
		}
		if !inv.Net().Equal(sum) || !s.totals(billed, currency).Amount.Equal(sum) {
			t.Fatalf("net = %s, totals = %s, want the sum of the lines %s", inv.Net(), s.totals(billed, currency).Amount, sum)
		}
		if seconds != exact.seconds {
			t.Fatalf("seconds on the lines = %d, want %d", seconds, exact.seconds)
		}
		// Each line may differ from the exact sum by half a minor unit.
		off := sum.Mul(secondsAnHour).Sub(exact.sum).Abs()
		most := decimal.New(5, -currency.Digits()-1).Mul(secondsAnHour).Mul(decimal.NewFromInt(int64(len(inv.Lines))))
		if off.GreaterThan(most) {
			t.Fatalf("net = %s is off by %s ÷ 3600, want at most half a unit for each of %d lines", sum, off, len(inv.Lines))
		}
	})
}

// ratSum adds amounts up in parts of 3600, so that nothing is rounded.
type ratSum struct {
	sum     decimal.Decimal
	seconds int64
}

func (r *ratSum) add(b state.Billed) {
	r.seconds += b.Entry.Seconds
	if b.Entry.Amount.Valid {
		r.sum = r.sum.Add(b.Entry.Amount.Decimal.Mul(secondsAnHour))
		return
	}
	r.sum = r.sum.Add(b.Rate.Decimal.Mul(decimal.NewFromInt(b.Entry.Seconds)))
}

// exactRound divides by 3600 and rounds half away from zero, by whole numbers alone.
func exactRound(dividend decimal.Decimal, currency money.Currency) decimal.Decimal {
	units := dividend.Shift(currency.Digits())
	quotient, rest := units.QuoRem(secondsAnHour, 0)
	if rest.Mul(decimal.NewFromInt(2)).GreaterThanOrEqual(secondsAnHour) {
		quotient = quotient.Add(decimal.NewFromInt(1))
	}
	return quotient.Shift(-currency.Digits())
}

func TestInvoiceBearsTheDaysOfTheSettings(t *testing.T) {
	g := state.Group{Reference: "ts-1", Per: string(PerProject), Period: week("w").Period, Currency: "EUR"}
	billed := billedAt(2, "100", "EUR")
	s := testRules()
	if inv := s.invoice(g, 1, billed, Customer{}); inv.Date != g.Period.Last || !inv.Due.IsZero() {
		t.Errorf("date = %s, due = %q; want the last day of the period and none", inv.Date, inv.Due)
	}
	s.DueDays, s.Dated = 14, PeriodStart
	if inv := s.invoice(g, 1, billed, Customer{}); inv.Date != g.Period.First || inv.Due != g.Period.First.AddDays(14) {
		t.Errorf("date = %s, due = %s; want the first day and 14 days later", inv.Date, inv.Due)
	}
	s.DueDays = 0
	if inv := s.invoice(g, 1, billed, Customer{}); inv.Due != inv.Date {
		t.Errorf("due = %s, want the date of the invoice %s", inv.Due, inv.Date)
	}
}

func TestInvoiceSaysForWhomAndWhat(t *testing.T) {
	g := state.Group{Reference: "ts-1", Per: string(PerProject), Period: week("w").Period, Client: tracker.Ref{ID: "c1", Name: "Old name"}, Project: tracker.Ref{ID: "p1", Name: "Old project"}, Currency: "EUR"}
	inv := testRules().invoice(g, 2, billedAt(2, "100", "EUR"), Customer{Customer: "cust-1", Tax: "OUTPUT2"})
	if inv.Reference != "ts-1-2" || inv.Customer != "cust-1" || inv.Tax != "OUTPUT2" || inv.Client != "Acme GmbH" || inv.Title != "Relaunch, week 45 of 2026" {
		t.Errorf("invoice = %+v, want the second document for Acme GmbH with today's names", inv)
	}
	g.Per, g.Period.Last = string(PerClient), g.Period.Last.AddDays(7)
	if inv := testRules().invoice(g, 1, nil, Customer{}); inv.Title != "2026-11-02 to 2026-11-15" || inv.Client != "Old name" {
		t.Errorf("title = %q for %q, want the days for Old name", inv.Title, inv.Client)
	}
	g.Per, g.Member, g.Period = string(PerWeek), tracker.Ref{ID: "m1", Name: "Ann"}, week("w").Period
	if inv := testRules().invoice(g, 1, billedAt(1, "1", "EUR"), Customer{}); inv.Title != "Ann, week 45 of 2026" {
		t.Errorf("title = %q, want Ann, week 45 of 2026", inv.Title)
	}
}

// TestInvoiceIsTheSameWhateverTheOrder: the frozen bytes of one content are one.
func TestInvoiceIsTheSameWhateverTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		billed := draw(t)
		s := testRules()
		s.Lines = rapid.SampledFrom([]Lines{LineMember, LineTask, LineSingle}).Draw(t, "lines")
		a := s.totals(billed, "EUR")
		b := s.totals(rapid.Permutation(billed).Draw(t, "order"), "EUR")
		if !a.Amount.Equal(b.Amount) || a.Seconds != b.Seconds {
			t.Fatalf("totals = %v and %v, want the same in each order", a, b)
		}
	})
}
