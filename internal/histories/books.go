package histories

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// books are an accounting system in memory that guards its drafts.
type books struct {
	mu     sync.Mutex
	docs   []*document
	writes int
}

type document struct {
	receipt accounting.Receipt
	invoice accounting.Invoice
}

// Account names the books.
func (b *books) Account() string { return "books" }

// Traits says that every look-up sees everything.
func (b *books) Traits() accounting.Traits {
	return accounting.Traits{Authoritative: true, GuardsDrafts: true}
}

// Prepare makes the one step of a request.
func (b *books) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	body, err := json.Marshal(inv)
	return accounting.Request{Steps: []accounting.Step{{Method: "PUT", Path: "/invoices", Body: body}}}, err
}

// Find returns the documents with a reference.
func (b *books) Find(_ context.Context, reference string) (found []accounting.Receipt, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.docs {
		if d.receipt.Reference == reference {
			found = append(found, d.receipt)
		}
	}
	return found, nil
}

// Read returns the document with an id.
func (b *books) Read(_ context.Context, id string) (accounting.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.index(id); i >= 0 {
		return b.docs[i].receipt, nil
	}
	return accounting.Receipt{}, accounting.ErrAbsent
}

// List returns the documents that bear one of the days.
func (b *books) List(_ context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		b.mu.Lock()
		docs := slices.Clone(b.docs)
		b.mu.Unlock()
		for _, d := range docs {
			if days.Contains(d.receipt.Date) && !yield(d.receipt, nil) {
				return
			}
		}
	}
}

func (b *books) index(id string) int {
	return slices.IndexFunc(b.docs, func(d *document) bool { return d.receipt.ID == id })
}

// Create makes a document.
func (b *books) Create(_ context.Context, _ string, req accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := &document{receipt: accounting.Receipt{ID: fmt.Sprintf("inv-%d", len(b.docs)+1), Status: accounting.Draft}}
	b.docs = append(b.docs, d)
	return d.receipt, b.write(d, req)
}

// Update changes a document that is as it was left.
func (b *books) Update(_ context.Context, _ string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := b.index(left.ID)
	if i < 0 || !b.docs[i].receipt.Untouched(left) {
		return accounting.Receipt{}, accounting.ErrTouched
	}
	err := b.write(b.docs[i], req)
	return b.docs[i].receipt, err
}

func (b *books) write(d *document, req accounting.Request) error {
	b.writes++
	inv := accounting.Invoice{}
	err := json.Unmarshal(req.Steps[0].Body, &inv)
	r := &d.receipt
	d.invoice = inv
	r.Reference, r.Customer, r.Currency, r.Date, r.Net, r.Amounts = inv.Reference, inv.Customer, inv.Currency, inv.Date, inv.Net(), inv.Amounts()
	r.Token = fmt.Sprintf("%s-%d", r.ID, b.writes)
	return err
}
