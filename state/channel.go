package state

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/civil"
)

// Channel is one way from a tracker account to an accounting account. Everything that was taken in
// belongs to a channel and not to the name of a sync, so that a sync can be renamed.
type Channel struct {
	Tracker string `json:"tracker"` // the tracker's account, an immutable id
	Account string `json:"account"` // the accounting account, an immutable id
	Prefix  string `json:"prefix"`  // of the references that are made here
}

func (c Channel) key() []byte { return text(nil, c.Tracker, c.Account, c.Prefix) }

// Mode says how careful a channel has to be with what it does not remember.
type Mode string

// The modes of a channel. Each lasts until the first full pass ended.
const (
	Normal   Mode = "normal"
	FirstRun Mode = "first-run" // every due group is looked up before any is created
	Rebuild  Mode = "rebuild"   // what is found is adopted, what is not found waits for a person
)

// Standing is how far a channel has come. A channel without a row is in its first run.
type Standing struct {
	Mode     Mode       `json:"mode"`
	Since    time.Time  `json:"since"`             // when the mode began
	ReadFrom civil.Date `json:"readFrom,omitzero"` // the earliest start from which everything was read; zero: nothing yet
	Reread   time.Time  `json:"reread,omitzero"`   // when the last weeks were read whether they had changed or not
	Empty    time.Time  `json:"empty,omitzero"`    // since when the tracker has been listing suspiciously little
	Parked   time.Time  `json:"parked,omitzero"`   // until when the tracker asked to be left alone
	Paused   time.Time  `json:"paused,omitzero"`   // until when the accounting system did
	Halted   *Halt      `json:"halted,omitempty"`  // a person wants no pass; nil: passes run
	Rules    string     `json:"rules,omitempty"`   // fingerprint of the settings under which groups were made
}

// Halt says who wants a sync to rest, since when, and why.
type Halt struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Note string    `json:"note,omitempty"`
}

// Halt makes a channel rest, or go on where wanted is nil, and writes it into the history of the sync. It reports
// whether that is a change; where it is none, nothing is written.
func (s *Store) Halt(ch Channel, name, who string, now time.Time, wanted *Halt) (changed bool, err error) {
	err = s.change(func(tx *bbolt.Tx) (bool, error) {
		st := s.unknown(now)
		if err := s.standing(tx, ch, &st); err != nil {
			return false, err
		}
		if changed = (st.Halted == nil) != (wanted == nil); !changed {
			return false, nil
		}
		what, detail := "resumed", ""
		if wanted != nil {
			what, detail = "paused", wanted.Note
		}
		st.Halted = wanted
		err := put(tx, bucketChannel, ch.key(), st)
		return true, errors.Join(err, note(tx, ch.Account, name, Event{At: now, What: what, Detail: detail, Who: who}))
	})
	return changed, err
}

// Standing returns the row of a channel; for one without a row, a first run since now.
func (s *Store) Standing(ch Channel, now time.Time) (Standing, error) {
	st := s.unknown(now)
	err := s.view(func(tx *bbolt.Tx) error { return s.standing(tx, ch, &st) })
	return st, err
}

// standing reads the row of a channel. One without a row whose references another tracker account makes, or made,
// is that one under a new name as much as a new one: what was billed has to be found, or a person decides.
func (s *Store) standing(tx *bbolt.Tx, ch Channel, st *Standing) error {
	known, err := get(tx, bucketChannel, ch.key(), st)
	if known || err != nil {
		return err
	}
	return scan(tx, bucketChannel, nil, func(key, _ []byte) error {
		_, rest, err := cut(key)
		if err == nil && bytes.Equal(rest, text(nil, ch.Account, ch.Prefix)) {
			st.Mode = Rebuild
		}
		return err
	})
}

// unknown is the row of a channel that has none: in a copy that is older than the state once was, the
// channel may have been made and used since.
func (s *Store) unknown(now time.Time) Standing {
	if s.older {
		return Standing{Mode: Rebuild, Since: now}
	}
	return Standing{Mode: FirstRun, Since: now}
}

// ChangeStanding changes the row of a channel; a change that leaves it as it is writes nothing.
func (s *Store) ChangeStanding(ch Channel, now time.Time, mend func(*Standing)) error {
	return s.change(func(tx *bbolt.Tx) (bool, error) {
		st := s.unknown(now)
		if err := s.standing(tx, ch, &st); err != nil {
			return false, err
		}
		mend(&st)
		return putChanged(tx, bucketChannel, ch.key(), st)
	})
}

// SetRebuild puts the channels into the mode in which only what is found is adopted.
func (s *Store) SetRebuild(channels []Channel, now time.Time) error {
	return s.update(func(tx *bbolt.Tx) error {
		for _, ch := range channels {
			var st Standing
			if _, err := get(tx, bucketChannel, ch.key(), &st); err != nil {
				return err
			}
			st.Mode, st.Since = Rebuild, now
			if err := put(tx, bucketChannel, ch.key(), st); err != nil {
				return err
			}
		}
		return errors.Join(forgetReleases(tx), doubtKeys(tx))
	})
}

