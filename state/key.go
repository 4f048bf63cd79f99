package state

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/accounting"
)

// Act is what an operation does to the accounting system.
type Act string

// The operations that exist. There is none that sends, voids or deletes.
const (
	Create Act = "create"
	Update Act = "update"
)

// Outcome is what is known of an operation. A key whose outcome is not known never expires.
type Outcome string

// The outcomes.
const (
	Unknown Outcome = ""        // claimed, and perhaps sent
	Done    Outcome = "done"    // the receipt is recorded
	Refused Outcome = "refused" // the accounting system refused it, nothing was written
	Dropped Outcome = "dropped" // proven to have had no effect, and no longer wanted
)

// Key is the outbound key of one operation. First is never refreshed.
type Key struct {
	Name      string    `json:"name"`
	Reference string    `json:"reference"` // of the group; the name begins with it
	Document  int       `json:"document"`  // which document of the group
	Act       Act       `json:"act"`
	First     time.Time `json:"first"` // first seen
	Digest    Digest    `json:"digest"`
	Outcome   Outcome   `json:"outcome,omitempty"`
	Unsent    bool      `json:"unsent,omitempty"` // the last attempt surely had no effect
	Ended     time.Time `json:"ended,omitzero"`   // when the last attempt ended; zero: none is known to have ended
	Absent    time.Time `json:"absent,omitzero"`  // when a look-up after it found nothing, for the first time
	Error     string    `json:"error,omitempty"`  // of the last attempt
}

// Frozen is what an operation sends and what it bills. It is kept until the outcome is known.
type Frozen struct {
	Invoice  accounting.Invoice  `json:"invoice"`
	Request  accounting.Request  `json:"request"`
	Billed   []Billed            `json:"billed"`
	Left     accounting.Receipt  `json:"left,omitzero"` // the draft that an update starts from
	Progress accounting.Progress `json:"progress,omitzero"`
}

// KeyName returns the name of the n-th operation on a reference: the first is the reference itself.
func KeyName(reference string, n int) string {
	if n == 1 {
		return reference
	}
	return fmt.Sprintf("%s.%d", reference, n)
}

// Operation is a key that is to be claimed.
type Operation struct {
	Reference string
	After     int // how many keys the group had taken when this was decided
	Document  int
	Act       Act
	Digest    Digest
	Frozen    Frozen
	Client    string // id of the client that is pinned by it; empty: none
	Line      string // the line of the customer list that it matched
}

// Why an operation is not claimed. Nothing of it is written.
var (
	// ErrClaimed means that another operation on the reference was claimed first, or that a person has it.
	ErrClaimed = errors.New("another operation was claimed first, or a person has it")
	// ErrTaken means that an entry is recorded under another reference. A person has to decide.
	ErrTaken = errors.New("an entry is recorded under another reference")
)

// Claim inserts the keys of a batch in one transaction, each with its frozen request and its entries.
// The slice holds, for each operation, nil or why it was refused.
func (s *Store) Claim(account, trackerAccount string, ops []Operation, now time.Time) ([]error, error) {
	refused := make([]error, len(ops))
	err := s.change(func(tx *bbolt.Tx) (wrote bool, err error) {
		for i, op := range ops {
			err := claim(tx, account, trackerAccount, op, now)
			switch {
			case errors.Is(err, ErrClaimed), errors.Is(err, ErrTaken):
				refused[i] = err
			case err != nil:
				return false, err
			default:
				wrote = true
			}
		}
		return wrote, nil
	})
	return refused, err
}

// claim checks everything before it writes anything, so that a refused operation leaves no trace.
func claim(tx *bbolt.Tx, account, trackerAccount string, op Operation, now time.Time) error {
	var g Group
	groupKey := text(nil, account, op.Reference)
	known, err := get(tx, bucketGroup, groupKey, &g)
	if err != nil {
		return err
	}
	name := KeyName(op.Reference, op.After+1)
	key := text(nil, account, name)
	if !known || g.Operations != op.After || tx.Bucket(bucketKey).Get(key) != nil || tx.Bucket(bucketItem).Get(groupKey) != nil {
		return fmt.Errorf("%s: %w", name, ErrClaimed)
	}
	if err := freeEntries(tx, account, trackerAccount, op); err != nil {
		return err
	}
	row := Key{Name: name, Reference: op.Reference, Document: op.Document, Act: op.Act, First: now, Digest: op.Digest}
	if err := put(tx, bucketKey, key, row); err != nil {
		return err
	}
	if err := put(tx, bucketFrozen, key, op.Frozen); err != nil {
		return err
	}
	g.Operations, g.Key, g.Done, g.Waiting = op.After+1, name, "", time.Time{}
	if err := put(tx, bucketGroup, groupKey, g); err != nil {
		return err
	}
	if err := claimEntries(tx, account, trackerAccount, op.Reference, op.Frozen.Billed); err != nil {
		return err
	}
	if err := pin(tx, g.Channel, op); err != nil {
		return err
	}
	what := fmt.Sprintf("%s of %s claimed under key %s", op.Act, op.Frozen.Invoice.Currency.Format(op.Frozen.Invoice.Net()), name)
	return note(tx, account, op.Reference, Event{At: now, What: what})
}

func freeEntries(tx *bbolt.Tx, account, trackerAccount string, op Operation) error {
	for _, b := range op.Frozen.Billed {
		c, err := claimOf(tx, trackerAccount, b.Entry.ID)
		if err != nil {
			return err
		}
		if c != nil && (c.Account != account || c.Reference != op.Reference) {
			return fmt.Errorf("%s: entry %s is recorded under %s: %w", op.Reference, b.Entry.ID, c.Reference, ErrTaken)
		}
	}
	return nil
}

