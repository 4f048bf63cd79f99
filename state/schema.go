package state

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// SchemaVersion is the version of everything that this file declares. A file with a newer one is
// refused; there is no older one yet.
const SchemaVersion = 1

// The buckets, their keys and their values. A channel is a tracker account, an accounting account and a
// reference prefix; account alone is an accounting account. Times are nanoseconds since 1970, big-endian,
// so that byte order is time order; days are text such as 2026-11-02; other text is escaped and ended by
// [text], so that keys sort by their parts. Values are JSON except where they are said to be bytes, and
// every value is sealed by [seal].
//
//	meta       name                             → schema version, instance, clock, generation
//	channel    channel                          → mode, what was read, fingerprint of the settings
//	watermark  channel                          → the newest change taken in
//	heartbeat  channel                          → the last pass
//	slice      channel, range, first day        → when a backfill slice was done
//	week       channel, first day, week id      → (bytes) version, state, digest, sequence
//	content    channel, first day, week id      → the week as last taken in
//	former     channel, first day, id, sequence → the week as it was before
//	place      channel, week id                 → (bytes) first day of its period
//	holder     channel, entry id, day, week id  → (bytes) an approved week holds the entry
//	unread     channel, week id                 → first seen, reason
//	missing    channel, first day, week id      → since when readings of everything do not name the week
//	vanished   channel, entry id                → a billed entry that its week no longer holds
//	pin        channel, client id               → the line of the customer list that it matched
//	claim      tracker account, entry id        → account and reference under which it is recorded
//	group      account, reference               → what the group is, and why it is done
//	due        account, reference               → (bytes) mark
//	receipt    account, document                → what was billed, and the answer
//	key        account, key                     → (bytes) first seen, digest, outcome, attempts
//	frozen     account, key                     → request and contents of a key without an outcome
//	expiry     first seen, account, key         → (bytes) nothing
//	item       account, subject                 → what a person must decide, or decided
//	event      account, subject, number         → what happened
//
// Every key with an outcome has exactly one row in expiry, written and deleted in the same transaction;
// every key without one has exactly one in frozen. A week has one row in week, content and place each.
var (
	bucketMeta      = []byte("meta")
	bucketChannel   = []byte("channel")
	bucketWatermark = []byte("watermark")
	bucketHeartbeat = []byte("heartbeat")
	bucketSlice     = []byte("slice")
	bucketWeek      = []byte("week")
	bucketContent   = []byte("content")
	bucketFormer    = []byte("former")
	bucketPlace     = []byte("place")
	bucketHolder    = []byte("holder")
	bucketUnread    = []byte("unread")
	bucketMissing   = []byte("missing")
	bucketVanished  = []byte("vanished")
	bucketPin       = []byte("pin")
	bucketClaim     = []byte("claim")
	bucketGroup     = []byte("group")
	bucketDue       = []byte("due")
	bucketReceipt   = []byte("receipt")
	bucketKey       = []byte("key")
	bucketFrozen    = []byte("frozen")
	bucketExpiry    = []byte("expiry")
	bucketItem      = []byte("item")
	bucketEvent     = []byte("event")
)

// The keys of meta.
var (
	keySchema   = []byte("schema")   // the version of this file
	keyInstance = []byte("instance") // which state it is, as its marker says
	keyClock    = []byte("clock")    // the long gaps that were seen
	// keyGeneration counts the openings and backups of the file: every copy that was made of it before has a
	// lower number. It is a row and not bbolt's number of transactions, since compaction begins those anew.
	keyGeneration = []byte("generation")
)

// buckets lists every bucket; a file without one of them is damaged.
func buckets() [][]byte {
	return [][]byte{
		bucketMeta, bucketChannel, bucketWatermark, bucketHeartbeat, bucketSlice, bucketWeek, bucketContent,
		bucketFormer, bucketPlace, bucketHolder, bucketUnread, bucketMissing, bucketVanished, bucketPin, bucketClaim, bucketGroup,
		bucketDue, bucketReceipt, bucketKey, bucketFrozen, bucketExpiry, bucketItem, bucketEvent,
	}
}

