package state

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Known is a stored week, without its content.
type Known struct {
	Place
	State tracker.State
}

// Known returns the weeks whose period begins in the range, in order; an end that is zero is open.
func (s *Store) Known(ch Channel, first civil.Period) (all []Known, err error) {
	from := text(ch.key(), first.First.String())
	from = from[:len(from)-2]
	err = s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketWeek).Cursor()
		for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, ch.key()); k, v = c.Next() {
			p, err := placeAt(ch, k)
			if err != nil {
				return err
			}
			if !first.Last.IsZero() && p.First.After(first.Last) {
				return nil
			}
			head, err := decodeHead(k, v)
			if err != nil {
				return err
			}
			all = append(all, Known{p, head.State})
		}
		return nil
	})
	return all, err
}

// placeAt reads a place out of a key that begins with a channel.
func placeAt(ch Channel, key []byte) (p Place, err error) {
	day, rest, err := cut(key[len(ch.key()):])
	if err != nil {
		return p, err
	}
	if p.First, err = civil.Parse(day); err != nil {
		return p, fmt.Errorf("%w: week %q: %v", ErrDamaged, key, err)
	}
	p.ID, _, err = cut(rest)
	return p, err
}

// Missing returns the weeks that readings of everything no longer name, and since when.
func (s *Store) Missing(ch Channel) (all map[Place]time.Time, err error) {
	all = map[Place]time.Time{}
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketMissing, ch.key(), func(key, value []byte) error {
			p, err := placeAt(ch, key)
			if err != nil {
				return err
			}
			var since time.Time
			err = decode(bucketMissing, key, value, &since)
			all[p] = since
			return err
		})
	})
	return all, err
}

// storeMissing notes weeks that a reading of everything did not name, and forgets those that are named
// again, with the question that was open because of it.
func storeMissing(tx *bbolt.Tx, ch Channel, in Intake) (wrote bool, err error) {
	for _, p := range in.Missing {
		if tx.Bucket(bucketMissing).Get(p.key(ch)) == nil {
			wrote, err = true, errors.Join(err, put(tx, bucketMissing, p.key(ch), in.Now))
		}
	}
	for _, p := range in.Named {
		if tx.Bucket(bucketMissing).Get(p.key(ch)) != nil {
			wrote, err = true, errors.Join(err, named(tx, ch, p, in.Now))
		}
	}
	return wrote, err
}

func named(tx *bbolt.Tx, ch Channel, p Place, now time.Time) error {
	if err := remove(tx, bucketMissing, p.key(ch)); err != nil {
		return err
	}
	subject := WeekSubject(ch, p.ID)
	item, err := itemOf(tx, ch.Account, subject)
	if err != nil || item == nil || item.Kind != Withdrawn || item.Status != Undecided {
		return err
	}
	_, err = closeItem(tx, ch.Account, subject, "the tracker names the week again", now)
	return err
}
