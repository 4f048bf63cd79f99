package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// full makes a state with a row of every kind.
func full(t *testing.T) *book {
	b := newBook(t)
	b.group("ts-881")
	b.group("ts-882")
	b.must(b.claim(create("ts-881", 0, "e1")))
	b.record("ts-881")
	open := create("ts-882", 0, "e2")
	open.Client, open.Line = "c1", "Acme"
	open.Frozen.Request = accounting.Request{Steps: []accounting.Step{{Method: "POST", Path: "/invoices", Body: []byte(`{"a": "<1>"}`)}, {Method: "POST", Path: "/lines", Body: []byte("a=1")}}}
	b.must(b.claim(open))
	b.must(b.Beat(agency, Heartbeat{Sync: "agency", Began: b.now, Ended: b.now}))
	b.must(b.AdvanceWatermark(agency, b.now))
	b.must(b.FinishSlice(agency, "job", monday, b.now))
	b.must(b.SetRebuild([]Channel{agency}, b.now))
	b.observe()
	b.now = b.now.Add(60 * 24 * time.Hour) // for the clock
	b.observe()
	p := Place{monday, "w1"}
	h := Head{Version: tracker.Version{Kind: tracker.Stamp, Number: 7}, State: tracker.Approved, Digest: "1:x", Sequence: 2}
	payload, err := h.encode()
	b.must(err)
	b.must(b.update(func(tx *bbolt.Tx) error {
		week := tracker.Week{ID: "w1", Period: civil.Period{First: monday, Last: monday.AddDays(6)}}
		return errors.Join(
			putBytes(tx, bucketWeek, p.key(agency), payload), put(tx, bucketContent, p.key(agency), week),
			put(tx, bucketFormer, number(p.key(agency), 1), week), putBytes(tx, bucketPlace, text(agency.key(), "w1"), []byte("2026-11-02")),
			putBytes(tx, bucketHolder, holderKey(agency, "e1", p), nil), put(tx, bucketUnread, text(agency.key(), "w9"), Unread{ID: "w9", First: b.now}),
			put(tx, bucketMissing, p.key(agency), b.now), put(tx, bucketVanished, text(agency.key(), "e9"), Vanished{Reference: "ts-881"}),
			put(tx, bucketItem, text(nil, agency.Account, "ts-880"), Item{Subject: "ts-880", Opened: b.now}),
		)
	}))
	return b
}

func (b *book) export() string {
	b.t.Helper()
	var out bytes.Buffer
	b.must(b.Export(&out))
	return out.String()
}

func TestExportHoldsEveryRowOnce(t *testing.T) {
	b := full(t)
	text := b.export()
	rows := map[string]int{}
	for line := range strings.Lines(text) {
		var row Row
		if err := json.Unmarshal([]byte(line), &row); err != nil || len(row.Key) == 0 {
			t.Fatalf("%s: %v, want a row with a key", line, err)
		}
		rows[row.Kind]++
	}
	stats, err := b.Stats()
	b.must(err)
	for kind, n := range stats.Rows {
		if rows[kind] != n || n == 0 {
			t.Errorf("%d rows of %s are exported, want %d, and one at least", rows[kind], kind, n)
		}
	}
	if again := b.export(); again != text {
		t.Error("a second export differs")
	}
	for _, want := range []string{
		`{"kind":"week","key":{"account":"4e1e53b2-0d0f-4d28-8b6a-1c9a6f0b7d11","firstDay":"2026-11-02","prefix":"ts-","tracker":"64a687e29ae1f428e7ebe303","week":"w1"},"value":{"version":{"kind":"stamp","number":7},"state":"approved","digest":"1:x","sequence":2}}`,
		`"firstSeen":"2026-11-09T09:00:00.123456789Z","key":"ts-881"}`,
		`"request":[{"method":"POST","path":"/invoices","body":{"a":"<1>"}},{"method":"POST","path":"/lines","body":"a=1"}]`,
		`"outcome":"done"`,
		`"value":"2026-11-02"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the export lacks %s", want)
		}
	}
}

// TestExportHoldsOnlyWhatIsMeantForIt adds a bucket that this release does not list.
func TestExportHoldsOnlyWhatIsMeantForIt(t *testing.T) {
	b := newBook(t)
	b.must(b.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte("session"))
		return errors.Join(err, bucket.Put([]byte("ada"), seal([]byte(`"secret"`))))
	}))
	if text := b.export(); strings.Contains(text, "session") || strings.Contains(text, "secret") {
		t.Errorf("the export holds %s", text)
	}
}

func TestExportOfDamageIsAnError(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, kind := range exportedKinds() {
		b := newBook(t)
		b.must(b.update(func(tx *bbolt.Tx) error {
			return tx.Bucket(kind.bucket).Put([]byte("short"), seal([]byte("no")))
		}))
		if err := b.Export(&bytes.Buffer{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Export = %v, want %v", kind.bucket, err, ErrDamaged)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v, want none", len(left), err)
	}
}
