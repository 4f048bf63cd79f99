package xero_test

import (
	"context"
	"net/http"
	"testing"

	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/xero"
	"tidemark/sync/money"
)

// signed signs in with a token that does not change.
type signed string

func (s signed) Authorize(context.Context) (string, error) { return "Bearer " + string(s), nil }
func (s signed) Refused(string)                            {}

func dialect() accountingtest.Dialect {
	return accountingtest.Dialect{
		Handler: handler, Token: token, Customer: accountingtest.UUID, Refuse: refuse, Strip: "/api.xro/2.0",
		Currencies: []money.Currency{"EUR", "JPY", "USD"},
		New: func(t testing.TB, net *remote.Network, base, token string) accountingtest.System {
			x, err := xero.New(xero.Settings{Tenant: tenant, ClientID: "app", AccountCode: "200", URL: base + "/api.xro/2.0"}, net, signed(token))
			if err != nil {
				t.Fatal(err)
			}
			return x
		},
		Writes: func(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet },
		Forbidden: []string{
			`PUT /api.xro/2.0/Invoices {"Invoices":[{"Status":"AUTHORISED"}]}`,
			`PUT /api.xro/2.0/Invoices {"Invoices":[{"Status":"DRAFT","SentToContact":true}]}`,
			`POST /api.xro/2.0/Invoices/1 {"Invoices":[{"Status":"DELETED"}]}`,
			`POST /api.xro/2.0/Invoices {"Invoices":[{"Status":"DRAFT"}]}`,
			`POST /api.xro/2.0/Invoices/1/Email`,
			`PUT /api.xro/2.0/Payments {}`,
			`DELETE /api.xro/2.0/Invoices/1`,
		},
	}
}

func TestXero(t *testing.T) { accountingtest.Test(t, dialect()) }

func TestXeroAsDescribed(t *testing.T) {
	accountingtest.Described(t, dialect(), "xero_accounting.yaml")
}

func TestNothingIsBilledTwiceWhateverIsLost(t *testing.T) { histories.Lost(t, dialect()) }
