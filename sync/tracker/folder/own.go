package folder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// ownColumns are those that the plain form must have.
func ownColumns() []string {
	return []string{"id", "version", "state", "first", "last", "member", "client", "project", "date", "hours", "billable", "entry"}
}

// recordColumns are those that must say the same in every row of a record.
func recordColumns() []string {
	return []string{"version", "state", "first", "last", "member", "member_id", "client", "client_id", "project", "project_id", "currency"}
}

// record is one week of the plain form.
type record struct {
	src  *source
	week tracker.Week
}

// longestPeriod is how many days a record may cover.
const longestPeriod = 31

// plain reads the plain form: rows with one id are one week.
func (r reading) plain(src source, t *table) (content, error) {
	var order []string
	lines := map[string][]line{}
	for _, l := range t.lines {
		id := l.get("id")
		if err := fitRecord(id); err != nil {
			return content{}, l.fault("id", "%v", err)
		}
		if lines[id] == nil {
			order = append(order, id)
		}
		lines[id] = append(lines[id], l)
	}
	var c content
	for _, id := range order {
		week, err := r.record(src, lines[id])
		if err != nil {
			c.unread = append(c.unread, tracker.Unread{ID: id, Reason: err.Error()})
			continue
		}
		c.records = append(c.records, record{&src, week})
	}
	return c, nil
}

// fitRecord refuses ids that are none, and those that an export's week could have.
func fitRecord(id string) error {
	if id == "" {
		return errNone
	}
	if end := id[strings.LastIndexByte(id, '/')+1:]; len(end) < len(id) && len(end) == len("2026-W45") && end[4:6] == "-W" {
		return fmt.Errorf("%q looks like a week of an export: choose another id", shown(id))
	}
	return fit(id)
}

// record reads the rows of one week. An error means that the week itself is not understood; what is
// wrong in an entry becomes the week's trouble.
func (r reading) record(src source, lines []line) (tracker.Week, error) {
	head := &cells{line: lines[0], reading: r}
	w := tracker.Week{
		ID:      head.get("id"),
		Version: head.version(),
		State:   head.state(),
		Period:  head.period(),
		Member:  head.identified("member"),
		Changed: src.stated(),
		Simple:  true,
		Origin:  printable(src.name),
	}
	if w.Member.ID == "" {
		head.note("member", errNone)
	}
	if head.fault != nil {
		return w, head.fault
	}
	if w.State == tracker.Approved {
		w.Approved = src.stated()
	}
	var faults []string
	for _, l := range lines {
		c := &cells{line: l, reading: r}
		e, worked := c.work()
		c.same(lines[0])
		switch {
		case c.fault != nil:
			faults = append(faults, c.fault.Error())
		case worked:
			w.Entries = append(w.Entries, e)
		}
	}
	if len(faults) > 0 {
		w.Trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: some(faults) + "; then raise the version of record " + shown(w.ID)}
	}
	return w, nil
}

// same notes where a row says something else of its record than the first row.
func (c *cells) same(first line) {
	for _, column := range recordColumns() {
		if a, b := first.get(column), c.get(column); a != b {
			c.note(column, fmt.Errorf("says %q where the first row of record %s says %q: make two records of it", shown(b), shown(first.get("id")), shown(a)))
		}
	}
}

// work reads the entry of a row. A row without entry, date and hours tells of the record alone.
func (c *cells) work() (tracker.Entry, bool) {
	e := tracker.Entry{ID: c.get("entry")}
	if e.ID == "" && c.get("date") == "" && c.get("hours") == "" {
		return e, false
	}
	if e.ID == "" {
		c.note("entry", errNone)
	}
	c.note("entry", fit(e.ID))
	e.Date = c.date("date")
	e.Seconds = c.seconds("hours")
	e.Billable = c.flag("billable", false)
	e.Client, e.Project, e.Task = c.identified("client"), c.identified("project"), c.identified("task")
	e.Note = c.get("note")
	e.Rate, e.Amount = c.amount("rate"), c.amount("amount")
	e.Currency = c.money("currency")
	return e, true
}

// identified reads a name and, where there is one, the id in the column beside it.
func (c *cells) identified(column string) tracker.Ref {
	r := c.ref(column)
	if id := c.get(column + "_id"); id != "" {
		c.note(column+"_id", fit(id))
		r.ID = id
	}
	return r
}

func (c *cells) version() tracker.Version {
	n, err := strconv.ParseInt(c.get("version"), 10, 64)
	if err != nil || n < 1 {
		c.note("version", fmt.Errorf("%q is not a whole number from 1: give every change of the record the next one", shown(c.get("version"))))
	}
	return tracker.Version{Kind: tracker.Exact, Number: n}
}

func (c *cells) state() tracker.State {
	s := tracker.State(c.get("state"))
	if !slices.Contains([]tracker.State{tracker.Approved, tracker.Pending, tracker.Withdrawn}, s) {
		c.note("state", fmt.Errorf("%q is none of approved, pending, withdrawn: write one of them", shown(string(s))))
	}
	return s
}

func (c *cells) period() civil.Period {
	p := civil.Period{First: c.date("first"), Last: c.date("last")}
	switch days := p.First.DaysUntil(p.Last) + 1; {
	case c.fault != nil:
	case days < 1:
		c.note("last", fmt.Errorf("%s is before the first day, %s: exchange them", p.Last, p.First))
	case days > longestPeriod:
		c.note("last", fmt.Errorf("%s is %d days from the first, %s: make records of at most %d", p.Last, days, p.First, longestPeriod))
	}
	return p
}

// latest leaves one week of each id: that with the highest version. Two that differ under one version
// are a contradiction.
func latest(records []record) []tracker.Week {
	slices.SortStableFunc(records, func(a, b record) int {
		return cmp.Or(cmp.Compare(b.week.Version.Number, a.week.Version.Number), b.src.written.Compare(a.src.written))
	})
	kept := map[string]int{}
	trouble := map[string]*tracker.Trouble{}
	var weeks []tracker.Week
	for _, r := range records {
		id := r.week.ID
		i, known := kept[id]
		switch {
		case !known:
			kept[id] = len(weeks)
			weeks = append(weeks, r.week)
		case r.week.Version == weeks[i].Version && trouble[id] == nil && !sameRecord(r.week, weeks[i]):
			trouble[id] = &tracker.Trouble{Kind: tracker.Ambiguous, Text: fmt.Sprintf(
				"version %d of record %s says different things in %s and in %s: give the right one a higher version",
				r.week.Version.Number, shown(id), weeks[i].Origin, r.week.Origin)}
		}
	}
	for id, t := range trouble {
		weeks[kept[id]].Trouble = t
	}
	return weeks
}

// sameRecord compares what two files say of a record, not when or where they say it.
func sameRecord(a, b tracker.Week) bool {
	x, errX := bare(a)
	y, errY := bare(b)
	return errors.Join(errX, errY) == nil && string(x) == string(y)
}

// bare writes a record without the file that it comes from.
func bare(w tracker.Week) ([]byte, error) {
	w.Changed, w.Approved, w.Origin = time.Time{}, time.Time{}, ""
	w.Entries = slices.SortedFunc(slices.Values(w.Entries), func(a, b tracker.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return json.Marshal(w)
}
