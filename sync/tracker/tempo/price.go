package tempo

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
)

// membership says that somebody is in a team, with a role, for some days.
type membership struct {
	ID          remote.ID `json:"id"`
	Member      user      `json:"member"`
	Role        role      `json:"role"`
	From        string    `json:"from"`        // empty: from the beginning
	InclusiveTo string    `json:"inclusiveTo"` // empty: as To says
	To          string    `json:"to"`          // the day after the last one; empty: for good
}

type role struct {
	ID   remote.ID `json:"id"`
	Name string    `json:"name"`
}

// covers reports whether a membership holds on a day.
func (m membership) covers(day civil.Date) (bool, error) {
	from, wrongFrom := optional(m.From)
	last, wrongLast := optional(m.InclusiveTo)
	if m.InclusiveTo == "" && m.To != "" {
		last, wrongLast = optional(m.To)
		last = last.AddDays(-1)
	}
	return !day.Before(from) && (last.IsZero() || !day.After(last)), errors.Join(wrongFrom, wrongLast)
}

// optional reads a date that may be left out.
func optional(text string) (civil.Date, error) {
	if text == "" {
		return civil.Date{}, nil
	}
	return civil.Parse(text)
}

// rolesOn returns the roles of a member on a day, each once. Fault says why they are not sure.
func rolesOn(all []membership, day civil.Date) (roles []role, fault string) {
	for _, m := range all {
		holds, err := m.covers(day)
		switch {
		case err != nil:
			return nil, fmt.Sprintf("membership %s of a team has no dates that can be read: %v", m.ID, err)
		case holds && m.Role.ID == "":
			return nil, fmt.Sprintf("membership %s of a team has no role", m.ID)
		case holds && !slices.ContainsFunc(roles, func(r role) bool { return r.ID == m.Role.ID }):
			roles = append(roles, m.Role)
		}
	}
	if len(roles) == 0 {
		fault = "Tempo shows no team of theirs at the time of the work, which tells the role: let the owner of the Tempo token view the team"
	}
	return roles, fault
}

// rateTable is a table of accounts. In lists it has no rates.
type rateTable struct {
	ID    remote.ID `json:"id"`
	Rates []struct {
		Role role  `json:"role"` // none: the default
		Rate dated `json:"rate"`
	} `json:"rates"`
}

func (t rateTable) rates(name string) *rates {
	all := &rates{name: name, byRole: map[remote.ID][]dated{}}
	for _, one := range t.Rates {
		all.byRole[one.Role.ID] = append(all.byRole[one.Role.ID], one.Rate)
	}
	return all
}

// globalRate is what a role costs where an account has no table.
type globalRate struct {
	RoleID remote.ID `json:"roleId"` // none: the default
	Rates  []dated   `json:"rates"`
}

// dated is an hour's price from a day on.
type dated struct {
	EffectiveDate string      `json:"effectiveDate"` // empty: from the beginning
	Value         json.Number `json:"value"`         // empty: nobody set it
}

// price reads the value. Zero is what a default says that nobody set: it is no price.
func (d dated) price() (decimal.Decimal, string) {
	value, err := decimal.NewFromString(d.Value.String())
	switch {
	case d.Value == "":
		return decimal.Decimal{}, "the rate has no value"
	case err != nil || value.Exponent() > 20 || value.Exponent() < -40: // It could not be worked with.
		return decimal.Decimal{}, fmt.Sprintf("the rate is %.30q, which cannot be read", d.Value)
	case !value.IsPositive():
		return decimal.Decimal{}, fmt.Sprintf("the rate is %s, which is no price", value)
	}
	return value, ""
}

// rates are the prices of roles. The role without an id is the default of those that are not there.
type rates struct {
	name   string // for people
	fault  string // why none of them is sure; empty where all is well
	byRole map[remote.ID][]dated
}

// of returns the price of a role on a day. Fault says why there is none.
func (l *rates) of(role remote.ID, day civil.Date) (price decimal.Decimal, fault string) {
	if l.fault != "" {
		return price, l.fault
	}
	list := l.byRole[role]
	if len(list) == 0 {
		list = l.byRole[""]
	}
	var newest []dated // more than one only where they begin on the same day
	var since civil.Date
	for _, one := range list {
		from, err := optional(one.EffectiveDate)
		switch {
		case err != nil:
			return price, "the rate has a date that cannot be read: " + err.Error()
		case from.After(day):
		case len(newest) == 0 || from.After(since):
			newest, since = []dated{one}, from
		case from == since && one.Value != newest[0].Value:
			newest = append(newest, one)
		}
	}
	switch len(newest) {
	case 0:
		return price, "there is neither a rate of the role at the time of the work nor a default"
	case 1:
		return newest[0].price()
	}
	return price, fmt.Sprintf("there are two rates from the same day on, %s and %s", newest[0].Value, newest[1].Value)
}
