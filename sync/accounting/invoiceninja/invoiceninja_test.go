package invoiceninja_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/invoiceninja"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

func dialect(reference string) accountingtest.Dialect {
	return accountingtest.Dialect{
		Handler: handler(reference == "number"), Token: token, Customer: hash, Refuse: refuse,
		Currencies: []money.Currency{"EUR"},
		New: func(t testing.TB, net *remote.Network, base, token string) accountingtest.System {
			n, err := invoiceninja.New(invoiceninja.Settings{
				Account: "demo", URL: base, Token: config.SecretOf(token), Currency: "EUR", Reference: reference, Currencies: map[string]string{"JPY": "45", "KWD": "60"},
			}, net)
			if err != nil {
				t.Fatal(err)
			}
			return n
		},
		Writes: func(r *http.Request, _ []byte) bool {
			return r.Method != http.MethodGet && r.URL.Path != "/api/v1/companies/current"
		},
		Forbidden: []string{
			`POST /api/v1/invoices?send_email=true {"client_id":"x"}`, `POST /api/v1/invoices {"client_id":"x","mark_sent":true}`, `POST /api/v1/invoices {"paid":true}`,
			`PUT /api/v1/invoices/1 {"auto_bill":true}`, `PUT /api/v1/invoices/1 {"status_id":"2"}`, `POST /api/v1/invoices/bulk {"action":"delete","ids":["1"]}`,
			`POST /api/v1/emails {}`, `DELETE /api/v1/invoices/1`, `POST /api/v1/payments {}`,
		},
	}
}

func TestInvoiceNinja(t *testing.T) { accountingtest.Test(t, dialect("po_number")) }

func TestInvoiceNinjaByNumber(t *testing.T) { accountingtest.Test(t, dialect("number")) }

// at returns a company before books.
func at(t *testing.T, reference string) (*invoiceninja.Ninja, *accountingtest.Books) {
	books := accountingtest.NewBooks()
	d := dialect(reference)
	net := remote.New(remote.Options{Transport: remotetest.Serve(t, d.Handler(books)), NoLimits: true})
	return d.New(t, net, remotetest.Base, token).(*invoiceninja.Ninja), books
}

func invoice(reference, customer string, currency money.Currency) accounting.Invoice {
	day := civil.Date{Year: 2026, Month: 11, Day: 8}
	return accounting.Invoice{
		Reference: reference, Customer: hash(customer), Currency: currency, Date: day, Period: civil.Period{First: day, Last: day},
		Lines: []accounting.Line{{Text: "work", Seconds: 3600, Rate: decimal.NewFromInt(90), Amount: decimal.NewFromInt(90)}},
	}
}

func TestClientIsNotBilledInAnotherCurrencyThanItsOwn(t *testing.T) {
	n, books := at(t, "po_number")
	req, err := n.Prepare(invoice("ts-1", "72", "EUR"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Create(t.Context(), "ts-1", req, accounting.Progress{}, nil)
	if !errors.Is(err, accounting.ErrRejected) || !strings.Contains(err.Error(), "billed in USD") || len(books.Documents) != 0 {
		t.Errorf("Create in EUR for a client of USD = %v, %d documents; want it rejected and none", err, len(books.Documents))
	}
	if req, err = n.Prepare(invoice("ts-2", "72", "USD")); err != nil {
		t.Fatal(err)
	}
	if r, err := n.Create(t.Context(), "ts-2", req, accounting.Progress{}, nil); err != nil || r.Currency != "USD" {
		t.Errorf("Create in USD = %+v, %v", r, err)
	}
	if _, err := n.Prepare(invoice("ts-3", "71", "CHF")); err == nil || !strings.Contains(err.Error(), "currencies") {
		t.Errorf("Prepare in CHF = %v, want the setting to be named", err)
	}
}

func TestTakenNumberIsNoRefusal(t *testing.T) {
	n, _ := at(t, "number")
	req, err := n.Prepare(invoice("ts-1", "71", "EUR"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Create(t.Context(), "ts-1", req, accounting.Progress{}, nil); err != nil {
		t.Fatal(err)
	}
	_, err = n.Create(t.Context(), "ts-1", req, accounting.Progress{}, nil)
	if err == nil || errors.Is(err, accounting.ErrRejected) || errors.Is(err, accounting.ErrNotSent) || !strings.Contains(err.Error(), "already been taken") {
		t.Errorf("Create with a number that is taken = %v, want the vendor's sentence and an unknown outcome: an earlier attempt may bear it", err)
	}
}

func TestTaxesAreNamed(t *testing.T) {
	n, _ := at(t, "po_number")
	inv := invoice("ts-1", "71", "EUR")
	inv.Tax = "VAT20"
	if _, err := n.Prepare(inv); err == nil || !strings.Contains(err.Error(), "VAT20: {name: VAT, rate: 20}") {
		t.Errorf("Prepare with an unknown tax = %v, want the cure", err)
	}
}

func TestNothingIsBilledTwiceWhateverIsLost(t *testing.T) { histories.Lost(t, dialect("po_number")) }
