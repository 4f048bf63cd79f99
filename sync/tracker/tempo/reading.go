package tempo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

const (
	logPath = "/4/timesheet-approvals/logs/search"
	// together is of how many members the worklogs of one period are asked for at once.
	together = 50
	// rounds is how often a timesheet is read while it changes under the reader.
	rounds = 3
	// inAdvance is how many days before its period begins the last word on a timesheet may be spoken.
	inAdvance = 31
	// overlap is how far the log is read behind what is asked for: it may know days only.
	overlap = 24 * time.Hour
)

// reading is one traversal, or one look at a single timesheet.
type reading struct {
	*Tempo
	clock time.Time // Tempo's, from its last answer
	directory
	prices
}

func (t *Tempo) reading() *reading {
	return &reading{Tempo: t, directory: newDirectory(), prices: newPrices()}
}

// announced reads from the log which timesheets are wanted, in order. The page has the rows that cannot be
// placed.
func (r *reading) announced(ctx context.Context, q tracker.Query) (page tracker.Page, sheets []sheet, err error) {
	from, note := since(q)
	if note != "" {
		page.Notes = []string{note}
	}
	asked := map[string]string{"updatedFrom": from.UTC().Format("2006-01-02T15:04:05Z")}
	query := url.Values{"limit": {strconv.Itoa(r.settings.pageSize())}}
	known := map[string]sheet{}
	for {
		list, err := ask[logRow](ctx, r.tempo, logPath, query, asked)
		if err != nil {
			return tracker.Page{}, nil, err
		}
		page.Clock = list.clock
		page.Unread = append(page.Unread, gather(known, list.Results, q.First)...)
		next := list.Metadata.NextPageToken
		if next == "" {
			return page, slices.SortedFunc(maps.Values(known), inOrder), nil
		}
		if next == query.Get("nextPageToken") {
			return tracker.Page{}, nil, r.tempo.Misread("POST "+logPath, errors.New("a page leads to itself"))
		}
		query.Set("nextPageToken", next)
	}
}

// since returns from when on the log has to be read, and what cannot be read: Tempo refuses to look back
// further than two years.
func since(q tracker.Query) (from time.Time, note string) {
	wanted := q.Since
	from = wanted.Add(-overlap)
	if q.Since.IsZero() {
		wanted = q.First.First.In(time.UTC)
		from = wanted.AddDate(0, 0, -inAdvance)
	}
	oldest := q.Now.AddDate(-2, 0, 1)
	if wanted.Before(oldest) {
		note = fmt.Sprintf("tempo tells of approvals of the last two years only: what was approved before %s is left out", civil.DateOf(oldest.UTC()))
	}
	if from.Before(oldest) {
		from = oldest
	}
	return from, note
}

// gather adds the timesheets of log rows to those that are known, each with the last that the log says of it.
func gather(known map[string]sheet, rows []logRow, first civil.Period) (unread []tracker.Unread) {
	for _, row := range rows {
		s, err := row.sheet()
		switch old, there := known[s.id()]; {
		case err != nil:
			unread = append(unread, tracker.Unread{ID: row.id(), Reason: "tempo: approval log: " + err.Error()})
		case s.days.First.Before(first.First), !first.Last.IsZero() && s.days.First.After(first.Last):
		case !there, s.seen.UpdatedAt.After(old.seen.UpdatedAt.Time.Time):
			known[s.id()] = s
		}
	}
	return unread
}

func inOrder(a, b sheet) int {
	return cmp.Or(a.days.First.Compare(b.days.First), a.days.Last.Compare(b.days.Last), cmp.Compare(a.user, b.user))
}

// batches cuts timesheets that are in order into those of one period, and few enough to be asked for at once.
func batches(sheets []sheet) iter.Seq[[]sheet] {
	return func(yield func([]sheet) bool) {
		for len(sheets) > 0 {
			n := 1
			for n < min(len(sheets), together) && sheets[n].days == sheets[0].days {
				n++
			}
			if !yield(sheets[:n]) {
				return
			}
			sheets = sheets[n:]
		}
	}
}

