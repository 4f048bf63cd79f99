package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Digest is a fingerprint of contents. It begins with the number of its recipe and a colon; the
// empty Digest means that there are no contents.
type Digest string

// Nothing is what a person accepted where there were no contents.
const Nothing Digest = "nothing"

// Recipe returns what stands before the colon.
func (d Digest) Recipe() string {
	recipe, _, _ := strings.Cut(string(d), ":")
	return recipe
}

// Head is what has to be known of a stored week to judge an incoming one.
type Head struct {
	First    civil.Date // of its period
	Version  tracker.Version
	State    tracker.State
	Digest   Digest
	Sequence uint64 // local: 1 for the first content, then one more for each
}

// Place is where a week is stored: the first day of its period and its id.
type Place struct {
	First civil.Date
	ID    string
}

// PlaceOf returns where w is stored.
func PlaceOf(w tracker.Week) Place { return Place{w.Period.First, w.ID} }

// Compare orders places as the file does.
func (p Place) Compare(q Place) int {
	if c := p.First.Compare(q.First); c != 0 {
		return c
	}
	return strings.Compare(p.ID, q.ID)
}

func (p Place) key(ch Channel) []byte { return text(ch.key(), p.First.String(), p.ID) }

// kinds are the kinds of version as bytes of a head; a new one is added at the end.
func kinds() []tracker.Kind { return []tracker.Kind{tracker.None, tracker.Stamp, tracker.Exact} }

// states are the states of a week as bytes of a head; a new one is added at the end.
func states() []tracker.State {
	return []tracker.State{tracker.Approved, tracker.Pending, tracker.Withdrawn, tracker.Growing}
}

// encode refuses what decodeHead could not read.
func (h Head) encode() ([]byte, error) {
	kind, state := slices.Index(kinds(), h.Version.Kind), slices.Index(states(), h.State)
	if kind < 0 || state < 0 {
		return nil, fmt.Errorf("no such version or state: %q, %q", h.Version.Kind, h.State)
	}
	b := []byte{byte(kind), byte(state)}
	b = binary.BigEndian.AppendUint64(b, uint64(h.Version.Number))
	b = binary.BigEndian.AppendUint64(b, h.Sequence)
	return append(b, h.Digest...), nil
}

func decodeHead(key, value []byte) (h Head, err error) {
	b, err := unseal(value)
	if err != nil {
		return h, fmt.Errorf("week %q: %w", key, err)
	}
	if h, err = readHead(b); err != nil {
		return h, fmt.Errorf("%w: week %q: %v", ErrDamaged, key, err)
	}
	return h, nil
}

// readHead reads what encode wrote.
func readHead(b []byte) (h Head, err error) {
	if len(b) < 18 || int(b[0]) >= len(kinds()) || int(b[1]) >= len(states()) {
		return h, errors.New("not a head")
	}
	h.Version = tracker.Version{Kind: kinds()[b[0]], Number: int64(binary.BigEndian.Uint64(b[2:]))}
	h.State = states()[b[1]]
	h.Sequence = binary.BigEndian.Uint64(b[10:])
	h.Digest = Digest(b[18:])
	return h, nil
}

// Heads returns the stored heads of the weeks at places, which must be sorted; nil where none is
// stored. One cursor walks over all of them, so that the cost does not grow with the file.
func (s *Store) Heads(ch Channel, places []Place) ([]*Head, error) {
	heads := make([]*Head, len(places))
	err := s.view(func(tx *bbolt.Tx) error {
		walk := walker{cursor: tx.Bucket(bucketWeek).Cursor()}
		for i, p := range places {
			key := p.key(ch)
			value := walk.to(key)
			if value == nil {
				head, err := movedHead(tx, ch, p)
				if err != nil {
					return err
				}
				heads[i] = head
				continue
			}
			head, err := decodeHead(key, value)
			if err != nil {
				return err
			}
			head.First, heads[i] = p.First, &head
		}
		return nil
	})
	return heads, err
}

// movedHead finds a week whose period has moved; nil if the week is not stored at all.
func movedHead(tx *bbolt.Tx, ch Channel, p Place) (*Head, error) {
	day, err := getBytes(tx, bucketPlace, text(ch.key(), p.ID))
	if day == nil || err != nil {
		return nil, err
	}
	first, err := civil.Parse(string(day))
	if err != nil {
		return nil, fmt.Errorf("%w: place of %q: %v", ErrDamaged, p.ID, err)
	}
	key := Place{first, p.ID}.key(ch)
	value := tx.Bucket(bucketWeek).Get(key)
	if value == nil {
		return nil, fmt.Errorf("%w: week %q has a place and no row", ErrDamaged, p.ID)
	}
	head, err := decodeHead(key, value)
	head.First = first
	return &head, err
}

