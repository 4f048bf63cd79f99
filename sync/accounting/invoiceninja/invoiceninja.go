// Package invoiceninja makes draft invoices in Invoice Ninja 5, hosted or not.
//
// Its one hard rule: Invoice Ninja knows no idempotency key, so a create is never repeated by itself: it is
// sent once, and looked up after anything but a clear answer. No field or parameter that sends, marks or pays
// is ever named.
//
// What is said here of its behaviour was read in its source, release 5.10.
package invoiceninja

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
	"tidemark/sync/money"
)

// Ninja is one company. It may be used by several goroutines.
type Ninja struct {
	settings Settings
	client   *remote.Client
}

// New checks the settings. It asks nothing.
func New(s Settings, net *remote.Network) (*Ninja, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Reference == "" {
		s.Reference = poNumber
	}
	token := s.Token.Reveal()
	client, err := net.Client(remote.Account{
		Vendor: "invoiceninja", ID: "invoiceninja:" + s.Account, Base: strings.TrimSuffix(s.URL, "/") + "/api/v1",
		Header:  http.Header{"X-Api-Token": {token}, "X-Requested-With": {"XMLHttpRequest"}},
		Secrets: []string{token}, PerSecond: s.RequestsPerSecond,
	})
	return &Ninja{s, client}, err
}

// Account returns the name of the company as it stands in the settings.
func (n *Ninja) Account() string { return "invoiceninja:" + n.settings.Account }

// Traits says that lists show archived and deleted invoices, too, and that there is no version token. A colon
// in a text begins a macro such as :MONTH, so it is taken out.
func (n *Ninja) Traits() accounting.Traits {
	return accounting.Traits{
		SearchLag: n.settings.lag(), SettleAfter: 2 * time.Minute, Authoritative: true,
		Limits: accounting.Limits{Quantity: 4, Price: 4, Text: 2000, Forbidden: ":"},
	}
}

// Find searches every field for the reference, since that is the one search there is, and compares it exactly.
func (n *Ninja) Find(ctx context.Context, reference string) (found []accounting.Receipt, err error) {
	q := url.Values{"filter": {reference}, "per_page": {"100"}, "include": {"client"}}
	if n.settings.Reference == number {
		q = url.Values{"number": {reference}, "per_page": {"100"}, "include": {"client"}}
	}
	for page, more := 1, true; more; page++ {
		list, err := n.page(ctx, q, page)
		if err != nil {
			return nil, err
		}
		for _, inv := range *list.Data {
			if n.referenceOf(inv) != reference {
				continue
			}
			r, err := n.receipt(inv)
			if err != nil {
				return nil, err
			}
			found = append(found, r)
		}
		more = list.more(page)
	}
	return found, nil
}

// page asks for one page of invoices.
func (n *Ninja) page(ctx context.Context, q url.Values, page int) (list invoices, err error) {
	q.Set("page", strconv.Itoa(page))
	if _, err := n.client.Get(ctx, "/invoices", q, &list); err != nil {
		return list, outcome.OfRead(err)
	}
	if list.Data == nil {
		return list, n.client.Misread("GET /invoices", errors.New("the answer holds no data"))
	}
	return list, nil
}

// Read returns an invoice by its id.
func (n *Ninja) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	var one single
	_, err := n.client.Get(ctx, "/invoices/"+url.PathEscape(id), url.Values{"include": {"client"}}, &one)
	switch {
	case errors.Is(err, remote.NotFound):
		return accounting.Receipt{}, fmt.Errorf("invoiceninja: invoice %s: %w", id, accounting.ErrAbsent)
	case err != nil:
		return accounting.Receipt{}, outcome.OfRead(err)
	}
	return n.receipt(one.Data)
}

// Prepare freezes the creation of a draft. The currency is the client's and not part of the request; it stands
// in the fragment of the frozen path, which is never sent, and is compared before anything is.
func (n *Ninja) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	if n.settings.currencyID(inv.Currency) == "" && string(inv.Currency) != n.settings.Currency {
		return accounting.Request{}, fmt.Errorf("invoiceninja: Invoice Ninja's id of %s is not known: list it under currencies", inv.Currency)
	}
	out, err := n.invoice(inv)
	if err != nil {
		return accounting.Request{}, err
	}
	body, err := json.Marshal(out)
	return accounting.Request{Steps: []accounting.Step{{Method: http.MethodPost, Path: "/invoices#" + string(inv.Currency), Body: body}}}, err
}

// Create sends a frozen creation once, if the client is billed in its currency.
func (n *Ninja) Create(ctx context.Context, _ string, req accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	step := req.Steps[0]
	path, currency, _ := strings.Cut(step.Path, "#")
	if err := n.bills(ctx, step.Body, money.Currency(currency)); err != nil {
		return accounting.Receipt{}, err
	}
	return n.write(ctx, step.Method, path, step.Body)
}

