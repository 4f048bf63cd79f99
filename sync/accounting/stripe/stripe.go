// Package stripe makes draft invoices in Stripe Invoicing, over version 1 of its API.
//
// Its one hard rule: an invoice is made with auto_advance=false and its lines are changed while it is a draft.
// Nothing that finalises, sends, charges, voids or deletes is ever asked for.
//
// A draft takes two calls: the invoice, then its lines. Each has its own key. Until the second was answered the
// draft is empty, and it is found by its reference and finished.
//
// The reference stands in the metadata. It is found by listing: Stripe's search lags by up to an hour, so it
// proves neither that there is none nor that there is only one.
//
// Names and limits were read in Stripe's OpenAPI document, release 2026-08-26.dahlia.
package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
	"tidemark/sync/civil"
)

// referenceKey is where the reference stands in an invoice's metadata.
const (
	referenceKey = "tidemark"
	metadata     = "metadata[" + referenceKey + "]"
)

// Stripe is one account. It may be used by several goroutines.
type Stripe struct {
	settings Settings
	client   *remote.Client
	pinned   atomic.Bool // the key was seen to be of the account
}

// New checks the settings. It asks nothing.
func New(s Settings, net *remote.Network) (*Stripe, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	token := s.Token.Reveal()
	client, err := net.Client(remote.Account{
		Vendor: "stripe", ID: "stripe:" + s.Account, Base: s.url(),
		Header:  http.Header{"Authorization": {"Bearer " + token}, "Stripe-Version": {s.version()}},
		Secrets: []string{token}, PerSecond: 10, AtOnce: 4, // twenty-five a second in a sandbox
	})
	return &Stripe{settings: s, client: client}, err
}

// Account returns the account.
func (s *Stripe) Account() string { return "stripe:" + s.settings.Account }

// Traits says that keys are remembered for a day, and that a list shows every invoice but a draft that was
// deleted, of which nothing is left. Stripe refuses to change what is no longer a draft, but it has no version
// token: a draft that somebody edits at that moment is not told apart.
func (s *Stripe) Traits() accounting.Traits {
	return accounting.Traits{
		KeyMemory: 23 * time.Hour, SearchLag: s.settings.lag(), SettleAfter: 2 * time.Minute, Authoritative: true,
		Limits: accounting.Limits{Quantity: 4, Price: 8, Text: 500},
	}
}