// ascending says which buckets are filled from the left, in the order of weeks or of time, so that
// their pages can be filled up.
func ascending(bucket []byte) bool {
	switch string(bucket) {
	case "week", "content", "key", "expiry", "receipt", "group":
		return true
	}
	return false
}

// bucketOf returns a bucket that is ready to be written to.
func bucketOf(tx *bbolt.Tx, name []byte) *bbolt.Bucket {
	b := tx.Bucket(name)
	if ascending(name) {
		b.FillPercent = 0.9
	}
	return b
}

// text appends s as one part of a key: zero bytes are escaped, and the end is marked by a pair that
// sorts before everything else, so that "a" comes before "a\x00" and before "ab".
func text(key []byte, parts ...string) []byte {
	for _, s := range parts {
		for i := range len(s) {
			if key = append(key, s[i]); s[i] == 0 {
				key = append(key, 0xff)
			}
		}
		key = append(key, 0, 0)
	}
	return key
}

// cut takes the first part that [text] wrote off key. It returns an error where there is none.
func cut(key []byte) (part string, rest []byte, err error) {
	var out []byte
	for i := 0; i+1 < len(key); i++ {
		switch {
		case key[i] != 0:
			out = append(out, key[i])
		case key[i+1] == 0:
			return string(out), key[i+2:], nil
		case key[i+1] == 0xff:
			out = append(out, 0)
			i++
		default:
			return "", nil, fmt.Errorf("%w: key %q is not of this program", ErrDamaged, key)
		}
	}
	return "", nil, fmt.Errorf("%w: key %q has no end", ErrDamaged, key)
}

// moment returns a time as the first part of a key.
func moment(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixNano()))
}

// number appends a count as one part of a key.
func number(key []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(key, n) }

// cutNumber takes the number that [number] or [moment] wrote off key.
func cutNumber(key []byte) (n uint64, rest []byte, err error) {
	if len(key) < 8 {
		return 0, nil, fmt.Errorf("%w: key %q ends within a number", ErrDamaged, key)
	}
	return binary.BigEndian.Uint64(key), key[8:], nil
}

// markOf reads the value of a row in due.
func markOf(key, value []byte) (uint64, error) {
	mark, err := unseal(value)
	if err != nil {
		return 0, fmt.Errorf("due %q: %w", key, err)
	}
	if len(mark) != 8 {
		return 0, fmt.Errorf("%w: due %q: not a mark", ErrDamaged, key)
	}
	return binary.BigEndian.Uint64(mark), nil
}

// format is the first byte of every value.
const format = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal puts the format byte and a CRC-32C before payload. bbolt has no checksum over its data pages,
// so without it flipped bits would be read as facts.
func seal(payload []byte) []byte {
	value := make([]byte, 5, 5+len(payload))
	value[0] = format
	binary.BigEndian.PutUint32(value[1:], crc32.Checksum(payload, castagnoli))
	return append(value, payload...)
}

// unseal checks value and returns its payload, which dies with the transaction.
func unseal(value []byte) ([]byte, error) {
	if len(value) < 5 || value[0] != format {
		return nil, fmt.Errorf("%w: unknown format of a value", ErrDamaged)
	}
	payload := value[5:]
	if binary.BigEndian.Uint32(value[1:]) != crc32.Checksum(payload, castagnoli) {
		return nil, fmt.Errorf("%w: a value does not match its checksum", ErrDamaged)
	}
	return payload, nil
}

// packed is a row that is stored as bytes of its own: there are so many of its kind that JSON would make
// the file half as large again.
type packed interface {
	pack() ([]byte, error)
	unpack(payload []byte) error
}

