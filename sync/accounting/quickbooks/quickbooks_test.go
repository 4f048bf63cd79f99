package quickbooks_test

import (
	"context"
	"net/http"
	"testing"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/quickbooks"
	"tidemark/sync/money"
)

// signed signs in with a token that does not change.
type signed string

func (s signed) Authorize(context.Context) (string, error) { return "Bearer " + string(s), nil }
func (s signed) Refused(string)                            {}

func settings(reference string) quickbooks.Settings {
	return quickbooks.Settings{Realm: realm, ClientID: "app", ClientSecret: config.SecretOf("app-secret"), Item: "19", Reference: reference}
}

func dialect(reference string) accountingtest.Dialect {
	return accountingtest.Dialect{
		Handler: handler(reference == "private_note"), Token: token, Refuse: refuse, NoDelete: true,
		Currencies: []money.Currency{"EUR", "JPY", "USD"},
		New: func(t testing.TB, net *remote.Network, base, token string) accountingtest.System {
			s := settings(reference)
			s.URL = base
			q, err := quickbooks.New(s, net, signed(token))
			if err != nil {
				t.Fatal(err)
			}
			return q
		},
		Writes: func(r *http.Request, _ []byte) bool { return r.Method != http.MethodGet },
		Forbidden: []string{
			`POST ` + root + `/invoice {"TxnStatus":"Pending","EmailStatus":"NotSet"}`,
			`POST ` + root + `/estimate {"TxnStatus":"Pending","EmailStatus":"NeedToSend"}`,
			`POST ` + root + `/estimate {"TxnStatus":"Pending"}`,
			`POST ` + root + `/estimate {"TxnStatus":"Accepted","EmailStatus":"NotSet"}`,
			`POST ` + root + `/estimate {"TxnStatus":"Closed","EmailStatus":"NotSet"}`,
			`POST ` + root + `/estimate {"TxnStatus":"Pending","EmailStatus":"NotSet","BillEmail":{"Address":"a@example.com"}}`,
			`POST ` + root + `/estimate {"TxnStatus":"Pending","EmailStatus":"NotSet","LinkedTxn":[{"TxnType":"Invoice"}]}`,
			`POST ` + root + `/estimate?operation=delete {"Id":"1","SyncToken":"0","TxnStatus":"Pending","EmailStatus":"NotSet"}`,
			`POST ` + root + `/estimate?operation=void {"Id":"1","SyncToken":"0","TxnStatus":"Pending","EmailStatus":"NotSet"}`,
			`POST ` + root + `/estimate/1/send`,
			`POST ` + root + `/batch {"BatchItemRequest":[]}`,
			`POST ` + root + `/payment {}`,
			`DELETE ` + root + `/estimate/1`,
		},
	}
}

func TestQuickBooks(t *testing.T) { accountingtest.Test(t, dialect("doc_number")) }

func TestQuickBooksByNote(t *testing.T) { accountingtest.Test(t, dialect("private_note")) }

func TestNothingIsBilledTwiceWhateverIsLost(t *testing.T) { histories.Lost(t, dialect("doc_number")) }

func TestNothingIsBilledTwiceByNote(t *testing.T) { histories.Lost(t, dialect("private_note")) }