// page reads timesheets of one period. Those whose approval is not what it was before their worklogs were read
// are read once more.
func (r *reading) page(ctx context.Context, batch []sheet) (tracker.Page, error) {
	var page tracker.Page
	for range rounds {
		if len(batch) == 0 {
			break
		}
		logs, refusal := r.worklogs(ctx, batch)
		switch {
		case refused(refusal) && len(batch) > 1:
			return r.singly(ctx, batch, refusal)
		case refusal != nil && !refused(refusal) && !errors.Is(refusal, errMoved):
			return tracker.Page{}, refusal
		}
		if err := r.learn(ctx, logs); err != nil {
			return tracker.Page{}, err
		}
		var again []sheet
		for _, s := range batch {
			steady, err := r.tell(ctx, &page, &s, logs[s.user], refusal)
			if err != nil {
				return tracker.Page{}, err
			}
			if !steady {
				again = append(again, s)
			}
		}
		batch = again
	}
	for _, s := range batch {
		page.Unread = append(page.Unread, tracker.Unread{ID: s.id(), Reason: "tempo: the timesheet changed again and again while it was read"})
	}
	page.Clock = r.clock
	return page, nil
}

// singly reads timesheets one by one, to find whose worklogs Tempo refuses. If that is everybody, it is not
// about a member.
func (r *reading) singly(ctx context.Context, batch []sheet, refusal error) (all tracker.Page, err error) {
	for i := range batch {
		page, err := r.page(ctx, batch[i:i+1])
		if err != nil {
			return tracker.Page{}, err
		}
		all.Weeks, all.Unread = append(all.Weeks, page.Weeks...), append(all.Unread, page.Unread...)
	}
	if len(all.Unread) == len(batch) {
		return tracker.Page{}, refusal
	}
	all.Clock = r.clock
	return all, nil
}

// tell adds a timesheet to the page, if its approval is still what it was before the worklogs were read. Of a
// member who is gone it tells nothing.
func (r *reading) tell(ctx context.Context, page *tracker.Page, s *sheet, logs []worklog, refusal error) (steady bool, err error) {
	a, err := r.approval(ctx, *s)
	unread := ""
	switch {
	case errors.Is(err, remote.NotFound):
		return true, nil
	case errors.Is(err, remote.Forbidden), errors.Is(err, remote.Rejected):
		unread = err.Error()
	case err != nil:
		return false, err
	case a.fault(*s) != nil:
		unread = "tempo: " + a.fault(*s).Error()
	case refused(refusal):
		unread = refusal.Error()
	}
	if unread != "" {
		page.Unread = append(page.Unread, tracker.Unread{ID: s.id(), Reason: unread})
		return true, nil
	}
	steady = refusal == nil && (a.Status.Key != approved || a.Status.same(s.seen))
	s.seen = a.Status
	if !steady {
		return false, nil
	}
	week, err := r.week(ctx, *s, a, logs)
	page.Weeks = append(page.Weeks, week)
	return true, err
}

func (r *reading) approval(ctx context.Context, s sheet) (a approval, err error) {
	query := url.Values{"from": {s.days.First.String()}, "to": {s.days.Last.String()}}
	answer, err := r.tempo.Get(ctx, "/4/timesheet-approvals/user/"+url.PathEscape(s.user), query, &a)
	r.clock = answer.Clock
	return a, err
}

// worklogs reads the worklogs of timesheets of one period, by member.
func (r *reading) worklogs(ctx context.Context, batch []sheet) (map[string][]worklog, error) {
	logs := map[string][]worklog{}
	for _, s := range batch {
		logs[s.user] = nil
	}
	asked := map[string]any{
		"authorIds": slices.Sorted(maps.Keys(logs)), "from": batch[0].days.First, "to": batch[0].days.Last,
		"orderBy": []map[string]string{{"field": "ID", "order": "ASC"}},
	}
	all, err := every(ctx, r, "/4/worklogs/search", asked, func(w worklog) string { return string(w.ID) })
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		user := string(w.Author.AccountID)
		if _, asked := logs[user]; !asked || w.ID == "" {
			return nil, r.tempo.Misread("POST /4/worklogs/search", fmt.Errorf("worklog %q is of %q, who was not asked for", w.ID, user))
		}
		logs[user] = append(logs[user], w)
	}
	return logs, nil
}
