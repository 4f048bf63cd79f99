package quickbooks_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/config"
	"tidemark/sync/accounting/quickbooks"
)

func TestEveryFaultOfTheSettingsIsToldAtOnce(t *testing.T) {
	err := quickbooks.Settings{
		Realm: "91-30", Item: "Hours", Reference: "memo", Calculation: "TaxInclusive", Currency: "EURO", MinorVersion: -1,
		URL: "http://quickbooks.example", Login: "x", Token: "https://example.com/?a=b",
	}.Validate()
	if err == nil {
		t.Fatal("no fault")
	}
	for _, field := range []string{"realm", "client_id", "client_secret", "item", "reference", "global_tax_calculation", "currency", "minor_version", "url", "login_url", "token_url"} {
		if !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool { return strings.HasPrefix(line, field+": ") }) {
			t.Errorf("%s is not among the faults:\n%v", field, err)
		}
	}
	for _, reference := range []string{"", "doc_number", "private_note"} {
		if err := settings(reference).Validate(); err != nil {
			t.Errorf("good settings: %v", err)
		}
	}
}

func TestSettingsSayWhatIntuitDoesNot(t *testing.T) {
	s := settings("")
	lag, memory := config.Duration(10*time.Minute), config.Duration(0)
	s.SearchLag, s.KeyMemory = &lag, &memory
	before(t, s, http.NotFoundHandler(), func(t *testing.T, q *quickbooks.QuickBooks) {
		if got := q.Traits(); got.SearchLag != 10*time.Minute || got.KeyMemory != 0 || q.Account() != "quickbooks:"+realm {
			t.Errorf("Traits = %+v of %s, want those of the settings", got, q.Account())
		}
	})
}

func TestSignInIsOfferedToTheCompanyOfTheConfig(t *testing.T) {
	v := settings("").Vendor()
	if v.Account != realm || v.Client != "app" || v.Secret != "app-secret" || !slices.Equal(v.Scopes, []string{"com.intuit.quickbooks.accounting"}) ||
		v.AuthURL != "https://appcenter.intuit.com/connect/oauth2" || v.TokenURL != "https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer" {
		t.Errorf("Vendor = %+v", v)
	}
}

func TestSignInToAnotherCompanyIsRefused(t *testing.T) {
	before(t, settings(""), http.NotFoundHandler(), func(t *testing.T, q *quickbooks.QuickBooks) {
		for answer, want := range map[string]string{
			"code=x&realmId=" + realm: "", "code=x&realmId=123": "is for company 123, and realm is " + realm, "code=x": "paste the whole address", "code=x&realmId=": "paste the whole address",
		} {
			address, err := url.ParseQuery(answer)
			if err != nil {
				t.Fatal(err)
			}
			err = q.Pinned(t.Context(), address, nil)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Pinned = %v, want %q", answer, err, want)
			}
		}
	})
}

func TestAccessTellsWhatStandsInTheWay(t *testing.T) {
	company := `"CompanyInfo":{"CompanyName":"Demo","Country":"US","NameValue":[{"Name":"SubscriptionStatus","Value":"TRIAL"}]}`
	for _, tt := range []struct {
		name, preferences, reference string
		want                         []string
	}{
		{"nothing", `"SalesFormsPrefs":{"CustomTxnNumbers":true,"AllowEstimates":true}`, "", nil},
		{"nothing is told", `"SalesFormsPrefs":{}`, "", nil},
		{"numbers are QuickBooks' own", `"SalesFormsPrefs":{"CustomTxnNumbers":false}`, "", []string{"reference: private_note"}},
		{"numbers do not matter", `"SalesFormsPrefs":{"CustomTxnNumbers":false}`, "private_note", nil},
		{"no estimates", `"SalesFormsPrefs":{"AllowEstimates":false}`, "", []string{"estimates are off"}},
		{"another currency", `"CurrencyPrefs":{"HomeCurrency":{"value":"CAD"}}`, "", []string{"set currency: CAD"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := settings(tt.reference)
			s.Currency = "USD"
			before(t, s, says(200, `{`+company+`,"Preferences":{`+tt.preferences+`}}`), func(t *testing.T, q *quickbooks.QuickBooks) {
				a, err := q.Access(t.Context())
				if err != nil || !strings.HasPrefix(a.Account, "Demo, US") || a.Plan != "TRIAL" || !strings.Contains(a.Makes, "estimates") || len(a.Notes) != len(tt.want) {
					t.Fatalf("Access = %+v, %v; want notes that say %q", a, err, tt.want)
				}
				for i, want := range tt.want {
					if !strings.Contains(a.Notes[i], want) {
						t.Errorf("note %q, want %q", a.Notes[i], want)
					}
				}
			})
		})
	}
}
