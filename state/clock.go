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
	Now   time.Time
	Note  string // what an admin should know of the clock; empty if nothing
	jumps []jump // in the order of time
}

// jump is a long gap: from the last sign of life before it to the first one after it.
type jump struct {
	From time.Time `json:"from"`
	At   time.Time `json:"at"`
}

// Expired reports whether a key that was first seen at first has lived for ttl: at exactly first + ttl
// it has. The time of a long gap does not count, since nobody can tell it from a clock set forward.
func (c Clock) Expired(first time.Time, ttl time.Duration) bool {
	lived := c.Now.Sub(first)
	for _, j := range c.jumps {
		if first.Before(j.At) {
			lived -= j.At.Sub(later(first, j.From))
		}
	}
	return lived >= ttl
}

// Observe takes the time of a pass or sweep and compares it with the last sign of life.
func (s *Store) Observe(now time.Time) (Clock, error) {
	clock := Clock{Now: now}
	err := s.change(func(tx *bbolt.Tx) (wrote bool, err error) {
		last, err := lastSign(tx)
		if err != nil {
			return false, err
		}
		known, err := get(tx, bucketMeta, keyClock, &clock.jumps)
		if err != nil {
			return false, err
		}
		if known && len(clock.jumps) > 0 {
			// The process may have died before its first pass after the gap ended.
			last = later(last, clock.jumps[len(clock.jumps)-1].At)
		}
		if last.IsZero() || !clock.compare(last) {
			return false, nil
		}
		return true, put(tx, bucketMeta, keyClock, clock.jumps)
	})
	return clock, err
}

// compare judges Now by the last sign of life, and reports whether the known jumps changed by it.
func (c *Clock) compare(last time.Time) (changed bool) {
	switch gap := c.Now.Sub(last); {
	case gap < -setBack:
		c.Note = fmt.Sprintf("the clock says %s, but the last pass ended at %s: was it set back?", c.Now.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
		return c.takeBack()
	case gap > longGap:
		c.Note = fmt.Sprintf("the last pass ended at %s, %d days ago: the gap is not counted against the life of any key", last.UTC().Format(time.RFC3339), int(gap.Hours()/24))
		c.jumps = append(c.jumps, jump{last, c.Now})
		return true
	}
	return false
}

// takeBack corrects the jumps that lead past Now: what is left of such a gap counts as one only if it
// is still long.
func (c *Clock) takeBack() (changed bool) {
	for len(c.jumps) > 0 {
		j := &c.jumps[len(c.jumps)-1]
		if !c.Now.Before(j.At) {
			break
		}
		changed = true
		if c.Now.Sub(j.From) > longGap {
			j.At = c.Now
			break
		}
		c.jumps = c.jumps[:len(c.jumps)-1]
	}
	return changed
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}

// lastSign returns the newest end of a pass, of any channel; zero if there was none.
func lastSign(tx *bbolt.Tx) (last time.Time, err error) {
	err = scan(tx, bucketHeartbeat, nil, func(key, value []byte) error {
		var h Heartbeat
		if err := decode(bucketHeartbeat, key, value, &h); err != nil {
			return err
		}
		last = later(last, h.Ended)
		return nil
	})
	return last, err
}
