package state

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.etcd.io/bbolt"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// book is a state file whose time is set by the test.
type book struct {
	*Store
	t   testing.TB
	now time.Time
}

// agency is the channel that the tests are about.
var agency = Channel{Tracker: "64a687e29ae1f428e7ebe303", Account: "4e1e53b2-0d0f-4d28-8b6a-1c9a6f0b7d11", Prefix: "ts-"}

// ttl is how long keys live in the tests.
const ttl = 72 * time.Hour

func newBook(t testing.TB) *book {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "tidemark.db"), Options{NoProbe: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &book{s, t, time.Date(2026, time.November, 9, 9, 0, 0, 123456789, time.UTC)}
}

func (b *book) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// group makes a group due.
func (b *book) group(reference string) {
	b.t.Helper()
	b.must(b.MarkDue(agency.Account, []Group{{Reference: reference, Channel: agency, Currency: "EUR"}}))
}

func billed(entries ...string) (all []Billed) {
	for _, id := range entries {
		all = append(all, Billed{Week: "w-" + id, Entry: tracker.Entry{ID: id, Seconds: 3600}})
	}
	return all
}

// create is the operation on a group that had taken some keys before.
func create(reference string, after int, entries ...string) Operation {
	invoice := accounting.Invoice{Reference: reference, Customer: "cust-1", Currency: "EUR",
		Lines: []accounting.Line{{Text: "Ada", Seconds: 3600, Amount: decimal.New(9500, -2)}}}
	return Operation{Reference: reference, After: after, Document: 1, Act: Create, Digest: Digest("1:" + fmt.Sprint(entries)),
		Frozen: Frozen{Invoice: invoice, Billed: billed(entries...)}}
}

// claim claims one operation and returns why it was refused.
func (b *book) claim(op Operation) error {
	b.t.Helper()
	refused, err := b.Claim(agency.Account, agency.Tracker, []Operation{op}, b.now)
	b.must(err)
	return refused[0]
}

// record answers keys with a receipt.
func (b *book) record(keys ...string) {
	b.t.Helper()
	var answers []Answer
	for _, k := range keys {
		answers = append(answers, Answer{Key: k, At: b.now, Receipt: accounting.Receipt{ID: "id-" + k, Status: accounting.Draft, Currency: "EUR"}})
	}
	b.must(b.Record(agency.Account, answers))
}

func (b *book) key(name string) *Key {
	b.t.Helper()
	k, _, err := b.Key(agency.Account, name)
	b.must(err)
	return k
}

func (b *book) sweep() Swept {
	b.t.Helper()
	swept, err := b.Sweep(Clock{Now: b.now}, ttl)
	b.must(err)
	return swept
}

// dump returns every row and every sequence of the file.
func (b *book) dump() map[string]string {
	b.t.Helper()
	rows := map[string]string{}
	b.must(b.view(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			rows[string(name)] = fmt.Sprint(bucket.Sequence())
			return bucket.ForEach(func(k, v []byte) error {
				rows[fmt.Sprintf("%s %q", name, k)] = string(v)
				return nil
			})
		})
	}))
	return rows
}

// unchanged runs fn and fails if it changed anything or committed anything.
func (b *book) unchanged(what string, fn func()) {
	b.t.Helper()
	before, commits := b.dump(), b.Commits()
	fn()
	if after := b.dump(); !maps.Equal(before, after) {
		b.t.Errorf("%s changed the file from %q to %q", what, before, after)
	}
	if n := b.Commits() - commits; n != 0 {
		b.t.Errorf("%s: Commits went up by %d, want 0", what, n)
	}
}

