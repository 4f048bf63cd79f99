package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// batch is how many rows one transaction of a sweep deletes at most.
const batch = 1000

// Swept says what a sweep did.
type Swept struct {
	Keys   int // deleted since they had expired
	Broken int // rows that could not be read, and were left alone; `state check` names them
}

// Sweep deletes the keys that have lived for ttl, through the expiry index: its cost follows what has
// expired and not what is stored. Whether a key is expired never depends on a sweep having run.
func (s *Store) Sweep(clock Clock, ttl time.Duration) (total Swept, err error) {
	from := []byte{}
	for from != nil {
		var one Swept
		err := s.change(func(tx *bbolt.Tx) (bool, error) {
			one, from, err = sweepBatch(tx, clock, ttl, from)
			return one.Keys > 0, err
		})
		if err != nil {
			return total, err
		}
		total.Keys += one.Keys
		total.Broken += one.Broken
	}
	return total, nil
}

// sweepBatch deletes up to a batch from the row at from on, and returns where to go on, nil at the end.
// It collects first and deletes then: a cursor that deletes skips rows.
func sweepBatch(tx *bbolt.Tx, clock Clock, ttl time.Duration, from []byte) (done Swept, next []byte, err error) {
	var rows [][]byte
	c := tx.Bucket(bucketExpiry).Cursor()
	k, _ := c.Seek(from)
	for ; k != nil && len(rows) < batch; k, _ = c.Next() {
		if first, ok := firstSeen(k); ok && !clock.Expired(first, ttl) {
			k = nil
			break
		}
		rows = append(rows, bytes.Clone(k))
	}
	next = bytes.Clone(k)
	for _, row := range rows {
		switch err := sweepRow(tx, row); {
		case errors.Is(err, ErrDamaged):
			done.Broken++
		case err != nil:
			return done, nil, err
		default:
			done.Keys++
		}
	}
	return done, next, nil
}

// firstSeen returns the time that a row of the index begins with, and whether it has one.
func firstSeen(row []byte) (first time.Time, ok bool) {
	if len(row) < 8 {
		return time.Time{}, false
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(row))), true
}

// sweepRow deletes a row of the index and its key. A key that cannot be read, that has no outcome or
// that was first seen at another time is damage, and stays.
func sweepRow(tx *bbolt.Tx, row []byte) error {
	first, ok := firstSeen(row)
	if !ok {
		return fmt.Errorf("%w: expiry %q: not a time", ErrDamaged, row)
	}
	var k Key
	known, err := get(tx, bucketKey, row[8:], &k)
	if err != nil {
		return err
	}
	if known && (k.Outcome == Unknown || !k.First.Equal(first)) {
		return fmt.Errorf("%w: expiry %q: not what its key says", ErrDamaged, row)
	}
	if err := remove(tx, bucketKey, row[8:]); err != nil {
		return err
	}
	return remove(tx, bucketExpiry, row)
}
