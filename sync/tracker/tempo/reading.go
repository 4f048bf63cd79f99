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

// errMoved means that a list changed while its pages were read.
var errMoved = errors.New("the list changed while it was read")

// reading is one traversal, or one look at a single timesheet.
type reading struct {
	*Tempo
	clock time.Time // Tempo's, from its last answer
	directory
}

func (t *Tempo) reading() *reading {
	return &reading{Tempo: t, directory: newDirectory()}
}

// announced reads from the log which timesheets are wanted, in order. The page has the rows that cannot be
// placed.
func (r *reading) announced(ctx context.Context, q tracker.Query) (page tracker.Page, sheets []sheet, err error) {
	from, page := since(q)
	asked := map[string]string{"updatedFrom": from.UTC().Format("2006-01-02T15:04:05Z")}
	known := map[string]sheet{}
	query := url.Values{"limit": {strconv.Itoa(r.settings.pageSize())}}
	for {
		list, err := ask[logRow](ctx, r.tempo, logPath, query, asked)
		if err != nil {
			return tracker.Page{}, nil, err
		}
		page.Clock = list.clock
		for _, row := range list.Results {
			s, err := row.sheet()
			if err != nil {
				page.Unread = append(page.Unread, tracker.Unread{ID: row.id(), Reason: err.Error()})
				continue
			}
			if old, there := known[s.id()]; wanted(q.First, s.days.First) && (!there || s.seen.UpdatedAt.After(old.seen.UpdatedAt.Time)) {
				known[s.id()] = s
			}
		}
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

// since returns from when on the log has to be read. Tempo refuses to look back further than two years.
func since(q tracker.Query) (from time.Time, page tracker.Page) {
	from = q.Since.Add(-overlap)
	if q.Since.IsZero() {
		from = q.First.First.AddDays(-inAdvance).In(time.UTC)
	}
	oldest := q.Now.AddDate(-2, 0, 1)
	if !from.Before(oldest) {
		return from, page
	}
	if q.Since.IsZero() && q.First.First.In(time.UTC).Before(oldest) {
		page.Notes = []string{fmt.Sprintf("tempo tells of the approvals of the last two years only: timesheets of before %s may be left out", civil.DateOf(oldest.UTC()))}
	}
	return oldest, page
}

func wanted(range_ civil.Period, first civil.Date) bool {
	return !first.Before(range_.First) && (range_.Last.IsZero() || !first.After(range_.Last))
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
func (r *reading) page(ctx context.Context, batch []sheet) (page tracker.Page, err error) {
	for range rounds {
		if len(batch) == 0 {
			break
		}
		logs, refusal := r.worklogs(ctx, batch)
		switch {
		case refused(refusal) && len(batch) > 1:
			return r.singly(ctx, batch, refusal)
		case refusal != nil && !refused(refusal) && !errors.Is(refusal, errMoved):
			return page, refusal
		}
		var again []sheet
		for _, s := range batch {
			steady, err := r.tell(ctx, &page, &s, logs[s.user], refusal)
			if err != nil {
				return page, err
			}
			if !steady {
				again = append(again, s)
			}
		}
		batch = again
	}
	for _, s := range batch {
		page.Unread = append(page.Unread, tracker.Unread{ID: s.id(), Reason: "it changed again and again while it was read"})
	}
	page.Clock = r.clock
	return page, nil
}

// singly reads timesheets one by one, to find whom Tempo does not let us see. If that is everybody, it is
// not about a member.
func (r *reading) singly(ctx context.Context, batch []sheet, refusal error) (all tracker.Page, err error) {
	for i := range batch {
		page, err := r.page(ctx, batch[i:i+1])
		if err != nil {
			return all, err
		}
		all.Weeks, all.Unread = append(all.Weeks, page.Weeks...), append(all.Unread, page.Unread...)
	}
	if len(all.Unread) == len(batch) {
		return tracker.Page{}, refusal
	}
	all.Clock = r.clock
	return all, nil
}

// tell adds a timesheet to the page, if its approval is still what it was before the worklogs were read.
func (r *reading) tell(ctx context.Context, page *tracker.Page, s *sheet, logs []worklog, refusal error) (steady bool, err error) {
	unread := func(reason error) (bool, error) {
		page.Unread = append(page.Unread, tracker.Unread{ID: s.id(), Reason: reason.Error()})
		return true, nil
	}
	now, err := r.approval(ctx, *s)
	switch {
	case errors.Is(err, remote.NotFound):
		return true, nil
	case errors.Is(err, remote.Forbidden), errors.Is(err, remote.Malformed):
		return unread(err)
	case err != nil:
		return false, err
	case refused(refusal):
		return unread(refusal)
	}
	before := s.seen
	s.seen = now
	if refusal != nil || now.Key == approved && !now.same(before) {
		return false, nil
	}
	week, err := r.week(ctx, *s, logs)
	if err == nil {
		page.Weeks = append(page.Weeks, week)
	}
	return true, err
}

// approval reads the approval of a timesheet.
func (r *reading) approval(ctx context.Context, s sheet) (status, error) {
	path := "/4/timesheet-approvals/user/" + url.PathEscape(s.user)
	var a approval
	answer, err := r.tempo.Get(ctx, path, url.Values{"from": {s.days.First.String()}, "to": {s.days.Last.String()}}, &a)
	if err != nil {
		return status{}, err
	}
	r.clock = answer.Clock
	if err := a.fault(s); err != nil {
		return status{}, r.tempo.Misread("GET "+path, err)
	}
	return a.Status, nil
}

// worklogs reads the worklogs of timesheets of one period, by member.
func (r *reading) worklogs(ctx context.Context, batch []sheet) (map[string][]worklog, error) {
	asked := map[string]any{
		"from": batch[0].days.First.String(), "to": batch[0].days.Last.String(),
		"orderBy": []map[string]string{{"field": "ID", "order": "ASC"}},
	}
	users := make([]string, len(batch))
	logs := map[string][]worklog{}
	for i, s := range batch {
		users[i], logs[s.user] = s.user, nil
	}
	asked["authorIds"] = users
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
	if err := r.learnMembers(ctx, r.jira, users); err != nil {
		return nil, err
	}
	return logs, r.learnIssues(ctx, r.jira, all)
}

// every reads all pages of a list by offset. Each begins with the last row of the one before, so that a row that
// vanished meanwhile, and moved all later ones up, is noticed.
func every[T any](ctx context.Context, r *reading, path string, asked any, id func(T) string) (all []T, err error) {
	for offset := 0; ; offset = len(all) {
		again := 0
		if offset > 1 {
			again = 1
		}
		query := url.Values{"offset": {strconv.Itoa(offset - again)}, "limit": {strconv.Itoa(r.settings.pageSize())}}
		list, err := ask[T](ctx, r.tempo, path, query, asked)
		if err != nil {
			return nil, err
		}
		r.clock = list.clock
		rows := list.Results
		if again > 0 && (len(rows) == 0 || id(rows[0]) != id(all[offset-1])) {
			return nil, fmt.Errorf("tempo: %s: %w", path, errMoved)
		}
		all = append(all, rows[again:]...)
		if list.Metadata.Next == "" {
			return all, nil
		}
		if len(all) == offset {
			return nil, r.tempo.Misread(path, errors.New("a page without rows says that more follow"))
		}
	}
}