// keysAreWhole fails unless every key with an outcome has exactly one row in expiry and none in frozen,
// every other exactly one in frozen and none in expiry, and there are no further rows.
func (b *book) keysAreWhole() {
	b.t.Helper()
	wantExpiry, wantFrozen := []string{}, []string{}
	b.must(b.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketKey, nil, func(key, value []byte) error {
			var k Key
			if err := decode(bucketKey, key, value, &k); err != nil {
				return err
			}
			if k.Outcome == Unknown {
				wantFrozen = append(wantFrozen, string(key))
			} else {
				wantExpiry = append(wantExpiry, string(append(moment(k.First), key...)))
			}
			return nil
		})
	}))
	slices.Sort(wantExpiry)
	for bucket, want := range map[string][]string{"expiry": wantExpiry, "frozen": wantFrozen} {
		got := []string{}
		b.must(b.view(func(tx *bbolt.Tx) error {
			for _, k := range keysWith(tx, []byte(bucket), nil) {
				got = append(got, string(k))
			}
			return nil
		}))
		if !slices.Equal(got, want) {
			b.t.Errorf("rows in %s = %q, want %q", bucket, got, want)
		}
	}
}

func TestKeyNamesCountUp(t *testing.T) {
	for n, want := range map[int]string{1: "ts-881", 2: "ts-881.2", 3: "ts-881.3", 12: "ts-881.12"} {
		if got := KeyName("ts-881", n); got != want {
			t.Errorf("KeyName(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestClaimFreezesWhatIsSent(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	op := create("ts-881", 0, "e1")
	op.Frozen.Request = accounting.Request{Steps: []accounting.Step{{Method: "POST", Path: "/invoices", Body: []byte("{\"a\": 1.50}\n\x00\xff")}}}
	b.must(b.claim(op))
	k, f, err := b.Key(agency.Account, "ts-881")
	b.must(err)
	if k.Outcome != Unknown || !k.First.Equal(b.now) || k.Digest != op.Digest {
		t.Errorf("Key = %+v, want it open since %s with digest %s", k, b.now, op.Digest)
	}
	if got, want := string(f.Request.Steps[0].Body), string(op.Frozen.Request.Steps[0].Body); got != want {
		t.Errorf("frozen body = %q, want %q", got, want)
	}
	b.keysAreWhole()
}

func TestRefusedClaimLeavesNoTrace(t *testing.T) {
	open := func(status Status) func(*book) {
		return func(b *book) {
			b.must(b.Rule(agency, Ruling{Subject: "ts-881", Item: &Item{Subject: "ts-881", Kind: Late, Status: status}}, b.now))
		}
	}
	tests := []struct {
		name  string
		given func(b *book)
		op    Operation
		want  error
	}{
		{"the same once more", func(b *book) { b.must(b.claim(create("ts-881", 0, "e1"))) }, create("ts-881", 0, "e1"), ErrClaimed},
		{"other contents", func(b *book) { b.must(b.claim(create("ts-881", 0, "e1"))) }, create("ts-881", 0, "e2"), ErrClaimed},
		{"decided before the last answer", func(b *book) { b.must(b.claim(create("ts-881", 0, "e1"))); b.record("ts-881") }, create("ts-881", 0, "e1"), ErrClaimed},
		{"decided on a key that was never taken", nil, create("ts-881", 1, "e1"), ErrClaimed},
		{"no such group", nil, create("ts-999", 0, "e1"), ErrClaimed},
		{"an open question", open(Undecided), create("ts-881", 0, "e1"), ErrClaimed},
		{"held", open(Held), create("ts-881", 0, "e1"), ErrClaimed},
		{"settled", open(Settled), create("ts-881", 0, "e1"), ErrClaimed},
		{"skipped", open(Skipped), create("ts-881", 0, "e1"), ErrClaimed},
		{"an entry under another reference", func(b *book) { b.group("ts-882"); b.must(b.claim(create("ts-882", 0, "e1"))) }, create("ts-881", 0, "e0", "e1"), ErrTaken},
		{"an entry on another invoice", func(b *book) {
			b.group("ts-882")
			b.must(b.claim(create("ts-882", 0, "e1")))
			b.record("ts-882")
		}, create("ts-881", 0, "e1"), ErrTaken},
		{"an entry in another account", func(b *book) {
			other := []Group{{Reference: "ts-881", Channel: Channel{agency.Tracker, "other", "ts-"}}}
			b.must(b.MarkDue("other", other))
			_, err := b.Claim("other", agency.Tracker, []Operation{create("ts-881", 0, "e1")}, b.now)
			b.must(err)
		}, create("ts-881", 0, "e1"), ErrTaken},
		{"an entry that a person recorded elsewhere", func(b *book) {
			b.must(b.Rule(agency, Ruling{Subject: "ts-882", Claim: billed("e1")}, b.now))
		}, create("ts-881", 0, "e1"), ErrTaken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBook(t)
			b.group("ts-881")
			if tt.given != nil {
				tt.given(b)
			}
			b.now = b.now.Add(time.Hour)
			tt.op.Client, tt.op.Line = "c1", "Acme GmbH"
			b.unchanged("a refused claim", func() {
				if err := b.claim(tt.op); !errors.Is(err, tt.want) {
					t.Errorf("Claim = %v, want %v", err, tt.want)
				}
			})
			b.keysAreWhole()
		})
	}
}

func TestBatchClaimsAllButWhatIsRefused(t *testing.T) {
	b := newBook(t)
	for _, ref := range []string{"ts-1", "ts-2", "ts-3"} {
		b.group(ref)
	}
	ops := []Operation{create("ts-1", 0, "e1"), create("ts-1", 0, "e1"), create("ts-2", 0, "e1"), create("ts-3", 0, "e3")}
	refused, err := b.Claim(agency.Account, agency.Tracker, ops, b.now)
	b.must(err)
	for i, want := range []error{nil, ErrClaimed, ErrTaken, nil} {
		if !errors.Is(refused[i], want) {
			t.Errorf("operation %d: %v, want %v", i, refused[i], want)
		}
	}
	if b.key("ts-1") == nil || b.key("ts-2") != nil || b.key("ts-3") == nil {
		t.Error("want keys for ts-1 and ts-3 only")
	}
	b.keysAreWhole()
}

func TestDamagedGroupIsNotARefusal(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	b.flip(bucketGroup, text(nil, agency.Account, "ts-881"))
	refused, err := b.Claim(agency.Account, agency.Tracker, []Operation{create("ts-881", 0, "e1")}, b.now)
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("Claim = %v, %v, want %v", refused, err, ErrDamaged)
	}
}

func TestReissueAfterExpiryGetsThrough(t *testing.T) {
	for _, swept := range []bool{false, true} {
		b := newBook(t)
		b.group("ts-881")
		b.must(b.claim(create("ts-881", 0, "e1")))
		b.record("ts-881")
		b.now = b.now.Add(ttl)
		if swept && b.sweep().Keys != 1 {
			t.Fatal("the key was not swept")
		}
		update := create("ts-881", 1, "e1", "e2")
		update.Act = Update
		b.must(b.claim(update))
		b.record("ts-881.2")
		k := b.key("ts-881.2")
		if k == nil || k.Outcome != Done || !k.First.Equal(b.now) {
			t.Errorf("swept %t: second key = %+v, want it done, first seen at %s", swept, k, b.now)
		}
		g, _, err := b.Group(agency.Account, "ts-881")
		b.must(err)
		if g.Operations != 2 || g.Key != "ts-881.2" {
			t.Errorf("swept %t: group has taken %d keys, newest %s; want 2, ts-881.2", swept, g.Operations, g.Key)
		}
		b.keysAreWhole()
	}
}

func TestResendStreamNeverKeepsItsOwnKeyAlive(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	first := b.now
	b.must(b.claim(create("ts-881", 0, "e1")))
	for hour := 1; hour <= 240; hour++ {
		b.now = first.Add(time.Duration(hour) * time.Hour)
		if err := b.claim(create("ts-881", 0, "e1")); !errors.Is(err, ErrClaimed) {
			t.Fatalf("hour %d: a resend was claimed: %v", hour, err)
		}
		b.group("ts-881")
		switch {
		case hour < 10:
			b.must(b.Sending(agency.Account, "ts-881"))
			b.must(b.Attempted(agency.Account, "ts-881", b.now, hour%2 == 0, "timeout"))
			b.must(b.NoteAbsent(agency.Account, "ts-881", b.now))
			b.must(b.Progressed(agency.Account, "ts-881", accounting.Progress{Done: hour}))
		case hour == 10:
			b.record("ts-881")
		default:
			again := []Answer{{Key: "ts-881", At: b.now}}
			if err := b.Record(agency.Account, again); !errors.Is(err, ErrDamaged) {
				t.Fatalf("hour %d: a second answer was recorded: %v", hour, err)
			}
		}
		b.sweep()
		b.keysAreWhole()
		k := b.key("ts-881")
		if alive := hour < 72; (k != nil) != alive {
			t.Fatalf("hour %d: the key is there: %t, want %t", hour, k != nil, alive)
		}
		if k != nil && !k.First.Equal(first) {
			t.Fatalf("hour %d: First = %s, want %s", hour, k.First, first)
		}
	}
}

func TestKeyWithoutOutcomeNeverExpires(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	b.must(b.claim(create("ts-881", 0, "e1")))
	claimed := b.now
	b.now = b.now.AddDate(10, 0, 0)
	if got := b.sweep(); got != (Swept{}) {
		t.Errorf("Sweep = %+v, want nothing", got)
	}
	if k, f, err := b.Key(agency.Account, "ts-881"); err != nil || k == nil || f == nil {
		t.Fatalf("Key = %v, %v, %v, want it with what was frozen", k, f, err)
	}
	b.record("ts-881")
	if got := b.sweep(); got.Keys != 1 {
		t.Errorf("Sweep after the answer = %+v, want the key of %s gone", got, claimed)
	}
	b.keysAreWhole()
}

func TestOpenKeyRemembersItsAttempts(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	b.must(b.claim(create("ts-881", 0, "e1")))
	later := b.now.Add(time.Minute)
	b.must(b.NoteAbsent(agency.Account, "ts-881", b.now))
	b.must(b.Attempted(agency.Account, "ts-881", later, true, "connection refused"))
	if k := b.key("ts-881"); !k.Unsent || !k.Ended.Equal(later) || !k.Absent.IsZero() || k.Error != "connection refused" {
		t.Errorf("after an attempt: %+v, want it unsent, ended at %s, no look-up since", k, later)
	}
	b.must(b.NoteAbsent(agency.Account, "ts-881", later))
	if k := b.key("ts-881"); !k.Absent.Equal(later) {
		t.Errorf("Absent = %s, want %s", k.Absent, later)
	}
	b.must(b.Sending(agency.Account, "ts-881"))
	if k := b.key("ts-881"); k.Unsent || !k.Ended.IsZero() {
		t.Errorf("before the next attempt: %+v, want it neither unsent nor ended", k)
	}
	b.must(b.Progressed(agency.Account, "ts-881", accounting.Progress{Done: 1, Document: "d-1"}))
	if _, f, err := b.Key(agency.Account, "ts-881"); err != nil || f.Progress.Document != "d-1" {
		t.Errorf("frozen = %+v, %v, want the progress", f, err)
	}
}

func TestRepeatedCauseIsOneEvent(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	b.must(b.claim(create("ts-881", 0, "e1")))
	for _, cause := range []string{"timeout", "timeout", "503", "503"} {
		b.must(b.Attempted(agency.Account, "ts-881", b.now, false, cause))
	}
	events, err := b.History(agency.Account, "ts-881")
	b.must(err)
	if len(events) != 3 {
		t.Errorf("history = %+v, want the claim and two causes", events)
	}
}

func TestKeyWithOutcomeIsNoLongerChanged(t *testing.T) {
	b := newBook(t)
	b.group("ts-881")
	b.must(b.claim(create("ts-881", 0, "e1")))
	b.record("ts-881")
	for _, name := range []string{"ts-881", "ts-999"} {
		for what, fn := range map[string]func() error{
			"Attempted":  func() error { return b.Attempted(agency.Account, name, b.now, true, "late") },
			"Sending":    func() error { return b.Sending(agency.Account, name) },
			"NoteAbsent": func() error { return b.NoteAbsent(agency.Account, name, b.now) },
			"Progressed": func() error { return b.Progressed(agency.Account, name, accounting.Progress{Done: 1}) },
			"Record":     func() error { return b.Record(agency.Account, []Answer{{Key: name, At: b.now}}) },
		} {
			b.unchanged(what, func() {
				if err := fn(); !errors.Is(err, ErrDamaged) {
					t.Errorf("%s of %s = %v, want %v", what, name, err, ErrDamaged)
				}
			})
		}
	}
}

func TestClientIsPinnedOnce(t *testing.T) {
	b := newBook(t)
	for i, line := range []string{"Acme GmbH", "Acme AG", ""} {
		ref := fmt.Sprintf("ts-%d", i)
		b.group(ref)
		op := create(ref, 0, ref)
		op.Client, op.Line = "c\x001", line
		b.must(b.claim(op))
	}
	pins, err := b.Pins(agency)
	b.must(err)
	if want := map[string]string{"c\x001": "Acme GmbH"}; !maps.Equal(pins, want) {
		t.Errorf("Pins = %q, want %q", pins, want)
	}
}

func TestFlushesPerInvoice(t *testing.T) {
	tests := []struct {
		invoices    int
		least, most float64
	}{{1, 4, 4}, {100, 0.04, 0.05}}
	for _, tt := range tests {
		b := newBook(t)
		var ops []Operation
		var keys []string
		for i := range tt.invoices {
			ref := fmt.Sprintf("ts-26w45-%010d", i)
			b.group(ref)
			ops, keys = append(ops, create(ref, 0, ref)), append(keys, ref)
		}
		before := b.Commits()
		refused, err := b.Claim(agency.Account, agency.Tracker, ops, b.now)
		b.must(errors.Join(append(refused, err)...))
		b.record(keys...)
		// Each commit flushes its data pages and then its meta page.
		if got := 2 * float64(b.Commits()-before) / float64(tt.invoices); got < tt.least || got > tt.most {
			t.Errorf("flushes per invoice in a batch of %d = %v, want %v to %v", tt.invoices, got, tt.least, tt.most)
		}
	}
}

// weekly returns the n-th of references that are spread over weeks as they are in use: 40 a week.
func weekly(n int) string {
	first := civil.Date{Year: 2026, Month: time.January, Day: 5}.AddDays(7 * (n / 40))
	return fmt.Sprintf("ts-%02dw%02d-%s", first.Year%100, civil.WeekOf(first).Number, short(fmt.Sprint(n)))
}

func TestSizeOfThirtyThousandKeys(t *testing.T) {
	const keys, most = 30_000, 12_500_000
	b := newBook(t)
	for n := 0; n < keys; n += 100 {
		b.putKeys(n, n+100)
	}
	b.keysAreWhole()
	info, err := os.Stat(b.db.Path())
	b.must(err)
	t.Logf("%d keys with their index: %d bytes", keys, info.Size())
	if info.Size() > most {
		t.Errorf("size of the file = %d, want at most %d", info.Size(), most)
	}
}

// putKeys writes keys with their outcome as a claim and its answer leave them, in one transaction each.
func (b *book) putKeys(from, to int) {
	b.t.Helper()
	row := func(n int) Key {
		ref := weekly(n)
		first := b.now.Add(time.Duration(n) * time.Minute)
		return Key{Name: ref, Reference: ref, Document: 1, Act: Create, First: first, Digest: "1:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"}
	}
	b.must(b.update(func(tx *bbolt.Tx) error {
		for n := from; n < to; n++ {
			key := text(nil, agency.Account, row(n).Name)
			err := errors.Join(put(tx, bucketKey, key, row(n)), put(tx, bucketFrozen, key, create(row(n).Name, 0, "e1").Frozen))
			if err != nil {
				return err
			}
		}
		return nil
	}))
	b.must(b.update(func(tx *bbolt.Tx) error {
		for n := from; n < to; n++ {
			if err := finish(tx, agency.Account, row(n), Done); err != nil {
				return err
			}
		}
		return nil
	}))
}