func claimEntries(tx *bbolt.Tx, account, trackerAccount, reference string, billed []Billed) error {
	for _, b := range billed {
		if err := put(tx, bucketClaim, text(nil, trackerAccount, b.Entry.ID), Claim{account, reference}); err != nil {
			return err
		}
	}
	return nil
}

func pin(tx *bbolt.Tx, ch Channel, op Operation) error {
	if op.Client == "" || op.Line == "" {
		return nil
	}
	key := text(ch.key(), op.Client)
	if tx.Bucket(bucketPin).Get(key) != nil {
		return nil
	}
	return put(tx, bucketPin, key, op.Line)
}

// releaseEntries ends the claims of a reference on entries that stand on none of its documents.
func releaseEntries(tx *bbolt.Tx, ch Channel, reference string, entries []Billed) error {
	docs, err := documentsOf(tx, ch.Account, reference)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, d := range docs {
		for _, b := range d.Billed {
			kept[b.Entry.ID] = true
		}
	}
	for _, b := range entries {
		if kept[b.Entry.ID] {
			continue
		}
		if err := releaseEntry(tx, ch, reference, b.Entry.ID); err != nil {
			return err
		}
	}
	return nil
}

// releaseEntry ends the record of an entry under a reference; one under another is left alone.
func releaseEntry(tx *bbolt.Tx, ch Channel, reference, entry string) error {
	c, err := claimOf(tx, ch.Tracker, entry)
	if err != nil || c == nil || c.Account != ch.Account || c.Reference != reference {
		return err
	}
	if err := remove(tx, bucketClaim, text(nil, ch.Tracker, entry)); err != nil {
		return err
	}
	return remove(tx, bucketVanished, text(ch.key(), entry))
}

// Key returns a key of an account and, while its outcome is unknown, what was frozen for it. A nil Key
// means that it was swept or never was.
func (s *Store) Key(account, name string) (k *Key, f *Frozen, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		k, f, err = keyOf(tx, account, name)
		return err
	})
	return k, f, err
}

func keyOf(tx *bbolt.Tx, account, name string) (*Key, *Frozen, error) {
	var k Key
	key := text(nil, account, name)
	known, err := get(tx, bucketKey, key, &k)
	if !known || err != nil {
		return nil, nil, err
	}
	if k.Outcome != Unknown {
		return &k, nil, nil
	}
	var f Frozen
	known, err = get(tx, bucketFrozen, key, &f)
	if err == nil && !known {
		err = fmt.Errorf("%w: key %s has no outcome and nothing frozen", ErrDamaged, name)
	}
	return &k, &f, err
}

// Attempted remembers how an attempt under a key ended without an answer. Unsent says that it surely
// had no effect.
func (s *Store) Attempted(account, name string, ended time.Time, unsent bool, cause string) error {
	return s.changeKey(account, name, func(tx *bbolt.Tx, k *Key) error {
		known := k.Error == cause
		k.Ended, k.Unsent, k.Error, k.Absent = ended, unsent, cause, time.Time{}
		if known {
			return nil
		}
		return note(tx, account, k.Reference, Event{At: ended, What: attempted(name, unsent), Detail: cause})
	})
}

func attempted(key string, unsent bool) string {
	if unsent {
		return "not sent under key " + key
	}
	return "sent under key " + key + " without an answer"
}

// Sending takes back that a key was surely never executed: it is about to be sent.
func (s *Store) Sending(account, name string) error {
	return s.changeKey(account, name, func(_ *bbolt.Tx, k *Key) error {
		k.Unsent, k.Ended = false, time.Time{}
		return nil
	})
}

// NoteAbsent remembers that a look-up found nothing for a key, for the first time since its last attempt.
func (s *Store) NoteAbsent(account, name string, at time.Time) error {
	return s.changeKey(account, name, func(_ *bbolt.Tx, k *Key) error {
		k.Absent = at
		return nil
	})
}

// Progressed saves what a create of many steps has reached, before its next step.
func (s *Store) Progressed(account, name string, p accounting.Progress) error {
	return s.update(func(tx *bbolt.Tx) error {
		var f Frozen
		key := text(nil, account, name)
		known, err := get(tx, bucketFrozen, key, &f)
		if err != nil || !known {
			return errors.Join(err, fmt.Errorf("%w: key %s has nothing frozen", ErrDamaged, name))
		}
		f.Progress = p
		return put(tx, bucketFrozen, key, f)
	})
}

func (s *Store) changeKey(account, name string, mend func(tx *bbolt.Tx, k *Key) error) error {
	return s.update(func(tx *bbolt.Tx) error {
		k, _, err := keyOf(tx, account, name)
		if err != nil {
			return err
		}
		if k == nil || k.Outcome != Unknown {
			return fmt.Errorf("%w: key %s is not open", ErrDamaged, name)
		}
		if err := mend(tx, k); err != nil {
			return err
		}
		return put(tx, bucketKey, text(nil, account, name), *k)
	})
}

// finish gives a key its outcome: what was frozen is no longer needed, and its life can end.
func finish(tx *bbolt.Tx, account string, k Key, outcome Outcome) error {
	k.Outcome, k.Error = outcome, ""
	key := text(nil, account, k.Name)
	if err := remove(tx, bucketFrozen, key); err != nil {
		return err
	}
	if err := put(tx, bucketKey, key, k); err != nil {
		return err
	}
	return putBytes(tx, bucketExpiry, text(moment(k.First), account, k.Name), nil)
}
