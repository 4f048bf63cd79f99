package sync

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Content is what a group holds now by the weeks that are stored.
type Content struct {
	Entries  []state.Billed // approved and billable, in the order of their ids
	Approved time.Time      // the newest approval of them
	Pending  string         // why more may come; empty if nothing is known to
	Ignored  bool           // entries were left out since their client or project is ignored
}

// ids returns the ids of the entries.
func (c Content) ids() []string {
	ids := make([]string, len(c.Entries))
	for i, b := range c.Entries {
		ids[i] = b.Entry.ID
	}
	return ids
}

// collector fills the contents of the due groups of one period by reading its weeks once.
type collector struct {
	*Engine
	pers   []Per                   // the ways of splitting among the groups
	groups map[string]*Content     // by reference
	pinned map[string]state.Billed // entries that stand on an invoice of the groups, by id: their price is fixed
	fixed  map[string]state.Group  // the groups that bill them
	given  map[[3]string]bool      // reference, week and entry
	week   map[string]state.Item   // what a person has to decide, or decided, of weeks
}

// collect returns the contents of due groups, all of one period.
func (e *Engine) collect(period civil.Period, due []state.Due, weekItems map[string]state.Item) (map[string]*Content, error) {
	c := collector{Engine: e, groups: map[string]*Content{}, pinned: map[string]state.Billed{}, fixed: map[string]state.Group{}, given: map[[3]string]bool{}, week: weekItems}
	for _, d := range due {
		c.groups[d.Group.Reference] = &Content{}
		if per := Per(d.Group.Per); !slices.Contains(c.pers, per) {
			c.pers = append(c.pers, per)
		}
		docs, err := e.store.Documents(e.channel.Account, d.Group.Reference)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			for _, b := range doc.Billed {
				c.pinned[b.Entry.ID], c.fixed[b.Entry.ID] = b, d.Group
			}
		}
	}
	err := e.store.Weeks(e.channel, civil.Period{First: period.First, Last: period.First}, func(w tracker.Week) error {
		if w.Period == period {
			c.add(w)
		}
		return nil
	})
	for _, content := range c.groups {
		slices.SortFunc(content.Entries, func(a, b state.Billed) int { return cmp.Compare(a.Entry.ID, b.Entry.ID) })
	}
	return c.groups, err
}

// add gives each billable entry of a week to the groups that it belongs to.
func (c *collector) add(w tracker.Week) {
	held := c.holdsBack(w)
	if held != "" && w.State.Approves() {
		c.keepBilled(w)
	}
	if held == setAside || w.State == tracker.Withdrawn {
		return
	}
	for _, entry := range w.Entries {
		if !entry.Billable {
			continue
		}
		billed, currency := c.rules.bill(w, entry)
		for _, per := range c.pers {
			g := groupOf(c.channel, per, w, entry, currency)
			c.give(g.Reference, w, billed, held)
		}
		c.givePinned(w, entry, held)
	}
}

// keepBilled gives what was billed of a week to its groups as it was billed: while a person has the week,
// their invoices stay as they are.
func (c *collector) keepBilled(w tracker.Week) {
	for id, b := range c.pinned {
		reference := c.fixed[id].Reference
		if key := [3]string{reference, w.ID, id}; b.Week == w.ID && !c.given[key] {
			c.given[key] = true
			c.groups[reference].Entries = append(c.groups[reference].Entries, b)
		}
	}
}

// givePinned gives an entry to the group that billed it, at the price and currency that were fixed then,
// where the settings of today would lead elsewhere.
func (c *collector) givePinned(w tracker.Week, entry tracker.Entry, held string) {
	old, pinned := c.pinned[entry.ID]
	if !pinned || entry.Currency != old.Entry.Currency {
		return
	}
	g := c.fixed[entry.ID]
	now := groupOf(c.channel, Per(g.Per), w, entry, g.Currency)
	if now.Reference == g.Reference {
		c.give(g.Reference, w, state.Billed{Week: w.ID, Member: w.Member, Entry: entry, Rate: old.Rate}, held)
	}
}

