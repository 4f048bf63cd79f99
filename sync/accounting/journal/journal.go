// Package journal writes draft invoices into plain-text books that hledger and ledger both read: one
// transaction an invoice, marked pending (!), with the reference as its code and as a tag.
//
// A person owns the file. What a person clears (*), edits or moves is no longer ours to change, and
// every byte outside the one transaction stays as it is. A change is written to a second file, flushed,
// and the two names are exchanged; if what comes out is not what was read, a person wrote in between,
// and the names are exchanged back.
//
// Its one hard rule: no transaction is ever written with any mark but the exclamation mark.
package journal

import (
	"context"
	"fmt"

	"tidemark/sync/accounting"
)

// Journal is one file of books, with the files that it includes. It may be used by several goroutines.
type Journal struct {
	account   string
	path      string
	accounts  Accounts
	customers map[string]Accounts
	taxes     map[string]Percent
	declare   bool
}

// New checks the settings, every fault at once. It does not touch the file.
func New(settings Settings) (*Journal, error) {
	if err := settings.validate(); err != nil {
		return nil, err
	}
	j := &Journal{
		account:   settings.Account,
		path:      string(settings.Path),
		accounts:  settings.Accounts.or(defaultAccounts()),
		customers: make(map[string]Accounts, len(settings.Customers)),
		taxes:     settings.Taxes,
		declare:   settings.Declare == nil || *settings.Declare,
	}
	for _, c := range settings.Customers {
		j.customers[c.Customer] = c.Accounts
	}
	return j, nil
}

// Account returns the name of the books as it stands in the settings.
func (j *Journal) Account() string { return j.account }

// Traits says that a file is read as it is: nothing is hidden, late or remembered.
func (j *Journal) Traits() accounting.Traits {
	return accounting.Traits{Authoritative: true, GuardsDrafts: true}
}

// Prepare returns the exact bytes of the transaction as the body of one step. It reads nothing but
// the settings and the invoice. ErrRejected comes with what a person has to mend.
func (j *Journal) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	t, err := j.transaction(inv)
	if err != nil {
		return accounting.Request{}, rejected("%s: %v", inv.Reference, err)
	}
	step := accounting.Step{Method: "append", Body: t.bytes()}
	return accounting.Request{Steps: []accounting.Step{step}}, nil
}

// Find returns every transaction, in this file and in those that it includes, whose code or whose
// reference tag is exactly reference. One that was commented out is found as void; one that was deleted is
// not found. Books that do not exist yet are empty; books that cannot be read are an error.
func (j *Journal) Find(ctx context.Context, reference string) ([]accounting.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	b, err := readBooks(j.path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var receipts []accounting.Receipt
	for _, h := range b.find(reference) {
		receipts = append(receipts, h.receipt())
	}
	if gone, was := b.voided(reference); was && len(receipts) == 0 {
		receipts = append(receipts, gone)
	}
	return receipts, nil
}

// Read returns the invoice with that id, which is its reference. ErrAbsent means that the books were
// read and do not hold it; two transactions that bear it are an error.
func (j *Journal) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	receipts, err := j.Find(ctx, id)
	switch {
	case err != nil:
		return accounting.Receipt{}, err
	case len(receipts) == 0:
		return accounting.Receipt{}, fmt.Errorf("journal: %s: %w", id, accounting.ErrAbsent)
	case len(receipts) > 1:
		return accounting.Receipt{}, fmt.Errorf("journal: %s: %d transactions bear this reference (%s and %s): leave it to one of them",
			id, len(receipts), receipts[0].Link, receipts[1].Link)
	}
	return receipts[0], nil
}

func rejected(format string, args ...any) error {
	return fmt.Errorf("journal: %w: %s", accounting.ErrRejected, fmt.Sprintf(format, args...))
}

// notSent keeps the cause testable, since a caller may ask whether the context ended.
func notSent(cause error) error {
	return fmt.Errorf("journal: %w: %w", accounting.ErrNotSent, cause)
}