// bills refuses to bill a client in another currency than its own. Nothing was sent.
func (n *Ninja) bills(ctx context.Context, body []byte, want money.Currency) error {
	var frozen struct {
		Client string `json:"client_id"`
	}
	if err := json.Unmarshal(body, &frozen); err != nil {
		return fmt.Errorf("%w: invoiceninja: frozen request: %w", accounting.ErrRejected, err)
	}
	var one struct{ Data client }
	_, err := n.client.Get(ctx, "/clients/"+url.PathEscape(frozen.Client), nil, &one)
	switch {
	case errors.Is(err, remote.NotFound):
		return fmt.Errorf("%w: invoiceninja: there is no client %s", accounting.ErrRejected, frozen.Client)
	case err != nil:
		return fmt.Errorf("%w: %w", accounting.ErrNotSent, outcome.OfRead(err))
	}
	has, err := n.settings.currencyOf(one.Data.Settings.CurrencyID)
	if err == nil && has != want {
		err = fmt.Errorf("client %s is billed in %s, and this is in %s: map it to a client with that currency", frozen.Client, has, want)
	}
	if err != nil {
		return fmt.Errorf("%w: invoiceninja: %w", accounting.ErrRejected, err)
	}
	return nil
}

// Update gives a draft, if it is as it was left, the lines of a frozen request. There is no version token: what
// somebody changes between the look and the write is overwritten.
func (n *Ninja) Update(ctx context.Context, _ string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	now, err := n.Read(ctx, left.ID)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		return accounting.Receipt{}, fmt.Errorf("invoiceninja: invoice %s: %w: it is gone", left.ID, accounting.ErrTouched)
	case err != nil:
		return accounting.Receipt{}, fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
	case !now.Untouched(left):
		return accounting.Receipt{}, fmt.Errorf("invoiceninja: invoice %s: %w: it is %s, %s", left.ID, accounting.ErrTouched, now.Status, now.Currency.Format(now.Net))
	}
	return n.write(ctx, http.MethodPut, "/invoices/"+url.PathEscape(left.ID), req.Steps[0].Body)
}

func (n *Ninja) write(ctx context.Context, method, path string, body []byte) (accounting.Receipt, error) {
	var one single
	_, err := n.client.Send(ctx, remote.Request{Method: method, Path: path, Query: url.Values{"include": {"client"}}, Body: body}, &one)
	if err != nil {
		return accounting.Receipt{}, n.said(err)
	}
	r, err := n.receipt(one.Data)
	if err != nil {
		return r, fmt.Errorf("invoiceninja: the answer to a write: %v", err)
	}
	return r, nil
}

// said adds the vendor's sentences about single fields. A number that is taken says that an invoice bears our
// reference: what became of an earlier attempt has to be looked up.
func (n *Ninja) said(err error) error {
	e, is := errors.AsType[*remote.Error](err)
	if !is || e.Kind != remote.Rejected {
		return outcome.OfWrite(err)
	}
	var refused struct{ Errors map[string][]string }
	_ = json.Unmarshal(e.Body, &refused)
	var text []string
	for _, field := range sortedKeys(refused.Errors) {
		text = append(text, strings.Join(refused.Errors[field], " "))
	}
	if len(text) > 0 {
		e.Text = remote.Short(strings.Join(text, " "))
	}
	if n.settings.Reference == number && len(refused.Errors[number]) > 0 {
		return err
	}
	return outcome.OfWrite(err)
}

// Access names the company and whom the token belongs to.
func (n *Ninja) Access(ctx context.Context) (accounting.Access, error) {
	var one struct {
		Data struct {
			Settings struct{ Name string }
			Plan     string `json:"plan"`
		}
	}
	if _, err := n.client.Send(ctx, remote.Request{Method: http.MethodPost, Path: "/companies/current", ReadOnly: true}, &one); err != nil {
		return accounting.Access{}, outcome.OfRead(err)
	}
	return accounting.Access{Account: or(one.Data.Settings.Name, n.settings.URL), Plan: one.Data.Plan, Makes: "draft invoices"}, nil
}

func or(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

// Customers lists the clients that are neither archived nor deleted.
func (n *Ninja) Customers(ctx context.Context) (all []accounting.Party, err error) {
	for page, more := 1, true; more; page++ {
		var list struct {
			Data []client
			Meta meta
		}
		q := url.Values{"page": {strconv.Itoa(page)}, "per_page": {"100"}, "status": {"active"}, "sort": {"name|asc"}}
		if _, err := n.client.Get(ctx, "/clients", q, &list); err != nil {
			return nil, outcome.OfRead(err)
		}
		for _, c := range list.Data {
			all = append(all, accounting.Party{ID: c.ID, Name: c.Name})
		}
		more = page < list.Meta.Pagination.TotalPages
	}
	return all, nil
}
