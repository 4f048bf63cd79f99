package state

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// flip flips one bit at the end of a row.
func (b *book) flip(bucket, key []byte) {
	b.t.Helper()
	b.must(b.update(func(tx *bbolt.Tx) error {
		value := bytes.Clone(tx.Bucket(bucket).Get(key))
		value[len(value)-1] ^= 4
		return tx.Bucket(bucket).Put(key, value)
	}))
}

// part draws a part of a key of bytes that are apt to be confused.
func part() *rapid.Generator[string] {
	hostile := rapid.SampledFrom([]byte{0, 0, 0xff, 0xff, 1, 'a', 'b', 0xfe})
	return rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(hostile, 0, 5).Draw(t, "bytes")) })
}

func TestKeysSortByTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(part(), 1, 4).Draw(t, "a")
		b := rapid.SliceOfN(part(), 1, 4).Draw(t, "b")
		if got, want := bytes.Compare(text(nil, a...), text(nil, b...)), slices.Compare(a, b); got != want {
			t.Errorf("keys of %q and %q compare as %d, want %d", a, b, got, want)
		}
	})
}

func TestPartsComeBackFromKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(part(), 1, 4).Draw(t, "parts")
		rest := text(nil, parts...)
		for _, want := range parts {
			got, next, err := cut(rest)
			if err != nil || got != want {
				t.Fatalf("cut = %q, %v, want %q", got, err, want)
			}
			rest = next
		}
		if len(rest) != 0 {
			t.Errorf("%q is left over", rest)
		}
	})
}

func TestPrefixOfPartsMeetsNoOtherParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(part(), 1, 2).Draw(t, "prefix")
		key := rapid.SliceOfN(part(), 1, 3).Draw(t, "key")
		got := bytes.HasPrefix(text(nil, key...), text(nil, prefix...))
		if want := len(key) >= len(prefix) && slices.Equal(key[:len(prefix)], prefix); got != want {
			t.Errorf("key of %q begins with that of %q: %t, want %t", key, prefix, got, want)
		}
	})
}

func TestKeyThatWasNotMadeHereIsDamage(t *testing.T) {
	for _, key := range []string{"", "a", "a\x00", "a\x00\xff", "a\x00b\x00\x00", "\x00\x01\x00\x00"} {
		if part, _, err := cut([]byte(key)); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut(%q) = %q, %v, want %v", key, part, err, ErrDamaged)
		}
	}
}

