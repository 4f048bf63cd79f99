package state

import (
	"time"

	"go.etcd.io/bbolt"
)

// Event is a line of the history of a subject. It is never changed.
type Event struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Detail string    `json:"detail,omitempty"`
	Who    string    `json:"who,omitempty"` // the person who did it; empty: the program
}

// History returns the events of a subject, oldest first.
func (s *Store) History(account, subject string) (events []Event, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketEvent, text(nil, account, subject), func(key, value []byte) error {
			var e Event
			if err := decode(bucketEvent, key, value, &e); err != nil {
				return err
			}
			events = append(events, e)
			return nil
		})
	})
	return events, err
}

// note appends an event.
func note(tx *bbolt.Tx, account, subject string, e Event) error {
	n, err := tx.Bucket(bucketEvent).NextSequence()
	if err != nil {
		return err
	}
	return put(tx, bucketEvent, number(text(nil, account, subject), n), e)
}
