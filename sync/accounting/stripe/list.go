package stripe

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"time"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/outcome"
	"tidemark/sync/civil"
)

// errStopped ends a listing whose caller has seen enough.
var errStopped = errors.New("stopped")

// List yields the invoices of a range of days in every status, whoever made them. Stripe lists by the moment at which
// an invoice was made, so that all are listed that may have been made for these days, and their own days compared.
// Of a draft that was deleted nothing is left.
func (s *Stripe) List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		if err := s.pin(ctx); err != nil {
			yield(accounting.Receipt{}, err)
			return
		}
		since := days.First.In(time.UTC).Add(-ahead)
		err := pages(ctx, s, "/v1/invoices", url.Values{"created[gte]": {strconv.FormatInt(since.Unix(), 10)}}, func(inv stored) error {
			if day := inv.day(); !day.IsZero() && !days.Contains(day) {
				return nil
			}
			inv, err := s.whole(ctx, inv)
			if err != nil {
				return err
			}
			r, err := s.receipt(inv)
			if err == nil && !yield(r, nil) {
				err = errStopped
			}
			return err
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(accounting.Receipt{}, outcome.OfRead(err))
		}
	}
}
