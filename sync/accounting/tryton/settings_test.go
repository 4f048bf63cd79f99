package tryton_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/tryton"
	"tidemark/sync/civil"
)

func TestSettingsNameEveryFault(t *testing.T) {
	err := tryton.Settings{
		URL: "http://tryton.example.com", Database: "a/b", Currencies: map[string]int64{"EUR": 0}, Taxes: map[string][]int64{"VAT": nil}, Guard: "hope",
	}.Validate()
	for _, field := range []string{"account", "url", "database", "user", "password", "company", "journal", "receivable", "revenue", "currencies", "taxes", "guard"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("Validate = %v, want a fault of %s", err, field)
		}
	}
	if err := settings("https://tryton.example.com", password, "").Validate(); err != nil {
		t.Errorf("Validate of good settings = %v", err)
	}
}

func TestPrepareSaysWhatIsMissing(t *testing.T) {
	books, err := tryton.New(settings(remotetest.Base, password, ""), remote.New(remote.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	day := civil.Date{Year: 2026, Month: 11, Day: 8}
	for want, inv := range map[string]accounting.Invoice{
		"list it under currencies": {Reference: "ts-1", Customer: "71", Currency: "CHF", Date: day},
		"VAT7: [1]":                {Reference: "ts-1", Customer: "71", Currency: "EUR", Date: day, Tax: "VAT7"},
		"not the id of a party":    {Reference: "ts-1", Customer: "Acme", Currency: "EUR", Date: day},
	} {
		if _, err := books.Prepare(inv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Prepare = %v, want %q", err, want)
		}
	}
}

// TestRefusedPasswordIsLeftAlone holds that a wrong password is sent once in fifty minutes: Tryton locks a user
// out after five in five.
func TestRefusedPasswordIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{of: map[*accountingtest.Books]*vendor{}}
		b := accountingtest.NewBooks()
		net := remote.New(remote.Options{Transport: remotetest.Serve(t, o.handler(b))})
		books, err := tryton.New(settings(remotetest.Base, "wrong", ""), net)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if _, err := books.Find(t.Context(), "ts-1"); !errors.Is(err, accounting.ErrPaused) {
				t.Fatalf("Find with a wrong password = %v, want it paused", err)
			}
			time.Sleep(time.Minute)
		}
		if n := o.of[b].logins; n != 1 {
			t.Errorf("%d logins in forty minutes, want 1", n)
		}
		time.Sleep(20 * time.Minute)
		if _, err := books.Find(t.Context(), "ts-1"); !errors.Is(err, accounting.ErrPaused) || o.of[b].logins != 2 {
			t.Errorf("Find an hour later = %v after %d logins, want a second one", err, o.of[b].logins)
		}
	})
}
