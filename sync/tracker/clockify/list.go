package clockify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
)

// The columns that a list can be sorted by.
const (
	byStart  = "START"
	byUpdate = "UPDATED_AT"
)

// patience is how often a page may repeat the one before it. New requests in front of it can make it do so.
const patience = 5

// listed are the states that Clockify lists.
func listed() [3]string { return [3]string{approved, pending, withdrawnApproval} }

// reading is one traversal, or one look at a single record.
type reading struct {
	*Clockify
	clock time.Time // Clockify's, from its last answer
	zones map[string]*time.Location
}

func (c *Clockify) reading() *reading {
	return &reading{Clockify: c, zones: map[string]*time.Location{}}
}

// list is one of the lists of approval requests, the latest first.
type list struct {
	state, column string
	rows          []request // read, and not taken yet
	page          int       // the last that was read
	done          bool
	first         remote.ID // of that page
	repeats       int
}

// page asks for one page of a list.
func (r *reading) page(ctx context.Context, state, column string, number, size int) (rows []request, last bool, err error) {
	path := "/v1/workspaces/" + r.settings.Workspace + "/approval-requests"
	answer, err := r.core.Get(ctx, path, url.Values{
		"status": {state}, "sort-column": {column}, "sort-order": {"DESCENDING"},
		"page": {strconv.Itoa(number)}, "page-size": {strconv.Itoa(size)},
	}, &rows)
	if err == nil && rows == nil {
		err = r.core.Misread("GET "+path, errors.New("the answer is not a list"))
	}
	r.clock = answer.Clock
	// Without the header a short page is no proof of the end: it may be all that Clockify gives at once.
	return rows, answer.Header.Get("Last-Page") == "true" || len(rows) == 0, err
}

// fill reads the next page of a list whose rows were all taken.
func (r *reading) fill(ctx context.Context, l *list) (err error) {
	if len(l.rows) > 0 || l.done {
		return nil
	}
	l.page++
	l.rows, l.done, err = r.page(ctx, l.state, l.column, l.page, r.settings.pageSize())
	if err != nil || len(l.rows) == 0 {
		return err
	}
	if first := l.rows[0].Approval.ID; first == l.first {
		l.repeats++
	} else {
		l.first, l.repeats = first, 0
	}
	if l.repeats > patience {
		return r.core.Misread(fmt.Sprintf("list of %s requests", l.state), errors.New("the same page comes again and again"))
	}
	return nil
}

// newest returns the last change of each list. Offsets shift when a request leaves a list that is being read, and
// then one is skipped; whatever leaves one list shows in another, unless it was rejected.
func (r *reading) newest(ctx context.Context) (heads [3]string, err error) {
	for i, state := range listed() {
		rows, _, err := r.page(ctx, state, byUpdate, 1, 1)
		if err != nil {
			return heads, err
		}
		for _, q := range rows {
			heads[i] = string(q.Approval.ID) + " " + q.Approval.Status.UpdatedAt.String()
		}
	}
	return heads, nil
}

// requests yields the requests of all lists that begin at a moment or later, the latest first, so that those of
// one record come close together.
func (r *reading) requests(ctx context.Context, from time.Time) iter.Seq2[request, error] {
	return func(yield func(request, error) bool) {
		var lists []*list
		for _, state := range listed() {
			lists = append(lists, &list{state: state, column: byStart})
		}
		for {
			var latest *list
			for _, l := range lists {
				if err := r.fill(ctx, l); err != nil {
					yield(request{}, err)
					return
				}
				if len(l.rows) > 0 && (latest == nil || l.rows[0].begins().After(latest.rows[0].begins())) {
					latest = l
				}
			}
			if latest == nil || latest.rows[0].begins().Before(from) {
				return
			}
			q := latest.rows[0]
			latest.rows = latest.rows[1:]
			if !yield(q, nil) {
				return
			}
		}
	}
}

// changed finds the records of which a request was updated at a moment or later.
func (r *reading) changed(ctx context.Context, since time.Time) (s scope, err error) {
	s.ids = map[string]bool{}
	for _, state := range listed() {
		l := &list{state: state, column: byUpdate}
		for older := false; !older; {
			if err := r.fill(ctx, l); err != nil {
				return s, err
			}
			older = true
			for _, q := range l.rows {
				if at := q.Approval.Status.UpdatedAt; at.missing() || !at.Before(since) {
					older = false
					r.touch(&s, q)
				}
			}
			l.rows = nil
		}
	}
	return s, nil
}

// touch adds the record of a request to a scope. One that has no place is told right away.
func (r *reading) touch(s *scope, q request) {
	p, err := q.place(r.zone(q))
	if err != nil {
		s.unread = append(s.unread, unplaced(q, err))
		return
	}
	s.ids[p.id()] = true
	start := q.begins()
	if from := start.Add(-margin); s.from.IsZero() || from.Before(s.from) {
		s.from = from
	}
	if to := start.Add(margin); to.After(s.to) {
		s.to = to
	}
}

// zone returns the zone of a request's owner; nil if it is unknown.
func (r *reading) zone(q request) *time.Location {
	name := q.Approval.Owner.TimeZone
	if zone, known := r.zones[name]; known {
		return zone
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" { // Those two would be UTC, and the zone of this computer.
		zone = nil
	}
	r.zones[name] = zone
	return zone
}

func unplaced(q request, err error) tracker.Unread {
	return tracker.Unread{ID: "approval request " + string(q.Approval.ID), Reason: fmt.Sprintf("clockify: approval request %s: %v", q.Approval.ID, err)}
}