// walker goes forward through a bucket over keys that are asked for in order.
type walker struct {
	cursor     *bbolt.Cursor
	key, value []byte
	begun      bool
}

// to returns the value at key, nil if there is none. A near key is reached by steps, a far one by a search.
func (w *walker) to(key []byte) []byte {
	if !w.begun {
		w.begun = true
		w.key, w.value = w.cursor.Seek(key)
	}
	for range 8 {
		if w.key == nil || bytes.Compare(w.key, key) >= 0 {
			break
		}
		w.key, w.value = w.cursor.Next()
	}
	if w.key != nil && bytes.Compare(w.key, key) < 0 {
		w.key, w.value = w.cursor.Seek(key)
	}
	if !bytes.Equal(w.key, key) {
		return nil
	}
	return w.value
}

// Content returns a week as it was last taken in.
func (s *Store) Content(ch Channel, p Place) (w tracker.Week, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		known, err := get(tx, bucketContent, p.key(ch), &w)
		if err == nil && !known {
			err = fmt.Errorf("%w: week %q has no content", ErrDamaged, p.ID)
		}
		return err
	})
	return w, err
}

// Find returns a week by its id as it was last taken in, and whether there is one.
func (s *Store) Find(ch Channel, id string) (w tracker.Week, found bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		day, err := getBytes(tx, bucketPlace, text(ch.key(), id))
		if day == nil || err != nil {
			return err
		}
		found, err = get(tx, bucketContent, text(ch.key(), string(day), id), &w)
		return err
	})
	return w, found, err
}

// Former returns what a week was before, oldest first.
func (s *Store) Former(ch Channel, p Place) (weeks []tracker.Week, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketFormer, p.key(ch), func(key, value []byte) error {
			var w tracker.Week
			if err := decode(bucketFormer, key, value, &w); err != nil {
				return err
			}
			weeks = append(weeks, w)
			return nil
		})
	})
	return weeks, err
}

// page is how many weeks one read transaction decodes at most, so that no reader lives long.
const page = 500

// Weeks calls visit for the weeks whose period begins in the range, in order; an end that is zero is open.
// Visit runs outside of any transaction.
func (s *Store) Weeks(ch Channel, first civil.Period, visit func(tracker.Week) error) error {
	next := text(ch.key(), first.First.String())
	next = next[:len(next)-2]
	for next != nil {
		weeks, more, err := s.pageOfWeeks(ch, next, first.Last)
		if err != nil {
			return err
		}
		for _, w := range weeks {
			if err := visit(w); err != nil {
				return err
			}
		}
		next = more
	}
	return nil
}

// pageOfWeeks decodes up to a page from key on and returns the key to go on with, nil at the end.
func (s *Store) pageOfWeeks(ch Channel, from []byte, last civil.Date) (weeks []tracker.Week, next []byte, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketContent).Cursor()
		for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, ch.key()); k, v = c.Next() {
			if len(weeks) == page {
				next = bytes.Clone(k)
				return nil
			}
			var w tracker.Week
			if err := decode(bucketContent, k, v, &w); err != nil {
				return err
			}
			if !last.IsZero() && w.Period.First.After(last) {
				return nil
			}
			weeks = append(weeks, w)
		}
		return nil
	})
	return weeks, next, err
}

// Vanished is an entry that was billed and that its week no longer holds.
type Vanished struct {
	Reference string        `json:"reference"` // the group that billed it
	Member    tracker.Ref   `json:"member"`
	Entry     tracker.Entry `json:"entry"`
}

// Vanished returns the billed entries that their weeks no longer hold.
func (s *Store) Vanished(ch Channel) (all []Vanished, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketVanished, ch.key(), func(key, value []byte) error {
			var v Vanished
			if err := decode(bucketVanished, key, value, &v); err != nil {
				return err
			}
			all = append(all, v)
			return nil
		})
	})
	return all, err
}

// Unread is a record that was announced and could not be read.
type Unread struct {
	ID     string    `json:"id"`
	First  time.Time `json:"first"` // when it was first met
	Reason string    `json:"reason"`
}

// Unread returns the records of a channel that could not be read yet.
func (s *Store) Unread(ch Channel) (all []Unread, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketUnread, ch.key(), func(key, value []byte) error {
			var u Unread
			if err := decode(bucketUnread, key, value, &u); err != nil {
				return err
			}
			all = append(all, u)
			return nil
		})
	})
	return all, err
}
