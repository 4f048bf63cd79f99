package journal

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// List yields the transactions of a range of days, in every file, that bear a reference or read as an invoice: whatever
// their mark, something is owed by a customer, and the rest is what for. One whose date is not written as a whole is
// yielded, too. A transaction without a reference has its place as its id.
func (j *Journal) List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		err := ctx.Err()
		var b *books
		if err == nil {
			b, err = readBooks(j.path)
		}
		if err != nil {
			yield(accounting.Receipt{}, fmt.Errorf("journal: %w", err))
			return
		}
		for _, f := range b.files {
			for k := range blocks(f.data) {
				if !k.isTransaction() {
					continue
				}
				r, is := j.listed(f, k)
				if is && (r.Date.IsZero() || days.Contains(r.Date)) && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// listed returns a transaction as an invoice, and whether it is one.
func (j *Journal) listed(f *file, k block) (accounting.Receipt, bool) {
	text := unified(f.data[k.start:k.end])
	p := parse(text)
	reference := p.code
	if len(p.references) > 0 {
		reference = p.references[0]
	}
	h := hit{f, k, text, reference}
	r := h.receipt()
	if len(p.references) == 0 && !j.owed(p) {
		return r, false
	}
	if reference == "" {
		r.ID = r.Link
	}
	if r.Customer == "" {
		r.Customer = j.owing(p)
	}
	return r, true
}

// owed reports whether the first posting puts something on an account of customers.
func (j *Journal) owed(p parsed) bool {
	if len(p.postings) == 0 || !p.postings[0].amount.GreaterThan(decimal.Zero) {
		return false
	}
	account := p.postings[0].account
	for _, c := range j.customers {
		if c.or(j.accounts).Receivable == account {
			return true
		}
	}
	return account == j.accounts.Receivable || strings.HasPrefix(account, j.accounts.Receivable+":")
}

// owing returns the customer who alone has the account of the first posting; empty where none has.
func (j *Journal) owing(p parsed) string {
	if len(p.postings) == 0 {
		return ""
	}
	account := p.postings[0].account
	var ids []string
	for id, c := range j.customers {
		if c.Receivable == account {
			ids = append(ids, id)
		}
	}
	if id, below := strings.CutPrefix(account, j.accounts.Receivable+":"); below && j.of(id).Receivable == account {
		ids = append(ids, id)
	}
	if len(ids) != 1 {
		return ""
	}
	return ids[0]
}
