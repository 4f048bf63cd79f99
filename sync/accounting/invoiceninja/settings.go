package invoiceninja

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/sync/money"
)

// The fields that can hold our reference.
const (
	poNumber = "po_number"
	number   = "number"
)

// Settings are Invoice Ninja's part of the config.
type Settings struct {
	// Account names this company for good. It is not the URL, which may change.
	Account string `yaml:"account" jsonschema:"required" jsonschema_description:"An immutable name of the company; never the URL."`
	// URL is that of the installation: https://invoicing.co where it is hosted.
	URL string `yaml:"url" jsonschema:"required" jsonschema_description:"Of the installation, such as https://invoicing.co."`
	// Token is an API token of Settings → Account management → Integrations.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"An API token: {credential: NAME}, {env: NAME} or {file: PATH}."`
	// Currency is the company's own: that of clients that have none of theirs.
	Currency string `yaml:"currency" jsonschema:"required,pattern=^[A-Z]{3}$" jsonschema_description:"The company's own currency: that of clients that have none of theirs."`
	// Currencies are Invoice Ninja's ids of currencies beyond USD (1), GBP (2) and EUR (3).
	Currencies map[string]string `yaml:"currencies,omitempty" jsonschema_description:"Invoice Ninja's ids of further currencies, such as {JPY: \"45\"}. USD, GBP and EUR are known."`
	// Reference says which field holds our reference: po_number, or number, which is unique and seen by clients.
	Reference string `yaml:"reference,omitempty" jsonschema:"enum=po_number,enum=number" jsonschema_description:"Which field holds our reference: po_number (default), or number, which Invoice Ninja keeps unique and clients see."`
	// Taxes are the taxes that the customers of the sync name.
	Taxes map[string]Tax `yaml:"taxes,omitempty" jsonschema_description:"The taxes that invoice.customers name, such as {VAT20: {name: VAT, rate: 20}}."`
	// SearchLag is how long a new invoice may stay invisible to a look-up; left out, none: it reads its own database.
	SearchLag *config.Duration `yaml:"search_lag,omitempty" jsonschema_description:"How long a new invoice may stay invisible to a look-up. Default 0s."`
	// RequestsPerSecond is 5 where it is left out; hosted, 500 a minute are allowed.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty" jsonschema:"minimum=0" jsonschema_description:"At most so many requests a second. Default 5."`
}

// Tax is a tax of a line.
type Tax struct {
	Name string         `yaml:"name" jsonschema:"required" jsonschema_description:"As it stands on the invoice."`
	Rate config.Decimal `yaml:"rate" jsonschema:"required" jsonschema_description:"In percent."`
}

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
	}
	if strings.TrimSpace(s.Account) == "" {
		fault("account", "missing: give the company a name that never changes")
	}
	if _, err := remote.ParseBase(s.URL); err != nil {
		fault("url", "%w", err)
	}
	if s.Token.Reveal() == "" {
		fault("token", "missing: make one under Settings, Account management, Integrations, API tokens")
	}
	if _, err := money.ParseCurrency(s.Currency); err != nil {
		fault("currency", "%w", err)
	}
	if s.Reference != "" && s.Reference != poNumber && s.Reference != number {
		fault("reference", "%q is neither %s nor %s", s.Reference, poNumber, number)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Taxes)) {
		if t := s.Taxes[name]; t.Name == "" || t.Rate.IsNegative() {
			fault("taxes", "%s: a name and a rate in percent are needed", name)
		}
	}
	return errors.Join(faults...)
}

func (s Settings) lag() time.Duration {
	if s.SearchLag == nil {
		return 0
	}
	return time.Duration(*s.SearchLag)
}

// currencyID returns Invoice Ninja's id of a currency; empty where it is not known.
func (s Settings) currencyID(c money.Currency) string {
	if id, listed := s.Currencies[string(c)]; listed {
		return id
	}
	return map[money.Currency]string{"USD": "1", "GBP": "2", "EUR": "3"}[c]
}

// currencyOf returns the currency that an id stands for; none stands for the company's own.
func (s Settings) currencyOf(id string) (money.Currency, error) {
	if id == "" {
		return money.Currency(s.Currency), nil
	}
	known := []money.Currency{"USD", "GBP", "EUR", money.Currency(s.Currency)}
	for code := range s.Currencies {
		known = append(known, money.Currency(code))
	}
	for _, c := range known {
		if s.currencyID(c) == id {
			return c, nil
		}
	}
	return "", fmt.Errorf("currency %s is not known: list it under currencies, such as JPY: %q", id, id)
}
