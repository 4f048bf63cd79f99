package stripe

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tidemark/config"
	"tidemark/internal/remote"
)

const (
	defaultURL     = "https://api.stripe.com"
	defaultVersion = "2026-08-26.dahlia" // whose OpenAPI document names and limits were read from
	defaultDays    = 30
	defaultLag     = 2 * time.Minute
)

// Settings are Stripe's part of the config.
type Settings struct {
	// Account is pinned: a key of another account is refused before anything is looked up or written.
	Account string `yaml:"account" jsonschema:"required" jsonschema_description:"The account's id, such as acct_1AbC, from Settings, Business. It must never change."`
	// Token is a restricted key that may write invoices and read customers, or a secret key.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"A restricted key with Invoices: write and Customers: read, or a secret key."`
	// Product, if given, is that of every line, which then shows hours and price. Without it a line is an amount,
	// with hours and price in its text, and nothing is added to the product catalogue.
	Product string `yaml:"product,omitempty" jsonschema_description:"The product of every line, such as prod_1AbC, to show hours and price in columns. Without it they stand in the text."`
	// DaysUntilDue is used for an invoice without a due date.
	DaysUntilDue int `yaml:"days_until_due,omitempty" jsonschema:"minimum=0" jsonschema_description:"Days to pay, where the sync section has no due. Default 30."`
	// SearchLag is how long a new invoice may be missing in a list. Stripe does not say; left out, 2m.
	SearchLag  *config.Duration `yaml:"search_lag,omitempty" jsonschema_description:"How long a new invoice may be missing in a list. Stripe does not say. Default 2m."`
	APIVersion string           `yaml:"api_version,omitempty" jsonschema_description:"Of Stripe's API. Default 2026-08-26.dahlia."`
	URL        string           `yaml:"url,omitempty" jsonschema_description:"Of the API. Default https://api.stripe.com."`
}

var (
	accountID = regexp.MustCompile(`^acct_[0-9A-Za-z]+$`)
	productID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,200}$`)
	version   = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(\.[a-z]+)?$`)
)

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(wrong bool, field, format string, args ...any) {
		if wrong {
			faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
		}
	}
	token := s.Token.Reveal()
	fault(!accountID.MatchString(s.Account), "account", "not an account id: it begins with acct_ and stands under Settings, Business")
	fault(token == "", "token", "missing: make a restricted key under Developers, API keys")
	fault(strings.HasPrefix(token, "pk_"), "token", "a publishable key: make a restricted key under Developers, API keys")
	fault(s.Product != "" && !productID.MatchString(s.Product), "product", "not a product id: it looks like prod_1AbC")
	fault(s.DaysUntilDue < 0, "days_until_due", "less than no days")
	fault(!version.MatchString(s.version()), "api_version", "not a version of the API: write one such as %s", defaultVersion)
	if _, err := remote.ParseBase(s.url()); err != nil {
		fault(true, "url", "%w", err)
	}
	return errors.Join(faults...)
}

func (s Settings) url() string     { return or(s.URL, defaultURL) }
func (s Settings) version() string { return or(s.APIVersion, defaultVersion) }

func (s Settings) days() int {
	if s.DaysUntilDue == 0 {
		return defaultDays
	}
	return s.DaysUntilDue
}

func (s Settings) lag() time.Duration {
	if s.SearchLag == nil {
		return defaultLag
	}
	return time.Duration(*s.SearchLag)
}

func or(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}
