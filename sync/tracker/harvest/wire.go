package harvest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// What Harvest says of how far an entry is approved.
const (
	approved    = "approved"
	submitted   = "submitted"
	unsubmitted = "unsubmitted"
)

// longestHours is more than anybody writes down for one day.
const longestHours = 1000

// named is a user, client, project or task.
type named struct {
	ID   remote.ID `json:"id"`
	Name string    `json:"name"`
}

func (n named) ref() tracker.Ref { return tracker.Ref{ID: string(n.ID), Name: n.Name} }

// timeEntry is one piece of work. Of what is a pointer, Harvest may leave it out, which is not the same as nothing.
type timeEntry struct {
	ID             remote.ID    `json:"id"`
	SpentDate      string       `json:"spent_date"`
	User           named        `json:"user"`
	Client         named        `json:"client"`
	Project        named        `json:"project"`
	Task           named        `json:"task"`
	Hours          *json.Number `json:"hours"`
	RoundedHours   *json.Number `json:"rounded_hours"`
	Notes          string       `json:"notes"`
	ApprovalStatus *string      `json:"approval_status"`
	IsClosed       *bool        `json:"is_closed"`
	IsBilled       *bool        `json:"is_billed"`
	IsRunning      *bool        `json:"is_running"`
	Billable       *bool        `json:"billable"`
	BillableRate   *json.Number `json:"billable_rate"` // left out where the token may not see it
	UpdatedAt      moment       `json:"updated_at"`
}

func (t timeEntry) key() remote.ID { return t.ID }
func (t timeEntry) place() string  { return t.SpentDate }

func (t timeEntry) fault() error {
	if t.ID == "" || t.User.ID == "" {
		return fmt.Errorf("entry %q is of user %q: one of the ids is missing", t.ID, t.User.ID)
	}
	return nil
}

// moment is a time that decides nothing: one that cannot be read is none.
type moment struct{ time.Time }

// UnmarshalJSON never fails.
func (m *moment) UnmarshalJSON(data []byte) error {
	var t remote.Time
	_ = t.UnmarshalJSON(data)
	m.Time = t.Time
	return nil
}

// approved reports whether an entry is approved. An error says that Harvest does not tell.
func (t timeEntry) approved() (bool, error) {
	switch {
	case t.ApprovalStatus == nil && t.IsClosed == nil:
		return false, fmt.Errorf("entry %s: it has neither approval_status nor is_closed, so that nothing says whether it is approved", t.ID)
	case t.ApprovalStatus == nil:
		return *t.IsClosed, nil
	}
	switch *t.ApprovalStatus {
	case approved:
		return true, nil
	case submitted, unsubmitted:
		return false, nil
	}
	return false, fmt.Errorf("entry %s: approval_status %.40q is none that is known", t.ID, *t.ApprovalStatus)
}

// entry returns what is billed of an entry, without its currency. With the error, which says what is wrong with it,
// what can be read.
func (t timeEntry) entry(hours string) (tracker.Entry, error) {
	date, err := civil.Parse(t.SpentDate)
	faults := []error{err}
	e := tracker.Entry{ID: string(t.ID), Date: date, Client: t.Client.ref(), Project: t.Project.ref(), Task: t.Task.ref(), Note: t.Notes}
	if t.Billable == nil || t.IsBilled == nil || t.IsRunning == nil {
		faults = append(faults, errors.New("billable, is_billed or is_running is missing"))
	} else {
		e.Billable, e.Elsewhere, e.Running = *t.Billable, *t.IsBilled, *t.IsRunning
	}
	if e.Seconds, err = t.seconds(hours); err != nil {
		faults = append(faults, err)
	}
	if t.BillableRate != nil {
		rate, err := number("billable_rate", *t.BillableRate)
		e.Rate = decimal.NewNullDecimal(rate)
		if err != nil {
			e.Rate = decimal.NullDecimal{}
			faults = append(faults, err)
		}
	}
	return e, errors.Join(faults...)
}

// seconds returns the time of an entry: Harvest writes hours with decimals.
func (t timeEntry) seconds(form string) (int64, error) {
	name, written := "rounded_hours", t.RoundedHours
	if form == exact {
		name, written = "hours", t.Hours
	}
	if written == nil {
		return 0, fmt.Errorf("%s is missing", name)
	}
	hours, err := number(name, *written)
	if err == nil && hours.GreaterThan(decimal.NewFromInt(longestHours)) {
		err = fmt.Errorf("%s is %.20s, more than %d", name, written.String(), longestHours)
	}
	if err != nil {
		return 0, err
	}
	return hours.Mul(decimal.NewFromInt(3600)).Round(0).IntPart(), nil
}

// number reads a number that is not negative, and that can be worked with.
func number(name string, text json.Number) (decimal.Decimal, error) {
	n, err := decimal.NewFromString(text.String())
	if err != nil || n.Exponent() > 20 || n.Exponent() < -40 || n.IsNegative() {
		return decimal.Decimal{}, fmt.Errorf("%s is %.30s, which cannot be", name, text.String())
	}
	return n, nil
}

// client is a client with what is not on the entries.
type client struct {
	ID       remote.ID `json:"id"`
	Currency string    `json:"currency"`
}

func (c client) key() remote.ID { return c.ID }
func (c client) place() string  { return "" }

func (c client) fault() error {
	if c.ID == "" {
		return errors.New("a client has no id")
	}
	return nil
}

// company is the account.
type company struct {
	Name            string `json:"name"`
	WeekStartDay    string `json:"week_start_day"`
	PlanType        string `json:"plan_type"`
	ApprovalFeature *bool  `json:"approval_feature"`
}

// begins returns the first day of the week.
func (c company) begins() (time.Weekday, error) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(c.WeekStartDay, day.String()) {
			return day, nil
		}
	}
	return 0, fmt.Errorf("week_start_day is %.20q, which is no day", c.WeekStartDay)
}

// week names the record of a member for a week.
type week struct {
	user  remote.ID
	first civil.Date
}

// id is made of what never changes.
func (w week) id() string { return string(w.user) + ":" + w.first.String() }

func (w week) compare(other week) int {
	return cmp.Or(w.first.Compare(other.first), cmp.Compare(w.user, other.user))
}

// parseID reads what id wrote.
func parseID(id string) (w week, err error) {
	user, day, _ := strings.Cut(id, ":")
	w.user = remote.ID(user)
	w.first, err = civil.Parse(day)
	if err != nil || user == "" || strings.Trim(user, "0123456789") != "" {
		return week{}, errors.New("not the id of a week: those are the user's id and a day, such as 7:2026-11-02")
	}
	return w, nil
}

// weekOf is the week of seven days that begins on a day.
func weekOf(first civil.Date) civil.Period {
	return civil.Period{First: first, Last: first.AddDays(6)}
}

// firstOf is the first day of the week in which a day is.
func firstOf(day civil.Date, begins time.Weekday) civil.Date {
	return day.AddDays(-(int(day.Weekday()) - int(begins) + 7) % 7)
}
