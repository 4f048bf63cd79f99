package tempo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/config"
	"tidemark/internal/remote"
)

// The defaults of the settings, and what Tempo allows.
const (
	defaultURL       = "https://api.tempo.io"
	defaultAttribute = "_Account_"
	defaultPageSize  = 1000
	largestPage      = 5000
	defaultPerSecond = 2
	mostPerSecond    = 5
)

// What the setting rates may say.
const (
	none   = "none"
	tables = "tables"
)

// Settings are Tempo's part of the config.
type Settings struct {
	// Site is the name of the Jira site, such as acme.atlassian.net. What was taken in belongs to it for good.
	Site string `yaml:"site" jsonschema:"required" jsonschema_description:"The Jira site, such as acme.atlassian.net. It never changes, even if the site is renamed."`
	// Token is a token of Tempo's own API, of somebody who may view worklogs and approve timesheets.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"A token of Tempo (Tempo > Settings > API Integration), of somebody who may view the worklogs and approve the timesheets of all teams."`
	// URL is where Tempo's API is: that of the cluster in which the site is.
	URL string `yaml:"url,omitempty" jsonschema_description:"Tempo's API. Default https://api.tempo.io; sites in other regions have https://api.eu.tempo.io or https://api.us.tempo.io."`
	// Jira says how to sign in to Jira: Tempo's worklogs bear nothing but the id of an issue.
	Jira Jira `yaml:"jira" jsonschema:"required" jsonschema_description:"How to sign in to Jira, which knows the issues and projects."`
	// AccountAttribute is the key of the work attribute that holds the Tempo account; "" says that there are
	// no accounts, and a client is a Jira project.
	AccountAttribute *string `yaml:"account_attribute,omitempty" jsonschema_description:"Key of the work attribute that holds the Tempo account, whose customer is the client. Default _Account_. Empty: no accounts, and a client is a Jira project."`
	// Currency is that of all work; Tempo's worklogs and tables have none.
	Currency config.Currency `yaml:"currency,omitempty" jsonschema_description:"Of all work, such as EUR. Tempo's worklogs have no currency."`
	// Rates says where an hour's price is found: nowhere, so that the config's own rates apply, or in the billing
	// rates of Tempo's Financial Manager, by the member's role.
	Rates string `yaml:"rates,omitempty" jsonschema:"enum=none,enum=tables" jsonschema_description:"Where an hour's price is found: tables are the billing rates of Tempo's Financial Manager (of the account, else the global ones) for the member's role on the day. Default none: invoice.rates apply."`
	// PageSize is how many rows are asked for at once; left out, 1000.
	PageSize int `yaml:"page_size,omitempty" jsonschema:"minimum=1,maximum=5000" jsonschema_description:"Rows of one answer. Default 1000."`
	// RequestsPerSecond is how often Tempo is asked at most; left out, 2.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty" jsonschema:"maximum=5" jsonschema_description:"Default 2. Tempo allows 5."`
}

// Jira says how to sign in to Jira.
type Jira struct {
	// URL is where Jira's API is; left out, the site.
	URL string `yaml:"url,omitempty" jsonschema_description:"Default https:// and the site. A token with scopes needs https://api.atlassian.com/ex/jira/ and the id of the site."`
	// User is the e-mail address of the token's owner. It is not wanted where the token is a bearer.
	User string `yaml:"user,omitempty" jsonschema_description:"E-mail address of the token's owner."`
	// Token is an API token of the user's Atlassian account.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"An API token of an Atlassian account that may browse all projects with billed work."`
	// Bearer sends the token alone, as OAuth tokens are sent.
	Bearer bool `yaml:"bearer,omitempty" jsonschema_description:"Send the token alone, as OAuth tokens are sent, and not with the user."`
}

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(wrong bool, field, format string, args ...any) {
		if wrong {
			faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
		}
	}
	fault(s.Site == "", "site", "missing: name the Jira site, such as acme.atlassian.net")
	fault(strings.ContainsAny(s.Site, ":/@ "), "site", "%q is not the name of a site: write it without https:// and without a path", s.Site)
	fault(s.Token.Reveal() == "", "token", "missing: create one in Tempo under Settings, API Integration")
	fault(s.Jira.Token.Reveal() == "", "jira.token", "missing: create an API token of an Atlassian account that may browse the projects")
	fault(s.Jira.User == "" && !s.Jira.Bearer, "jira.user", "missing: write the e-mail address of the token's owner, or bearer: true for an OAuth token")
	fault(s.Jira.User != "" && s.Jira.Bearer, "jira.user", "a bearer token is sent without a user: take one of the two out")
	fault(!slices.Contains([]string{"", none, tables}, s.Rates), "rates", "%q is neither %s nor %s", s.Rates, none, tables)
	fault(s.Rates == tables && s.Currency == "", "currency", "missing: Tempo's tables have prices without a currency, so write in which one they are")
	fault(s.PageSize < 0 || s.PageSize > largestPage, "page_size", "%d is not between 1 and %d", s.PageSize, largestPage)
	fault(s.RequestsPerSecond < 0 || s.RequestsPerSecond > mostPerSecond, "requests_per_second", "%v is not between 0 and %d, which Tempo allows", s.RequestsPerSecond, mostPerSecond)
	if _, err := remote.ParseBase(s.base()); err != nil {
		fault(true, "url", "%w", err)
	}
	if _, err := remote.ParseBase(s.jiraBase()); err != nil && s.Jira.URL != "" {
		fault(true, "jira.url", "%w", err)
	}
	return errors.Join(faults...)
}

func (s Settings) base() string     { return cmp.Or(s.URL, defaultURL) }
func (s Settings) jiraBase() string { return cmp.Or(s.Jira.URL, "https://"+s.Site) }
func (s Settings) pageSize() int    { return cmp.Or(s.PageSize, defaultPageSize) }

func (s Settings) attribute() string {
	if s.AccountAttribute == nil {
		return defaultAttribute
	}
	return *s.AccountAttribute
}
