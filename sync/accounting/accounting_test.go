package accounting

import (
	"testing"

	"github.com/shopspring/decimal"
)

func amounts(texts ...string) (all []decimal.Decimal) {
	for _, s := range texts {
		all = append(all, decimal.RequireFromString(s))
	}
	return all
}

func wanted() Invoice {
	inv := Invoice{Reference: "ts-1", Customer: "c1", Currency: "EUR"}
	for _, a := range amounts("10.50", "4.25") {
		inv.Lines = append(inv.Lines, Line{Amount: a})
	}
	return inv
}

func found() Receipt {
	return Receipt{
		ID: "i1", Reference: "ts-1", Customer: "c1", Currency: "EUR", Status: Draft, Token: "7",
		Net: decimal.RequireFromString("14.750"), Amounts: amounts("4.250", "10.5"),
	}
}

func TestNetIsTheSumOfTheLines(t *testing.T) {
	if got := wanted().Net(); !got.Equal(decimal.RequireFromString("14.75")) {
		t.Errorf("Net = %s, want 14.75", got)
	}
}

func TestBillsComparesCustomerCurrencyAndMoneyToTheLastUnit(t *testing.T) {
	tests := []struct {
		name string
		mend func(r *Receipt)
		want bool
	}{
		{"the same, lines in another order and other spellings", func(*Receipt) {}, true},
		{"an approved one", func(r *Receipt) { r.Status = Final }, true},
		{"another customer", func(r *Receipt) { r.Customer = "c2" }, false},
		{"another currency", func(r *Receipt) { r.Currency = "USD" }, false},
		{"one cent less", func(r *Receipt) { r.Net = decimal.RequireFromString("14.74") }, false},
		{"the same net on other lines", func(r *Receipt) { r.Amounts = amounts("4.75", "10") }, false},
		{"the same net on one line", func(r *Receipt) { r.Amounts = amounts("14.75") }, false},
		{"a line of nothing more", func(r *Receipt) { r.Amounts = amounts("4.25", "10.5", "0") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := found()
			tt.mend(&r)
			if got := r.Bills(wanted()); got != tt.want {
				t.Errorf("Bills = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestUntouchedIsTheDraftThatWasLeft(t *testing.T) {
	tests := []struct {
		name string
		mend func(r *Receipt)
		want bool
	}{
		{"the same", func(*Receipt) {}, true},
		{"another number and link", func(r *Receipt) { r.Number, r.Link = "INV-7", "https://books.example/7" }, true},
		{"approved", func(r *Receipt) { r.Status = Final }, false},
		{"voided", func(r *Receipt) { r.Status = Void }, false},
		{"edited by a person", func(r *Receipt) { r.Status = Edited }, false},
		{"another token", func(r *Receipt) { r.Token = "8" }, false},
		{"another customer", func(r *Receipt) { r.Customer = "c2" }, false},
		{"another net", func(r *Receipt) { r.Net = decimal.RequireFromString("15") }, false},
		{"other lines", func(r *Receipt) { r.Amounts = amounts("14.75") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := found()
			tt.mend(&r)
			if got := r.Untouched(found()); got != tt.want {
				t.Errorf("Untouched = %v, want %v", got, tt.want)
			}
		})
	}
}
