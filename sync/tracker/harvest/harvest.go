// Package harvest reads approved weeks from Harvest. Harvest approves entries one by one, and knows no weeks: a
// week is what a member wrote down between two first days of the week.
//
// Its one hard rule: only an entry of which Harvest says in words that are known that it is approved is told as
// approved. That it is locked or billed says nothing, and neither does silence.
package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
)

// Harvest is the tracker of one account.
type Harvest struct {
	settings Settings
	client   *remote.Client
}

// New returns the tracker that the settings describe. It asks for nothing yet.
func New(s Settings, net *remote.Network) (*Harvest, error) {
	h := &Harvest{settings: s}
	var err error
	h.client, err = net.Client(remote.Account{
		Vendor: "harvest", ID: h.Account(), Base: s.base(), PerSecond: cmp.Or(s.RequestsPerSecond, defaultPerSecond),
		Header: http.Header{
			"Authorization":      {"Bearer " + s.Token.Reveal()},
			"Harvest-Account-Id": {s.Account},
			"User-Agent":         {"Tidemark (" + s.Contact + ")"},
		},
		Secrets: []string{s.Token.Reveal()},
	})
	if err != nil {
		return nil, fmt.Errorf("harvest: url: %w", err)
	}
	return h, nil
}

// Account returns the number of the account.
func (h *Harvest) Account() string { return "harvest:" + h.settings.Account }

// Traits says that Harvest can be asked for entries that changed, which leaves out those that were deleted or moved
// to another week, so that the last weeks are read in each pass; and that a range is told whole.
func (h *Harvest) Traits() tracker.Traits {
	return tracker.Traits{Feed: true, Whole: true, Reread: tracker.EachPass}
}

// Weeks yields a page for every four weeks, or for those in which something changed. Without a first day and
// without Since it begins a year ago.
func (h *Harvest) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		r, err := h.reading(ctx)
		if err != nil {
			yield(tracker.Page{}, err)
			return
		}
		all, page, err := r.wanted(ctx, q)
		if !yield(page, err) || err != nil {
			return
		}
		for _, s := range all {
			page, err := r.page(ctx, s)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// Week reads one week of a user as it is now.
func (h *Harvest) Week(ctx context.Context, id string) (tracker.Week, error) {
	w, err := parseID(id)
	if err != nil {
		return tracker.Week{}, fmt.Errorf("harvest: week %q: %w", id, err)
	}
	r, err := h.reading(ctx)
	if err != nil {
		return tracker.Week{}, err
	}
	if w.first.Weekday() != r.begins {
		return tracker.Week{}, fmt.Errorf("harvest: week %s: weeks begin on %s in Harvest, and this one does not: somebody changed the first day of the week there", id, r.begins)
	}
	page, err := r.page(ctx, slice{first: w.first, last: w.first.AddDays(6), user: w.user, only: map[week]bool{w: true}})
	switch {
	case err != nil:
		return tracker.Week{}, err
	case page.Partial:
		return tracker.Week{}, fmt.Errorf("harvest: week %s: %w", id, errShifted)
	case len(page.Unread) > 0:
		return tracker.Week{}, fmt.Errorf("harvest: week %s: %s", id, page.Unread[0].Reason)
	case len(page.Weeks) == 0:
		return tracker.Week{}, tracker.ErrGone
	}
	return page.Weeks[0], nil
}

// Access signs in, and looks whether the token's owner sees what is needed.
func (h *Harvest) Access(ctx context.Context) (tracker.Access, error) {
	a := tracker.Access{Reads: []string{
		"the time entries of all members, with their rates and whether they are approved",
		"the clients with their currencies",
	}}
	r, err := h.reading(ctx)
	if err != nil {
		return a, err
	}
	var me person
	if _, err := h.client.Get(ctx, "/users/me", nil, &me); err != nil {
		return a, err
	}
	a.User, a.Plan = me.name(), r.company.PlanType
	a.Account = fmt.Sprintf("%s (%s)", r.company.Name, h.Account())
	a.Notes = r.disabled()
	if note := me.limits(); note != "" {
		a.Notes = append(a.Notes, note)
	}
	notes, err := r.hidden(ctx)
	a.Notes = append(a.Notes, notes...)
	return a, err
}

// hidden says what the token's owner does not see of some entries, and of the clients.
func (r *reading) hidden(ctx context.Context) (notes []string, err error) {
	some, _, err := timeEntries().page(ctx, r, url.Values{"per_page": {"100"}})
	if err != nil {
		return nil, err
	}
	priced := func(e timeEntry) bool { return e.BillableRate != nil }
	unpriced := func(e timeEntry) bool { return e.Billable != nil && *e.Billable && !priced(e) }
	if slices.ContainsFunc(some, unpriced) && !slices.ContainsFunc(some, priced) {
		notes = append(notes, "no entry shows a rate: let an administrator make the token, or write prices in the settings")
	}
	_, _, err = clients().page(ctx, r, url.Values{"per_page": {"1"}})
	if errors.Is(err, remote.Forbidden) {
		return append(notes, currenciesHidden), nil
	}
	return notes, err
}

// person is whom the token belongs to.
type person struct {
	FirstName   string   `json:"first_name"`
	LastName    string   `json:"last_name"`
	Email       string   `json:"email"`
	AccessRoles []string `json:"access_roles"`
}

func (p person) name() string {
	return cmp.Or(strings.TrimSpace(p.FirstName+" "+p.LastName), p.Email)
}

// limits says what somebody with these roles does not see; nothing of an administrator. Accounts from before there
// were roles tell none.
func (p person) limits() string {
	switch {
	case slices.Contains(p.AccessRoles, "administrator"):
		return ""
	case slices.Contains(p.AccessRoles, "manager"):
		return p.name() + " is a manager, and sees the time of the projects and people that they manage only: let an administrator make the token, unless that is all that is billed"
	case len(p.AccessRoles) == 0:
		return "Harvest does not tell what role " + p.name() + " has: the token has to be an administrator's, who alone sees all time and all rates"
	}
	return p.name() + " is a member, and sees no time but their own: let an administrator make the token"
}
