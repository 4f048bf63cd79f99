// Package quickbooks makes pending estimates in QuickBooks Online, over its REST API v3. A person converts
// each to an invoice.
//
// Its one hard rule: nothing that posts is ever made. An invoice of that API counts as receivable at once, so that
// an estimate stands for the draft; its status is Pending and its mail NotSet whenever it is written, and no
// operation is ever named.
//
// Intuit says neither how long a requestid is remembered nor how long a query lags: both are settings. What a
// person deletes leaves no trace that a query sees, and the list of changes tells of it nothing but its id; an
// estimate that was deleted before we knew of it is made again.
package quickbooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
)

// Signer signs requests in, and learns of a sign-in that was refused.
type Signer interface {
	Authorize(ctx context.Context) (string, error)
	Refused(authorization string)
}

// QuickBooks is one company. It may be used by several goroutines.
type QuickBooks struct {
	settings Settings
	client   *remote.Client
}

// New checks the settings. It asks nothing.
func New(s Settings, net *remote.Network, signer Signer) (*QuickBooks, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	client, err := net.Client(remote.Account{
		Vendor: "quickbooks", ID: "quickbooks:" + s.Realm, Base: s.url() + "/v3/company/" + s.Realm,
		Authorize: signer.Authorize, Refused: signer.Refused,
		PerSecond: 8, AtOnce: 5, // 500 a minute and ten a second for a company
		Timeout: 130 * time.Second, // QuickBooks gives up after 120 seconds
	})
	return &QuickBooks{s, client}, err
}

// Account returns the company.
func (q *QuickBooks) Account() string { return "quickbooks:" + q.settings.Realm }

// Traits says what is known of QuickBooks. A request may have its effect as late as two minutes after it was
// sent. A query sees estimates of every status.
func (q *QuickBooks) Traits() accounting.Traits {
	return accounting.Traits{
		KeyMemory: duration(q.settings.KeyMemory, time.Hour), SearchLag: duration(q.settings.SearchLag, 2*time.Minute),
		SettleAfter: 3 * time.Minute, Authoritative: true, GuardsDrafts: true,
		Limits: accounting.Limits{Quantity: 7, Price: 7, Amount: 2, Text: 4000},
	}
}

// Find asks for estimates in every status that may bear the reference, and compares it exactly.
func (q *QuickBooks) Find(ctx context.Context, reference string) (found []accounting.Receipt, err error) {
	list, err := all(ctx, q, q.selects(reference), func(p page) []stored { return p.Estimate }, func(s stored) string { return s.ID })
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if !q.bears(s, reference) {
			continue
		}
		r, err := q.receipt(s)
		if err != nil {
			return nil, err
		}
		r.Reference = reference
		found = append(found, r)
	}
	return found, nil
}

// one is an answer that is one estimate.
type one struct {
	envelope
	Estimate *stored
}

// Read returns an estimate by its id.
func (q *QuickBooks) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	var answer one
	err := q.get(ctx, "/estimate/"+url.PathEscape(id), url.Values{}, &answer)
	if f, refused := faultOf(err); refused && f.has(notThere) {
		return accounting.Receipt{}, fmt.Errorf("quickbooks: estimate %s: %w: %s", id, accounting.ErrAbsent, f.text())
	}
	if err != nil {
		return accounting.Receipt{}, err
	}
	return q.only("GET /estimate/"+id, answer)
}

func (q *QuickBooks) only(asked string, answer one) (accounting.Receipt, error) {
	if answer.Estimate == nil {
		return accounting.Receipt{}, q.client.Misread(asked, errors.New("the answer holds no Estimate"))
	}
	return q.receipt(*answer.Estimate)
}

// Prepare freezes the creation of an estimate.
func (q *QuickBooks) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	if inv.Currency.Digits() > 2 {
		return accounting.Request{}, fmt.Errorf("quickbooks: %s has %d decimals, and amounts of QuickBooks have 2: bill it in another currency", inv.Currency, inv.Currency.Digits())
	}
	body, err := json.Marshal(q.estimate(inv))
	return accounting.Request{Steps: []accounting.Step{{Method: http.MethodPost, Path: "/estimate", Body: body}}}, err
}

// Create sends a frozen creation under its key.
func (q *QuickBooks) Create(ctx context.Context, key string, req accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	return q.write(ctx, key, req.Steps[0])
}

// Update gives an estimate, if it is as it was left, the lines of a frozen request. It names the version that was
// read, and QuickBooks refuses any other.
func (q *QuickBooks) Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	now, err := q.Read(ctx, left.ID)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		return accounting.Receipt{}, fmt.Errorf("quickbooks: estimate %s: %w: it is gone", left.ID, accounting.ErrTouched)
	case err != nil:
		return accounting.Receipt{}, fmt.Errorf("%w: %w", accounting.ErrNotSent, err)
	case !now.Untouched(left):
		return accounting.Receipt{}, fmt.Errorf("quickbooks: estimate %s: %w: it is %s, %s", left.ID, accounting.ErrTouched, now.Status, now.Currency.Format(now.Net))
	}
	step := req.Steps[0]
	if step.Body, err = naming(step.Body, left); err != nil {
		return accounting.Receipt{}, fmt.Errorf("%w: quickbooks: frozen request: %w", accounting.ErrNotSent, err)
	}
	return q.write(ctx, key, step)
}

// naming adds to a frozen creation which estimate it is to change, and in which version. Its lines replace all
// that are there.
func naming(body []byte, left accounting.Receipt) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	for name, value := range map[string]any{"Id": left.ID, "SyncToken": left.Token, "sparse": true} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[name] = text
	}
	return json.Marshal(fields)
}

// write sends a request under its key. What is repeated bears the same requestid, and has one effect.
func (q *QuickBooks) write(ctx context.Context, key string, step accounting.Step) (accounting.Receipt, error) {
	var answer one
	a, err := q.client.Send(ctx, remote.Request{
		Method: step.Method, Path: step.Path, Query: q.versioned(url.Values{"requestid": {requestID(key)}}), Body: step.Body, Repeatable: true,
	}, &answer)
	asked := step.Method + " " + step.Path
	if err := q.checked(asked, a, answer.Fault, err); err != nil {
		return accounting.Receipt{}, ofWrite(err)
	}
	return q.only(asked, answer)
}

// requestID returns a key as QuickBooks can hold it, which is fifty characters.
func requestID(key string) string {
	if len(key) <= 50 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:50]
}

func (q *QuickBooks) versioned(query url.Values) url.Values {
	query.Set("minorversion", strconv.Itoa(q.settings.minor()))
	return query
}

// get asks for what changes nothing.
func (q *QuickBooks) get(ctx context.Context, path string, query url.Values, into enveloped) error {
	a, err := q.client.Get(ctx, path, q.versioned(query), into)
	if err = q.checked("GET "+path, a, into.failed(), err); err != nil {
		return ofRead(err)
	}
	return nil
}

// Customers lists the customers that are in use.
func (q *QuickBooks) Customers(ctx context.Context) (parties []accounting.Party, err error) {
	list, err := all(ctx, q, "select * from Customer where Active = true", func(p page) []customer { return p.Customer }, func(c customer) string { return c.ID })
	for _, c := range list {
		parties = append(parties, accounting.Party{ID: c.ID, Name: c.DisplayName})
	}
	return parties, err
}
