// Package tracker holds the words in which every time tracker is spoken of: approved weeks and the
// entries in them. The packages below it each speak to one tracker.
//
// Its one hard rule: what stands here is what a tracker said, never what we made of it. Ids are the
// tracker's own and are text, even where they look like numbers; names are for people and decide nothing.
package tracker

import (
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// Ref names a member, client, project or task. ID never changes; Name is what the tracker shows today.
// The zero Ref means that there is none.
type Ref struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Label returns the name for a person to read, or the id where there is no name.
func (r Ref) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.ID
}

// State is what the tracker says of a week as a whole.
type State string

// The states of a week. Only what is approved is billed; more that may come holds back a first invoice.
const (
	Approved  State = "approved"
	Growing   State = "growing"   // what it holds is approved, and more of the same period may be later
	Pending   State = "pending"   // submitted or still open: it may be approved later
	Withdrawn State = "withdrawn" // was approved, or submitted, and no longer is
)

// Approves reports whether the entries of a week in this state are approved.
func (s State) Approves() bool { return s == Approved || s == Growing }

// Kind says what a version is worth.
type Kind string

// The kinds of version.
const (
	None  Kind = "none"  // the tracker has no versions: content alone tells
	Stamp Kind = "stamp" // orders states, but content may change under one stamp
	Exact Kind = "exact" // content never changes under one version
)

// Version orders the states of one week. Number is 0 for kind None; for a stamp it is nanoseconds since 1970.
type Version struct {
	Kind   Kind  `json:"kind"`
	Number int64 `json:"number,omitempty"`
}

// Week is a member's record for a period, as it now is at the tracker. A period may be longer than
// seven days; we still say week.
type Week struct {
	ID       string       `json:"id"` // unique within the tracker account, for good
	Version  Version      `json:"version"`
	State    State        `json:"state"`
	Period   civil.Period `json:"period"`
	Member   Ref          `json:"member"`
	Entries  []Entry      `json:"entries"`
	Changed  time.Time    `json:"changed"`           // when it last changed, by the tracker's clock; zero where it does not say
	Approved time.Time    `json:"approved,omitzero"` // when it was last approved, by the tracker's clock; zero where it does not say
	Simple   bool         `json:"simple,omitempty"`  // the tracker's contract is one client, project and currency a record
	Derived  bool         `json:"derived,omitempty"` // entry ids are made from what an entry says, so that an edit makes a new id
	Trouble  *Trouble     `json:"trouble,omitempty"` // why this week as a whole cannot be billed; nil where it can
	Origin   string       `json:"origin,omitempty"`  // where it was read, for a person: a file name, a page; decides nothing
	Remarks  []string     `json:"-"`                 // what a person should know when it is taken in, such as expenses that are not billed
}

// Trouble is what is wrong with a week as a whole. Such a week is not billed until a person mended it.
type Trouble struct {
	Kind TroubleKind `json:"kind"`
	Text string      `json:"text"` // names the place and the cure
}

// TroubleKind says which question a person has to answer.
type TroubleKind string

// The kinds of trouble.
const (
	Ambiguous  TroubleKind = "ambiguous"  // two sources say different things
	Incomplete TroubleKind = "incomplete" // a part of it is missing or cannot be understood
)

// Entry is one piece of work. Its amount is Amount where the tracker stated one, else Rate × Seconds ÷ 3600.
type Entry struct {
	ID        string              `json:"id"` // unique within the tracker account
	Date      civil.Date          `json:"date"`
	Seconds   int64               `json:"seconds"`
	Billable  bool                `json:"billable"`
	Running   bool                `json:"running,omitempty"`   // the timer has not been stopped
	Elsewhere bool                `json:"elsewhere,omitempty"` // the tracker says that it was billed already, by somebody else or by us
	Client    Ref                 `json:"client,omitzero"`
	Project   Ref                 `json:"project,omitzero"`
	Task      Ref                 `json:"task,omitzero"`
	Note      string              `json:"note,omitempty"`
	Rate      decimal.NullDecimal `json:"rate,omitzero"`   // an hour's price; invalid where the tracker gives none, which is not zero
	Amount    decimal.NullDecimal `json:"amount,omitzero"` // stated by the tracker in place of rate × time
	Currency  money.Currency      `json:"currency,omitempty"`
}

// Query says which weeks are wanted. A tracker may yield more than was asked for, never less.
type Query struct {
	Since time.Time    // changed at or after this moment; zero: whenever they changed
	First civil.Period // whose first day is in this range; a zero end is open
	Now   time.Time    // when the pass began
}

// Page is one batch of a traversal.
type Page struct {
	Weeks  []Week
	Unread []Unread
	Clock  time.Time // the tracker's own clock, from its answer; zero where it does not tell
	// Partial: the tracker holds something back for now, such as a file that is still being written. What it
	// yields is true, but a traversal with such a page has not seen everything.
	Partial bool
	Notes   []string // what an admin should know of, such as a file left for the next pass
	Kept    []Kept
}

// Kept is a record of which the tracker no longer says anything, and which is not gone for that: the last week of
// a user who was disabled. What was taken in as approved stands; anything else counts as unread.
type Kept struct {
	ID     string
	Period civil.Period
	Reason string // why nothing is said, with the cure
}

// Unread is a record that was announced but could not be read.
type Unread struct {
	ID     string
	Reason string
}

// Traits are what is true of a tracker whatever it holds.
type Traits struct {
	// Feed: the tracker can be asked for what changed since a moment. Without it, the weeks of
	// the look-back are read again each pass.
	Feed bool
	// Wide: every traversal yields all weeks that are wanted, whatever Since says, so that what it
	// says of a week is confirmed.
	Wide bool
	// Whole: a traversal of a range, with no Since, names every week in it. One that is not named is not at
	// the tracker any more, or hidden from us.
	Whole bool
	// Reread is the longest time between two readings of the weeks of the last weeks whatever the feed says,
	// for a feed that leaves some changes out; zero leaves it to the settings.
	Reread time.Duration
}

// EachPass is the Reread of a tracker whose feed is but a hint.
const EachPass = time.Nanosecond

// Access is what a tracker tells of itself to whoever signs in, for a person to check.
type Access struct {
	User    string   // whom the token belongs to
	Account string   // what it was let into
	Plan    string   // empty where the tracker does not tell
	Reads   []string // what a pass reads
	Notes   []string // what is missing or odd, such as a permission, with the cure
}

// ErrGone means that the tracker no longer has the record that was asked for by id.
var ErrGone = errors.New("no longer at the tracker")
