package kimai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// user is somebody who works.
type user struct {
	ID       remote.ID `json:"id"`
	Username string    `json:"username"`
	Alias    string    `json:"alias"`
}

func (u user) name() string { return cmp.Or(u.Alias, u.Username) }

// named is an activity, project or customer.
type named struct {
	ID   remote.ID `json:"id"`
	Name string    `json:"name"`
}

func (n named) ref() tracker.Ref { return tracker.Ref{ID: string(n.ID), Name: n.Name} }

type customer struct {
	named
	Currency string `json:"currency"`
}

type project struct {
	named
	Customer customer `json:"customer"`
}

// timesheet is what Kimai calls one entry.
type timesheet struct {
	ID          remote.ID    `json:"id"`
	Begin       string       `json:"begin"` // with the offset of the place where the work was done
	End         *string      `json:"end"`
	Duration    *int64       `json:"duration"` // without breaks
	Description string       `json:"description"`
	Rate        *json.Number `json:"rate"` // of the whole entry; left out where the token may not see it
	Exported    *bool        `json:"exported"`
	Billable    *bool        `json:"billable"`
	Tags        []string     `json:"tags"`
	User        user         `json:"user"`
	Activity    named        `json:"activity"`
	Project     project      `json:"project"`
}

// date returns the day on which the work began, where it was done.
func (t timesheet) date() (civil.Date, error) {
	day, _, _ := strings.Cut(t.Begin, "T")
	d, err := civil.Parse(day)
	if err != nil {
		return d, fmt.Errorf("entry %s: begin: %w", t.ID, err)
	}
	return d, nil
}

// entry returns what is billed of an entry. With the error, which says what is wrong with it, what can be read.
func (t timesheet) entry(exportedMeansApproved bool) (tracker.Entry, error) {
	date, err := t.date()
	faults := []error{err}
	e := tracker.Entry{
		ID: string(t.ID), Date: date, Running: t.End == nil, Note: t.Description,
		Client: t.Project.Customer.ref(), Project: t.Project.ref(), Task: t.Activity.ref(),
	}
	if t.ID == "" || t.Billable == nil || t.Exported == nil || t.Duration == nil && !e.Running {
		faults = append(faults, errors.New("id, duration, billable or exported is missing"))
	} else {
		e.Billable, e.Elsewhere = *t.Billable, *t.Exported && !exportedMeansApproved
	}
	if t.Duration != nil {
		e.Seconds = *t.Duration
	}
	if e.Seconds < 0 {
		faults = append(faults, fmt.Errorf("the duration is %d", e.Seconds))
	}
	e.Amount, err = t.amount()
	faults = append(faults, err)
	if code := t.Project.Customer.Currency; code != "" {
		e.Currency, err = money.ParseCurrency(code)
		faults = append(faults, err)
	}
	return e, errors.Join(faults...)
}

// amount returns what the whole entry costs; invalid where the token may not see it, or nobody has set a price,
// which is not a price of nothing.
func (t timesheet) amount() (decimal.NullDecimal, error) {
	if t.Rate == nil {
		return decimal.NullDecimal{}, nil
	}
	amount, err := decimal.NewFromString(t.Rate.String())
	if err != nil || amount.Exponent() > 20 || amount.Exponent() < -40 { // No float of Kimai's is, and it could not be worked with.
		return decimal.NullDecimal{}, fmt.Errorf("the rate %.30q is no amount", t.Rate.String())
	}
	if amount.IsZero() && t.Billable != nil && *t.Billable && t.Duration != nil && *t.Duration > 0 {
		return decimal.NullDecimal{}, nil
	}
	return decimal.NewNullDecimal(amount), nil
}

// weekID is made of what never changes.
func weekID(u remote.ID, monday civil.Date) string { return string(u) + ":" + monday.String() }

// parseID reads what weekID wrote.
func parseID(id string) (u remote.ID, monday civil.Date, err error) {
	number, day, _ := strings.Cut(id, ":")
	monday, err = civil.Parse(day)
	if err != nil || number == "" || strings.Trim(number, "0123456789") != "" || !weekOf(monday).IsISOWeek() {
		return "", civil.Date{}, errors.New("not the id of a week: those are the user's id and a Monday, such as 7:2026-11-02")
	}
	return remote.ID(number), monday, nil
}

func weekOf(monday civil.Date) civil.Period {
	return civil.Period{First: monday, Last: monday.AddDays(6)}
}
