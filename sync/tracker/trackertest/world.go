package trackertest

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// World is what a time tracker knows, in the words of no vendor. A dialect shows it as its vendor would.
// All of its times are of the clock of the test, to the second.
type World struct {
	mu       sync.Mutex
	Members  []*Member
	Sheets   []*Sheet // in the order in which they were submitted first
	PageSize int      // of every list; zero: as large as the request asks for
	serial   int64
	index    map[string]*Sheet
}

// Member is somebody who works.
type Member struct {
	ID     string // decimal digits
	Name   string
	Zone   string       // an IANA name
	Begins time.Weekday // first day of the member's week
	Left   bool         // the account is disabled: what was approved stands
}

// Sheet is a member's time sheet for one period.
type Sheet struct {
	Member   *Member
	Period   civil.Period
	State    tracker.State // Pending, Approved or Withdrawn
	Approval int64         // id of the approval; re-approval may give a new one
	Earlier  []int64       // ids of approvals that were withdrawn
	Entries  []*Entry
	Changed  time.Time // when its state last changed
}

// Entry is one piece of work.
type Entry struct {
	Number   int64 // its id; some do not fit into 53 bits
	Date     civil.Date
	Clock    time.Duration // local time of day at which it begins
	Seconds  int64
	Billable bool
	Running  bool
	Invoiced bool // marked as billed by somebody else
	Open     bool // came after the approval of its sheet and is not approved itself
	Client   tracker.Ref
	Project  tracker.Ref
	Task     tracker.Ref
	Note     string
	Rate     decimal.NullDecimal // an hour's price
	Currency money.Currency
	Updated  time.Time
}

// Lock gives a handler the world as it is at one moment; the function that it returns ends that.
func (w *World) Lock() (unlock func()) {
	w.mu.Lock()
	return w.mu.Unlock
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// Join adds a member who begins the week on Monday and lives in a zone.
func (w *World) Join(name, zone string) *Member {
	defer w.Lock()()
	w.serial++
	m := &Member{ID: strconv.FormatInt(w.serial, 10), Name: name, Zone: zone, Begins: time.Monday}
	w.Members = append(w.Members, m)
	return m
}

// Work returns a plain entry that is on no sheet yet: an hour of billable work at 90 EUR for a client, with
// project and task.
func (w *World) Work(date civil.Date) *Entry {
	defer w.Lock()()
	w.serial++
	number := w.serial
	if number%3 == 0 {
		number += 1 << 60 // Doubles cannot hold it.
	}
	return &Entry{
		Number: number, Date: date, Clock: 9 * time.Hour, Seconds: 3600, Billable: true,
		Client: tracker.Ref{ID: "501", Name: "Acme"}, Project: tracker.Ref{ID: "601", Name: "Site"}, Task: tracker.Ref{ID: "701", Name: "Build"},
		Note: "work", Rate: decimal.NewNullDecimal(decimal.NewFromInt(90)), Currency: "EUR", Updated: now(),
	}
}

// Submit puts a new sheet with entries before its approver.
func (w *World) Submit(m *Member, period civil.Period, entries ...*Entry) *Sheet {
	defer w.Lock()()
	w.serial++
	s := &Sheet{Member: m, Period: period, State: tracker.Pending, Approval: w.serial, Entries: entries, Changed: now()}
	w.Sheets = append(w.Sheets, s)
	if w.index == nil {
		w.index = map[string]*Sheet{}
	}
	w.index[m.ID+" "+period.First.String()] = s
	return s
}

// Sheet returns a member's sheet for the period that begins on a day; nil if there is none. The world must be
// locked.
func (w *World) Sheet(member string, first civil.Date) *Sheet {
	return w.index[member+" "+first.String()]
}

// Week is the period of seven days that begins on a day.
func Week(first civil.Date) civil.Period { return civil.Period{First: first, Last: first.AddDays(6)} }

// Approve submits a sheet for a week and approves it.
func (w *World) Approve(m *Member, first civil.Date, entries ...*Entry) *Sheet {
	s := w.Submit(m, Week(first), entries...)
	w.Set(s, tracker.Approved)
	return s
}

// Set changes the state of a sheet. All of its entries are approved with it. A sheet that is submitted again
// after it was withdrawn gets a new approval.
func (w *World) Set(s *Sheet, state tracker.State) {
	defer w.Lock()()
	if s.State == tracker.Withdrawn && state != tracker.Withdrawn {
		w.serial++
		s.Earlier, s.Approval = append(s.Earlier, s.Approval), w.serial
	}
	s.State, s.Changed = state, now()
	for _, e := range s.Entries {
		e.Open = e.Open && state != tracker.Approved
		e.Updated = now() // Trackers without approvals of their own show them on the entries.
	}
}

// Grow adds an entry to a sheet without approving it.
func (w *World) Grow(s *Sheet, e *Entry) {
	defer w.Lock()()
	e.Open = s.State == tracker.Approved
	s.Entries = append(s.Entries, e)
	if e.Open {
		s.Changed = now()
	}
}

// Shrink removes the last entry of a sheet.
func (w *World) Shrink(s *Sheet) {
	defer w.Lock()()
	s.Entries = slices.Clip(s.Entries[:len(s.Entries)-1])
}

// Edit changes an entry without a trace on its sheet.
func (w *World) Edit(e *Entry, change func(*Entry)) {
	defer w.Lock()()
	change(e)
	e.Updated = now()
}

// Delete removes a sheet with all that is on it.
func (w *World) Delete(s *Sheet) {
	defer w.Lock()()
	w.Sheets = slices.DeleteFunc(w.Sheets, func(other *Sheet) bool { return other == s })
	delete(w.index, s.Member.ID+" "+s.Period.First.String())
}

// Leave disables a member's account.
func (w *World) Leave(m *Member) {
	defer w.Lock()()
	m.Left = true
}

// Sorted returns the sheets by what a function says of two. The world must be locked.
func (w *World) Sorted(by func(a, b *Sheet) int) []*Sheet {
	return slices.SortedStableFunc(slices.Values(w.Sheets), by)
}

// Page returns one page of a list, from 1, and whether it is the last.
func Page[T any](all []T, number, size int) (page []T, last bool) {
	from, to := min((number-1)*size, len(all)), min(number*size, len(all))
	return all[from:to], to == len(all)
}

// Size is how many items a list shows at once: as many as were asked for, and no more than the world says.
func (w *World) Size(asked int) int {
	if w.PageSize > 0 && (asked == 0 || w.PageSize < asked) {
		return w.PageSize
	}
	return cmp.Or(asked, 50)
}
