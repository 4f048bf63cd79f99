package kimai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// apart is how far the clocks of two places can be apart. Kimai reads begin and end by the clock of the
// token's owner, and an entry belongs to the day of the place where the work was done.
const apart = 26 * time.Hour

// everybody is whose entries a traversal asks for.
const everybody = "all"

// attempts is how often the entries of a week are read at most that change while they are read.
const attempts = 3

// reading is one traversal, or the reading of one week.
type reading struct {
	*Kimai
	form  string     // of approvals; auto until it is known
	who   string     // whose entries: all, or one user's id
	users []user     // whose approvals
	first civil.Date // the Monday of the first week
	rows  map[remote.ID]map[civil.Date]spoken
	told  []told
	sight *sight // nil until it is looked for
}

// told is a week that was told as approved by what weekly_overtime had said before.
type told struct {
	user   user
	monday civil.Date
}

func (k *Kimai) reading(first civil.Date) *reading {
	return &reading{Kimai: k, form: cmp.Or(k.settings.Approval, auto), who: everybody, first: first, rows: map[remote.ID]map[civil.Date]spoken{}}
}

// meet asks for the users, also those who are disabled. Without the plugin, those who worked are enough.
func (r *reading) meet(ctx context.Context) error {
	if !r.settings.plugin() {
		return nil
	}
	_, err := r.client.Get(ctx, "/users", url.Values{"visible": {"3"}, "orderBy": {"id"}}, &r.users)
	switch {
	case errors.Is(err, remote.Forbidden):
		return fmt.Errorf("%w: give the user of the token the permission view_user", err)
	case err != nil:
		return err
	case len(r.users) == 0 || slices.ContainsFunc(r.users, func(u user) bool { return u.ID == "" }):
		return r.client.Misread("GET /users", errors.New("there is no user at all, or one without an id"))
	}
	return nil
}

// week returns the page of one week.
func (r *reading) week(ctx context.Context, monday civil.Date) (tracker.Page, error) {
	states := map[remote.ID]status{}
	for _, u := range r.users {
		var err error
		if states[u.ID], err = r.status(ctx, u, monday); err != nil {
			return tracker.Page{}, err
		}
	}
	sheets, clock, err := r.sheets(ctx, monday)
	if err != nil {
		return tracker.Page{}, err
	}
	page := tracker.Page{Clock: clock}
	members, work, unread := r.sorted(sheets, monday)
	for _, u := range members {
		id, s := weekID(u.ID, monday), states[u.ID]
		if s == approved && len(work[u.ID]) == 0 && unread[u.ID] == nil {
			if unread[u.ID], err = r.unseen(ctx, u, monday); err != nil {
				return tracker.Page{}, err
			}
		}
		switch {
		case r.settings.plugin() && s == "": // Disabled, or not in the list of users.
			if len(work[u.ID]) > 0 || unread[u.ID] != nil {
				page.Kept = append(page.Kept, tracker.Kept{ID: id, Period: weekOf(monday), Reason: fmt.Sprintf("kimai: week %s: the approvals of a user who is disabled cannot be read: enable %s to read it, or bill it by hand and settle this", id, u.name())})
			}
		case unread[u.ID] != nil:
			page.Unread = append(page.Unread, tracker.Unread{ID: id, Reason: unread[u.ID].Error()})
		case len(work[u.ID]) > 0 || s != notSubmitted && s != "":
			page.Weeks = append(page.Weeks, r.weekOf(u, monday, s, work[u.ID]))
		}
		if s == approved && r.form != weekStatus {
			r.told = append(r.told, told{u, monday})
		}
	}
	return page, nil
}

// sorted sorts entries by their users, and leaves out those of other weeks. An entry without a day may be of
// this week: the user's cannot be read then.
func (r *reading) sorted(sheets []timesheet, monday civil.Date) (members []user, work map[remote.ID][]timesheet, unread map[remote.ID]error) {
	members, work, unread = slices.Clone(r.users), map[remote.ID][]timesheet{}, map[remote.ID]error{}
	met := map[remote.ID]bool{}
	for _, u := range members {
		met[u.ID] = true
	}
	for _, t := range sheets {
		date, err := t.date()
		switch {
		case err != nil:
			unread[t.User.ID] = err
		case weekOf(monday).Contains(date):
			work[t.User.ID] = append(work[t.User.ID], t)
		default:
			continue
		}
		if !met[t.User.ID] {
			met[t.User.ID] = true
			members = append(members, t.User)
		}
	}
	return members, work, unread
}

