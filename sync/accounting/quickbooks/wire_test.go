package quickbooks_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/quickbooks"
)

// draft is an estimate as it stands after we made it: two lines, and tax.
const draft = `{"Id":"145","SyncToken":"0","DocNumber":"ts-1","TxnStatus":"Pending","EmailStatus":"NotSet","CustomerRef":{"value":"71"},"CurrencyRef":{"value":"EUR"},
	"TotalAmt":366.00,"TxnTaxDetail":{"TotalTax":61.00},"Line":[
	{"Id":"1","Amount":142.50,"DetailType":"SalesItemLineDetail"},{"Id":"2","Amount":162.50,"DetailType":"SalesItemLineDetail"},
	{"Amount":305.00,"DetailType":"SubTotalLineDetail"}]}`

func TestWhatIsNoDraftAnyMore(t *testing.T) {
	for _, tt := range []struct {
		name, old, changed string
		want               accounting.Status
	}{
		{"as it was left", "", "", accounting.Draft},
		{"converted, and still pending", `"TxnStatus"`, `"LinkedTxn":[{"TxnId":"7","TxnType":"Invoice"}],"TxnStatus"`, accounting.Final},
		{"linked to something else", `"TxnStatus"`, `"LinkedTxn":[{"TxnId":"7","TxnType":"PurchaseOrder"}],"TxnStatus"`, accounting.Draft},
		{"accepted", `"Pending"`, `"Accepted"`, accounting.Final},
		{"closed", `"Pending"`, `"Closed"`, accounting.Final},
		{"converted", `"Pending"`, `"Converted"`, accounting.Final},
		{"rejected", `"Pending"`, `"Rejected"`, accounting.Void},
		{"of a status that is new", `"Pending"`, `"Parked"`, accounting.Edited},
		{"sent", `"NotSet"`, `"EmailSent"`, accounting.Final},
		{"about to be sent", `"NotSet"`, `"NeedToSend"`, accounting.Final},
		{"given a discount", `{"Amount":305.00`, `{"Amount":30.50,"DetailType":"DiscountLineDetail"},{"Amount":305.00`, accounting.Edited},
		{"given a text", `{"Amount":305.00`, `{"Description":"thanks","DetailType":"DescriptionOnly"},{"Amount":305.00`, accounting.Edited},
		{"of another total", `366.00`, `380.00`, accounting.Edited},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"Estimate":` + strings.Replace(draft, tt.old, tt.changed, 1) + `}`
			before(t, settings(""), says(200, body), func(t *testing.T, q *quickbooks.QuickBooks) {
				r, err := q.Read(t.Context(), "145")
				if err != nil || r.Status != tt.want {
					t.Fatalf("Read = %+v, %v; want it %s", r, err, tt.want)
				}
				wantNet := map[bool]string{false: "305", true: "274.5"}[tt.name == "given a discount"]
				if r.Net.String() != wantNet || r.Token != "0" || r.Number != "ts-1" || r.Reference != "ts-1" || !strings.HasSuffix(r.Link, "/app/estimate?txnId=145") {
					t.Errorf("Read = %+v, want a net of %s", r, wantNet)
				}
			})
		})
	}
}

func TestEstimateThatCannotBeComparedIsAnError(t *testing.T) {
	for _, part := range []string{`"Id":"145",`, `"SyncToken":"0",`, `"TxnStatus":"Pending",`, `"CustomerRef":{"value":"71"},`, `"TotalAmt":366.00,`, `"CurrencyRef":{"value":"EUR"},`} {
		body := strings.Replace(draft, part, "", 1)
		if body == draft {
			t.Fatalf("%s is not there", part)
		}
		before(t, settings(""), says(200, `{"Estimate":`+body+`,"QueryResponse":{"Estimate":[`+body+`]}}`), func(t *testing.T, q *quickbooks.QuickBooks) {
			if r, err := q.Read(t.Context(), "145"); err == nil {
				t.Errorf("Read without %s = %+v, want an error", part, r)
			}
			if found, err := q.Find(t.Context(), "ts-1"); err == nil {
				t.Errorf("Find without %s = %+v, want an error", part, found)
			}
		})
	}
}

func TestCurrencyThatIsNotToldIsTheCompanysOwn(t *testing.T) {
	body := `{"Estimate":` + strings.Replace(draft, `"CurrencyRef":{"value":"EUR"},`, "", 1) + `}`
	s := settings("")
	before(t, s, says(200, body), func(t *testing.T, q *quickbooks.QuickBooks) {
		if _, err := q.Read(t.Context(), "145"); err == nil || !strings.Contains(err.Error(), "set currency") {
			t.Errorf("Read = %v, want the setting to be named", err)
		}
	})
	s.Currency = "USD"
	before(t, s, says(200, body), func(t *testing.T, q *quickbooks.QuickBooks) {
		if r, err := q.Read(t.Context(), "145"); err != nil || r.Currency != "USD" {
			t.Errorf("Read = %+v, %v; want it in USD", r, err)
		}
	})
}

func TestReferenceInANoteThatAPersonWroteOn(t *testing.T) {
	var note string
	list := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := strings.Replace(draft, `"DocNumber":"ts-1"`, `"DocNumber":"1042","PrivateNote":`+quoted(note), 1)
		if strings.Contains(r.URL.Query().Get("query"), "STARTPOSITION 1 ") {
			_, _ = w.Write([]byte(`{"QueryResponse":{"Estimate":[` + found + `]}}`))
		}
	})
	for text, want := range map[string]int{
		"[ts-1] Site, week 45": 1, "see Ada first\n[ts-1] Site": 1, "Voided [ts-1]": 1, "[ts-1]": 1,
		"ts-1": 0, "[ts-12] Site": 0, "[xts-1]": 0, "[TS-1]": 0, "": 0,
	} {
		note = text
		before(t, settings("private_note"), list, func(t *testing.T, q *quickbooks.QuickBooks) {
			found, err := q.Find(t.Context(), "ts-1")
			if err != nil || len(found) != want || want == 1 && (found[0].Reference != "ts-1" || found[0].Number != "1042") {
				t.Errorf("%q: Find = %+v, %v; want %d", text, found, err, want)
			}
		})
	}
}

func quoted(text string) string {
	all, _ := json.Marshal(text)
	return string(all)
}

func TestTaxIsSaidWhereTheCountryKnowsIt(t *testing.T) {
	for _, tt := range []struct{ tax, setting, want, code string }{
		{"", "", "", ""}, {"TAX", "", "", "TAX"}, {"NON", "", "", "NON"}, {"4", "", "TaxExcluded", "4"}, {"", "NotApplicable", "NotApplicable", ""}, {"4", "NotApplicable", "NotApplicable", "4"},
	} {
		books := accountingtest.NewBooks()
		s := settings("")
		s.Calculation = tt.setting
		inv := invoice("ts-1", "EUR", 90)
		inv.Tax = tt.tax
		before(t, s, handler(false)(books), func(t *testing.T, q *quickbooks.QuickBooks) {
			if _, err := create(t, q, "ts-1", inv); err != nil {
				t.Error(err)
			}
		})
		if d := books.Documents[0]; d.Extra["tax"] != tt.want || d.Lines[0].Tax != tt.code {
			t.Errorf("%q: tax is %q with code %q, want %q", tt.tax, d.Extra["tax"], d.Lines[0].Tax, tt.want)
		}
	}
}

func TestCurrencyOfThreeDecimalsIsRefused(t *testing.T) {
	before(t, settings(""), http.NotFoundHandler(), func(t *testing.T, q *quickbooks.QuickBooks) {
		if _, err := q.Prepare(invoice("ts-1", "KWD", 90)); err == nil || !strings.Contains(err.Error(), "another currency") {
			t.Errorf("Prepare in KWD = %v, want it refused with the cure", err)
		}
	})
}
