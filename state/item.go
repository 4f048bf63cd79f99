package state

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.etcd.io/bbolt"

	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// Kind says which question a person has to answer.
type Kind string

// The kinds of item.
const (
	Ambiguous  Kind = "ambiguous"  // two sources, or two versions, say different things
	Changed    Kind = "changed"    // what was billed is no longer what is wanted
	Late       Kind = "late"       // more was approved after the invoice was made
	Withdrawn  Kind = "withdrawn"  // nothing of what was billed is approved any more
	Moved      Kind = "moved"      // an entry is recorded under another reference
	Duplicate  Kind = "duplicate"  // two invoices bear one reference
	Mismatch   Kind = "mismatch"   // an invoice bears the reference, and is not what is wanted
	Rejected   Kind = "rejected"   // the accounting system refused it
	Unmapped   Kind = "unmapped"   // no customer for this client
	Incomplete Kind = "incomplete" // no rate, no currency, a running timer
	Elsewhere  Kind = "elsewhere"  // the tracker says that somebody else billed it
	Unreadable Kind = "unreadable" // a record could not be read for a day
	Waiting    Kind = "waiting"    // it waits to be complete for too long
	NotKnown   Kind = "unknown"    // whether an attempt had an effect cannot be found out
	Lost       Kind = "lost"       // a lost state did not find it in the accounting system
	Limit      Kind = "limit"      // a pass wants to create more than is allowed
)

// Status is where an item stands.
type Status string

// The statuses of an item. All but an undecided one were decided by a person.
const (
	Undecided Status = "open"
	Held      Status = "held"    // left alone until a date
	Settled   Status = "settled" // handled by hand
	Skipped   Status = "skipped" // never to be billed
)

// Totals are hours and money.
type Totals struct {
	Seconds  int64           `json:"seconds"`
	Amount   decimal.Decimal `json:"amount"`
	Currency money.Currency  `json:"currency,omitempty"`
}

// Listed is one line of an item that stands for many groups.
type Listed struct {
	Reference string `json:"reference"`
	Digest    Digest `json:"digest"`
	Title     string `json:"title"`
	Totals    Totals `json:"totals"`
}

// Item is what a person must decide, or what a person decided. There is at most one a subject.
type Item struct {
	Subject  string     `json:"subject"` // a reference, or that of a week, an unread record or a sync
	Kind     Kind       `json:"kind"`
	Status   Status     `json:"status"`
	Sync     string     `json:"sync"`
	Channel  Channel    `json:"channel"`
	Title    string     `json:"title"` // whose work it is, for a person to read
	Text     string     `json:"text"`  // what is the matter, and the cure
	Billed   Totals     `json:"billed"`
	Wanted   Totals     `json:"wanted"`
	Digest   Digest     `json:"digest,omitempty"`   // of what is wanted, as last looked at
	Accepted Digest     `json:"accepted,omitempty"` // of what a person settled or skipped
	Week     string     `json:"week,omitempty"`     // id of the week that it is about, where it is about one
	List     []Listed   `json:"list,omitempty"`     // the groups of a limit or lost item
	Opened   time.Time  `json:"opened"`
	Until    civil.Date `json:"until,omitzero"` // of a held item: the day on which it opens again
	Decided  time.Time  `json:"decided,omitzero"`
	Who      string     `json:"who,omitempty"`
	Note     string     `json:"note,omitempty"`
}

// Difference returns the money that is wanted more than was billed; negative where it is less.
func (i Item) Difference() decimal.Decimal { return i.Wanted.Amount.Sub(i.Billed.Amount) }

// ErrNoItem means that there is nothing to decide under the subject.
var ErrNoItem = errors.New("nothing to review under this reference")

// WeekSubject names a week as the subject of an item.
func WeekSubject(ch Channel, id string) string { return "week-" + short(ch.Tracker, id) }

// UnreadSubject names a record that could not be read as the subject of an item.
func UnreadSubject(ch Channel, id string) string { return "unread-" + short(ch.Tracker, id) }

// ListSubject names the item that stands for many groups of a channel.
func ListSubject(ch Channel, kind Kind) string {
	return string(kind) + "-" + strings.TrimRight(ch.Prefix, "-") + "-" + short(ch.Tracker, ch.Prefix)[:4]
}

func short(parts ...string) string {
	sum := sha256.Sum256(text(nil, parts...))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:10])
}

// Item returns the item of a subject, nil if there is none.
func (s *Store) Item(account, subject string) (i *Item, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		i, err = itemOf(tx, account, subject)
		return err
	})
	return i, err
}

func itemOf(tx *bbolt.Tx, account, subject string) (*Item, error) {
	var i Item
	known, err := get(tx, bucketItem, text(nil, account, subject), &i)
	if !known || err != nil {
		return nil, err
	}
	return &i, nil
}

// Items returns the items of an account, in the order of their subjects. An empty account means all.
func (s *Store) Items(account string) (items []Item, err error) {
	var prefix []byte
	if account != "" {
		prefix = text(nil, account)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketItem, prefix, func(key, value []byte) error {
			var i Item
			if err := decode(bucketItem, key, value, &i); err != nil {
				return err
			}
			items = append(items, i)
			return nil
		})
	})
	return items, err
}