// weekOf makes the week of a user.
func (r *reading) weekOf(u user, monday civil.Date, s status, sheets []timesheet) tracker.Week {
	w := tracker.Week{
		ID: weekID(u.ID, monday), Version: tracker.Version{Kind: tracker.None}, State: tracker.Pending,
		Period: weekOf(monday), Member: tracker.Ref{ID: string(u.ID), Name: u.name()},
	}
	if s == approved {
		w.State = tracker.Approved
	}
	exported := false
	if !r.settings.plugin() {
		w.State, sheets = r.settings.marked(sheets)
		exported = r.settings.ApprovedWhen.Exported
	}
	var faults []string
	for _, t := range sheets {
		e, err := t.entry(exported)
		if err != nil {
			faults = append(faults, fmt.Sprintf("entry %s: %s", t.ID, strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
		w.Entries = append(w.Entries, e)
	}
	if counted, shown := r.counted(u, monday), seconds(sheets); s == approved && shown < counted {
		faults = append(faults, fmt.Sprintf("the plugin counted %s when the week was submitted, and Kimai shows %s: let the user of the token see all entries of %s, or, if it was shortened since, have it submitted and approved once more", time.Duration(counted)*time.Second, time.Duration(shown)*time.Second, u.name()))
	}
	if len(faults) > 0 {
		w.Trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: strings.Join(faults, "; ") + ": mend it in Kimai"}
	}
	return w
}

// marked returns how far a week is approved whose entries tell it themselves, and the entries that it holds.
func (s Settings) marked(sheets []timesheet) (tracker.State, []timesheet) {
	var good []timesheet
	done, open := 0, 0
	for _, t := range sheets {
		is := s.ApprovedWhen.holds(t)
		switch {
		case is && t.End != nil:
			done++
		case t.End != nil:
			open++
		}
		if is {
			good = append(good, t)
		}
	}
	switch {
	case done == 0:
		return tracker.Pending, sheets
	case open > 0 && s.Partial != take:
		return tracker.Growing, good
	}
	return tracker.Approved, good
}

func (a ApprovedWhen) holds(t timesheet) bool {
	if a.Exported {
		return t.Exported != nil && *t.Exported
	}
	return slices.ContainsFunc(t.Tags, func(tag string) bool { return strings.EqualFold(tag, a.Tag) })
}

// confirm asks again about what is told as approved: it was approved also while its entries were read.
func (r *reading) confirm(ctx context.Context, page *tracker.Page) error {
	for i := range page.Weeks {
		w := &page.Weeks[i]
		if w.State != tracker.Approved || !r.settings.plugin() {
			continue
		}
		u := user{ID: remote.ID(w.Member.ID), Username: w.Member.Name}
		delete(r.rows, u.ID)
		switch s, err := r.status(ctx, u, w.Period.First); {
		case err != nil:
			return err
		case s != approved && s != "":
			w.State = tracker.Pending
		}
	}
	return nil
}

// again asks again about a week that was told as approved by what was known at the beginning. It returns the
// page of that week as it is now if it is no longer approved.
func (r *reading) again(ctx context.Context, t told) (page tracker.Page, changed bool, err error) {
	s, err := r.status(ctx, t.user, t.monday)
	if s == approved || s == "" {
		return page, false, err
	}
	page, err = r.one(ctx, t.user, t.monday)
	return page, true, err
}

// one reads one week of one user.
func (k *Kimai) one(ctx context.Context, u user, monday civil.Date) (tracker.Page, error) {
	r := k.reading(monday)
	r.who = string(u.ID)
	if k.settings.plugin() {
		r.users = []user{u}
	}
	page, err := r.week(ctx, monday)
	if err != nil {
		return page, err
	}
	return page, r.confirm(ctx, &page)
}

// sheets returns the entries of a week and those around it, by their ids.
func (r *reading) sheets(ctx context.Context, monday civil.Date) ([]timesheet, time.Time, error) {
	const layout = "2006-01-02T15:04:05"
	week := weekOf(monday)
	query := url.Values{
		"user": {r.who}, "full": {"1"}, "orderBy": {"id"}, "order": {"ASC"}, "size": {strconv.Itoa(r.settings.pageSize())},
		"begin": {week.First.In(time.UTC).Add(-apart).Format(layout)},
		"end":   {week.Last.AddDays(1).In(time.UTC).Add(apart).Format(layout)},
	}
	for range attempts {
		all, clock, err := r.list(ctx, query)
		if !errors.Is(err, errShifted) {
			return all, clock, err
		}
	}
	return nil, time.Time{}, fmt.Errorf("kimai: entries of the week of %s: %w", monday, errShifted)
}

// errShifted means that entries went away while they were read, so that others may have been passed over.
var errShifted = errors.New("entries vanished each time while they were read: the next pass tries again")

// list returns all pages of a list of entries.
func (r *reading) list(ctx context.Context, query url.Values) (all []timesheet, clock time.Time, err error) {
	seen := map[remote.ID]bool{}
	for number, before := 1, 0; ; number++ {
		query.Set("page", strconv.Itoa(number))
		var page []timesheet
		answer, err := r.client.Get(ctx, "/timesheets", query, &page)
		total, _ := strconv.Atoi(answer.Header.Get("X-Total-Count"))
		switch {
		case number > 1 && (errors.Is(err, remote.NotFound) || err == nil && total < before):
			return nil, clock, errShifted
		case err != nil:
			return nil, clock, err
		case page == nil:
			return nil, clock, r.client.Misread("GET /timesheets", errors.New("the answer is no list"))
		}
		for _, t := range page {
			if t.User.ID == "" {
				return nil, clock, r.client.Misread("GET /timesheets", fmt.Errorf("entry %s has no user", t.ID))
			}
			// What came in meanwhile has pushed others to the next page. And of a user whom Kimai does not
			// know, or may not show, it tells the entries of the token's owner.
			if !seen[t.ID] && (r.who == everybody || r.who == string(t.User.ID)) {
				seen[t.ID], all = true, append(all, t)
			}
		}
		before, clock = total, answer.Clock
		switch pages, err := strconv.Atoi(answer.Header.Get("X-Total-Pages")); {
		case err != nil:
			return nil, clock, r.client.Misread("GET /timesheets", errors.New("the header X-Total-Pages is missing: look for a proxy in between that takes it away"))
		case number >= pages:
			return all, clock, nil
		}
	}
}