// forgetReleases takes back what persons released: it was said of a state that is not this one.
func forgetReleases(tx *bbolt.Tx) error {
	changed := map[string]Group{}
	err := scan(tx, bucketGroup, nil, func(key, value []byte) error {
		var g Group
		if err := decode(bucketGroup, key, value, &g); err != nil {
			return err
		}
		if g.Released != "" || !g.Absent.IsZero() {
			g.Released, g.Absent = "", time.Time{}
			changed[string(key)] = g
		}
		return nil
	})
	for key, g := range changed {
		err = errors.Join(err, put(tx, bucketGroup, []byte(key), g))
	}
	return err
}

// doubtKeys makes what is known of attempts under open keys unknown: others may have followed.
func doubtKeys(tx *bbolt.Tx) error {
	for _, key := range keysWith(tx, bucketFrozen, nil) {
		var k Key
		if known, err := get(tx, bucketKey, key, &k); err != nil || !known {
			return errors.Join(err, fmt.Errorf("%w: key %q has frozen bytes and no row", ErrDamaged, key))
		}
		k.Unsent, k.Ended, k.Absent = false, time.Time{}, time.Time{}
		if err := put(tx, bucketKey, key, k); err != nil {
			return err
		}
	}
	return nil
}

// Watermark returns the newest change up to which everything was taken in, zero for none.
func (s *Store) Watermark(ch Channel) (t time.Time, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		_, err := get(tx, bucketWatermark, ch.key(), &t)
		return err
	})
	return t, err
}

// AdvanceWatermark moves the watermark to t; it never moves it back.
func (s *Store) AdvanceWatermark(ch Channel, t time.Time) error {
	return s.change(func(tx *bbolt.Tx) (bool, error) {
		var now time.Time
		if _, err := get(tx, bucketWatermark, ch.key(), &now); err != nil || !t.After(now) {
			return false, err
		}
		return true, put(tx, bucketWatermark, ch.key(), t)
	})
}

// Heartbeat is the one row that every pass writes.
type Heartbeat struct {
	Sync     string    `json:"sync"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
	Good     time.Time `json:"good,omitzero"`     // end of the last pass without an error
	Previous time.Time `json:"previous,omitzero"` // beginning of the last good pass
	Error    string    `json:"error,omitempty"`
	Summary  string    `json:"summary,omitempty"` // what the pass did, in words
}

// Beat writes the heartbeat of a channel.
func (s *Store) Beat(ch Channel, h Heartbeat) error {
	return s.update(func(tx *bbolt.Tx) error { return put(tx, bucketHeartbeat, ch.key(), h) })
}

// Heartbeat returns the last pass of a channel; the zero Heartbeat if there was none.
func (s *Store) Heartbeat(ch Channel) (h Heartbeat, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		_, err := get(tx, bucketHeartbeat, ch.key(), &h)
		return err
	})
	return h, err
}

// SliceDone returns when a slice of a backfill was done; the zero time if it was not.
func (s *Store) SliceDone(ch Channel, job string, first civil.Date) (at time.Time, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		_, err := get(tx, bucketSlice, text(ch.key(), job, first.String()), &at)
		return err
	})
	return at, err
}

// FinishSlice remembers that a slice of a backfill is done.
func (s *Store) FinishSlice(ch Channel, job string, first civil.Date, now time.Time) error {
	return s.update(func(tx *bbolt.Tx) error {
		return put(tx, bucketSlice, text(ch.key(), job, first.String()), now)
	})
}

// ForgetSlices ends a backfill: the next one over the same range begins anew.
func (s *Store) ForgetSlices(ch Channel, job string) error {
	return s.change(func(tx *bbolt.Tx) (bool, error) {
		keys := keysWith(tx, bucketSlice, text(ch.key(), job))
		return len(keys) > 0, removeAll(tx, bucketSlice, keys)
	})
}

// Pins returns which line of the customer list each client matched when it was first billed.
func (s *Store) Pins(ch Channel) (map[string]string, error) {
	pins := map[string]string{}
	err := s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketPin, ch.key(), func(key, value []byte) error {
			client, _, err := cut(key[len(ch.key()):])
			if err != nil {
				return err
			}
			var line string
			if err := decode(bucketPin, key, value, &line); err != nil {
				return err
			}
			pins[client] = line
			return nil
		})
	})
	return pins, err
}

// putChanged writes v unless the row holds the same bytes.
func putChanged(tx *bbolt.Tx, bucket, key []byte, v any) (wrote bool, err error) {
	old := bytes.Clone(tx.Bucket(bucket).Get(key))
	if err := put(tx, bucket, key, v); err != nil {
		return false, err
	}
	return !bytes.Equal(old, tx.Bucket(bucket).Get(key)), nil
}

// scan calls visit for each row whose key begins with prefix. Visit must not write to the bucket.
func scan(tx *bbolt.Tx, bucket, prefix []byte, visit func(key, value []byte) error) error {
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := visit(k, v); err != nil {
			return fmt.Errorf("%s: %w", bucket, err)
		}
	}
	return nil
}

// keysWith returns copies of the keys that begin with prefix.
func keysWith(tx *bbolt.Tx, bucket, prefix []byte) (keys [][]byte) {
	c := tx.Bucket(bucket).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return keys
}

func removeAll(tx *bbolt.Tx, bucket []byte, keys [][]byte) error {
	for _, k := range keys {
		if err := remove(tx, bucket, k); err != nil {
			return err
		}
	}
	return nil
}