// put writes v as JSON, or as it packs itself.
func put(tx *bbolt.Tx, bucket, key []byte, v any) error {
	payload, err := marshal(v)
	if err != nil {
		return fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	return putBytes(tx, bucket, key, payload)
}

func marshal(v any) ([]byte, error) {
	if p, ok := v.(interface{ pack() ([]byte, error) }); ok {
		return p.pack()
	}
	return json.Marshal(v)
}

// putBytes writes payload as it is.
func putBytes(tx *bbolt.Tx, bucket, key, payload []byte) error {
	if err := bucketOf(tx, bucket).Put(key, seal(payload)); err != nil {
		return fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	return nil
}

// get reads a row into v and reports whether there was a row.
func get(tx *bbolt.Tx, bucket, key []byte, v any) (bool, error) {
	value := tx.Bucket(bucket).Get(key)
	if value == nil {
		return false, nil
	}
	return true, decode(bucket, key, value, v)
}

// getBytes returns the payload of a row, nil where there is none.
func getBytes(tx *bbolt.Tx, bucket, key []byte) ([]byte, error) {
	value := tx.Bucket(bucket).Get(key)
	if value == nil {
		return nil, nil
	}
	payload, err := unseal(value)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	return payload, nil
}

// decode reads a value that a cursor or Get returned.
func decode(bucket, key, value []byte, v any) error {
	payload, err := unseal(value)
	if err != nil {
		return fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	if err := unmarshal(payload, v); err != nil {
		return fmt.Errorf("%w: %s %q: %v", ErrDamaged, bucket, key, err)
	}
	return nil
}

func unmarshal(payload []byte, v any) error {
	if p, ok := v.(packed); ok {
		return p.unpack(payload)
	}
	return json.Unmarshal(payload, v)
}

// remove deletes a row; a row that is not there is no error.
func remove(tx *bbolt.Tx, bucket, key []byte) error { return tx.Bucket(bucket).Delete(key) }

// ErrDamaged means that the file holds what no release of this program wrote. Nothing may be billed
// from it; a backup or a rebuild is the way out.
var ErrDamaged = errors.New("state file is damaged")

// acts are the acts of a key as bytes; a new one is added at the end.
func acts() []Act { return []Act{Create, Update} }

// outcomes are the outcomes of a key as bytes; a new one is added at the end.
func outcomes() []Outcome { return []Outcome{Unknown, Done, Refused, Dropped} }

// pack refuses what unpack could not read.
func (k Key) pack() ([]byte, error) {
	act, outcome := slices.Index(acts(), k.Act), slices.Index(outcomes(), k.Outcome)
	count, ok := strings.CutPrefix(k.Name, k.Reference)
	if act < 0 || outcome < 0 || !ok || k.Document < 0 {
		return nil, fmt.Errorf("not a key: %+v", k)
	}
	b := []byte{byte(act), byte(outcome), 0}
	if k.Unsent {
		b[2] = 1
	}
	b = binary.AppendUvarint(b, uint64(k.Document))
	for _, t := range []time.Time{k.First, k.Ended, k.Absent} {
		b = binary.BigEndian.AppendUint64(b, nanoseconds(t))
	}
	for _, s := range []string{k.Reference, count, string(k.Digest), k.Error} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b, nil
}

// nanoseconds since 1970; 0 stands for the zero time, since no key was seen in 1970.
func nanoseconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

var errNotKey = errors.New("not a key")

func (k *Key) unpack(b []byte) error {
	if len(b) < 3 || int(b[0]) >= len(acts()) || int(b[1]) >= len(outcomes()) || b[2] > 1 {
		return errNotKey
	}
	*k = Key{Act: acts()[b[0]], Outcome: outcomes()[b[1]], Unsent: b[2] == 1}
	document, n := binary.Uvarint(b[3:])
	if n <= 0 || document > math.MaxInt32 || len(b) < 3+n+24 {
		return errNotKey
	}
	k.Document, b = int(document), b[3+n:]
	for _, t := range []*time.Time{&k.First, &k.Ended, &k.Absent} {
		if ns := binary.BigEndian.Uint64(b); ns != 0 {
			*t = time.Unix(0, int64(ns)).UTC()
		}
		b = b[8:]
	}
	var count, digest string
	for _, s := range []*string{&k.Reference, &count, &digest, &k.Error} {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return errNotKey
		}
		*s, b = string(b[n:n+int(size)]), b[n+int(size):]
	}
	if len(b) > 0 {
		return errNotKey
	}
	k.Name, k.Digest = k.Reference+count, Digest(digest)
	return nil
}
