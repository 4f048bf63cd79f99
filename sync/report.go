package sync

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/money"
)

// Report is what one pass or backfill did.
type Report struct {
	Sync        string    `json:"sync"`
	Began       time.Time `json:"began"`
	Ended       time.Time `json:"ended"`
	Weeks       int       `json:"weeks"` // read at the tracker
	Stored      int       `json:"stored"`
	Duplicates  int       `json:"duplicates"`
	Stale       int       `json:"stale"`
	Conflicts   int       `json:"conflicts"`
	BeforeStart int       `json:"beforeStart"`
	Unread      int       `json:"unread"`
	Partial     bool      `json:"partial,omitempty"` // the tracker held something back for now
	Empty       bool      `json:"empty,omitempty"`   // the tracker lists suspiciously little
	Due         int       `json:"due"`               // groups that had to be decided
	Waiting     int       `json:"waiting"`           // groups that wait to be complete, or to be asked again
	Unknown     int       `json:"unknown"`           // operations whose outcome is not known yet
	Failed      int       `json:"failed"`            // groups that an error kept from being decided
	Invoices    []Made    `json:"invoices,omitempty"`
	Items       []Asked   `json:"items,omitempty"` // opened or changed
	Slices      []Slice   `json:"slices,omitempty"`
	Warnings    []string  `json:"warnings,omitempty"`
	Error       string    `json:"error,omitempty"`
}

// Deed is what was done to an invoice.
type Deed string

// The deeds.
const (
	Created Deed = "created"
	Adopted Deed = "adopted"
	Updated Deed = "updated"
)

// Made is an invoice that a pass made, found or changed.
type Made struct {
	Deed      Deed            `json:"deed"`
	Reference string          `json:"reference"`
	Client    string          `json:"client"`
	Title     string          `json:"title"`
	Seconds   int64           `json:"seconds"`
	Amount    decimal.Decimal `json:"amount"`
	Currency  money.Currency  `json:"currency"`
	ID        string          `json:"id"`
	Link      string          `json:"link,omitempty"`
}

// Asked is an item that a pass opened or changed.
type Asked struct {
	Subject string       `json:"subject"`
	Kind    state.Kind   `json:"kind"`
	Title   string       `json:"title"`
	Text    string       `json:"text"`
	Billed  state.Totals `json:"billed"`
	Wanted  state.Totals `json:"wanted"`
}

// warn adds a sentence for the admin, once.
func (r *Report) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

func (r *Report) count(v Verdict) {
	switch v {
	case Stored:
		r.Stored++
	case Duplicate, Noted:
		r.Duplicates++
	case Stale:
		r.Stale++
	case Conflict:
		r.Conflicts++
	}
}

// ask adds items that were opened or changed.
func (r *Report) ask(items []state.Item) {
	for _, i := range items {
		r.Items = append(r.Items, Asked{i.Subject, i.Kind, i.Title, i.Text, i.Billed, i.Wanted})
	}
}

// Count returns how many invoices were done something to.
func (r Report) Count(d Deed) (n int) {
	for _, m := range r.Invoices {
		if m.Deed == d {
			n++
		}
	}
	return n
}

// Net returns the money of the invoices that were done something to, by currency.
func (r Report) Net(d Deed) map[money.Currency]decimal.Decimal {
	sums := map[money.Currency]decimal.Decimal{}
	for _, m := range r.Invoices {
		if m.Deed == d {
			sums[m.Currency] = sums[m.Currency].Add(m.Amount)
		}
	}
	return sums
}

// Summary says in words what was done.
func (r Report) Summary() string {
	parts := []string{fmt.Sprintf("%d weeks read, %d new", r.Weeks, r.Stored)}
	for _, d := range []Deed{Created, Adopted, Updated} {
		if n := r.Count(d); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, d))
		}
	}
	for _, p := range []struct {
		n    int
		what string
	}{{r.Waiting, "waiting"}, {len(r.Items), "to review"}, {r.Unknown, "with unknown outcome"}, {r.Failed, "failed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// MarshalZerologObject writes the counts as the fields of one log line.
func (r Report) MarshalZerologObject(ev *zerolog.Event) {
	ev.Str("sync", r.Sync).Int("weeks", r.Weeks).Int("stored", r.Stored).Int("due", r.Due).
		Int("created", r.Count(Created)).Int("adopted", r.Count(Adopted)).Int("updated", r.Count(Updated)).
		Int("waiting", r.Waiting).Int("review", len(r.Items)).Int("unknown", r.Unknown).Int("failed", r.Failed)
	if n := r.Stale + r.Conflicts + r.Unread; n > 0 {
		ev.Int("stale", r.Stale).Int("conflicts", r.Conflicts).Int("unread", r.Unread)
	}
	if len(r.Warnings) > 0 {
		ev.Strs("warnings", r.Warnings)
	}
}

// fatal reports whether an error means that the state cannot be relied on any more: nothing may be
// posted after it, and the process has to end.
func fatal(err error) bool {
	return errors.Is(err, state.ErrCommit) || errors.Is(err, state.ErrDamaged)
}

// beat ends a pass: the heartbeat is its one row, and the errors of pulling and posting are its error.
func (e *Engine) beat(r *Report, pullErr, postErr error) error {
	err := errors.Join(pullErr, postErr)
	r.Ended = e.now()
	if fatal(err) {
		return err
	}
	heart, readErr := e.store.Heartbeat(e.channel)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	heart.Sync, heart.Began, heart.Ended, heart.Error = e.rules.Name, r.Began, r.Ended, ""
	if err != nil {
		heart.Error = err.Error()
		r.Error = heart.Error
	} else {
		heart.Good, heart.Previous = r.Ended, r.Began
	}
	heart.Summary = r.Summary()
	return errors.Join(err, e.store.Beat(e.channel, heart))
}
