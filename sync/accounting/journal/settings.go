package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"tidemark/config"
)

// Settings is the section `accounting: {kind: journal}` of a config.
type Settings struct {
	// Account names the books for good, such as "agency". It is not the path, which may change.
	Account string `yaml:"account" jsonschema:"required" jsonschema_description:"An immutable name of the books; never the path."`
	// Path is the journal file. It is created where it does not exist; a link is followed.
	Path config.Path `yaml:"path" jsonschema:"required" jsonschema_description:"The journal file, relative to the config file."`
	// Accounts are those that are posted to; the customer becomes a sub-account of receivable.
	Accounts Accounts `yaml:"accounts,omitempty" jsonschema_description:"The accounts that are posted to."`
	// Customers lists those with accounts of their own.
	Customers []Customer `yaml:"customers,omitempty" jsonschema_description:"Customers with accounts of their own."`
	// Taxes gives the rate of each tax code, such as VAT19: 19%.
	Taxes map[string]Percent `yaml:"taxes,omitempty" jsonschema_description:"The rate of each tax code, such as VAT19: 19%."`
	// Declare says whether missing account, commodity and tag directives are written before a
	// transaction; left out, they are.
	Declare *bool `yaml:"declare,omitempty" jsonschema_description:"Whether missing account, commodity and tag directives are written. Default true."`
}

// Accounts are the three accounts of an invoice; an empty one is taken from the level above.
type Accounts struct {
	Receivable string `yaml:"receivable,omitempty"` // default assets:receivable
	Revenue    string `yaml:"revenue,omitempty"`    // default income:fees
	Tax        string `yaml:"tax,omitempty"`        // default liabilities:vat
}

// Customer gives one customer its own accounts. Receivable is then used as it stands, without a sub-account.
type Customer struct {
	Customer string   `yaml:"customer"`
	Accounts Accounts `yaml:"accounts"`
}

// Percent is a tax rate written as 19% or 8.1%.
type Percent string

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

func defaultAccounts() Accounts {
	return Accounts{Receivable: "assets:receivable", Revenue: "income:fees", Tax: "liabilities:vat"}
}

func (a Accounts) or(above Accounts) Accounts {
	for _, name := range []struct{ mine, above *string }{
		{&a.Receivable, &above.Receivable}, {&a.Revenue, &above.Revenue}, {&a.Tax, &above.Tax},
	} {
		if *name.mine == "" {
			*name.mine = *name.above
		}
	}
	return a
}

// of returns the accounts that an invoice to customer is posted to.
func (j *Journal) of(customer string) Accounts {
	own := j.customers[customer]
	accounts := own.or(j.accounts)
	if own.Receivable == "" {
		accounts.Receivable += ":" + customer
	}
	return accounts
}

func (p Percent) rate() (decimal.Decimal, error) {
	number, percent := strings.CutSuffix(string(p), "%")
	rate, err := decimal.NewFromString(strings.TrimSpace(number))
	if !percent || err != nil || rate.IsNegative() || rate.GreaterThan(decimal.NewFromInt(100)) {
		return decimal.Zero, fmt.Errorf("%q is not a tax rate (write 19%%)", string(p))
	}
	return rate, nil
}

func (s Settings) validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("journal: "+format, args...))
	}
	if strings.TrimSpace(s.Account) == "" {
		fault("account: is missing: give the books a name that never changes, such as agency")
	}
	if s.Path == "" {
		fault("path: is missing: name the journal file")
	}
	if err := s.Accounts.validate(); err != nil {
		fault("accounts: %w", err)
	}
	seen := make(map[string]bool)
	for _, c := range s.Customers {
		if err := errors.Join(validName("customer", c.Customer), c.Accounts.validate()); err != nil {
			fault("customers: %w", err)
		}
		if seen[c.Customer] {
			fault("customers: %q is listed twice", c.Customer)
		}
		seen[c.Customer] = true
	}
	for _, code := range slices.Sorted(maps.Keys(s.Taxes)) {
		if _, err := s.Taxes[code].rate(); err != nil {
			fault("taxes: %s: %w", code, err)
		}
		if code == "" || len(code) > 32 || strings.Trim(code, lower+upper+digits+"._-") != "" {
			fault("taxes: %q is not a tax code (letters, digits, dot, dash and underscore, at most 32)", code)
		}
	}
	return errors.Join(faults...)
}

func (a Accounts) validate() error {
	return errors.Join(validAccount("receivable", a.Receivable), validAccount("revenue", a.Revenue), validAccount("tax", a.Tax))
}

func validAccount(what, account string) error {
	if account == "" {
		return nil
	}
	for segment := range strings.SplitSeq(account, ":") {
		if err := validName("part", segment); err != nil {
			return fmt.Errorf("%s: account %q: %w", what, account, err)
		}
	}
	return nil
}

// validName holds what both programs read as one part of an account, and what can stand in a tag.
func validName(what, name string) error {
	wrong := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(" ._-&'", r)
	}
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, wrong):
		return fmt.Errorf("%s %q: use letters, digits, single spaces and . _ - & ' only", what, name)
	case strings.TrimSpace(name) != name || strings.Contains(name, "  "):
		return fmt.Errorf("%s %q: no space at an end, nor two in a row", what, name)
	case utf8.RuneCountInString(name) > 64:
		return fmt.Errorf("%s %q: at most 64 characters", what, name)
	}
	return nil
}
