package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// together is how many weeks are asked for at once.
const together = 4

const currenciesHidden = "the clients may not be seen, and so not their currencies: let an administrator make the token, or write currencies in the settings"

// reading is one traversal, or one look at a single week.
type reading struct {
	*Harvest
	company    company
	begins     time.Weekday
	clock      time.Time            // Harvest's, from its last answer
	currencies map[remote.ID]string // of clients; nil until one is wanted
	forbidden  bool                 // to see the clients
}

func (h *Harvest) reading(ctx context.Context) (*reading, error) {
	r := &reading{Harvest: h}
	answer, err := h.client.Get(ctx, "/company", nil, &r.company)
	if err != nil {
		return nil, err
	}
	r.clock = answer.Clock
	if r.begins, err = r.company.begins(); err != nil {
		return nil, h.client.Misread("GET /company", err)
	}
	return r, nil
}

// disabled says if nothing can ever be approved.
func (r *reading) disabled() []string {
	if f := r.company.ApprovalFeature; f != nil && !*f {
		return []string{"timesheet approval is switched off, so that no week is ever approved: an administrator switches it on in Harvest, under Settings, Modules"}
	}
	return nil
}

// slice is some weeks in a row.
type slice struct {
	first, last civil.Date    // last is zero in the last one: work may be written down ahead
	user        remote.ID     // whose; empty: everybody's
	only        map[week]bool // which are wanted; nil: all
}

// wanted returns the weeks to read, and a page with what is to be said of that.
func (r *reading) wanted(ctx context.Context, q tracker.Query) (all []slice, page tracker.Page, err error) {
	page.Notes = r.disabled()
	if q.Since.IsZero() {
		page.Clock = r.clock
		return r.span(q), page, nil
	}
	query := r.query()
	query.Set("updated_since", q.Since.Add(-time.Second).UTC().Format("2006-01-02T15:04:05Z")) // It may mean later than that.
	rows, err := timeEntries().every(ctx, r, query)
	if page.Partial = errors.Is(err, errShifted); err != nil && !page.Partial {
		return nil, tracker.Page{}, err
	}
	page.Clock = r.clock
	only := map[week]bool{}
	for _, t := range rows {
		day, err := civil.Parse(t.SpentDate)
		if err != nil {
			page.Notes = append(page.Notes, fmt.Sprintf("entry %s of %s has no day that can be read: %v: mend it in Harvest", t.ID, t.User.Name, err))
			continue
		}
		first := firstOf(day, r.begins)
		if !first.Before(q.First.First) && (q.First.Last.IsZero() || !first.After(q.First.Last)) {
			only[week{t.User.ID, first}] = true
		}
	}
	return touched(only), page, nil
}

// touched cuts the weeks in which something changed into slices. Weeks in between are not read.
func touched(only map[week]bool) (all []slice) {
	firsts := map[civil.Date]bool{}
	for w := range only {
		firsts[w.first] = true
	}
	for _, first := range slices.SortedFunc(maps.Keys(firsts), civil.Date.Compare) {
		if n := len(all) - 1; n >= 0 && all[n].last.AddDays(1) == first && all[n].first.DaysUntil(first) < 7*together {
			all[n].last = first.AddDays(6)
			continue
		}
		all = append(all, slice{first: first, last: first.AddDays(6), only: only})
	}
	return all
}

// span cuts the weeks whose first day is in the range into slices.
func (r *reading) span(q tracker.Query) (all []slice) {
	today := civil.DateOf(q.Now.UTC()).AddDays(1) // It is there already in the east.
	from, last := q.First.First, q.First.Last
	if from.IsZero() {
		from = today.AddDays(-366)
	}
	first := firstOf(from.AddDays(6), r.begins)
	end := last
	if last.IsZero() {
		end = today
		if first.After(end) {
			end = first
		}
	}
	for ; !first.After(end); first = first.AddDays(7 * together) {
		through := firstOf(end, r.begins).AddDays(6)
		if most := first.AddDays(7*together - 1); most.Before(through) {
			through = most
		}
		all = append(all, slice{first: first, last: through})
	}
	if n := len(all); n > 0 && last.IsZero() {
		all[n-1].last = civil.Date{}
	}
	return all
}

func (r *reading) query() url.Values {
	return url.Values{"per_page": {strconv.Itoa(r.settings.pageSize())}}
}

// page reads a slice. If its entries do not hold still, nothing is told of it.
func (r *reading) page(ctx context.Context, s slice) (page tracker.Page, err error) {
	query := r.query()
	query.Set("from", s.first.String())
	if !s.last.IsZero() {
		query.Set("to", s.last.String())
	}
	if s.user != "" {
		query.Set("user_id", string(s.user))
	}
	rows, err := timeEntries().every(ctx, r, query)
	page.Clock = r.clock
	switch {
	case errors.Is(err, errShifted):
		page.Partial, page.Notes = true, []string{fmt.Sprintf("the weeks from %s on are left for the next pass: %v", s.first, err)}
		return page, nil
	case err != nil:
		return tracker.Page{}, err
	}
	work, unread := r.sorted(rows, s)
	for _, w := range slices.SortedFunc(maps.Keys(work), week.compare) {
		if s.only != nil && !s.only[w] {
			continue
		}
		told, fault, err := r.week(ctx, w, work[w])
		if err != nil {
			return tracker.Page{}, err
		}
		if fault = cmp.Or(unread[w.user], fault); fault != nil {
			page.Unread = append(page.Unread, tracker.Unread{ID: w.id(), Reason: "harvest: " + fault.Error()})
			continue
		}
		page.Weeks = append(page.Weeks, told)
	}
	if r.forbidden {
		page.Notes = append(page.Notes, currenciesHidden)
	}
	return page, nil
}

// sorted sorts entries by their weeks. One without a day may be of any week: all those of its user that are read
// cannot be told then.
func (r *reading) sorted(rows []timeEntry, s slice) (work map[week][]timeEntry, unread map[remote.ID]error) {
	work, unread = map[week][]timeEntry{}, map[remote.ID]error{}
	for _, t := range rows {
		day, err := civil.Parse(t.SpentDate)
		w := week{t.User.ID, firstOf(day, r.begins)}
		switch {
		case err != nil:
			unread[t.User.ID] = fmt.Errorf("entry %s: spent_date: %w", t.ID, err)
			w.first = s.first
		case day.Before(s.first), !s.last.IsZero() && day.After(s.last), s.user != "" && s.user != t.User.ID:
			continue // It was not asked for.
		}
		work[w] = append(work[w], t)
	}
	return work, unread
}
