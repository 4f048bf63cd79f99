package tempo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

type user struct {
	AccountID remote.ID `json:"accountId"`
}

type period struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// The states of an approval.
const (
	approved = "APPROVED"
	inReview = "IN_REVIEW"
	open     = "OPEN"
)

type status struct {
	Key       string `json:"key"`
	UpdatedAt moment `json:"updatedAt"`
}

// moment is a time, or what is wrong with it: that is the fault of one record, and not of its whole list.
type moment struct {
	remote.Time
	wrong error
}

// UnmarshalJSON never fails.
func (m *moment) UnmarshalJSON(data []byte) error {
	m.wrong = m.Time.UnmarshalJSON(data)
	return nil
}

func (s status) same(other status) bool {
	return s.Key == other.Key && s.UpdatedAt.Day == other.UpdatedAt.Day && s.UpdatedAt.Equal(other.UpdatedAt.Time.Time)
}

// state returns what we call a state of Tempo. What was rejected, recalled or reopened is open again.
func (s status) state() tracker.State {
	if s.Key == approved {
		return tracker.Approved
	}
	return tracker.Pending
}

// version is a stamp, unless Tempo tells no more than the day.
func (s status) version() tracker.Version {
	if s.UpdatedAt.IsZero() || s.UpdatedAt.Day {
		return tracker.Version{Kind: tracker.None}
	}
	return tracker.Version{Kind: tracker.Stamp, Number: s.UpdatedAt.UnixNano()}
}

// sheet is a member's timesheet for a period, and what was last seen of its approval.
type sheet struct {
	user string
	days civil.Period
	seen status
}

// id is unique within a site, for good. An account id has colons, but no bar.
func (s sheet) id() string {
	return s.user + "|" + s.days.First.String() + "|" + s.days.Last.String()
}

func parseID(id string) (sheet, error) {
	parts := strings.Split(id, "|")
	if len(parts) != 3 {
		return sheet{}, errors.New("not an id of a timesheet")
	}
	return newSheet(parts[0], period{parts[1], parts[2]})
}

func newSheet(user string, p period) (s sheet, err error) {
	s.user = user
	if strings.Trim(user, ".") == "" {
		return s, errors.New("it names no member")
	}
	if s.days.First, err = civil.Parse(p.From); err != nil {
		return s, err
	}
	if s.days.Last, err = civil.Parse(p.To); err == nil && s.days.Last.Before(s.days.First) {
		err = fmt.Errorf("its period ends on %s, before it begins on %s", s.days.Last, s.days.First)
	}
	return s, err
}

// logRow says that something happened to a timesheet.
type logRow struct {
	User   user   `json:"user"`
	Period period `json:"period"`
	Status status `json:"status"`
}

func (l logRow) id() string {
	return string(l.User.AccountID) + "|" + l.Period.From + "|" + l.Period.To
}

// sheet returns the timesheet of a row. The status counts as seen only where it tells more than the day.
func (l logRow) sheet() (sheet, error) {
	s, err := newSheet(string(l.User.AccountID), l.Period)
	if l.Status.version().Kind == tracker.Stamp {
		s.seen = l.Status
	}
	return s, err
}

type approval struct {
	User             user   `json:"user"`
	Period           period `json:"period"`
	Status           status `json:"status"`
	TimeSpentSeconds int64  `json:"timeSpentSeconds"` // of all worklogs, those that are hidden from us too
}

// fault returns why an answer does not say how the approval of a timesheet stands; nil if it does.
func (a approval) fault(s sheet) error {
	switch got, err := newSheet(string(a.User.AccountID), a.Period); {
	case err != nil:
		return err
	case got.id() != s.id():
		return fmt.Errorf("the answer is about %s: look whether Tempo's approval periods were changed", got.id())
	case a.Status.Key == "":
		return errors.New("the approval has no state")
	case !slices.Contains([]string{approved, inReview, open}, a.Status.Key):
		return fmt.Errorf("the approval is in the state %q, which is unknown", a.Status.Key)
	case a.Status.UpdatedAt.wrong != nil:
		return fmt.Errorf("the approval has no time that can be read: %w", a.Status.UpdatedAt.wrong)
	}
	return nil
}

type worklog struct {
	ID    remote.ID `json:"tempoWorklogId"`
	Issue struct {
		ID remote.ID `json:"id"`
	} `json:"issue"`
	Author           user   `json:"author"`
	StartDate        string `json:"startDate"`
	TimeSpentSeconds int64  `json:"timeSpentSeconds"`
	BillableSeconds  *int64 `json:"billableSeconds"`
	Description      string `json:"description"`
	Attributes       struct {
		Values []struct {
			Key   string `json:"key"`
			Value any    `json:"value"`
		} `json:"values"`
	} `json:"attributes"`
}

// attribute returns the value of a work attribute; "" where it has none.
func (w worklog) attribute(key string) string {
	for _, a := range w.Attributes.Values {
		if text, is := a.Value.(string); is && a.Key == key {
			return text
		}
	}
	return ""
}

type attribute struct {
	Key  string `json:"key"`
	Type string `json:"type"`
}

type account struct {
	ID       remote.ID `json:"id"`
	Key      string    `json:"key"`
	Name     string    `json:"name"`
	Self     string    `json:"self"`
	Customer *struct {
		ID   remote.ID `json:"id"`
		Name string    `json:"name"`
	} `json:"customer"`
}

// client is the customer, or the account itself where it has none. Both count from 1, so one is marked.
func (a account) client() tracker.Ref {
	if a.Customer != nil && a.Customer.ID != "" {
		return tracker.Ref{ID: string(a.Customer.ID), Name: a.Customer.Name}
	}
	return tracker.Ref{ID: "account:" + string(a.ID), Name: a.Name}
}

type link struct {
	Default bool `json:"default"`
	Account struct {
		Self string `json:"self"`
	} `json:"account"`
}

// issue is one of Jira's.
type issue struct {
	ID     remote.ID `json:"id"`
	Key    string    `json:"key"`
	Fields struct {
		Summary string `json:"summary"`
		Project struct {
			ID   remote.ID `json:"id"`
			Name string    `json:"name"`
		} `json:"project"`
	} `json:"fields"`
}
