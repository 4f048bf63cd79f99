package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// done writes keys that were answered, the first at a time and each of the others a step later.
func (b *book) done(name string, n int, first time.Time, step time.Duration) {
	b.t.Helper()
	for from := 0; from < n; from += batch {
		b.must(b.update(func(tx *bbolt.Tx) error {
			for i := from; i < min(n, from+batch); i++ {
				ref := fmt.Sprintf("%s-%07d", name, i)
				k := Key{Name: ref, Reference: ref, Document: 1, Act: Create, First: first.Add(time.Duration(i) * step)}
				if err := finish(tx, agency.Account, k, Done); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// rows counts the rows of a bucket.
func (b *book) rows(bucket []byte) (n int) {
	b.t.Helper()
	b.must(b.view(func(tx *bbolt.Tx) error { n = tx.Bucket(bucket).Stats().KeyN; return nil }))
	return n
}

func TestKeyExpiresAtExactlyFirstSeenPlusTTL(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 1} {
		b := newBook(t)
		b.group("ts-881")
		b.must(b.claim(create("ts-881", 0, "e1")))
		first := b.now
		b.now = b.now.Add(10 * time.Hour)
		b.record("ts-881")
		b.now = first.Add(ttl + d)
		want := d >= 0
		if got := (Clock{Now: b.now}).Expired(first, ttl); got != want {
			t.Errorf("%d ns after its life: Expired = %t, want %t", d, got, want)
		}
		if got := b.sweep().Keys == 1; got != want {
			t.Errorf("%d ns after its life: swept = %t, want %t", d, got, want)
		}
		if got := b.key("ts-881") == nil; got != want {
			t.Errorf("%d ns after its life: gone = %t, want %t", d, got, want)
		}
		b.keysAreWhole()
	}
}

func TestSweepWithAGapAgreesWithExpired(t *testing.T) {
	b := newBook(t)
	b.done("ts", 10, b.now, 12*time.Hour)
	firsts := b.now
	b.now = b.now.Add(5 * day)
	b.beat()
	b.now = b.now.Add(365 * day)
	clock := b.observe()
	want := 0
	for i := range 10 {
		if clock.Expired(firsts.Add(time.Duration(i)*12*time.Hour), ttl) {
			want++
		}
	}
	swept, err := b.Sweep(clock, ttl)
	b.must(err)
	if swept.Keys != want || want != 5 {
		t.Errorf("Sweep = %d, Expired says %d, want 5", swept.Keys, want)
	}
	b.keysAreWhole()
}

func TestSweepGoesInBatches(t *testing.T) {
	b := newBook(t)
	const most, expired = 1000, 2001
	b.done("ts-a", expired, b.now, 1)
	b.done("ts-b", 10, b.now.Add(time.Hour), 1)
	b.now = b.now.Add(ttl + time.Minute)
	b.must(b.change(func(tx *bbolt.Tx) (bool, error) {
		one, _, err := sweepBatch(tx, Clock{Now: b.now}, ttl, []byte{})
		if one.Keys != most {
			t.Errorf("a batch swept %d, want %d", one.Keys, most)
		}
		return false, err
	}))
	before := b.Commits()
	if got := b.sweep(); got != (Swept{Keys: expired}) {
		t.Errorf("Sweep = %+v, want %d keys", got, expired)
	}
	if got := b.Commits() - before; got != 3 {
		t.Errorf("Sweep made %d commits, want 3", got)
	}
	if got := b.rows(bucketKey); got != 10 {
		t.Errorf("%d keys are left, want 10", got)
	}
	b.keysAreWhole()
}

func TestSweepOfExactlyOneBatch(t *testing.T) {
	b := newBook(t)
	b.done("ts", batch, b.now, 1)
	b.now = b.now.Add(2 * ttl)
	before := b.Commits()
	if got := b.sweep(); got.Keys != batch || b.Commits()-before != 1 {
		t.Errorf("Sweep = %+v in %d commits, want %d in 1", got, b.Commits()-before, batch)
	}
}

func TestSweepOfNothingWritesNothing(t *testing.T) {
	b := newBook(t)
	b.done("ts", 10, b.now, 0)
	b.now = b.now.Add(ttl - 1)
	b.unchanged("a sweep of nothing", func() { b.sweep() })
}

// spoilt are ways in which an expired row can be damaged.
func spoilt() map[string]func(b *book, row, key []byte) {
	rewrite := func(mend func(*Key)) func(*book, []byte, []byte) {
		return func(b *book, _, key []byte) {
			b.must(b.update(func(tx *bbolt.Tx) error {
				var k Key
				_, err := get(tx, bucketKey, key, &k)
				mend(&k)
				return errors.Join(err, put(tx, bucketKey, key, k))
			}))
		}
	}
	return map[string]func(b *book, row, key []byte){
		"flipped bit":             func(b *book, _, key []byte) { b.flip(bucketKey, key) },
		"no outcome":              rewrite(func(k *Key) { k.Outcome = Unknown }),
		"first seen another time": rewrite(func(k *Key) { k.First = k.First.Add(ttl) }),
		"short row of the index": func(b *book, _, _ []byte) {
			b.must(b.update(func(tx *bbolt.Tx) error { return putBytes(tx, bucketExpiry, []byte{1, 2, 3}, nil) }))
		},
	}
}

func TestSweepGoesOnPastDamage(t *testing.T) {
	for name, spoil := range spoilt() {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			b.done("ts", batch+100, b.now, 1)
			key := text(nil, agency.Account, "ts-0000005")
			row := append(moment(b.now.Add(5)), key...)
			spoil(b, row, key)
			all := b.rows(bucketExpiry)
			b.now = b.now.Add(2 * ttl)
			got := b.sweep()
			if got.Broken != 1 || got.Keys != all-1 {
				t.Errorf("Sweep = %+v, want %d keys and 1 broken", got, all-1)
			}
			if left := b.rows(bucketExpiry); left != 1 {
				t.Errorf("%d rows of the index are left, want the broken one", left)
			}
			b.unchanged("the next sweep", func() {
				if got := b.sweep(); got != (Swept{Broken: 1}) {
					t.Errorf("next Sweep = %+v, want 1 broken", got)
				}
			})
		})
	}
}

func TestSweepLooksOnlyAtWhatHasExpired(t *testing.T) {
	const expired = 700
	b := newBook(t)
	b.done("ts-a", expired, b.now, 1)
	b.done("ts-z", 5000, b.now.Add(ttl), 1)
	// Were one of the others looked at, it would count as broken.
	b.must(b.update(func(tx *bbolt.Tx) error {
		for _, key := range keysWith(tx, bucketKey, text(nil, agency.Account))[expired:] {
			if err := tx.Bucket(bucketKey).Put(key, []byte("broken")); err != nil {
				return err
			}
		}
		return nil
	}))
	b.now = b.now.Add(ttl + time.Minute)
	if got := b.sweep(); got != (Swept{Keys: expired}) {
		t.Errorf("Sweep = %+v, want %d keys and nothing else looked at", got, expired)
	}
}

func TestSweepWritesAsMuchWhateverIsStored(t *testing.T) {
	cost := func(stored int) int64 {
		b := newBook(t)
		b.done("ts-a", batch, b.now, 1)
		b.done("ts-z", stored, b.now.Add(ttl), 1)
		before := b.db.Stats()
		b.now = b.now.Add(ttl + time.Minute)
		if got := b.sweep(); got.Keys != batch {
			t.Fatalf("Sweep = %+v, want %d keys", got, batch)
		}
		after := b.db.Stats()
		diff := after.Sub(&before)
		return diff.TxStats.GetPageCount() + diff.TxStats.GetNodeCount()
	}
	few, many := cost(batch), cost(50*batch)
	t.Logf("pages and nodes of a sweep of %d keys: %d beside as many others, %d beside 50 times as many", batch, few, many)
	if many > few+few/4 {
		t.Errorf("a sweep touched %d pages and nodes beside 50 times as many keys, %d beside as many", many, few)
	}
}
