package state

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// Space is how much room a state file takes. The zero Space is that of no file.
type Space struct {
	Size int64 `json:"size"` // bytes up to the last page in use; up to 1 MiB of room to grow may follow
	Free int64 `json:"free"` // bytes of it on free pages
}

// Wasteful reports whether compaction is worth its while: the file is larger than 64 MiB, and more than half
// of it is free.
func (s Space) Wasteful() bool {
	const large = 64 << 20
	return s.Size > large && s.Free > s.Size/2
}

// Stats are the figures of the open state.
type Stats struct {
	Space
	Rows map[string]int `json:"rows"` // by kind
}

// Stats counts what the state holds. It looks at each page once but at no value, which takes about five
// milliseconds for each hundred megabytes where they are in memory, and reads the file where they are not: good
// for a person who asks, too much for every pass.
func (s *Store) Stats() (st Stats, err error) {
	st.Rows = map[string]int{}
	err = s.view(func(tx *bbolt.Tx) error {
		st.Space = spaceOf(tx)
		for _, name := range buckets() {
			b := tx.Bucket(name)
			if b == nil {
				return fmt.Errorf("%w: bucket %s is missing", ErrDamaged, name)
			}
			st.Rows[string(name)] = b.Stats().KeyN
		}
		return nil
	})
	return st, err
}

// Space returns how much room the state takes. It costs nothing.
func (s *Store) Space() (space Space, err error) {
	err = s.view(func(tx *bbolt.Tx) error { space = spaceOf(tx); return nil })
	return space, err
}

func spaceOf(tx *bbolt.Tx) Space {
	stats := tx.DB().Stats()
	return Space{tx.Size(), int64(stats.FreePageN+stats.PendingPageN) * int64(tx.DB().Info().PageSize)}
}
