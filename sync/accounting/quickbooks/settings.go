package quickbooks

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tidemark/config"
	"tidemark/internal/grant"
	"tidemark/internal/remote"
	"tidemark/sync/money"
)

// The fields that can hold our reference.
const (
	docNumber   = "doc_number"
	privateNote = "private_note"
)

const (
	defaultURL   = "https://quickbooks.api.intuit.com"
	defaultLogin = "https://appcenter.intuit.com/connect/oauth2"
	defaultToken = "https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer"
	defaultMinor = 75
)

// Settings are QuickBooks Online's part of the config.
type Settings struct {
	// Realm is the company. It is pinned: a sign-in to another one is refused.
	Realm string `yaml:"realm" jsonschema:"required" jsonschema_description:"The company's id (realm id), digits only: the gear, Additional info, or what tidemark connect is sent back with."`
	// ClientID and ClientSecret are those of the application at Intuit that signs in.
	ClientID     string        `yaml:"client_id" jsonschema:"required" jsonschema_description:"Of your application at developer.intuit.com."`
	ClientSecret config.Secret `yaml:"client_secret" jsonschema:"required" jsonschema_description:"Of your application: {credential: NAME}, {env: NAME} or {file: PATH}."`
	// Item is the product or service of every line. It says which income account an invoice books to.
	Item string `yaml:"item" jsonschema:"required" jsonschema_description:"The id of the product or service of every line; it decides the income account."`
	// Reference says which field holds our reference.
	Reference string `yaml:"reference,omitempty" jsonschema:"enum=doc_number,enum=private_note" jsonschema_description:"Which field holds our reference: doc_number (default), the estimate's number, for which custom transaction numbers have to be on; or private_note, which every look-up has to list estimates for."`
	// Calculation says how tax is worked out; left out, TaxExcluded if the lines have a tax code, unless that is
	// TAX or NON, those of companies in the United States, which have no such field.
	Calculation string `yaml:"global_tax_calculation,omitempty" jsonschema:"enum=TaxExcluded,enum=NotApplicable" jsonschema_description:"How tax is worked out. Left out: TaxExcluded where the customer has a tax code other than TAX and NON, else not sent. Companies outside of the United States that bill without tax write NotApplicable."`
	// Currency is the company's own, where its estimates tell none.
	Currency string `yaml:"currency,omitempty" jsonschema:"pattern=^[A-Z]{3}$" jsonschema_description:"The company's own currency; needed only where QuickBooks tells none of an estimate, as companies without multicurrency may."`
	// SearchLag is how long a new estimate may stay invisible to a query. Intuit does not say; left out, 2m.
	SearchLag *config.Duration `yaml:"search_lag,omitempty" jsonschema_description:"How long a new estimate may stay invisible to a look-up. Intuit does not say. Default 2m."`
	// KeyMemory is how long a repeated requestid is known. Intuit does not say; left out, 1h.
	KeyMemory *config.Duration `yaml:"key_memory,omitempty" jsonschema_description:"How long QuickBooks knows a repeated requestid. Intuit does not say. Default 1h."`
	// MinorVersion is that of the API; left out, 75.
	MinorVersion int `yaml:"minor_version,omitempty" jsonschema:"minimum=1" jsonschema_description:"Of the API. Default 75."`
	// Scopes are those that the sign-in asks for.
	Scopes []string `yaml:"scopes,omitempty" jsonschema_description:"What the sign-in asks for. Default com.intuit.quickbooks.accounting."`
	URL    string   `yaml:"url,omitempty" jsonschema_description:"Of the API. Default https://quickbooks.api.intuit.com; a sandbox company is at https://sandbox-quickbooks.api.intuit.com."`
	Login  string   `yaml:"login_url,omitempty" jsonschema_description:"Where a person signs in. Default https://appcenter.intuit.com/connect/oauth2."`
	Token  string   `yaml:"token_url,omitempty" jsonschema_description:"Where tokens are renewed. Default https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer."`
}

var digits = regexp.MustCompile(`^[0-9]{1,20}$`)

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(field string, err error) {
		if err != nil {
			faults = append(faults, config.FieldError{Field: field, Err: err})
		}
	}
	fault("realm", must(digits.MatchString(s.Realm), "not a company id: it is digits only, such as 9130347596842345"))
	fault("client_id", must(s.ClientID != "", "missing: make an application at developer.intuit.com"))
	fault("client_secret", must(s.ClientSecret.Reveal() != "", "missing: it is under Keys and credentials of your application"))
	fault("item", must(digits.MatchString(s.Item), "not the id of a product or service: it is digits only, as in the address of its page"))
	fault("reference", among(s.Reference, docNumber, privateNote))
	fault("global_tax_calculation", among(s.Calculation, excluded, notApplicable))
	if s.Currency != "" {
		_, err := money.ParseCurrency(s.Currency)
		fault("currency", err)
	}
	fault("minor_version", must(s.MinorVersion >= 0, "not a version: write 75, or leave it out"))
	for _, address := range [][2]string{{"url", s.url()}, {"login_url", s.login()}, {"token_url", s.token()}} {
		_, err := remote.ParseBase(address[1])
		fault(address[0], err)
	}
	return errors.Join(faults...)
}

func must(good bool, text string) error {
	if good {
		return nil
	}
	return errors.New(text)
}

// among says that a text has to be one of some; none is as good.
func among(text string, all ...string) error {
	for _, one := range append(all, "") {
		if text == one {
			return nil
		}
	}
	return fmt.Errorf("%q is neither %s", text, strings.Join(all, " nor "))
}

func (s Settings) url() string   { return strings.TrimSuffix(or(s.URL, defaultURL), "/") }
func (s Settings) login() string { return or(s.Login, defaultLogin) }
func (s Settings) token() string { return or(s.Token, defaultToken) }

func (s Settings) minor() int {
	if s.MinorVersion == 0 {
		return defaultMinor
	}
	return s.MinorVersion
}

func or(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

func duration(d *config.Duration, usual time.Duration) time.Duration {
	if d == nil {
		return usual
	}
	return time.Duration(*d)
}

// Vendor describes the sign-in.
func (s Settings) Vendor() grant.Vendor {
	scopes := s.Scopes
	if len(scopes) == 0 {
		scopes = []string{"com.intuit.quickbooks.accounting"}
	}
	return grant.Vendor{
		Name: "quickbooks", Account: s.Realm, AuthURL: s.login(), TokenURL: s.token(), Client: s.ClientID, Secret: s.ClientSecret.Reveal(),
		Scopes: scopes, Lives: 100 * 24 * time.Hour,
	}
}
