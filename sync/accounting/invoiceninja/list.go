package invoiceninja

import (
	"context"
	"errors"
	"iter"
	"net/url"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// List yields the invoices of a range of days, archived and deleted ones, too, and whoever made them. A release that
// knows no date_range lists all, so that the days are compared here as well.
func (n *Ninja) List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		q := url.Values{
			"date_range": {days.First.String() + "," + days.Last.String()}, "sort": {"id|asc"}, "per_page": {"100"}, "include": {"client"},
		}
		total := -1
		for page, more := 1, true; more; page++ {
			list, err := n.page(ctx, q, page)
			if err == nil && total >= 0 && list.Meta.Pagination.Total != total {
				err = errors.New("invoiceninja: GET /invoices: invoices came or went while they were listed: to be asked again")
			}
			if err != nil {
				yield(accounting.Receipt{}, err)
				return
			}
			total = list.Meta.Pagination.Total
			if !n.give(list, days, yield) {
				return
			}
			more = list.more(page)
		}
	}
}

// give yields the invoices of a page, and reports whether to go on.
func (n *Ninja) give(list invoices, days civil.Period, yield func(accounting.Receipt, error) bool) bool {
	for _, inv := range *list.Data {
		r, err := n.receipt(inv)
		if err != nil {
			yield(accounting.Receipt{}, err)
			return false
		}
		if (r.Date.IsZero() || days.Contains(r.Date)) && !yield(r, nil) {
			return false
		}
	}
	return true
}