// Find lists the invoices of every status since the reference can have been used, and compares it exactly.
func (s *Stripe) Find(ctx context.Context, reference string) (found []accounting.Receipt, err error) {
	if err := s.pin(ctx); err != nil {
		return nil, err
	}
	q := url.Values{}
	if since := usedSince(reference); !since.IsZero() {
		q.Set("created[gte]", strconv.FormatInt(since.Unix(), 10))
	}
	var hits []stored
	err = pages(ctx, s, "/v1/invoices", q, func(inv stored) error {
		if inv.Metadata[referenceKey] == reference {
			hits = append(hits, inv)
		}
		return nil
	})
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	for _, inv := range hits {
		inv, err := s.whole(ctx, inv)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		r, err := s.receipt(inv)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// weekly is how most references end: the week of the period, a hash, and the number of a later document.
var weekly = regexp.MustCompile(`(?:^|[^0-9])(\d\d)w(\d\d)-[a-z2-7]{10}(?:-\d+)?$`)

// ahead is how long before its period begins an invoice may be made: a week may be approved beforehand.
const ahead = 31 * 24 * time.Hour

// usedSince returns when an invoice with a reference can have been made at the earliest; zero: at any time.
func usedSince(reference string) time.Time {
	m := weekly.FindStringSubmatch(reference)
	if m == nil {
		return time.Time{}
	}
	year, _ := strconv.Atoi(m[1])
	number, _ := strconv.Atoi(m[2])
	if number < 1 || number > 53 {
		return time.Time{}
	}
	return civil.Week{Year: 2000 + year, Number: number}.First().In(time.UTC).Add(-ahead)
}

// pages reads a list to its end.
func pages[T identified](ctx context.Context, s *Stripe, path string, query url.Values, take func(T) error) error {
	q := url.Values{"limit": {"100"}}
	for name, values := range query {
		q[name] = values
	}
	for {
		var page list[T]
		if _, err := s.client.Get(ctx, path, q, &page); err != nil {
			return err
		}
		if page.Data == nil || page.HasMore == nil {
			return s.client.Misread("GET "+path, errors.New("the answer is not a list"))
		}
		for _, one := range *page.Data {
			if err := take(one); err != nil {
				return err
			}
		}
		if !*page.HasMore {
			return nil
		}
		last := ""
		if n := len(*page.Data); n > 0 {
			last = (*page.Data)[n-1].id()
		}
		if last == "" || last == q.Get("starting_after") {
			return s.client.Misread("GET "+path, errors.New("there is more, and nothing to go on after"))
		}
		q.Set("starting_after", last)
	}
}

// Read returns an invoice by its id.
func (s *Stripe) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	inv, err := s.read(ctx, id)
	if err != nil {
		return accounting.Receipt{}, err
	}
	return s.receipt(inv)
}

func (s *Stripe) read(ctx context.Context, id string) (inv stored, err error) {
	if err := s.pin(ctx); err != nil {
		return inv, err
	}
	_, err = s.client.Get(ctx, "/v1/invoices/"+url.PathEscape(id), nil, &inv)
	if errors.Is(err, remote.NotFound) && faultOf(err).Type != "" || err == nil && inv.Deleted {
		return inv, fmt.Errorf("stripe: invoice %s: %w", id, accounting.ErrAbsent)
	}
	if err == nil {
		inv, err = s.whole(ctx, inv)
	}
	return inv, outcome.OfRead(err)
}

// pin holds that the key is of the account of the config: under any other, no reference would be found and
// everything be billed again. A restricted key may not be allowed to tell; then it is taken at its word.
func (s *Stripe) pin(ctx context.Context) error {
	if s.pinned.Load() {
		return nil
	}
	_, err := s.whose(ctx)
	if err != nil && !errors.Is(err, remote.Forbidden) {
		return err
	}
	s.pinned.Store(true)
	return nil
}

// business is an account as it tells of itself.
type business struct {
	ID      string `json:"id"`
	Email   string `json:"email"`
	Country string `json:"country"`
	Profile struct {
		Name string `json:"name"`
	} `json:"business_profile"`
}

// whose asks which account the key is of. It is an error if that is not the one of the config.
func (s *Stripe) whose(ctx context.Context) (b business, err error) {
	if _, err := s.client.Get(ctx, "/v1/account", nil, &b); err != nil {
		return b, outcome.OfRead(err)
	}
	if b.ID == "" {
		return b, s.client.Misread("GET /v1/account", errors.New("the answer names no account"))
	}
	if b.ID != s.settings.Account {
		return b, fmt.Errorf("%w: stripe: the token is of account %s, and the config says %s: use a key of that account", accounting.ErrPaused, b.ID, s.settings.Account)
	}
	return b, nil
}

// Access names the account.
func (s *Stripe) Access(ctx context.Context) (accounting.Access, error) {
	b, err := s.whose(ctx)
	access := accounting.Access{Account: s.settings.Account, Makes: "draft invoices"}
	switch {
	case errors.Is(err, remote.Forbidden):
		access.Notes = append(access.Notes, "the token may not read its account, so nobody checks that this is "+s.settings.Account+": allow the key to read it, or look at it yourself")
		return access, nil
	case err != nil:
		return accounting.Access{}, err
	}
	access.User = b.Email
	if b.Profile.Name != "" {
		access.Account = b.Profile.Name + " (" + b.ID + ")"
	}
	return access, nil
}

// Customers lists the customers, newest first as Stripe does.
func (s *Stripe) Customers(ctx context.Context) (all []accounting.Party, err error) {
	err = pages(ctx, s, "/v1/customers", nil, func(c customer) error {
		all = append(all, accounting.Party{ID: c.ID, Name: or(c.Name, c.Email)})
		return nil
	})
	return all, outcome.OfRead(err)
}
