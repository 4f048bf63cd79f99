// Package tryton makes draft invoices in Tryton 6.0, over its JSON-RPC.
//
// Its one hard rule: of invoices and their lines it calls search_read, create and write, and no other method, and
// never names the state: writing it would take an invoice back that is posted. A create is sent once and not
// repeated by itself.
//
// What is said here of its behaviour was seen on Debian's 6.0 with account_invoice, over PostgreSQL.
package tryton

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
)

const (
	invoiceModel = "account.invoice"
	lineModel    = "account.invoice.line"
)

const defaultSettle = 2 * time.Minute

// pageSize is how many records are asked for at once.
const pageSize = 500

// Tryton is one company. It may be used by several goroutines.
type Tryton struct {
	settings Settings
	client   *remote.Client
	session  *session
	serial   atomic.Int64 // of requests
}

// New checks the settings. It asks nothing.
func New(s Settings, net *remote.Network) (*Tryton, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Guard == "" {
		s.Guard = guardLine
	}
	account := remote.Account{
		Vendor: "tryton", ID: "tryton:" + s.Account, Base: s.URL, Secrets: []string{s.Password.Reveal()}, PerSecond: s.RequestsPerSecond,
	}
	signIn := account
	signIn.ID += " sign-in" // Places of its own: requests that hold all of the others may wait for it.
	first, err := net.Client(signIn)
	if err != nil {
		return nil, err
	}
	t := &Tryton{settings: s, session: &session{client: first, path: "/" + url.PathEscape(s.Database) + "/", user: s.User, password: s.Password.Reveal()}}
	account.Authorize, account.Refused = t.session.Authorize, t.session.Refused
	t.client, err = net.Client(account)
	return t, err
}

// Account returns the name of the company as it stands in the settings.
func (t *Tryton) Account() string { return "tryton:" + t.settings.Account }

// Traits says that a look-up sees everything at once, and that Tryton goes on with a request whose client hung
// up. Quantities have the two decimals of hours, prices four.
func (t *Tryton) Traits() accounting.Traits {
	settle := defaultSettle
	if t.settings.SettleAfter != nil {
		settle = time.Duration(*t.settings.SettleAfter)
	}
	return accounting.Traits{
		SettleAfter: settle, Authoritative: true, GuardsDrafts: true,
		Limits: accounting.Limits{Quantity: 2, Price: 4},
	}
}

// Find asks for customer invoices with the reference in every state, and compares it exactly.
func (t *Tryton) Find(ctx context.Context, reference string) (found []accounting.Receipt, err error) {
	list, err := t.invoices(ctx, where("reference", "=", reference))
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.Reference != reference {
			continue
		}
		r, err := t.receipt(s)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// Read returns an invoice by its id.
func (t *Tryton) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	s, err := t.one(ctx, id)
	if err != nil {
		return accounting.Receipt{}, err
	}
	return t.receipt(s)
}

func (t *Tryton) one(ctx context.Context, id string) (stored, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return stored{}, fmt.Errorf("tryton: invoice %q: %w: not an id", id, accounting.ErrAbsent)
	}
	list, err := t.invoices(ctx, where("id", "=", n))
	switch {
	case err != nil:
		return stored{}, err
	case len(list) == 0:
		return stored{}, fmt.Errorf("tryton: invoice %s: %w", id, accounting.ErrAbsent)
	case len(list) > 1 || string(list[0].ID) != id:
		return stored{}, t.client.Misread("invoice "+id, errors.New("the answer holds another one"))
	}
	return list[0], nil
}

func (t *Tryton) invoices(ctx context.Context, what []any) ([]stored, error) {
	domain := []any{what, where("type", "=", "out"), where("company", "=", t.settings.Company)}
	return search[stored](ctx, t, invoiceModel, domain, by("id"), fields())
}

// link leads to an invoice in the web client, where the server has one.
func (t *Tryton) link(id remote.ID) string {
	return strings.TrimSuffix(t.settings.URL, "/") + "/#" + url.PathEscape(t.settings.Database) + "/model/" + invoiceModel + "/" + string(id)
}

// Access names the user and the company, and what the user may not do.
func (t *Tryton) Access(ctx context.Context) (accounting.Access, error) {
	var rights map[string]struct{ Read, Write, Create truth }
	if err := t.read(ctx, "model.ir.model.access.get_access", &rights, []string{invoiceModel, lineModel}); err != nil {
		return accounting.Access{}, err
	}
	list, err := search[struct {
		Name     string                `json:"rec_name"`
		Currency struct{ Code string } `json:"currency."`
	}](ctx, t, "company.company", []any{where("id", "=", t.settings.Company)}, nil, []string{"rec_name", "currency.code"})
	if err != nil {
		return accounting.Access{}, err
	}
	a := accounting.Access{User: t.settings.User, Account: t.settings.Database, Makes: "draft invoices"}
	if len(list) == 1 {
		a.Account = list[0].Name + " (" + list[0].Currency.Code + ")"
	} else {
		a.Notes = append(a.Notes, fmt.Sprintf("company %d is not there, or not one of the user's", t.settings.Company))
	}
	for _, model := range []string{invoiceModel, lineModel} {
		if r := rights[model]; !r.Read || !r.Write || !r.Create {
			a.Notes = append(a.Notes, t.settings.User+" may not read, create and change records of "+model+": give the user the group Account")
		}
	}
	return a, nil
}

// Customers lists the parties.
func (t *Tryton) Customers(ctx context.Context) (all []accounting.Party, err error) {
	list, err := search[struct {
		ID   remote.ID `json:"id"`
		Name string    `json:"rec_name"`
	}](ctx, t, "party.party", []any{}, by("name", "id"), []string{"rec_name"})
	for _, p := range list {
		all = append(all, accounting.Party{ID: string(p.ID), Name: p.Name})
	}
	return all, err
}
