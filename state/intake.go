package state

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/tracker"
)

// Intake is a batch of a traversal, judged: what of it is to be stored.
type Intake struct {
	Weeks  []Change
	Unread []Unread // met in this batch; those met before keep their first time
	Gone   []string // ids of unread records that no longer are
	// Missing are stored weeks that a reading of everything did not name; those noted before keep their first
	// time. Named are stored weeks that it named: nothing is missing of them any more.
	Missing, Named []Place
	Now            time.Time
}

// Change is a week that is to be stored, and what follows from it.
type Change struct {
	Week   tracker.Week
	Head   Head          // as it will be stored; its First is that of the week
	Old    *tracker.Week // the content that is replaced; nil for a new week
	Groups []Group       // of both contents: they are due
	Item   *Item         // what a person must decide of the week; nil closes an open one
	// Noted: the content stays as it is. Without an item it is a newer version of the same, with one
	// it is about content that was not stored.
	Noted bool
}

func (i Intake) empty() bool {
	return len(i.Weeks)+len(i.Unread)+len(i.Gone)+len(i.Missing)+len(i.Named) == 0
}

// TakeIn stores a batch in one transaction together with the groups that are due because of it. It
// returns the items that were opened or changed by it. An empty batch writes nothing.
func (s *Store) TakeIn(ch Channel, in Intake) (asked []Item, err error) {
	if in.empty() {
		return nil, nil
	}
	err = s.change(func(tx *bbolt.Tx) (wrote bool, err error) {
		asked = nil
		for _, c := range in.Weeks {
			one, opened, err := storeWeek(tx, ch, c, in.Now)
			if err != nil {
				return false, err
			}
			if opened {
				asked = append(asked, *c.Item)
			}
			wrote = wrote || one
		}
		unread, err := storeUnread(tx, ch, in)
		if err != nil {
			return false, err
		}
		missing, err := storeMissing(tx, ch, in)
		return wrote || unread || missing, err
	})
	return asked, err
}

// storeUnread writes what could not be read, and forgets what now could.
func storeUnread(tx *bbolt.Tx, ch Channel, in Intake) (wrote bool, err error) {
	for _, u := range in.Unread {
		key := text(ch.key(), u.ID)
		if tx.Bucket(bucketUnread).Get(key) != nil {
			continue
		}
		wrote, u.First = true, in.Now
		if err := put(tx, bucketUnread, key, u); err != nil {
			return false, err
		}
	}
	for _, id := range in.Gone {
		one, err := forgetUnread(tx, ch, id, in.Now)
		if err != nil {
			return false, err
		}
		wrote = wrote || one
	}
	return wrote, nil
}

// forgetUnread removes the row of a record, and the question that was open because of it.
func forgetUnread(tx *bbolt.Tx, ch Channel, id string, now time.Time) (wrote bool, err error) {
	key := text(ch.key(), id)
	if tx.Bucket(bucketUnread).Get(key) == nil {
		return false, nil
	}
	if err := remove(tx, bucketUnread, key); err != nil {
		return false, err
	}
	_, err = closeItem(tx, ch.Account, UnreadSubject(ch, id), "the record could be read", now)
	return true, err
}

// storeWeek writes a week and what follows from it. A change that was only noted, and is noted
// already, writes nothing. Opened says that its item was opened or changed.
func storeWeek(tx *bbolt.Tx, ch Channel, c Change, now time.Time) (wrote, opened bool, err error) {
	read, err := forgetUnread(tx, ch, c.Week.ID, now)
	if err != nil {
		return false, false, err
	}
	if c.Noted {
		wrote, err = noteWeek(tx, ch, c, now)
		return wrote || read, wrote && c.Item != nil, err
	}
	if opened, err = storeWeekItem(tx, ch, c, now); err != nil {
		return false, false, err
	}
	steps := []func() error{
		func() error { return replaceContent(tx, ch, c) },
		func() error { return putHead(tx, ch, c) },
		func() error { return storeHolders(tx, ch, c) },
		func() error { return markDue(tx, ch.Account, c.Groups) },
		func() error { return followClaims(tx, ch, c) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return false, false, err
		}
	}
	return true, opened, nil
}