// openItem opens an item, or lets a change join the one that is there. What a person settled or skipped
// stays so for the contents that were accepted, and what a person holds stays held until its day.
func openItem(tx *bbolt.Tx, account string, i Item, now time.Time) (wrote bool, err error) {
	old, err := itemOf(tx, account, i.Subject)
	if err != nil {
		return false, err
	}
	i.Opened = now
	if old != nil {
		if old.accepts(i) {
			return false, nil
		}
		i.Opened = old.Opened
		i.keepHeld(*old, now)
	}
	wrote, err = putChanged(tx, bucketItem, text(nil, account, i.Subject), i)
	if !wrote || err != nil {
		return wrote, err
	}
	return true, note(tx, account, i.Subject, Event{At: now, What: fmt.Sprintf("review: %s, %s", i.Kind, i.Status), Detail: i.Text})
}

// accepts reports whether a person has decided what next asks already.
func (i Item) accepts(next Item) bool {
	return (i.Status == Settled || i.Status == Skipped) && i.Accepted == cmp.Or(next.Digest, Nothing)
}

func (i *Item) keepHeld(old Item, now time.Time) {
	if old.Status == Held && civil.DateOf(now).Before(old.Until) {
		i.Status, i.Until, i.Decided, i.Who, i.Note = Held, old.Until, old.Decided, old.Who, old.Note
	}
}

// closeItem removes the item of a subject, if there is one.
func closeItem(tx *bbolt.Tx, account, subject, why string, now time.Time) (wrote bool, err error) {
	old, err := itemOf(tx, account, subject)
	if old == nil || err != nil {
		return false, err
	}
	if err := remove(tx, bucketItem, text(nil, account, subject)); err != nil {
		return false, err
	}
	return true, note(tx, account, subject, Event{At: now, What: fmt.Sprintf("review: %s closed", old.Kind), Detail: why})
}

// Ruling is what a person decided of a subject.
type Ruling struct {
	Item    *Item // as it stands from now on; nil: it is closed
	Subject string
	What    string // the action, for the history
	Who     string
	Note    string
	Claim   []Billed // entries that are recorded under the subject from now on
	Release []Billed // entries whose record under the subject ends
	Drop    bool     // an operation without an outcome is given up: its key ends as refused
	Free    []Listed // groups that may be created with exactly these contents
	Due     []Group  // groups that have to be decided because of it
}

// Rule writes what a person decided, in one transaction: the item, the claims, the history.
// ErrTaken means that an entry is recorded under another reference by now; nothing is written.
func (s *Store) Rule(ch Channel, r Ruling, now time.Time) error {
	return s.update(func(tx *bbolt.Tx) error {
		if r.Drop {
			if err := dropKey(tx, ch.Account, Conclusion{Reference: r.Subject, Drop: Refused, Error: r.Note}, now); err != nil {
				return err
			}
		}
		if err := ruleItem(tx, ch, r); err != nil {
			return err
		}
		if err := ruleEntries(tx, ch, r); err != nil {
			return err
		}
		if err := markDue(tx, ch.Account, r.Due); err != nil {
			return err
		}
		if err := free(tx, ch.Account, r, now); err != nil {
			return err
		}
		return note(tx, ch.Account, r.Subject, Event{At: now, What: "review: " + r.What, Detail: r.Note, Who: r.Who})
	})
}

// ruleEntries moves the records of entries as a person decided.
func ruleEntries(tx *bbolt.Tx, ch Channel, r Ruling) error {
	op := Operation{Reference: r.Subject, Frozen: Frozen{Billed: r.Claim}}
	if err := freeEntries(tx, ch.Account, ch.Tracker, op); err != nil {
		return err
	}
	if err := claimEntries(tx, ch.Account, ch.Tracker, r.Subject, r.Claim); err != nil {
		return err
	}
	for _, b := range r.Release {
		if err := releaseEntry(tx, ch, r.Subject, b.Entry.ID); err != nil {
			return err
		}
	}
	if r.Item != nil && r.Item.Accepted != "" {
		return forgetVanished(tx, ch, r.Subject)
	}
	return nil
}

// forgetVanished ends the watch for entries that a person knows to have vanished from an invoice. Their
// records stay: the invoice may still bear them.
func forgetVanished(tx *bbolt.Tx, ch Channel, reference string) error {
	var keys [][]byte
	err := scan(tx, bucketVanished, ch.key(), func(key, value []byte) error {
		var v Vanished
		if err := decode(bucketVanished, key, value, &v); err != nil {
			return err
		}
		if v.Reference == reference {
			keys = append(keys, bytes.Clone(key))
		}
		return nil
	})
	return errors.Join(err, removeAll(tx, bucketVanished, keys))
}

func ruleItem(tx *bbolt.Tx, ch Channel, r Ruling) error {
	key := text(nil, ch.Account, r.Subject)
	if r.Item == nil {
		if err := remove(tx, bucketItem, key); err != nil {
			return err
		}
	} else if err := put(tx, bucketItem, key, *r.Item); err != nil {
		return err
	}
	return touch(tx, ch.Account, r.Subject)
}

// free releases listed groups, each for exactly the contents that were listed.
func free(tx *bbolt.Tx, account string, r Ruling, now time.Time) error {
	for _, l := range r.Free {
		released := l.Digest // A lost group stays so for other contents, until it is created.
		c := Conclusion{Reference: l.Reference, Released: &released}
		if _, err := concludeGroup(tx, account, c, now); err != nil {
			return err
		}
		if err := touch(tx, account, l.Reference); err != nil {
			return err
		}
		if err := note(tx, account, l.Reference, Event{At: now, What: "review: released", Detail: r.Note, Who: r.Who}); err != nil {
			return err
		}
	}
	return nil
}
