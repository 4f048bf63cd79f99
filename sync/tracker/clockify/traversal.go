package clockify

import (
	"context"
	"fmt"
	"iter"
	"sort"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

const (
	// margin is how far the beginnings of the requests of one record can be apart, and a beginning from that of
	// its first day in UTC: the owner may have moved to any other zone.
	margin = 48 * time.Hour
	// enough is how many records make a page.
	enough = 50
	// widest is how far the beginnings of the records of a page are apart at most: reports cover a limited time.
	widest = 31 * 24 * time.Hour
)

// scope says which records a traversal yields.
type scope struct {
	from, to time.Time    // of their beginnings; zero is open
	first    civil.Period // of their first days; a zero end is open
	ids      map[string]bool
	unread   []tracker.Unread // found on the way
}

// scope finds out what a query wants.
func (r *reading) scope(ctx context.Context, q tracker.Query) (s scope, err error) {
	if !q.Since.IsZero() {
		return r.changed(ctx, q.Since)
	}
	s.first = q.First
	if !s.first.First.IsZero() {
		s.from = s.first.First.In(time.UTC).Add(-margin)
	}
	if !s.first.Last.IsZero() {
		s.to = s.first.Last.In(time.UTC).Add(margin)
	}
	return s, nil
}

// covers reports whether a record is wanted.
func (s scope) covers(p place) bool {
	if s.ids != nil {
		return s.ids[p.id()]
	}
	return !p.period.First.Before(s.first.First) && (s.first.Last.IsZero() || !p.period.First.After(s.first.Last))
}

// record is what all requests of one place say together.
type record struct {
	place
	zone     *time.Location // nil: it is unknown
	named    string         // that zone
	start    time.Time      // of the request that came first
	requests []request
}

// gathering are the records whose requests are coming in, in the order of their beginnings, the latest first.
type gathering struct {
	queue []*record
	open  map[string]*record
}

// add puts a request to its record. Of one that is listed twice, since it moved to another list meanwhile, the
// later counts.
func (g *gathering) add(p place, zone *time.Location, q request) {
	rec := g.open[p.id()]
	if rec == nil {
		rec = &record{place: p, zone: zone, named: q.Approval.Owner.TimeZone, start: q.begins()}
		g.open[p.id()], g.queue = rec, append(g.queue, rec)
	}
	for i, old := range rec.requests {
		if old.Approval.ID == q.Approval.ID {
			if !q.Approval.Status.UpdatedAt.Before(old.Approval.Status.UpdatedAt.Time.Time) {
				rec.requests[i] = q
			}
			return
		}
	}
	rec.requests = append(rec.requests, q)
}

// whole takes out the records to which nothing can come any more, once they make a page.
func (g *gathering) whole(start time.Time) []*record {
	n := sort.Search(len(g.queue), func(i int) bool { return g.queue[i].start.Sub(start) <= margin })
	if n == 0 || n < enough && g.queue[0].start.Sub(start) < widest {
		return nil
	}
	return g.take(n)
}

func (g *gathering) take(n int) []*record {
	taken := g.queue[:n]
	g.queue = g.queue[n:]
	for _, rec := range taken {
		delete(g.open, rec.id())
	}
	return taken
}

// pages yields the records of a scope. Requests without a place are told where everything is wanted; of what
// changed the scope has them already.
func (r *reading) pages(ctx context.Context, s scope) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		unread := s.unread
		tell := func(records []*record) bool {
			page, err := r.tell(ctx, records)
			page.Unread = append(page.Unread, unread...)
			unread = nil
			return yield(page, err) && err == nil
		}
		if s.ids != nil && len(s.ids) == 0 {
			tell(nil)
			return
		}
		g := gathering{open: map[string]*record{}}
		for q, err := range r.requests(ctx, s.from) {
			if err != nil {
				yield(tracker.Page{}, err)
				return
			}
			p, err := q.place(r.zone(q))
			switch {
			case err != nil && s.ids == nil:
				unread = append(unread, unplaced(q, err))
			case err == nil && s.covers(p) && (s.to.IsZero() || !q.begins().After(s.to)):
				g.add(p, r.zone(q), q)
			}
			if err != nil {
				continue
			}
			if records := g.whole(q.begins()); records != nil && !tell(records) {
				return
			}
		}
		tell(g.take(len(g.queue)))
	}
}

// tell turns records into a page.
func (r *reading) tell(ctx context.Context, records []*record) (page tracker.Page, err error) {
	for _, rec := range records {
		if err := rec.fault(); err != nil {
			page.Unread = append(page.Unread, tracker.Unread{ID: rec.id(), Reason: fmt.Sprintf("clockify: %v", err)})
			continue
		}
		page.Weeks = append(page.Weeks, rec.week(r.settings))
	}
	if r.settings.Invoiced != ignore {
		err = r.mark(ctx, page.Weeks)
	}
	page.Clock = r.clock
	return page, err
}

// mark marks the entries that were invoiced in Clockify.
func (r *reading) mark(ctx context.Context, weeks []tracker.Week) error {
	var days civil.Period
	for _, w := range weeks {
		if !w.State.Approves() || len(w.Entries) == 0 {
			continue
		}
		if days.First.IsZero() || w.Period.First.Before(days.First) {
			days.First = w.Period.First
		}
		if w.Period.Last.After(days.Last) {
			days.Last = w.Period.Last
		}
	}
	if days.First.IsZero() {
		return nil
	}
	invoiced, err := r.invoiced(ctx, days)
	for _, w := range weeks {
		for i, e := range w.Entries {
			w.Entries[i].Elsewhere = w.State.Approves() && invoiced[remote.ID(e.ID)]
		}
	}
	return err
}