func TestByteOrderIsTimeOrder(t *testing.T) {
	now := time.Date(2026, time.November, 9, 9, 0, 0, 0, time.UTC)
	for _, step := range []time.Duration{1, 255, 256, time.Second, 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
		if bytes.Compare(moment(now), moment(now.Add(step))) >= 0 {
			t.Errorf("a moment does not sort before the one %s later", step)
		}
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	value := seal([]byte(`{"first":"2026-11-09T09:00:00Z"}`))
	for bit := range 8 * len(value) {
		broken := bytes.Clone(value)
		broken[bit/8] ^= 1 << (bit % 8)
		if payload, err := unseal(broken); !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d: unseal = %q, %v, want %v", bit, payload, err, ErrDamaged)
		}
	}
	for n := range value {
		if _, err := unseal(value[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v, want %v", n, err, ErrDamaged)
		}
	}
}

func TestValueOfAnotherFormatIsRefused(t *testing.T) {
	for _, other := range []byte{0, 2, '{'} {
		value := seal([]byte("{}"))
		value[0] = other
		if _, err := unseal(value); !errors.Is(err, ErrDamaged) {
			t.Errorf("format %d: %v, want %v", other, err, ErrDamaged)
		}
	}
}

func TestValueThatIsNotWhatItShouldBeIsNeverAZero(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	at := text(nil, agency.Account, "ts-881")
	tests := []struct {
		name   string
		bucket []byte
		key    []byte
		read   func() error
	}{
		{"channel", bucketChannel, agency.key(), func() error { _, err := b.Standing(agency, b.now); return err }},
		{"watermark", bucketWatermark, agency.key(), func() error { _, err := b.Watermark(agency); return err }},
		{"heartbeat", bucketHeartbeat, agency.key(), func() error { _, err := b.Heartbeat(agency); return err }},
		{"clock", bucketMeta, keyClock, func() error { _, err := b.Observe(b.now); return err }},
		{"group", bucketGroup, at, func() error { _, _, err := b.Group(agency.Account, "ts-881"); return err }},
		{"due", bucketDue, at, func() error { _, err := b.Due(agency); return err }},
		{"receipt", bucketReceipt, documentKey(agency.Account, "ts-881", 1), func() error { _, err := b.Documents(agency.Account, "ts-881"); return err }},
		{"key", bucketKey, at, func() error { _, _, err := b.Key(agency.Account, "ts-881"); return err }},
		{"item", bucketItem, at, func() error { _, err := b.Item(agency.Account, "ts-881"); return err }},
		{"items", bucketItem, at, func() error { _, err := b.Items(agency.Account); return err }},
		{"event", bucketEvent, number(at, 9), func() error { _, err := b.History(agency.Account, "ts-881"); return err }},
		{"pin", bucketPin, text(agency.key(), "c1"), func() error { _, err := b.Pins(agency); return err }},
		{"unread", bucketUnread, text(agency.key(), "w1"), func() error { _, err := b.Unread(agency); return err }},
		{"vanished", bucketVanished, text(agency.key(), "e1"), func() error { _, err := b.Vanished(agency); return err }},
		{"head", bucketWeek, text(agency.key(), "2026-11-02", "w1"), func() error { _, err := b.Heads(agency, []Place{{monday, "w1"}}); return err }},
		{"content", bucketContent, text(agency.key(), "2026-11-02", "w1"), func() error { _, err := b.Content(agency, Place{monday, "w1"}); return err }},
		{"place", bucketPlace, text(agency.key(), "w2"), func() error { _, _, err := b.Find(agency, "w2"); return err }},
		{"former", bucketFormer, number(text(agency.key(), "2026-11-02", "w1"), 1), func() error { _, err := b.Former(agency, Place{monday, "w1"}); return err }},
		{"slice", bucketSlice, text(agency.key(), "job", "2026-11-02"), func() error { _, err := b.SliceDone(agency, "job", monday); return err }},
		{"claim", bucketClaim, text(nil, agency.Tracker, "e1"), func() error { _, err := b.Situation(agency, "ts-880", []string{"e1"}); return err }},
	}
	for _, tt := range tests {
		var before []byte
		write := func(value []byte) {
			b.must(b.update(func(tx *bbolt.Tx) error { return tx.Bucket(tt.bucket).Put(tt.key, value) }))
		}
		b.must(b.view(func(tx *bbolt.Tx) error { before = bytes.Clone(tx.Bucket(tt.bucket).Get(tt.key)); return nil }))
		broken := seal([]byte(`["no"`))
		broken[len(broken)-1] ^= 1
		for what, value := range map[string][]byte{"empty": {}, "flipped": broken, "another format": {2, 0, 0, 0, 0}} {
			write(value)
			if err := tt.read(); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, %s: %v, want %v", tt.name, what, err, ErrDamaged)
			}
		}
		b.must(b.update(func(tx *bbolt.Tx) error {
			if before == nil {
				return remove(tx, tt.bucket, tt.key)
			}
			return tx.Bucket(tt.bucket).Put(tt.key, before)
		}))
	}
}

// monday is the first day of the week that most tests are about.
var monday = civil.Date{Year: 2026, Month: time.November, Day: 2}

func TestKeyComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		when := func(label string) time.Time {
			ns := rapid.Int64Range(0, 1<<62).Draw(t, label)
			if ns == 0 {
				return time.Time{}
			}
			return time.Unix(0, ns).UTC()
		}
		ref := part().Draw(t, "reference")
		k := Key{
			Name: ref + part().Draw(t, "count"), Reference: ref, Document: rapid.IntRange(0, 1<<20).Draw(t, "document"),
			Act: rapid.SampledFrom(acts()).Draw(t, "act"), Outcome: rapid.SampledFrom(outcomes()).Draw(t, "outcome"),
			First: when("first"), Ended: when("ended"), Absent: when("absent"), Unsent: rapid.Bool().Draw(t, "unsent"),
			Digest: Digest(part().Draw(t, "digest")), Error: part().Draw(t, "error"),
		}
		payload, err := k.pack()
		if err != nil {
			t.Fatal(err)
		}
		var got Key
		if err := got.unpack(payload); err != nil || got != k {
			t.Errorf("unpack = %+v, %v, want %+v", got, err, k)
		}
	})
}

func TestNothingUnreadableIsPacked(t *testing.T) {
	good := Key{Name: "ts-1.2", Reference: "ts-1", Act: Update, Outcome: Done}
	tests := map[string]func(*Key){
		"act":       func(k *Key) { k.Act = "delete" },
		"outcome":   func(k *Key) { k.Outcome = "perhaps" },
		"reference": func(k *Key) { k.Reference = "ts-2" },
		"document":  func(k *Key) { k.Document = -1 },
	}
	for name, mend := range tests {
		k := good
		mend(&k)
		if payload, err := k.pack(); err == nil {
			t.Errorf("%s: pack = %q, want an error", name, payload)
		}
	}
	for _, h := range []Head{{State: tracker.Approved}, {Version: tracker.Version{Kind: tracker.Exact}, State: "lost"}} {
		if payload, err := h.encode(); err == nil {
			t.Errorf("%+v: encode = %q, want an error", h, payload)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add(text(nil, "a\x00", "", "\xff"))
	f.Fuzz(func(t *testing.T, key []byte) {
		part, rest, err := cut(key)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("cut = %v, want %v", err, ErrDamaged)
			}
			return
		}
		if got := append(text(nil, part), rest...); !bytes.Equal(got, key) {
			t.Errorf("cut and joined = %q, want %q", got, key)
		}
	})
}

func FuzzUnseal(f *testing.F) {
	f.Add(seal([]byte("{}")))
	f.Add(seal(nil))
	f.Fuzz(func(t *testing.T, value []byte) {
		payload, err := unseal(value)
		if err == nil && !bytes.Equal(seal(payload), value) {
			t.Errorf("sealed again = %q, want %q", seal(payload), value)
		}
	})
}

func FuzzDecodeHead(f *testing.F) {
	good, err := Head{Version: tracker.Version{Kind: tracker.Exact, Number: 7}, State: tracker.Approved, Digest: "1:x", Sequence: 3}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{255, 255})
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, err := decodeHead([]byte("key"), seal(payload))
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("decodeHead = %v, want %v", err, ErrDamaged)
			}
			return
		}
		if again, err := h.encode(); err != nil || !bytes.Equal(again, payload) {
			t.Errorf("encoded again = %q, %v, want %q", again, err, payload)
		}
	})
}

func FuzzUnpackKey(f *testing.F) {
	good, err := Key{Name: "ts-1.2", Reference: "ts-1", Document: 1, Act: Update, First: time.Unix(1, 2), Digest: "1:x", Error: "e"}.pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, payload []byte) {
		var k, again Key
		if k.unpack(payload) != nil {
			return
		}
		packed, err := k.pack()
		if err != nil {
			t.Fatalf("pack of %+v: %v", k, err)
		}
		if err := again.unpack(packed); err != nil || again != k {
			t.Errorf("packed and unpacked = %+v, %v, want %+v", again, err, k)
		}
	})
}

func FuzzMark(f *testing.F) {
	f.Add(seal(number(nil, 7)))
	f.Add(seal(nil))
	f.Fuzz(func(t *testing.T, value []byte) {
		mark, err := markOf([]byte("key"), value)
		if err == nil && !bytes.Equal(seal(number(nil, mark)), value) {
			t.Errorf("mark = %d of %q", mark, value)
		}
	})
}
