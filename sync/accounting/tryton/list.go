package tryton

import (
	"context"
	"iter"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// List yields the customer invoices of a range of days in every state, whoever made them. A draft that bears no date,
// such as a copy, counts by the day on which it was made.
func (t *Tryton) List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		dated := []any{where("invoice_date", ">=", day(days.First)), where("invoice_date", "<=", day(days.Last))}
		made := []any{where("invoice_date", "=", nil), where("create_date", ">=", midnight(days.First)), where("create_date", "<", midnight(days.Last.AddDays(1)))}
		list, err := t.invoices(ctx, []any{"OR", dated, made})
		if err != nil {
			yield(accounting.Receipt{}, err)
			return
		}
		for _, s := range list {
			r, err := t.receipt(s)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
