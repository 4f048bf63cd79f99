package state

import (
	"time"

	"github.com/shopspring/decimal"
	"go.etcd.io/bbolt"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// Group is what becomes one invoice: approved billable entries of one client, one currency and one
// period. What defines it never changes, so that a changed setting makes other groups, not other contents.
type Group struct {
	Reference string         `json:"reference"`
	Channel   Channel        `json:"channel"`
	Per       string         `json:"per"` // project, week or client
	Period    civil.Period   `json:"period"`
	Client    tracker.Ref    `json:"client"`
	Project   tracker.Ref    `json:"project,omitzero"` // only per project
	Record    string         `json:"record,omitempty"` // only per week: the id of the week
	Member    tracker.Ref    `json:"member,omitzero"`  // only per week, for a person to read
	Currency  money.Currency `json:"currency"`         // empty: the tracker states none, and no rate applies

	Done       string    `json:"done,omitempty"`       // why nothing is to be billed; empty: not so
	Waiting    time.Time `json:"waiting,omitzero"`     // since when it waits to be complete
	Lost       bool      `json:"lost,omitempty"`       // it waits for a person under the item of a lost state
	Released   Digest    `json:"released,omitempty"`   // the contents that a person released from such a list
	Absent     time.Time `json:"absent,omitzero"`      // when a look-up in a first run last found nothing, for the first time
	Operations int       `json:"operations,omitempty"` // how many keys were taken
	Key        string    `json:"key,omitempty"`        // the newest of them
}

// Due is a group that has to be decided.
type Due struct {
	Group Group
	Mark  uint64 // which change made it due
}

// Due returns the groups of a channel that are due, in the order of their references.
func (s *Store) Due(ch Channel) (due []Due, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketDue, text(nil, ch.Account), func(key, value []byte) error {
			var d Due
			if d.Mark, err = markOf(key, value); err != nil {
				return err
			}
			if _, err := get(tx, bucketGroup, key, &d.Group); err != nil {
				return err
			}
			if d.Group.Channel == ch {
				due = append(due, d)
			}
			return nil
		})
	})
	return due, err
}

// MarkDue makes groups due, and stores those that are new.
func (s *Store) MarkDue(account string, groups []Group) error {
	return s.change(func(tx *bbolt.Tx) (bool, error) { return len(groups) > 0, markDue(tx, account, groups) })
}

// Group returns a group by its reference, and whether there is one.
func (s *Store) Group(account, reference string) (g Group, found bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		found, err = get(tx, bucketGroup, text(nil, account, reference), &g)
		return err
	})
	return g, found, err
}

// Groups calls visit for each group of an account, in the order of references.
func (s *Store) Groups(account string, visit func(Group) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketGroup, text(nil, account), func(key, value []byte) error {
			var g Group
			if err := decode(bucketGroup, key, value, &g); err != nil {
				return err
			}
			return visit(g)
		})
	})
}

func markDue(tx *bbolt.Tx, account string, groups []Group) error {
	for _, g := range groups {
		key := text(nil, account, g.Reference)
		if tx.Bucket(bucketGroup).Get(key) == nil {
			if err := put(tx, bucketGroup, key, g); err != nil {
				return err
			}
		}
		if err := touch(tx, account, g.Reference); err != nil {
			return err
		}
	}
	return nil
}

// touch makes a stored group due by a new mark. A claim may name a subject that is not a group, such
// as a week that a person set aside; then there is nothing to do.
func touch(tx *bbolt.Tx, account, reference string) error {
	key := text(nil, account, reference)
	if tx.Bucket(bucketGroup).Get(key) == nil {
		return nil
	}
	mark, err := tx.Bucket(bucketDue).NextSequence()
	if err != nil {
		return err
	}
	return putBytes(tx, bucketDue, key, number(nil, mark))
}

// settleDue ends being due, unless something else made the group due in between.
func settleDue(tx *bbolt.Tx, account, reference string, mark uint64) (wrote bool, err error) {
	key := text(nil, account, reference)
	value := tx.Bucket(bucketDue).Get(key)
	if value == nil {
		return false, nil
	}
	now, err := markOf(key, value)
	if err != nil || now != mark {
		return false, err
	}
	return true, remove(tx, bucketDue, key)
}

// Billed is an entry as it stands on an invoice.
type Billed struct {
	Week   string              `json:"week"` // id of the week that held it
	Member tracker.Ref         `json:"member"`
	Entry  tracker.Entry       `json:"entry"`
	Rate   decimal.NullDecimal `json:"rate,omitzero"` // the hour's price that counted; invalid where the tracker stated an amount
}

// Document is an invoice that was recorded for a group.
type Document struct {
	Reference string             `json:"reference"` // of the group
	Number    int                `json:"number"`    // 1 for the first, 2 for the document "…-2"
	Customer  string             `json:"customer"`
	Tax       string             `json:"tax,omitempty"`
	Receipt   accounting.Receipt `json:"receipt"`
	Billed    []Billed           `json:"billed"`
	Key       string             `json:"key"` // of the operation that wrote it last
	At        time.Time          `json:"at"`  // when it was recorded last
	Adopted   bool               `json:"adopted,omitempty"`
}

func documentKey(account, reference string, n int) []byte {
	return number(text(nil, account, reference), uint64(n))
}

// Documents returns the invoices of a group, the first one first.
func (s *Store) Documents(account, reference string) (docs []Document, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		docs, err = documentsOf(tx, account, reference)
		return err
	})
	return docs, err
}

func documentsOf(tx *bbolt.Tx, account, reference string) (docs []Document, err error) {
	err = scan(tx, bucketReceipt, text(nil, account, reference), func(key, value []byte) error {
		var d Document
		if err := decode(bucketReceipt, key, value, &d); err != nil {
			return err
		}
		docs = append(docs, d)
		return nil
	})
	return docs, err
}

// Recorded returns the ids of all invoices that are recorded for an account.
func (s *Store) Recorded(account string) (ids map[string]bool, err error) {
	ids = map[string]bool{}
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketReceipt, text(nil, account), func(key, value []byte) error {
			var d Document
			err := decode(bucketReceipt, key, value, &d)
			ids[d.Receipt.ID] = true
			return err
		})
	})
	return ids, err
}

// Claim says under which reference an entry is recorded.
type Claim struct {
	Account   string `json:"account"`
	Reference string `json:"reference"`
}

func claimOf(tx *bbolt.Tx, trackerAccount, entry string) (*Claim, error) {
	var c Claim
	known, err := get(tx, bucketClaim, text(nil, trackerAccount, entry), &c)
	if !known || err != nil {
		return nil, err
	}
	return &c, nil
}
