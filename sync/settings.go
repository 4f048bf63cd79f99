package sync

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// Settings are the rules of one sync.
type Settings struct {
	Name        string
	Prefix      string         // of references, at most three characters
	Location    *time.Location // in which a day begins, for what depends on today
	Overlap     time.Duration  // how far behind the watermark a pass reads again
	TTL         time.Duration  // how long a key lives; longer than Overlap
	Lookback    time.Duration  // how far a tracker without a change feed is read again, in each pass
	Reread      time.Duration  // how far one with a feed is read again, whatever the feed says
	RereadEvery time.Duration  // how often
	Start       civil.Date     // weeks that end before this day are never billed
	Per         Per
	Settle      time.Duration // after a group's last approval
	WaitAtMost  time.Duration // until a group that is not complete becomes a person's
	Lines       Lines
	Dated       Dated
	DueDays     int // days from the invoice's date until it is due; negative: left to the accounting system
	Customers   []Customer
	Rates       []Rate
	IgnoreClients,
	IgnoreProjects []string // by id or exact name
	Corrections Corrections
	Late        Late
	MaxNew      int // invoices that one pass may create
	Workers     int // requests at a time
}

// Per says what is one invoice, besides client, currency and period.
type Per string

// The ways to split. The zero Per is none of them.
const (
	PerProject Per = "project"
	PerWeek    Per = "week" // one record
	PerClient  Per = "client"
)

// Lines says what is one line of an invoice.
type Lines string

// The ways to make lines.
const (
	LineMember Lines = "member"
	LineEntry  Lines = "entry"
	LineTask   Lines = "task"
	LineSingle Lines = "single"
)

// Dated says which day an invoice bears.
type Dated string

// The days that an invoice can bear.
const (
	PeriodEnd   Dated = "period_end"
	PeriodStart Dated = "period_start"
)

// Corrections says what is done when a billed group has changed.
type Corrections string

// The ways to correct.
const (
	Window       Corrections = "window"        // a person's while the key lives, then the draft is updated
	Review       Corrections = "review"        // always a person's
	UpdateDrafts Corrections = "update-drafts" // the draft is updated at once
)

// Late says what is done when more was approved for a billed group.
type Late string

// The ways to bill late work.
const (
	LateReview    Late = "review"
	SecondInvoice Late = "second-invoice"
)

// Customer ties a client of the tracker to a customer of the accounting system.
type Customer struct {
	Client   string // the tracker's id, or the exact name
	Customer string // the accounting system's id
	Tax      string // its code or rate, passed on
}

// Rate is an hour's price where the tracker gives none. An empty selector fits everything; the first
// rate that fits counts.
type Rate struct {
	Client, Project, Task, Member string // by id or exact name
	Rate                          decimal.Decimal
	Currency                      money.Currency
}

func (r Rate) fits(member tracker.Ref, e tracker.Entry) bool {
	return named(r.Client, e.Client) && named(r.Project, e.Project) && named(r.Task, e.Task) && named(r.Member, member)
}

// named reports whether a selector fits; an empty one does.
func named(selector string, ref tracker.Ref) bool {
	return selector == "" || selector == ref.ID || selector == ref.Name
}

// ignores reports whether an entry is of a client or project that is not billed.
func (s Settings) ignores(e tracker.Entry) bool {
	return listed(s.IgnoreClients, e.Client) || listed(s.IgnoreProjects, e.Project)
}

func listed(names []string, ref tracker.Ref) bool {
	return slices.ContainsFunc(names, func(name string) bool { return named(name, ref) })
}

// customer returns the line of the customer list for a client, and whether there is one. Pins tell
// which line each client matched when it was first billed, so that a new name changes nothing; a
// line that is pinned to one client does not fit another that took over its name.
func (s Settings) customer(client tracker.Ref, pins map[string]string) (Customer, bool) {
	for _, c := range s.Customers {
		if c.Client == client.ID {
			return c, true
		}
	}
	if line, pinned := pins[client.ID]; pinned {
		i := slices.IndexFunc(s.Customers, func(c Customer) bool { return c.Client == line })
		if i >= 0 {
			return s.Customers[i], true
		}
	}
	for _, c := range s.Customers {
		if c.Client == client.Name && !pinnedToAnother(pins, c.Client, client.ID) {
			return c, true
		}
	}
	return Customer{}, false
}

func pinnedToAnother(pins map[string]string, line, client string) bool {
	for id, pinned := range pins {
		if pinned == line && id != client {
			return true
		}
	}
	return false
}

// fingerprint tells whether settings that decide which groups there are have changed.
func (s Settings) fingerprint() string {
	parts, err := json.Marshal([]any{s.Start, s.Per, s.IgnoreClients, s.IgnoreProjects, s.Rates})
	if err != nil {
		panic(err) // plain values: it cannot fail
	}
	sum := sha256.Sum256(parts)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// effective returns the price and currency that count for an entry: what the tracker states, else
// the first rate of the settings that fits. The rate is invalid where the tracker states an amount,
// or where there is none.
func (s Settings) effective(member tracker.Ref, e tracker.Entry) (decimal.NullDecimal, money.Currency) {
	if e.Amount.Valid {
		return decimal.NullDecimal{}, s.currency(member, e)
	}
	if e.Rate.Valid {
		return e.Rate, s.currency(member, e)
	}
	for _, r := range s.Rates {
		if r.fits(member, e) && (e.Currency == "" || e.Currency == r.Currency) {
			return decimal.NewNullDecimal(r.Rate), r.Currency
		}
	}
	return decimal.NullDecimal{}, e.Currency
}

// currency returns the currency of an entry that has a price: its own, else that of the first rate that fits.
func (s Settings) currency(member tracker.Ref, e tracker.Entry) money.Currency {
	if e.Currency != "" {
		return e.Currency
	}
	for _, r := range s.Rates {
		if r.fits(member, e) {
			return r.Currency
		}
	}
	return ""
}

// bill returns an entry as it would stand on an invoice.
func (s Settings) bill(w tracker.Week, e tracker.Entry) (state.Billed, money.Currency) {
	rate, currency := s.effective(w.Member, e)
	return state.Billed{Week: w.ID, Member: w.Member, Entry: e, Rate: rate}, currency
}
