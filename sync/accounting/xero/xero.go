// Package xero makes draft invoices in Xero, over its Accounting API 2.0.
//
// Its one hard rule: an invoice is created with PUT and Status DRAFT, and no other status is ever sent. POST
// creates or overwrites, so it is used for a named invoice only.
//
// Xero's OpenAPI document (XeroAPI/Xero-OpenAPI, xero_accounting.yaml) is the source of names and limits; what
// it leaves open, such as how long a look-up lags, is a setting.
package xero

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
)

// Signer signs requests in, and learns of a sign-in that was refused.
type Signer interface {
	Authorize(ctx context.Context) (string, error)
	Refused(authorization string)
}

// Xero is one organisation. It may be used by several goroutines.
type Xero struct {
	settings Settings
	client   *remote.Client
	lag      time.Duration
}

// New checks the settings. It asks nothing.
func New(s Settings, net *remote.Network, signer Signer) (*Xero, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	x := &Xero{settings: s, lag: 2 * time.Minute}
	if s.SearchLag != nil {
		x.lag = time.Duration(*s.SearchLag)
	}
	var err error
	x.client, err = net.Client(remote.Account{
		Vendor: "xero", ID: x.Account(), Base: s.url(), Header: http.Header{"xero-tenant-id": {s.Tenant}},
		Authorize: signer.Authorize, Refused: signer.Refused,
		PerSecond: 1, AtOnce: 4, // sixty a minute and five at once for an organisation
	})
	return x, err
}

// Account returns the organisation.
func (x *Xero) Account() string { return "xero:" + x.settings.Tenant }

// Traits says what is known of Xero. Keys are remembered for six minutes at least, and by some accounts only
// for one access token; there is no version token.
func (x *Xero) Traits() accounting.Traits {
	return accounting.Traits{
		KeyMemory: 5 * time.Minute, SearchLag: x.lag, SettleAfter: 2 * time.Minute, Authoritative: true,
		Limits: accounting.Limits{Quantity: 4, Price: 4, Amount: 2, Text: 4000},
	}
}

// pageSize is how many invoices a look-up asks for at once.
const pageSize = 100

// Find asks for invoices with the reference in every status, and compares it exactly.
func (x *Xero) Find(ctx context.Context, reference string) (found []accounting.Receipt, err error) {
	for page, more := 1, true; more; page++ {
		list, err := x.page(ctx, url.Values{"where": {fmt.Sprintf("Type==%q AND Reference==%q", "ACCREC", reference)}}, page)
		if err != nil {
			return nil, err
		}
		for _, inv := range *list.Invoices {
			if inv.Reference != reference {
				continue
			}
			r, err := x.receipt(inv)
			if err != nil {
				return nil, err
			}
			found = append(found, r)
		}
		more = list.more(page)
	}
	return found, nil
}

// page asks for one page of invoices, each with its lines.
func (x *Xero) page(ctx context.Context, q url.Values, page int) (list answer, err error) {
	q.Set("page", strconv.Itoa(page))
	q.Set("pageSize", strconv.Itoa(pageSize))
	q.Set("unitdp", "4")
	if _, err := x.client.Get(ctx, "/Invoices", q, &list); err != nil {
		return list, outcome.OfRead(err)
	}
	if list.Invoices == nil {
		return list, x.client.Misread("GET /Invoices", errors.New("the answer holds no Invoices"))
	}
	return list, nil
}

// Read returns an invoice by its id.
func (x *Xero) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	var list answer
	_, err := x.client.Get(ctx, "/Invoices/"+url.PathEscape(id), url.Values{"unitdp": {"4"}}, &list)
	switch {
	case errors.Is(err, remote.NotFound):
		return accounting.Receipt{}, fmt.Errorf("xero: invoice %s: %w", id, accounting.ErrAbsent)
	case err != nil:
		return accounting.Receipt{}, outcome.OfRead(err)
	}
	return x.only("GET /Invoices/"+id, list)
}

// Prepare freezes the creation of a draft.
func (x *Xero) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	if inv.Currency.Digits() > 2 {
		return accounting.Request{}, fmt.Errorf("xero: %s has %d decimals, and Xero's totals have 2: bill it in another currency", inv.Currency, inv.Currency.Digits())
	}
	body, err := json.Marshal(map[string][]invoice{"Invoices": {x.invoice(inv)}})
	return accounting.Request{Steps: []accounting.Step{{Method: http.MethodPut, Path: "/Invoices?summarizeErrors=true&unitdp=4", Body: body}}}, err
}

// Create sends a frozen creation under its key.
func (x *Xero) Create(ctx context.Context, key string, req accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	return x.write(ctx, key, req.Steps[0])
}

