package quickbooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"tidemark/sync/accounting"
)

type company struct {
	CompanyName string
	Country     string
	NameValue   []struct{ Name, Value string }
}

// said returns what a company says under a name; empty where it does not.
func (c company) said(name string) string {
	for _, pair := range c.NameValue {
		if pair.Name == name {
			return pair.Value
		}
	}
	return ""
}

// plan names the edition and how its subscription stands.
func (c company) plan() string {
	plan, standing := c.said("OfferingSku"), c.said("SubscriptionStatus")
	if plan == "" || standing == "" {
		return plan + standing
	}
	return plan + " (" + standing + ")"
}

// preferences are those of a company that decide what becomes of an estimate.
type preferences struct {
	SalesFormsPrefs struct{ CustomTxnNumbers, AllowEstimates *bool }
	CurrencyPrefs   struct{ HomeCurrency ref }
}

// Access names the company, and says what in its preferences stands in the way.
func (q *QuickBooks) Access(ctx context.Context) (accounting.Access, error) {
	var about struct {
		envelope
		CompanyInfo *company
	}
	if err := q.get(ctx, "/companyinfo/"+q.settings.Realm, url.Values{}, &about); err != nil {
		return accounting.Access{}, err
	}
	if about.CompanyInfo == nil {
		return accounting.Access{}, q.client.Misread("GET /companyinfo", errors.New("the answer holds no CompanyInfo"))
	}
	var set struct {
		envelope
		Preferences preferences
	}
	if err := q.get(ctx, "/preferences", url.Values{}, &set); err != nil {
		return accounting.Access{}, err
	}
	c, home := *about.CompanyInfo, set.Preferences.CurrencyPrefs.HomeCurrency.Value
	access := accounting.Access{
		Account: or(c.CompanyName, q.settings.Realm), Plan: c.plan(), Makes: "pending estimates, which a person converts to invoices",
		Notes: q.notes(set.Preferences),
	}
	for _, more := range []string{c.Country, home} {
		if more != "" {
			access.Account += ", " + more
		}
	}
	return access, nil
}

// notes says what is set other than it has to be.
func (q *QuickBooks) notes(p preferences) (notes []string) {
	off := func(set *bool) bool { return set != nil && !*set }
	if q.settings.Reference != privateNote && off(p.SalesFormsPrefs.CustomTxnNumbers) {
		notes = append(notes, "custom transaction numbers are off: QuickBooks would go on numbering from our references; turn them on under Account and settings, Sales, or set reference: private_note")
	}
	if off(p.SalesFormsPrefs.AllowEstimates) {
		notes = append(notes, "estimates are off: turn them on under Account and settings, Sales")
	}
	if home := p.CurrencyPrefs.HomeCurrency.Value; q.settings.Currency != "" && home != "" && home != q.settings.Currency {
		notes = append(notes, fmt.Sprintf("currency is %s, and the company's own is %s: set currency: %s", q.settings.Currency, home, home))
	}
	return notes
}

// Pinned holds that a sign-in is for the company of the config. Intuit names the one that was chosen in the
// address to which the browser was sent.
func (q *QuickBooks) Pinned(_ context.Context, address url.Values, _ *http.Client) error {
	switch realm := address.Get("realmId"); realm {
	case q.settings.Realm:
		return nil
	case "":
		return errors.New("quickbooks: there is no realmId: paste the whole address to which the browser was sent, not the code alone")
	default:
		return fmt.Errorf("quickbooks: the sign-in is for company %s, and realm is %s: sign in again and choose that, or set realm to the other", realm, q.settings.Realm)
	}
}
