package stripe_test

import (
	"net/http"
	"testing"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/stripe"
)

func dialect(product string) accountingtest.Dialect {
	return accountingtest.Dialect{
		Handler: handler, Token: token, Refuse: refuse, NoDelete: true,
		Customer: func(id string) string { return "cus_" + id },
		New: func(t testing.TB, net *remote.Network, base, token string) accountingtest.System {
			s, err := stripe.New(stripe.Settings{Account: account, Token: config.SecretOf(token), Product: product, URL: base}, net)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Writes: func(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet },
		Forbidden: []string{
			`POST /v1/invoices auto_advance=true&collection_method=send_invoice&pending_invoice_items_behavior=exclude`,
			`POST /v1/invoices auto_advance=false&collection_method=charge_automatically&pending_invoice_items_behavior=exclude`,
			`POST /v1/invoices auto_advance=false&collection_method=send_invoice&pending_invoice_items_behavior=include`,
			`POST /v1/invoices auto_advance=false&collection_method=send_invoice&pending_invoice_items_behavior=exclude&automatically_finalizes_at=1`,
			`POST /v1/invoices customer=cus_71`,
			`POST /v1/invoices/in_1 auto_advance=true`,
			`POST /v1/invoices/in_1/finalize`, `POST /v1/invoices/in_1/send`, `POST /v1/invoices/in_1/pay`, `POST /v1/invoices/in_1/void`, `POST /v1/invoices/in_1/mark_uncollectible`,
			`POST /v1/invoices/in_1/attach_payment payment_intent=pi_1`,
			`POST /v1/invoices/in_1/remove_lines lines[0][id]=il_1&lines[0][behavior]=unassign`,
			`DELETE /v1/invoices/in_1`, `DELETE /v1/invoiceitems/ii_1`, `POST /v1/invoiceitems customer=cus_71&amount=100`, `POST /v1/credit_notes invoice=in_1`,
		},
	}
}

func TestStripe(t *testing.T) { accountingtest.Test(t, dialect("")) }

func TestStripeWithAProduct(t *testing.T) { accountingtest.Test(t, dialect(product)) }

func TestNothingIsBilledTwiceWhateverIsLost(t *testing.T) { histories.Lost(t, dialect("")) }