// Update gives a draft, if it is as it was left, the lines of a frozen request. Xero has no version token: what
// somebody changes between the look and the write is overwritten.
func (x *Xero) Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	now, err := x.Read(ctx, left.ID)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		return accounting.Receipt{}, fmt.Errorf("xero: invoice %s: %w: it is gone", left.ID, accounting.ErrTouched)
	case err != nil:
		return accounting.Receipt{}, fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
	case !now.Untouched(left):
		return accounting.Receipt{}, fmt.Errorf("xero: invoice %s: %w: it is %s, %s", left.ID, accounting.ErrTouched, now.Status, now.Currency.Format(now.Net))
	}
	step := req.Steps[0]
	_, query, _ := strings.Cut(step.Path, "?")
	return x.write(ctx, key, accounting.Step{Method: http.MethodPost, Path: "/Invoices/" + url.PathEscape(left.ID) + "?" + query, Body: step.Body})
}

func (x *Xero) write(ctx context.Context, key string, step accounting.Step) (accounting.Receipt, error) {
	path, query, _ := strings.Cut(step.Path, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return accounting.Receipt{}, fmt.Errorf("%w: xero: frozen query: %w", accounting.ErrNotSent, err)
	}
	var list answer
	a, err := x.client.Send(ctx, remote.Request{
		Method: step.Method, Path: path, Query: q, Body: step.Body, Header: http.Header{"Idempotency-Key": {key}}, Repeatable: true,
	}, &list)
	if err != nil {
		return accounting.Receipt{}, said(err)
	}
	switch text := list.refusal(); {
	case text != "" && (a.Again || list.made()):
		return accounting.Receipt{}, fmt.Errorf("xero: %s: it may have been written all the same", text)
	case text != "":
		return accounting.Receipt{}, fmt.Errorf("%w: xero: %s", accounting.ErrRejected, text)
	}
	return x.only(step.Method+" "+path, list)
}

// said adds the vendor's nested sentences to a refusal.
func said(err error) error {
	e, is := errors.AsType[*remote.Error](err)
	if is && e.Kind == remote.Rejected {
		var list answer
		if json.Unmarshal(e.Body, &list) == nil {
			if text := list.refusal(); text != "" {
				e.Text = remote.Short(text)
			}
		}
	}
	return outcome.OfWrite(err)
}

// only returns the one invoice of an answer.
func (x *Xero) only(asked string, list answer) (accounting.Receipt, error) {
	if list.Invoices == nil || len(*list.Invoices) != 1 {
		return accounting.Receipt{}, x.client.Misread(asked, errors.New("the answer does not hold one invoice"))
	}
	return x.receipt((*list.Invoices)[0])
}

// Access names the organisation.
func (x *Xero) Access(ctx context.Context) (accounting.Access, error) {
	var org struct {
		Organisations []struct{ Name, BaseCurrency, Edition, Class string }
	}
	a, err := x.client.Get(ctx, "/Organisation", nil, &org)
	if err != nil {
		return accounting.Access{}, outcome.OfRead(err)
	}
	if len(org.Organisations) != 1 {
		return accounting.Access{}, x.client.Misread("GET /Organisation", errors.New("the answer does not hold one organisation"))
	}
	o := org.Organisations[0]
	access := accounting.Access{Account: o.Name + " (" + o.BaseCurrency + ")", Plan: o.Class, Makes: "draft invoices"}
	if left := a.Header.Get("X-DayLimit-Remaining"); left != "" {
		access.Notes = append(access.Notes, left+" requests are left of today's quota")
	}
	return access, nil
}

// Pinned holds that a sign-in is for the organisation of the config: it may span several, in any order.
func (x *Xero) Pinned(ctx context.Context, _ url.Values, signedIn *http.Client) error {
	base, err := url.Parse(x.settings.url())
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.ResolveReference(&url.URL{Path: "/connections"}).String(), nil)
	if err != nil {
		return err
	}
	resp, err := signedIn.Do(req)
	if err != nil {
		return fmt.Errorf("xero: connections: %w", err)
	}
	var spans []struct{ TenantID, TenantName string }
	err = json.NewDecoder(resp.Body).Decode(&spans)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("xero: connections: %s: %v", resp.Status, err)
	}
	var names []string
	for _, s := range spans {
		if s.TenantID == x.settings.Tenant {
			return nil
		}
		names = append(names, s.TenantName+" ("+s.TenantID+")")
	}
	return fmt.Errorf("xero: the sign-in is not for tenant %s: it spans %s; set tenant to one of them, or sign in again and choose it", x.settings.Tenant, strings.Join(names, ", "))
}

// Customers lists the contacts.
func (x *Xero) Customers(ctx context.Context) (all []accounting.Party, err error) {
	for page, more := 1, true; more; page++ {
		var list struct {
			Contacts   []struct{ ContactID, Name string }
			Pagination *pagination `json:"pagination"`
		}
		_, err := x.client.Get(ctx, "/Contacts", url.Values{"page": {strconv.Itoa(page)}, "pageSize": {strconv.Itoa(pageSize)}, "order": {"Name"}}, &list)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		for _, c := range list.Contacts {
			all = append(all, accounting.Party{ID: c.ContactID, Name: c.Name})
		}
		more = list.Pagination.more(page, len(list.Contacts))
	}
	return all, nil
}
