package tryton_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark/config"
	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/tryton"
	"tidemark/sync/money"
)

var currencies = map[int]money.Currency{1: "EUR", 2: "JPY", 3: "KWD", 4: "USD"}

func settings(base, pass, guard string) tryton.Settings {
	return tryton.Settings{
		Account: "demo", URL: base, Database: database, User: login, Password: config.SecretOf(pass), Company: 1, Journal: 7, Receivable: 5, Revenue: 6,
		Currencies: map[string]int64{"EUR": 1, "JPY": 2, "KWD": 3, "USD": 4}, Taxes: map[string][]int64{"VAT20": {1}}, Guard: guard,
	}
}

// taxed is a system whose every invoice bears a tax, so that each is made in two steps.
type taxed struct{ *tryton.Tryton }

// Prepare adds the tax.
func (t taxed) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	inv.Tax = "VAT20"
	return t.Tryton.Prepare(inv)
}

func dialect(guard string, tax bool) accountingtest.Dialect {
	o := &office{of: map[*accountingtest.Books]*vendor{}}
	return accountingtest.Dialect{
		Handler: o.handler, Token: password, Refuse: refuse, NoDelete: true, Writes: writes,
		New: func(t testing.TB, net *remote.Network, base, token string) accountingtest.System {
			one, err := tryton.New(settings(base, token, guard), net)
			if err != nil {
				t.Fatal(err)
			}
			if tax {
				return taxed{one}
			}
			return one
		},
		Forbidden: []string{
			call("model.account.invoice.post", `[1]`), call("model.account.invoice.validate_invoice", `[1]`), call("model.account.invoice.cancel", `[1]`),
			call("model.account.invoice.draft", `[1]`), call("model.account.invoice.delete", `[1]`), call("model.account.invoice.copy", `[1]`),
			call("model.account.invoice.create", `[{"type":"out","state":"posted"}]`), call("model.account.invoice.write", `[1],{"state":"draft"}`),
			call("model.account.invoice.write", `[1,2],{}`), call("model.account.invoice.create", `[{"type":"in"}]`),
			call("model.account.invoice.line.create", `[{"type":"comment","invoice":1}]`), call("model.account.invoice.line.write", `[1],{}`),
			call("model.account.invoice.line.delete", `[1]`), call("model.account.move.create", `[{}]`), call("wizard.account.invoice.pay.create", ``),
			call("model.party.party.create", `[{"name":"x"}]`), "DELETE /books/ {}", "POST /books/ []",
		},
	}
}

func call(method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`POST /%s/ {"id":1,"method":%q,"params":[%s{"company":1,"language":"en"}]}`, database, method, params)
}

type envelopeOf struct {
	Method string
	Params []json.RawMessage
}

// writes says of everything that it writes but what is known to read, and the staging of a line of text, which no
// invoice is: what the books hold then is judged by the fake, which takes nothing else.
func writes(r *http.Request, body []byte) bool {
	var in envelopeOf
	if r.Method != http.MethodPost || json.Unmarshal(body, &in) != nil {
		return true
	}
	switch in.Method {
	case "common.db.login", "model.ir.model.access.get_access":
		return false
	case "model.account.invoice.line.create":
		var lines []map[string]any
		err := json.Unmarshal(in.Params[0], &lines)
		return err != nil || len(lines) != 1 || lines[0]["type"] != "comment" || lines[0]["invoice"] != nil
	}
	return !strings.HasPrefix(in.Method, "model.") || !strings.HasSuffix(in.Method, ".search_read")
}

// refuse lets one draft be made or changed, and nothing else.
func refuse(r *http.Request, body []byte) string {
	var in envelopeOf
	if err := json.Unmarshal(body, &in); err != nil || r.Method != http.MethodPost {
		return "no call"
	}
	var values []map[string]any
	switch {
	case in.Method == "model.account.invoice.create" && len(in.Params) == 2:
		if err := json.Unmarshal(in.Params[0], &values); err != nil || len(values) != 1 || values[0]["type"] != "out" {
			return "does not create one customer invoice"
		}
	case in.Method == "model.account.invoice.write" && len(in.Params) == 3:
		var ids []int
		values = []map[string]any{{}}
		if json.Unmarshal(in.Params[0], &ids) != nil || len(ids) != 1 || json.Unmarshal(in.Params[1], &values[0]) != nil {
			return "does not change one invoice"
		}
	default:
		return in.Method + " neither creates nor changes an invoice"
	}
	known := []string{"type", "company", "party", "currency", "journal", "account", "invoice_address", "payment_term", "payment_term_date", "reference", "description", "invoice_date", "lines"}
	for name := range values[0] {
		if !slices.Contains(known, name) {
			return "names " + name
		}
	}
	return ""
}

func TestTrytonWithAStagedLine(t *testing.T) { accountingtest.Test(t, dialect("line", false)) }

func TestTrytonWithLookUpsAlone(t *testing.T) { accountingtest.Test(t, dialect("search", false)) }

func TestTrytonWithTaxes(t *testing.T) { accountingtest.Test(t, dialect("", true)) }

func TestNothingIsBilledTwiceWhateverIsLost(t *testing.T) {
	t.Run("line", func(t *testing.T) { histories.Lost(t, dialect("line", true)) })
	t.Run("search", func(t *testing.T) { histories.Lost(t, dialect("search", false)) })
}
