package harvest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/config"
	"tidemark/internal/remote"
)

// The defaults of the settings, and what Harvest allows.
const (
	defaultURL       = "https://api.harvestapp.com"
	defaultPageSize  = 2000
	largestPage      = 2000
	defaultPerSecond = 6
	mostPerSecond    = 6.6 // 100 in 15 seconds
)

// Which of its two times of an entry is billed.
const (
	rounded = "rounded" // what Harvest itself would bill
	exact   = "exact"   // what was tracked
)

// What is done with a week of which only some entries are approved.
const (
	wait = "wait"
	take = "take"
)

// Settings are Harvest's part of the config.
type Settings struct {
	// Account is the number of the account. What was taken in belongs to it for good.
	Account string `yaml:"account" jsonschema:"required,pattern=^[0-9]+$" jsonschema_description:"The number of the account, in quotes, as https://id.getharvest.com/developers shows it."`
	// Token is a personal access token of an administrator.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"A personal access token (https://id.getharvest.com/developers) of an administrator: others see neither all time nor the rates."`
	// Contact is an e-mail address or a URL. Harvest wants to know from each request whom to ask about it.
	Contact string `yaml:"contact" jsonschema:"required" jsonschema_description:"An e-mail address or URL. Harvest refuses requests that do not say whom it may ask about them."`
	// URL is where Harvest's API is; left out, https://api.harvestapp.com.
	URL string `yaml:"url,omitempty" jsonschema_description:"Harvest's API. Default https://api.harvestapp.com."`
	// Hours says which time of an entry is billed: rounded, which Harvest itself bills, or exact. Where the
	// account rounds nothing, both are the same. Left out, rounded.
	Hours string `yaml:"hours,omitempty" jsonschema:"enum=rounded,enum=exact" jsonschema_description:"Which time of an entry is billed. rounded, the default: as Harvest itself bills it, by the rounding of the account. exact: as it was tracked."`
	// Partial says what is done with a week of which some entries are approved: wait with its first invoice
	// until all are, or take what is. Left out, wait.
	Partial string `yaml:"partial,omitempty" jsonschema:"enum=wait,enum=take" jsonschema_description:"A week of which only some entries are approved: wait, the default, until all are, or take what is."`
	// PageSize is how many rows are asked for at once; left out, 2000.
	PageSize int `yaml:"page_size,omitempty" jsonschema:"minimum=1,maximum=2000" jsonschema_description:"Rows of one answer. Default 2000."`
	// RequestsPerSecond is how often Harvest is asked at most; left out, 6.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty" jsonschema:"maximum=6.6" jsonschema_description:"Default 6. Harvest allows 100 in 15 seconds."`
}

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(wrong bool, field, format string, args ...any) {
		if wrong {
			faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
		}
	}
	fault(s.Account == "", "account", "missing: write the number of the account, which https://id.getharvest.com/developers shows")
	fault(strings.Trim(s.Account, "0123456789") != "", "account", "%q is not the number of an account: https://id.getharvest.com/developers shows it", s.Account)
	fault(s.Token.Reveal() == "", "token", "missing: let an administrator create one at https://id.getharvest.com/developers")
	fault(s.Contact == "", "contact", "missing: Harvest wants an e-mail address or a URL of whoever runs this")
	fault(s.Contact != "" && !reachable(s.Contact), "contact", "%q is neither an e-mail address nor a URL", s.Contact)
	if _, err := remote.ParseBase(s.base()); err != nil {
		fault(true, "url", "%w", err)
	}
	fault(!slices.Contains([]string{"", rounded, exact}, s.Hours), "hours", "%q is neither %s nor %s", s.Hours, rounded, exact)
	fault(!slices.Contains([]string{"", wait, take}, s.Partial), "partial", "%q is neither %s nor %s", s.Partial, wait, take)
	fault(s.PageSize < 0 || s.PageSize > largestPage, "page_size", "%d is not between 1 and %d", s.PageSize, largestPage)
	fault(s.RequestsPerSecond < 0 || s.RequestsPerSecond > mostPerSecond, "requests_per_second", "%v is not between 0 and %v, which Harvest allows", s.RequestsPerSecond, mostPerSecond)
	return errors.Join(faults...)
}

// reachable reports whether a text looks like an address, and fits into a header.
func reachable(contact string) bool {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' }
	return !strings.ContainsFunc(contact, odd) && (strings.Contains(contact, "@") || strings.Contains(contact, "://"))
}

// base is below what a url with or without the version at its end leads to.
func (s Settings) base() string {
	return strings.TrimSuffix(strings.TrimRight(cmp.Or(s.URL, defaultURL), "/"), "/v2") + "/v2"
}

func (s Settings) pageSize() int { return cmp.Or(s.PageSize, defaultPageSize) }
