// Package accounting holds the words in which every accounting system is spoken of: the invoice that
// we want, the request that was frozen for it, and the receipt for what is there.
//
// Its one hard rule: we make and change drafts, nothing else. No type here can say "send", "approve",
// "post", "pay", "void" or "delete".
package accounting

import (
	"errors"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// Invoice is what we want to stand in the accounting system, before tax.
type Invoice struct {
	Reference string         `json:"reference"`     // ours, at most 21 characters of [a-z0-9-]
	Customer  string         `json:"customer"`      // the accounting system's own id
	Tax       string         `json:"tax,omitempty"` // the accounting system's code or rate, passed on as configured
	Client    string         `json:"client"`        // the tracker's name for the customer, for a person to read
	Title     string         `json:"title"`         // what it is for: "Website relaunch, week 45 of 2026"
	Currency  money.Currency `json:"currency"`
	Period    civil.Period   `json:"period"`
	Date      civil.Date     `json:"date"`
	Due       civil.Date     `json:"due,omitzero"` // zero: left to the accounting system
	Lines     []Line         `json:"lines"`
}

// Line is one line of an invoice. Its Amount is rounded to the minor unit and rules: where Rate × Seconds ÷ 3600
// cannot be said by the accounting system to the minor unit, or Stated, the line is sent as 1 × Amount.
type Line struct {
	Text    string          `json:"text"`
	Seconds int64           `json:"seconds"`
	Rate    decimal.Decimal `json:"rate"`             // an hour's price; meaningless where Stated
	Stated  bool            `json:"stated,omitempty"` // the tracker stated the amount, there is no rate
	Amount  decimal.Decimal `json:"amount"`
}

// Net returns the sum of the lines.
func (i Invoice) Net() decimal.Decimal {
	sum := decimal.Zero
	for _, l := range i.Lines {
		sum = sum.Add(l.Amount)
	}
	return sum
}

// Amounts returns the amount of each line.
func (i Invoice) Amounts() []decimal.Decimal {
	amounts := make([]decimal.Decimal, len(i.Lines))
	for n, l := range i.Lines {
		amounts[n] = l.Amount
	}
	return amounts
}

// Request is an invoice made ready for the wire, without credentials. It is frozen: once a key was
// claimed for it, these bytes are sent, by whichever release, and no others.
type Request struct {
	Steps []Step `json:"steps"`
}

// Step is one call of a request.
type Step struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   []byte `json:"body"`
}

// Progress is what a create of many steps has reached. It is saved after each step, so that a crash
// resumes the same document. The zero Progress is the beginning.
type Progress struct {
	Done     int    `json:"done,omitempty"`     // how many steps were answered
	Document string `json:"document,omitempty"` // the id of the document that they made
}

// Status is what the accounting system says of an invoice.
type Status string

// The statuses that make a difference to us.
const (
	Draft  Status = "draft"  // may be changed
	Final  Status = "final"  // approved, sent, paid or posted
	Void   Status = "void"   // voided, deleted or archived: a person did that, and it is still a hit
	Edited Status = "edited" // still open, but no longer as a program writes it
)

// Receipt is an invoice as the accounting system has it.
type Receipt struct {
	ID        string            `json:"id"`
	Number    string            `json:"number,omitempty"`
	Reference string            `json:"reference"`
	Customer  string            `json:"customer"`
	Currency  money.Currency    `json:"currency"`
	Date      civil.Date        `json:"date,omitzero"` // that it bears, or on which it was made where it bears none; zero where neither can be told
	Status    Status            `json:"status"`
	Net       decimal.Decimal   `json:"net"`
	Amounts   []decimal.Decimal `json:"amounts"`         // of each line, before tax
	Token     string            `json:"token,omitempty"` // changes whenever anybody changes the invoice; empty where the system has none
	Link      string            `json:"link,omitempty"`  // where a person can look at it
}

// Bills reports whether r is what inv wants: the same customer, currency, net total and line amounts.
// Texts, dates and tax do not count.
func (r Receipt) Bills(inv Invoice) bool {
	return r.Customer == inv.Customer && r.Currency == inv.Currency &&
		r.Net.Equal(inv.Net()) && sameAmounts(r.Amounts, inv.Amounts())
}

// Untouched reports whether r, read now, is still the draft that left describes.
func (r Receipt) Untouched(left Receipt) bool {
	return r.Status == Draft && r.Token == left.Token && r.Agrees(left)
}

// Agrees reports whether r bills the same as other: customer, currency, net total and line amounts.
func (r Receipt) Agrees(other Receipt) bool {
	return r.Customer == other.Customer && r.Currency == other.Currency &&
		r.Net.Equal(other.Net) && sameAmounts(r.Amounts, other.Amounts)
}

func sameAmounts(a, b []decimal.Decimal) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, decimal.Decimal.Cmp)
	slices.SortFunc(b, decimal.Decimal.Cmp)
	return slices.EqualFunc(a, b, decimal.Decimal.Equal)
}

// Traits are what is true of an accounting system whatever it holds.
type Traits struct {
	KeyMemory     time.Duration // how long it honours a repeated idempotency key; zero: it does not
	SearchLag     time.Duration // how long a new document may stay invisible to a look-up
	SettleAfter   time.Duration // how long after an attempt ended its effect may still appear
	Authoritative bool          // a look-up sees every document in every state
	GuardsDrafts  bool          // it refuses to change what is no longer the draft that we read
	Limits        Limits
}

// Access is what a system tells of itself to whoever signs in, for a person to check.
type Access struct {
	User    string   // whom the sign-in belongs to; empty where the system does not tell
	Account string   // what it was let into
	Plan    string   // empty where the system does not tell
	Makes   string   // what is made there: draft invoices, or what stands for them
	Notes   []string // what is missing or odd, with the cure
}

// Party is a customer as the system has it, for a person who maps clients to customers.
type Party struct {
	ID   string
	Name string
}

// Errors of a create or an update. Any other error leaves the outcome unknown.
//
// An error that is [ErrPaused] as well may have a method ParkedUntil() time.Time: nothing is sent before then.
var (
	// ErrRejected means that the system understood the request and refused it; nothing was written.
	// Sending it again cannot succeed: a person has to look. The error text is the system's own sentence.
	ErrRejected = errors.New("rejected")
	// ErrNotSent means that the request surely had no effect, such as a refused connection or too many
	// requests. The same bytes may go again under the same key.
	ErrNotSent = errors.New("not sent")
	// ErrTouched means that an update was refused since the draft is no longer as it was read. Nothing was written.
	ErrTouched = errors.New("no longer the draft that we left")
	// ErrPaused means that the system takes nothing from us for now, whatever it is: the sign-in has ended, a
	// limit of the plan is reached, a quota is spent. The rest of what is due waits. Whether this very request
	// had an effect is told by what else the error is.
	ErrPaused = errors.New("paused")
	// ErrAbsent means that a look-up by id found nothing.
	ErrAbsent = errors.New("no such invoice")
)
