package state

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// A gap between two signs of life that is longer than longGap is taken for a clock that was set
// forward as much as for a long rest. A clock that is behind the last sign of life by more than
// setBack was set back.
const (
	longGap = 30 * 24 * time.Hour
	setBack = time.Minute
)

// Clock is the time of a pass, and what is known against it. It decides which keys have expired.
type Clock struct {
	Now  time.Time
	Note string // what an admin should know of the clock; empty if nothing
	jump jump
}

// jump is a long gap: from the last sign of life before it to the first one after it.
type jump struct {
	From time.Time `json:"from"`
	At   time.Time `json:"at"`
}

// Expired reports whether a key that was first seen at first has lived for ttl: at exactly first + ttl
// it has. The time of a long gap does not count, since nobody can tell it from a clock set forward.
func (c Clock) Expired(first time.Time, ttl time.Duration) bool {
	now := c.Now
	if !c.jump.At.IsZero() && first.Before(c.jump.At) {
		now = c.jump.From.Add(c.Now.Sub(c.jump.At))
		if end := first.Add(ttl); !end.After(c.jump.From) {
			return true
		}
	}
	return !now.Before(first.Add(ttl))
}

// Observe takes the time of a pass or sweep and compares it with the last sign of life.
func (s *Store) Observe(now time.Time) (Clock, error) {
	clock := Clock{Now: now}
	err := s.change(func(tx *bbolt.Tx) (wrote bool, err error) {
		last, err := lastSign(tx)
		if err != nil {
			return false, err
		}
		key := []byte("clock")
		known, err := get(tx, bucketMeta, key, &clock.jump)
		if err != nil || last.IsZero() {
			return false, err
		}
		switch {
		case now.Before(last.Add(-setBack)):
			clock.Note = fmt.Sprintf("the clock says %s, but the last pass ended at %s: was it set back?", now.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
			if known && now.Before(clock.jump.At) {
				clock.jump = jump{}
				return true, remove(tx, bucketMeta, key)
			}
		case now.Sub(last) > longGap:
			clock.Note = fmt.Sprintf("the last pass ended at %s, %d days ago: the gap is not counted against the life of any key", last.UTC().Format(time.RFC3339), int(now.Sub(last).Hours()/24))
			clock.jump = jump{last, now}
			return true, put(tx, bucketMeta, key, clock.jump)
		}
		return false, nil
	})
	return clock, err
}

// lastSign returns the newest end of a pass, of any channel; zero if there was none.
func lastSign(tx *bbolt.Tx) (last time.Time, err error) {
	err = scan(tx, bucketHeartbeat, nil, func(key, value []byte) error {
		var h Heartbeat
		if err := decode(bucketHeartbeat, key, value, &h); err != nil {
			return err
		}
		if h.Ended.After(last) {
			last = h.Ended
		}
		return nil
	})
	return last, err
}
