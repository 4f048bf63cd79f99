package tempo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

const (
	rolesPath  = "/4/team-memberships/search"
	tablesPath = "/4/billing-rates-tables"
	globalPath = "/4/global-rates/by-role"
)

// licence is the cure where Tempo refuses to tell of prices.
const licence = "rates: tables needs Tempo's Financial Manager, and a token whose owner is a Tempo Rate Administrator and may view the teams: see to that, or set rates: none and write the prices under invoice.rates"

// unpriced is the cure where Tempo tells no price.
const unpriced = "mend it in Tempo, or write the price under invoice.rates"

// prices is what was looked up of roles and rates during one reading.
type prices struct {
	roles  map[string][]membership // by member
	tables map[string]*rates       // by the key of an account; nil where it has no table of its own
	global *rates                  // nil: not read yet
}

func newPrices() prices {
	return prices{roles: map[string][]membership{}, tables: map[string]*rates{}}
}

// learnRoles asks Tempo for the roles of members that are not known yet. Whom it does not know has none.
func (r *reading) learnRoles(ctx context.Context, users []string) error {
	if r.settings.Rates != tables || len(users) == 0 {
		return nil
	}
	all, err := every(ctx, r, rolesPath, map[string][]string{"accountIds": users}, func(m membership) string { return string(m.ID) })
	switch {
	case errors.Is(err, remote.Forbidden):
		return withCure(err)
	case refused(err):
		return r.learnEachRole(ctx, users, err)
	case err != nil:
		return err
	}
	for _, m := range all {
		user := string(m.Member.AccountID)
		if !slices.Contains(users, user) {
			return r.tempo.Misread("POST "+rolesPath, fmt.Errorf("membership %q is of %q, who was not asked for", m.ID, user))
		}
		r.roles[user] = append(r.roles[user], m)
	}
	return nil
}

// learnEachRole finds whom Tempo does not know. If that is everybody, it is not about a member.
func (r *reading) learnEachRole(ctx context.Context, users []string, refusal error) error {
	if len(users) == 1 {
		return nil
	}
	for i := range users {
		if err := r.learnRoles(ctx, users[i:i+1]); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(users, func(user string) bool { return len(r.roles[user]) > 0 }) {
		return refusal
	}
	return nil
}

// price gives an entry its rate where that is wanted, or the week a remark on why it has none.
func (r *reading) price(ctx context.Context, w *tracker.Week, e *tracker.Entry, key string) error {
	if r.settings.Rates != tables || !e.Billable || e.Date.IsZero() {
		return nil
	}
	rate, remark, err := r.rate(ctx, w.Member, e.Date, key)
	if remark != "" && !slices.Contains(w.Remarks, remark) {
		w.Remarks = append(w.Remarks, remark)
	}
	e.Rate = rate
	return err
}

// rate returns an hour's price of a member's work on a day. Where there is none the remark says why: what is not
// sure is no price.
func (r *reading) rate(ctx context.Context, m tracker.Ref, day civil.Date, key string) (rate decimal.NullDecimal, remark string, err error) {
	roles, fault := rolesOn(r.roles[m.ID], day)
	if fault != "" {
		return rate, fmt.Sprintf("no price for %q: %s: %s", m.Label(), fault, unpriced), nil
	}
	list, err := r.ratesOf(ctx, key)
	if err != nil {
		return rate, "", err
	}
	first := ""
	for _, role := range roles {
		price, fault := list.of(role.ID, day)
		said := fmt.Sprintf("%s as %q", price, role.Name)
		switch {
		case fault != "":
			return decimal.NullDecimal{}, fmt.Sprintf("no price for %q as %q by %s: %s: %s", m.Label(), role.Name, list.name, fault, unpriced), nil
		case !rate.Valid:
			rate, first = decimal.NewNullDecimal(price), said
		case !rate.Decimal.Equal(price):
			return decimal.NullDecimal{}, fmt.Sprintf("no price for %q: by %s it is %s, and %s, both at the same time: %s", m.Label(), list.name, first, said, unpriced), nil
		}
	}
	return rate, "", nil
}

// ratesOf returns the table of an account, or the global rates where it has none.
func (r *reading) ratesOf(ctx context.Context, key string) (*rates, error) {
	table, known := r.tables[key]
	if !known && key != "" {
		var err error
		if table, err = r.table(ctx, key); err != nil {
			return nil, withCure(err)
		}
		r.tables[key] = table
	}
	switch {
	case table != nil:
		return table, nil
	case r.global != nil:
		return r.global, nil
	}
	global, err := r.globalRates(ctx)
	r.global = global
	return global, withCure(err)
}

// table reads the table of an account; nil where it has none.
func (r *reading) table(ctx context.Context, key string) (*rates, error) {
	found, err := ask[rateTable](ctx, r.tempo, tablesPath, url.Values{"accountKey": {key}}, nil)
	r.clock = found.clock
	if err != nil || len(found.Results) == 0 {
		return nil, err
	}
	name := fmt.Sprintf("the billing rates table of the account %q", key)
	if len(found.Results) > 1 || found.Metadata.Next != "" {
		return &rates{name: name, fault: "Tempo tells of more than one"}, nil
	}
	id := found.Results[0].ID
	if id == "" {
		return nil, r.tempo.Misread("GET "+tablesPath, errors.New("a table has no id"))
	}
	var one rateTable
	answer, err := r.tempo.Get(ctx, tablesPath+"/"+url.PathEscape(string(id)), nil, &one)
	r.clock = answer.Clock
	if err == nil && (one.ID != id || one.Rates == nil) {
		err = r.tempo.Misread("GET "+tablesPath+"/"+string(id), errors.New("the answer is not the rates of this table"))
	}
	if err != nil {
		return nil, err
	}
	return one.rates(name), nil
}

// globalRates reads the rates that apply to all accounts without a table.
func (r *reading) globalRates(ctx context.Context) (*rates, error) {
	var answer struct{ Results []globalRate }
	got, err := r.tempo.Get(ctx, globalPath, url.Values{"rateCategory": {"BILLING"}}, &answer)
	r.clock = got.Clock
	if err != nil {
		return nil, err
	}
	if answer.Results == nil {
		return nil, r.tempo.Misread("GET "+globalPath, errors.New("the answer is no list: it has no results"))
	}
	all := &rates{name: "the global rates", byRole: map[remote.ID][]dated{}}
	for _, one := range answer.Results {
		all.byRole[one.RoleID] = append(all.byRole[one.RoleID], one.Rates...)
	}
	return all, nil
}

// withCure adds the cure where Tempo does not let us read prices.
func withCure(err error) error {
	if refused(err) {
		return fmt.Errorf("%w: %s", err, licence)
	}
	return err
}
