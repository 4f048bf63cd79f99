package clockify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
)

// The states of an approval request. The last two are never listed.
const (
	pending             = "PENDING"
	approved            = "APPROVED"
	withdrawnApproval   = "WITHDRAWN_APPROVAL"
	withdrawnSubmission = "WITHDRAWN_SUBMISSION"
	rejected            = "REJECTED"
)

// The types of approval requests. Older ones have none.
const (
	timesheet = "TIMESHEET"
	expenses  = "EXPENSE"
	both      = "TIMESHEET_AND_EXPENSE"
)

// The types of entries.
const (
	regular    = "REGULAR"
	breakEntry = "BREAK"
)

// request is an approval request, with what it approves.
type request struct {
	Approval     approval  `json:"approvalRequest"`
	ApprovedTime span      `json:"approvedTime"`
	PendingTime  span      `json:"pendingTime"`
	Entries      []entry   `json:"entries"`
	Expenses     []expense `json:"expenses"`

	wrong error // it cannot be read
}

type approval struct {
	ID    remote.ID `json:"id"`
	Type  string    `json:"type"`
	Owner struct {
		UserID   remote.ID `json:"userId"`
		UserName string    `json:"userName"`
		TimeZone string    `json:"timeZone"`
	} `json:"owner"`
	Range struct {
		Start moment `json:"start"`
		End   moment `json:"end"`
	} `json:"dateRange"`
	Status struct {
		State     string `json:"state"`
		UpdatedAt moment `json:"updatedAt"`
	} `json:"status"`
}

type entry struct {
	ID          remote.ID `json:"id"`
	Description string    `json:"description"`
	Billable    bool      `json:"billable"`
	IsLocked    bool      `json:"isLocked"`
	Type        string    `json:"type"`
	Project     struct {
		ID         remote.ID `json:"id"`
		Name       string    `json:"name"`
		ClientID   remote.ID `json:"clientId"`
		ClientName string    `json:"clientName"`
	} `json:"project"`
	Task struct {
		ID   remote.ID `json:"id"`
		Name string    `json:"name"`
	} `json:"task"`
	HourlyRate struct {
		Amount   decimal.NullDecimal `json:"amount"`
		Currency string              `json:"currency"`
	} `json:"hourlyRate"`
	Interval struct {
		Start    moment `json:"start"`
		End      moment `json:"end"`
		Duration span   `json:"duration"`
	} `json:"timeInterval"`
}

type expense struct {
	ID       remote.ID           `json:"id"`
	Total    decimal.NullDecimal `json:"total"`
	Currency string              `json:"currency"`
	Billable bool                `json:"billable"`
}

// UnmarshalJSON never fails: a request that cannot be read is its own fault, and not of its whole list.
func (q *request) UnmarshalJSON(data []byte) error {
	type plain request
	*q = request{}
	q.wrong = json.Unmarshal(data, (*plain)(q))
	return nil
}

// moment is a time, or what is wrong with it.
type moment struct {
	remote.Time
	wrong error
}

// UnmarshalJSON never fails.
func (m *moment) UnmarshalJSON(data []byte) error {
	m.wrong = m.Time.UnmarshalJSON(data)
	return nil
}

// missing reports whether there is no time that can be meant.
func (m moment) missing() bool {
	return m.wrong != nil || m.Year() < 1970 || m.Year() > 2200
}

// mixed reports whether a part of the request is approved and another waits: a member added to an approved
// period.
func (q request) mixed() bool {
	switch q.Approval.Status.State {
	case approved:
		return q.PendingTime.Duration > 0
	case pending:
		return q.ApprovedTime.Duration > 0
	}
	return false
}

// approves reports whether anything of the request is approved now.
func (q request) approves() bool { return q.Approval.Status.State == approved || q.mixed() }

// waits reports whether anything of the request may be approved later.
func (q request) waits() bool { return q.Approval.Status.State == pending || q.mixed() }

// begins returns when the period begins. One that cannot be read comes before all others.
func (q request) begins() time.Time {
	if q.Approval.Range.Start.missing() {
		return time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return q.Approval.Range.Start.Time.Time
}

// place is what makes a record: whose it is, for which period, and of what type. It outlives any approval.
type place struct {
	user   string
	period civil.Period
	kind   string
}

func (p place) id() string {
	return strings.Join([]string{p.user, p.period.First.String(), p.period.Last.String(), p.kind}, ":")
}

func parseID(id string) (p place, err error) {
	parts := strings.Split(id, ":")
	if len(parts) != 4 || parts[0] == "" || parts[3] == "" {
		return p, errors.New("not an id of a record")
	}
	p.user, p.kind = parts[0], parts[3]
	p.period.First, err = civil.Parse(parts[1])
	if err == nil {
		p.period.Last, err = civil.Parse(parts[2])
	}
	return p, err
}

// place returns where a request belongs, by the zone of its owner. Without a zone the days are those of UTC.
func (q request) place(zone *time.Location) (place, error) {
	a := q.Approval
	p := place{user: string(a.Owner.UserID), kind: cmp.Or(a.Type, timesheet)}
	if p.kind == both {
		p.kind = timesheet
	}
	switch {
	case p.user == "" || a.ID == "" || a.Range.Start.missing() || a.Range.End.missing():
		return place{}, cmp.Or(q.wrong, errors.New("it lacks its id, its owner, or the beginning or end of its period"))
	case strings.Contains(p.user+p.kind, ":"):
		return place{}, fmt.Errorf("its owner %q or its type %q has a colon", p.user, p.kind)
	}
	p.period = days(a.Range.Start.Time.Time, a.Range.End.Time.Time, zone)
	if p.period.Last.Before(p.period.First) {
		return place{}, fmt.Errorf("its period ends on %s, before it begins on %s", p.period.Last, p.period.First)
	}
	return p, nil
}

// days returns the days of a period that begins at midnight in a zone. Where it does not, the owner has moved to
// another zone since: then the days are those in whose middle it is twelve hours from either end, so that the
// record stays the same.
func days(start, end time.Time, zone *time.Location) civil.Period {
	if zone != nil {
		if first := civil.DateOf(start.In(zone)); first.In(zone).Equal(start) {
			return civil.Period{First: first, Last: civil.DateOf(end.In(zone))}
		}
	}
	return civil.Period{First: civil.DateOf(start.Add(12 * time.Hour).UTC()), Last: civil.DateOf(end.Add(-12 * time.Hour).UTC())}
}

// fault returns why a request does not say how it stands; nil if it does.
func (q request) fault() error {
	a := q.Approval
	states := []string{pending, approved, withdrawnApproval, withdrawnSubmission, rejected}
	switch {
	case q.wrong != nil:
		return q.wrong
	case a.Status.State == "":
		return errors.New("it has no state")
	case !slices.Contains(states, a.Status.State):
		return fmt.Errorf("it is in the state %q, which is unknown", a.Status.State)
	case a.Status.UpdatedAt.missing():
		return errors.New("it does not say when it was updated last")
	case !slices.Contains([]string{"", timesheet, expenses, both}, a.Type):
		return fmt.Errorf("it is of the type %q, which is unknown", a.Type)
	case q.ApprovedTime.wrong != nil || q.PendingTime.wrong != nil:
		return errors.Join(q.ApprovedTime.wrong, q.PendingTime.wrong)
	}
	return nil
}
