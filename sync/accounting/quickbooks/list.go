package quickbooks

import (
	"context"
	"fmt"
	"iter"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// List yields the estimates of a range of days in every status, whoever made them. What a person deleted leaves no
// trace. An invoice that was made without an estimate is not listed: estimates are what is made here.
func (q *QuickBooks) List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		selects := fmt.Sprintf("select * from Estimate where TxnDate >= %s and TxnDate <= %s", quoted(days.First.String()), quoted(days.Last.String()))
		list, err := all(ctx, q, selects, func(p page) []stored { return p.Estimate }, func(s stored) string { return s.ID })
		if err != nil {
			yield(accounting.Receipt{}, err)
			return
		}
		for _, s := range list {
			r, err := q.receipt(s)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
