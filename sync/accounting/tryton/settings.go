package tryton

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/sync/money"
)

// The ways in which a second invoice is kept from being made.
const (
	guardLine   = "line"
	guardSearch = "search"
)

// Settings are Tryton's part of the config. Ids are those of Tryton's records.
type Settings struct {
	// Account names this company for good. It is neither the URL nor the database, which may change.
	Account string `yaml:"account" jsonschema:"required" jsonschema_description:"An immutable name of the company; never the URL."`
	// URL is that of the server, without the database.
	URL string `yaml:"url" jsonschema:"required" jsonschema_description:"Of the server, such as https://tryton.example.com."`
	// Database is the name of the database.
	Database string `yaml:"database" jsonschema:"required" jsonschema_description:"The name of the database."`
	// User is the login of a user of the group Account.
	User string `yaml:"user" jsonschema:"required" jsonschema_description:"The login of a user of the group Account, who does nothing else."`
	// Password is that of the user.
	Password config.Secret `yaml:"password" jsonschema:"required" jsonschema_description:"Of the user: {credential: NAME}, {env: NAME} or {file: PATH}."`
	// Company is the id of the company that bills.
	Company int64 `yaml:"company" jsonschema:"required,minimum=1" jsonschema_description:"The id of the company that bills."`
	// Journal is the id of the revenue journal.
	Journal int64 `yaml:"journal" jsonschema:"required,minimum=1" jsonschema_description:"The id of the journal of revenue."`
	// Receivable is the id of the account that customers owe on, unless the customer has one of its own.
	Receivable int64 `yaml:"receivable" jsonschema:"required,minimum=1" jsonschema_description:"The id of the receivable account of customers that have none of their own."`
	// Revenue is the id of the account of every line.
	Revenue int64 `yaml:"revenue" jsonschema:"required,minimum=1" jsonschema_description:"The id of the revenue account of every line."`
	// Unit is the id of the unit of measure of lines: the hour. Without it, lines have none.
	Unit int64 `yaml:"unit,omitempty" jsonschema:"minimum=0" jsonschema_description:"The id of the unit of measure of lines that are hours. Left out, they have none."`
	// Currencies are the ids of the currencies that are billed in.
	Currencies map[string]int64 `yaml:"currencies" jsonschema:"required" jsonschema_description:"The ids of the currencies, such as {EUR: 1}."`
	// Taxes are the taxes that the customers of the sync name.
	Taxes map[string][]int64 `yaml:"taxes,omitempty" jsonschema_description:"The ids of the taxes that invoice.customers name, such as {VAT20: [1]}."`
	// Guard is line or search. Line stages a line of text that one invoice can take, once.
	Guard string `yaml:"guard,omitempty" jsonschema:"enum=line,enum=search" jsonschema_description:"What keeps a second invoice from being made: line (default), a line of text that is staged before and that one invoice can take, or search, look-ups alone."`
	// SettleAfter is how long Tryton may go on with a request whose client got no answer; left out, 2m.
	SettleAfter *config.Duration `yaml:"settle_after,omitempty" jsonschema_description:"How long Tryton may go on with a request that got no answer. Longer where a proxy or the database holds requests back. Default 2m."`
	// RequestsPerSecond is 5 where it is left out.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty" jsonschema:"minimum=0" jsonschema_description:"At most so many requests a second. Default 5."`
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
	if s.Database == "" || strings.ContainsAny(s.Database, "/?#") {
		fault("database", "%q is not the name of a database", s.Database)
	}
	if s.User == "" || strings.Contains(s.User, ":") {
		fault("user", "%q is not a login", s.User)
	}
	if s.Password.Reveal() == "" {
		fault("password", "missing: that of the user")
	}
	for _, id := range []struct {
		field string
		value int64
	}{{"company", s.Company}, {"journal", s.Journal}, {"receivable", s.Receivable}, {"revenue", s.Revenue}} {
		if id.value < 1 {
			fault(id.field, "missing: the id of the record, a whole number")
		}
	}
	if s.Guard != "" && s.Guard != guardLine && s.Guard != guardSearch {
		fault("guard", "%q is neither %s nor %s", s.Guard, guardLine, guardSearch)
	}
	return errors.Join(append(faults, s.validateMaps()...)...)
}

func (s Settings) validateMaps() (faults []error) {
	fault := func(field, format string, args ...any) {
		faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
	}
	if len(s.Currencies) == 0 {
		fault("currencies", "missing: the ids of the currencies, such as {EUR: 1}")
	}
	for _, code := range slices.Sorted(maps.Keys(s.Currencies)) {
		if _, err := money.ParseCurrency(code); err != nil {
			fault("currencies", "%w", err)
		} else if s.Currencies[code] < 1 {
			fault("currencies", "%s: not an id: a whole number is needed", code)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Taxes)) {
		if ids := s.Taxes[name]; len(ids) == 0 || slices.Min(ids) < 1 {
			fault("taxes", "%s: the ids of the taxes are needed, such as [1]", name)
		}
	}
	return faults
}
