package clockify

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"tidemark/config"
	"tidemark/internal/remote"
)

// The defaults of the settings, and what Clockify allows.
const (
	defaultURL       = "https://api.clockify.me/api"
	defaultReports   = "https://reports.api.clockify.me"
	defaultPageSize  = 50
	largestPage      = 200
	defaultPerSecond = 10
	mostPerSecond    = 50
)

// What the settings minor_units and invoiced may say.
const (
	hundred = "hundred"
	iso     = "iso"
	report  = "report"
	ignore  = "ignore"
)

// Settings are Clockify's part of the config.
type Settings struct {
	// Workspace is the id of the workspace. What was taken in belongs to it for good.
	Workspace string `yaml:"workspace" jsonschema:"required,pattern=^[0-9a-f]{24}$" jsonschema_description:"The id of the workspace: 24 characters, in the address of its settings page."`
	// Token is an API key of an owner or admin of the workspace: others do not see everybody's approvals and rates.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"An API key (Clockify > Preferences > Advanced) of an owner or admin of the workspace. A workspace with a domain of its own needs a key that was made there."`
	// URL and ReportsURL are where Clockify's two APIs are. Regions and domains of workspaces have their own.
	URL        string `yaml:"url,omitempty" jsonschema_description:"Clockify's API. Default https://api.clockify.me/api; regions have https://euc1.clockify.me/api (also use2, euw2, apse2)."`
	ReportsURL string `yaml:"reports_url,omitempty" jsonschema_description:"Clockify's reports API. Default https://reports.api.clockify.me; regions have https://euc1.clockify.me/report, workspaces with a domain https://NAME.clockify.me/report."`
	// PageSize is how many approval requests are asked for at once; left out, 50.
	PageSize int `yaml:"page_size,omitempty" jsonschema:"minimum=1,maximum=200" jsonschema_description:"Approval requests of one answer. Default 50."`
	// RequestsPerSecond is how often each of the two APIs is asked at most; left out, 10.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty" jsonschema:"maximum=50" jsonschema_description:"Default 10. Clockify allows 50 on paid plans."`
	// Include are the types of entries that are billed besides regular work. The others are left out of a week.
	Include []string `yaml:"include,omitempty" jsonschema:"enum=break,enum=holiday,enum=time_off" jsonschema_description:"Types of entries that count besides regular work: break, holiday, time_off. Default none."`
	// MinorUnits says of what rates are counts. Clockify writes 10500 for 105.00 EUR; how it writes yen, which
	// have no hundredths, is not documented: hundred takes 10500 for 105 JPY, iso for 10500 JPY.
	MinorUnits string `yaml:"minor_units,omitempty" jsonschema:"enum=hundred,enum=iso" jsonschema_description:"Of what rates are counts: hundredths of any currency, or its minor unit by ISO 4217. It matters for currencies such as JPY and KWD. Default hundred."`
	// Invoiced says whether the report of entries that were invoiced in Clockify is asked for, so that they are
	// not billed again. Approval requests do not tell.
	Invoiced string `yaml:"invoiced,omitempty" jsonschema:"enum=report,enum=ignore" jsonschema_description:"Whether the report tells which entries were invoiced in Clockify, so that they are not billed again. Default report; ignore where nobody invoices in Clockify."`
}

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(wrong bool, field, format string, args ...any) {
		if wrong {
			faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
		}
	}
	fault(s.Workspace == "", "workspace", "missing: write the id of the workspace, which is in the address of its settings page")
	fault(s.Workspace != "" && !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(s.Workspace), "workspace", "%q is not the id of a workspace: write the 24 characters (0-9, a-f) in the address of its settings page", s.Workspace)
	fault(s.Token.Reveal() == "", "token", "missing: create an API key in Clockify under Preferences, Advanced")
	fault(s.PageSize < 0 || s.PageSize > largestPage, "page_size", "%d is not between 1 and %d", s.PageSize, largestPage)
	fault(s.RequestsPerSecond < 0 || s.RequestsPerSecond > mostPerSecond, "requests_per_second", "%v is not between 0 and %d, which Clockify allows", s.RequestsPerSecond, mostPerSecond)
	for i, name := range s.Include {
		fault(!slices.Contains([]string{"break", "holiday", "time_off"}, name), fmt.Sprintf("include[%d]", i), "%q is neither break, holiday nor time_off", name)
	}
	fault(!slices.Contains([]string{"", hundred, iso}, s.MinorUnits), "minor_units", "%q is neither %s nor %s", s.MinorUnits, hundred, iso)
	fault(!slices.Contains([]string{"", report, ignore}, s.Invoiced), "invoiced", "%q is neither %s nor %s", s.Invoiced, report, ignore)
	for field, base := range map[string]string{"url": s.base(), "reports_url": s.reports()} {
		if _, err := remote.ParseBase(base); err != nil {
			fault(true, field, "%w", err)
		}
	}
	return errors.Join(faults...)
}

func (s Settings) base() string    { return cmp.Or(s.URL, defaultURL) }
func (s Settings) reports() string { return cmp.Or(s.ReportsURL, defaultReports) }
func (s Settings) pageSize() int   { return cmp.Or(s.PageSize, defaultPageSize) }
