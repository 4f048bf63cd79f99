package xero

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// List yields the invoices of a range of days in every status, whoever made them.
func (x *Xero) List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		where := fmt.Sprintf("Type==%q AND Date>=%s AND Date<=%s", "ACCREC", dateTime(days.First), dateTime(days.Last))
		count := -1
		for page, more := 1, true; more; page++ {
			list, err := x.page(ctx, url.Values{"where": {where}, "order": {"Date"}}, page)
			if err == nil && list.Pagination != nil {
				if count >= 0 && list.Pagination.ItemCount != count {
					err = errors.New("xero: GET /Invoices: invoices came or went while they were listed: to be asked again")
				}
				count = list.Pagination.ItemCount
			}
			if err != nil {
				yield(accounting.Receipt{}, err)
				return
			}
			if !x.give(list, days, yield) {
				return
			}
			more = list.more(page)
		}
	}
}

// dateTime writes a day as a filter holds it.
func dateTime(d civil.Date) string {
	return fmt.Sprintf("DateTime(%d,%02d,%02d)", d.Year, int(d.Month), d.Day)
}

// give yields the invoices of a page, and reports whether to go on.
func (x *Xero) give(list answer, days civil.Period, yield func(accounting.Receipt, error) bool) bool {
	for _, inv := range *list.Invoices {
		r, err := x.receipt(inv)
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
