package state

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/accounting"
)

// Answer is what the accounting system said of an operation.
type Answer struct {
	Key     string
	Receipt accounting.Receipt
	At      time.Time
	Adopted bool   // found there, not made by this attempt
	Settles bool   // the group's contents are those of the operation: it is no longer due
	Mark    uint64 // which change made it due
}

// Record writes the receipts of a batch in one transaction: the document with what it bills, the
// outcome of the key, and the end of being due.
func (s *Store) Record(account string, answers []Answer) error {
	if len(answers) == 0 {
		return nil
	}
	return s.update(func(tx *bbolt.Tx) error {
		for _, a := range answers {
			if err := record(tx, account, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func record(tx *bbolt.Tx, account string, a Answer) error {
	k, f, err := keyOf(tx, account, a.Key)
	if err != nil {
		return err
	}
	if k == nil || f == nil {
		return fmt.Errorf("%w: key %s was answered and is not open", ErrDamaged, a.Key)
	}
	var g Group
	groupKey := text(nil, account, k.Reference)
	if _, err := get(tx, bucketGroup, groupKey, &g); err != nil {
		return err
	}
	before, err := recordDocument(tx, account, *k, *f, a)
	if err != nil {
		return err
	}
	if err := finish(tx, account, *k, Done); err != nil {
		return err
	}
	if err := releaseEntries(tx, g.Channel, k.Reference, before); err != nil {
		return err
	}
	if a.Settles {
		if _, err := settleDue(tx, account, k.Reference, a.Mark); err != nil {
			return err
		}
	}
	if g.Lost || !g.Absent.IsZero() {
		g.Lost, g.Absent = false, time.Time{}
		if err := put(tx, bucketGroup, groupKey, g); err != nil {
			return err
		}
	}
	return note(tx, account, k.Reference, Event{At: a.At, What: said(*k, a)})
}

// recordDocument writes the document and returns what it billed before.
func recordDocument(tx *bbolt.Tx, account string, k Key, f Frozen, a Answer) ([]Billed, error) {
	key := documentKey(account, k.Reference, k.Document)
	var before Document
	if _, err := get(tx, bucketReceipt, key, &before); err != nil {
		return nil, err
	}
	return before.Billed, put(tx, bucketReceipt, key, Document{
		Reference: k.Reference, Number: k.Document, Customer: f.Invoice.Customer, Tax: f.Invoice.Tax,
		Receipt: a.Receipt, Billed: f.Billed, Key: k.Name, At: a.At, Adopted: a.Adopted,
	})
}

func said(k Key, a Answer) string {
	what := "created"
	switch {
	case a.Adopted:
		what = "found and adopted"
	case k.Act == Update:
		what = "updated"
	}
	return fmt.Sprintf("%s: %s %s, %s", what, a.Receipt.Status, a.Receipt.ID, a.Receipt.Currency.Format(a.Receipt.Net))
}

// Conclusion is what was decided of a group without anything being sent. Its zero parts change nothing.
type Conclusion struct {
	Reference string
	Mark      uint64
	Settled   bool    // it is no longer due
	Done      *string // why nothing is to be billed; empty: something is
	Waiting   *time.Time
	Lost      *bool
	Released  *Digest
	Absent    *time.Time
	Item      *Item   // what a person must decide
	Close     string  // why an open item is closed; empty: it is not
	Drop      Outcome // of the key that is open; Unknown: it stays open
	Keep      bool    // of a dropped key: its entries stay recorded, since an invoice may bear them
	Error     string  // why it was dropped or refused
}

// Conclude writes the conclusions of a batch in one transaction, and returns the items that were
// opened or changed by it. Conclusions that change nothing write nothing.
func (s *Store) Conclude(account string, cs []Conclusion, now time.Time) (asked []Item, err error) {
	if len(cs) == 0 {
		return nil, nil
	}
	err = s.change(func(tx *bbolt.Tx) (wrote bool, err error) {
		asked = nil
		for _, c := range cs {
			one, opened, err := conclude(tx, account, c, now)
			if err != nil {
				return false, fmt.Errorf("%s: %w", c.Reference, err)
			}
			if opened {
				asked = append(asked, *c.Item)
			}
			wrote = wrote || one || opened
		}
		return wrote, nil
	})
	return asked, err
}

func conclude(tx *bbolt.Tx, account string, c Conclusion, now time.Time) (wrote, opened bool, err error) {
	if c.Drop != Unknown {
		if err := dropKey(tx, account, c, now); err != nil {
			return false, false, err
		}
	}
	grouped, err := concludeGroup(tx, account, c, now)
	if err != nil {
		return false, false, err
	}
	closed, err := c.close(tx, account, now)
	if err != nil {
		return false, false, err
	}
	if c.Item != nil {
		if opened, err = openItem(tx, account, *c.Item, now); err != nil {
			return false, false, err
		}
	}
	settled, err := c.settle(tx, account)
	return grouped || closed || settled || c.Drop != Unknown, opened, err
}

func (c Conclusion) close(tx *bbolt.Tx, account string, now time.Time) (bool, error) {
	if c.Close == "" {
		return false, nil
	}
	return closeItem(tx, account, c.Reference, c.Close, now)
}

func (c Conclusion) settle(tx *bbolt.Tx, account string) (bool, error) {
	if !c.Settled {
		return false, nil
	}
	return settleDue(tx, account, c.Reference, c.Mark)
}

func concludeGroup(tx *bbolt.Tx, account string, c Conclusion, now time.Time) (bool, error) {
	var g Group
	key := text(nil, account, c.Reference)
	known, err := get(tx, bucketGroup, key, &g)
	if !known || err != nil {
		return false, err
	}
	if c.Done != nil && *c.Done != "" && *c.Done != g.Done {
		if err := note(tx, account, c.Reference, Event{At: now, What: "nothing to bill: " + *c.Done}); err != nil {
			return false, err
		}
	}
	set(&g.Done, c.Done)
	set(&g.Waiting, c.Waiting)
	set(&g.Lost, c.Lost)
	set(&g.Released, c.Released)
	set(&g.Absent, c.Absent)
	return putChanged(tx, bucketGroup, key, g)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// dropKey ends the open key of a group without a receipt and lets its entries go.
func dropKey(tx *bbolt.Tx, account string, c Conclusion, now time.Time) error {
	var g Group
	if _, err := get(tx, bucketGroup, text(nil, account, c.Reference), &g); err != nil {
		return err
	}
	k, f, err := keyOf(tx, account, g.Key)
	if err != nil {
		return err
	}
	if k == nil || f == nil {
		return fmt.Errorf("%w: key %s is not open", ErrDamaged, g.Key)
	}
	if err := finish(tx, account, *k, c.Drop); err != nil {
		return err
	}
	if !c.Keep {
		if err := releaseEntries(tx, g.Channel, c.Reference, f.Billed); err != nil {
			return err
		}
	}
	return note(tx, account, c.Reference, Event{At: now, What: fmt.Sprintf("key %s %s", k.Name, c.Drop), Detail: c.Error})
}