// noteWeek writes a newer version of the same content, or opens an item about content that was not stored.
func noteWeek(tx *bbolt.Tx, ch Channel, c Change, now time.Time) (wrote bool, err error) {
	if c.Item != nil {
		return openItem(tx, ch.Account, *c.Item, now)
	}
	return true, putHead(tx, ch, c)
}

func putHead(tx *bbolt.Tx, ch Channel, c Change) error {
	payload, err := c.Head.encode()
	if err != nil {
		return fmt.Errorf("week %q: %w", c.Week.ID, err)
	}
	return putBytes(tx, bucketWeek, PlaceOf(c.Week).key(ch), payload)
}

// storeWeekItem opens, changes or closes what a person must decide of the week as a whole.
func storeWeekItem(tx *bbolt.Tx, ch Channel, c Change, now time.Time) (opened bool, err error) {
	if c.Item == nil {
		_, err := closeItem(tx, ch.Account, WeekSubject(ch, c.Week.ID), "a good version was taken in", now)
		return false, err
	}
	return openItem(tx, ch.Account, *c.Item, now)
}

// replaceContent stores the content and keeps the former one.
func replaceContent(tx *bbolt.Tx, ch Channel, c Change) error {
	p := PlaceOf(c.Week)
	if c.Old != nil {
		old := PlaceOf(*c.Old)
		if err := put(tx, bucketFormer, number(p.key(ch), c.Head.Sequence-1), *c.Old); err != nil {
			return err
		}
		if old != p {
			if err := moveWeek(tx, ch, old, p); err != nil {
				return err
			}
		}
	}
	if err := putBytes(tx, bucketPlace, text(ch.key(), p.ID), []byte(p.First.String())); err != nil {
		return err
	}
	return put(tx, bucketContent, p.key(ch), c.Week)
}

// moveWeek leaves nothing of a week at its old place, and takes its former contents along.
func moveWeek(tx *bbolt.Tx, ch Channel, old, p Place) error {
	from := old.key(ch)
	for _, key := range keysWith(tx, bucketFormer, from) {
		value := bytes.Clone(tx.Bucket(bucketFormer).Get(key))
		if err := tx.Bucket(bucketFormer).Put(append(p.key(ch), key[len(from):]...), value); err != nil {
			return err
		}
		if err := remove(tx, bucketFormer, key); err != nil {
			return err
		}
	}
	return errors.Join(remove(tx, bucketWeek, from), remove(tx, bucketContent, from))
}

func holderKey(ch Channel, entry string, p Place) []byte {
	return text(ch.key(), entry, p.First.String(), p.ID)
}

// storeHolders keeps the index that tells which approved weeks hold an entry.
func storeHolders(tx *bbolt.Tx, ch Channel, c Change) error {
	if c.Old != nil && c.Old.State.Approves() {
		for _, e := range c.Old.Entries {
			if err := remove(tx, bucketHolder, holderKey(ch, e.ID, PlaceOf(*c.Old))); err != nil {
				return err
			}
		}
	}
	if !c.Week.State.Approves() {
		return nil
	}
	for _, e := range c.Week.Entries {
		if err := putBytes(tx, bucketHolder, holderKey(ch, e.ID, PlaceOf(c.Week)), nil); err != nil {
			return err
		}
	}
	return nil
}

// followClaims makes every group due under which an entry of the old or the new content is recorded,
// and keeps the list of billed entries that their week no longer holds.
func followClaims(tx *bbolt.Tx, ch Channel, c Change) error {
	held := map[string]bool{}
	for _, e := range c.Week.Entries {
		held[e.ID] = true
	}
	entries := c.Week.Entries
	if c.Old != nil {
		entries = slices.Concat(entries, c.Old.Entries)
	}
	for _, e := range entries {
		claim, err := claimOf(tx, ch.Tracker, e.ID)
		if err != nil {
			return err
		}
		if claim == nil {
			continue
		}
		if err := touch(tx, claim.Account, claim.Reference); err != nil {
			return err
		}
		if err := storeVanished(tx, ch, c, e, held[e.ID], *claim); err != nil {
			return err
		}
	}
	return nil
}

func storeVanished(tx *bbolt.Tx, ch Channel, c Change, e tracker.Entry, held bool, claim Claim) error {
	key := text(ch.key(), e.ID)
	if held || !c.Week.Derived {
		return remove(tx, bucketVanished, key)
	}
	return put(tx, bucketVanished, key, Vanished{claim.Reference, c.Week.Member, e})
}
