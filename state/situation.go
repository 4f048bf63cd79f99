package state

import "go.etcd.io/bbolt"

// Situation is all that is remembered of a group, read at one moment.
type Situation struct {
	Group     Group
	Documents []Document
	Key       *Key    // the newest operation; nil if there was none, or it was swept
	Frozen    *Frozen // while the outcome of Key is unknown
	Item      *Item
	Claims    map[string]Claim // of the entries that were asked for
	Shared    []string         // those of them that more than one approved week holds
}

// Situation reads what is remembered of a group and of the entries that it would bill.
func (s *Store) Situation(ch Channel, reference string, entries []string) (sit Situation, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		if _, err := get(tx, bucketGroup, text(nil, ch.Account, reference), &sit.Group); err != nil {
			return err
		}
		if sit.Documents, err = documentsOf(tx, ch.Account, reference); err != nil {
			return err
		}
		if sit.Group.Key != "" {
			if sit.Key, sit.Frozen, err = keyOf(tx, ch.Account, sit.Group.Key); err != nil {
				return err
			}
		}
		if sit.Item, err = itemOf(tx, ch.Account, reference); err != nil {
			return err
		}
		return sit.readEntries(tx, ch, entries)
	})
	return sit, err
}

func (sit *Situation) readEntries(tx *bbolt.Tx, ch Channel, entries []string) error {
	sit.Claims = map[string]Claim{}
	for _, id := range entries {
		claim, err := claimOf(tx, ch.Tracker, id)
		if err != nil {
			return err
		}
		if claim != nil {
			sit.Claims[id] = *claim
		}
		if len(keysWith(tx, bucketHolder, text(ch.key(), id))) > 1 {
			sit.Shared = append(sit.Shared, id)
		}
	}
	return nil
}