func (c *collector) give(reference string, w tracker.Week, b state.Billed, held string) {
	content := c.groups[reference]
	key := [3]string{reference, w.ID, b.Entry.ID}
	if content == nil || c.given[key] {
		return
	}
	c.given[key] = true
	old, billedHere := c.pinned[b.Entry.ID]
	billedHere = billedHere && c.fixed[b.Entry.ID].Reference == reference
	switch {
	case held != "":
		content.Pending = held
	case w.State == tracker.Pending:
		content.Pending = fmt.Sprintf("the week of %s is not approved yet", w.Member.Label())
	case c.rules.ignores(b.Entry) && !billedHere:
		content.Ignored = true
	default:
		if w.State == tracker.Growing {
			content.Pending = fmt.Sprintf("more of the week of %s may be approved", w.Member.Label())
		}
		if billedHere && samePrice(old.Entry, b.Entry) {
			b.Rate = old.Rate
		}
		content.Entries = append(content.Entries, b)
		if w.Approved.After(content.Approved) {
			content.Approved = w.Approved
		}
	}
}

// samePrice reports whether the tracker states the same price for two versions of an entry.
func samePrice(a, b tracker.Entry) bool {
	return sameDecimal(a.Rate, b.Rate) && sameDecimal(a.Amount, b.Amount) && a.Currency == b.Currency
}

func sameDecimal(a, b decimal.NullDecimal) bool {
	return a.Valid == b.Valid && a.Decimal.Equal(b.Decimal)
}

// setAside says of a week that a person took it out of the program's hands.
const setAside = "set aside"

// holdsBack returns why a week may not be billed as it is; empty if it may.
func (c *collector) holdsBack(w tracker.Week) string {
	item, asked := c.week[state.WeekSubject(c.channel, w.ID)]
	switch {
	case asked && (item.Status == state.Settled || item.Status == state.Skipped):
		return setAside
	case asked:
		return fmt.Sprintf("the week of %s is with a person (%s)", w.Member.Label(), item.Subject)
	case w.Trouble != nil:
		return fmt.Sprintf("the week of %s cannot be billed as it is", w.Member.Label())
	}
	return ""
}

// problems returns what makes entries impossible to bill, by the question that it asks.
func problems(entries []state.Billed, g state.Group) (incomplete, elsewhere []string) {
	for _, b := range entries {
		what := describe(b)
		switch {
		case b.Entry.Elsewhere:
			elsewhere = append(elsewhere, what)
		case b.Entry.Running:
			incomplete = append(incomplete, what+": the timer is still running: stop it at the tracker")
		case b.Entry.Seconds < 0:
			incomplete = append(incomplete, what+": it lasts less than nothing: mend it at the tracker")
		case b.Entry.Amount.Decimal.IsNegative(), b.Rate.Decimal.IsNegative():
			incomplete = append(incomplete, what+": it costs less than nothing: mend it at the tracker")
		case !b.Entry.Amount.Valid && !b.Rate.Valid:
			incomplete = append(incomplete, what+": no rate: set one at the tracker, or under invoice.rates")
		case g.Currency == "":
			incomplete = append(incomplete, what+": no currency: set one at the tracker, or under invoice.rates")
		}
	}
	return incomplete, elsewhere
}

// describe names an entry for a person.
func describe(b state.Billed) string {
	parts := []string{b.Entry.Date.String(), b.Member.Label(), b.Entry.Project.Label()}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, " ") + " " + hours(b.Entry.Seconds)
}

// few joins sentences for a person, and counts those beyond the first five.
func few(texts []string) string {
	const most = 5
	if len(texts) <= most {
		return strings.Join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(texts[:most], "; "), len(texts)-most)
}

// hours writes a duration as hours with two decimals.
func hours(seconds int64) string {
	return decimal.NewFromInt(seconds).DivRound(decimal.NewFromInt(3600), 2).StringFixed(2) + " h"
}
