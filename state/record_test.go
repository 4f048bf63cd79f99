package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"tidemark/sync/accounting"
	"tidemark/sync/tracker"
)

// update is an operation on a document that is there.
func update(reference string, after, document int, entries ...string) Operation {
	op := create(reference, after, entries...)
	op.Act, op.Document = Update, document
	return op
}

func (b *book) documents(reference string) []Document {
	b.t.Helper()
	docs, err := b.Documents(agency.Account, reference)
	b.must(err)
	return docs
}

func TestRecordKeepsWhatWasBilled(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1", "e2")))
	b.now = b.now.Add(time.Second)
	b.record("ts-1")
	docs := b.documents("ts-1")
	if len(docs) != 1 {
		t.Fatalf("%d documents, want 1", len(docs))
	}
	d := docs[0]
	if d.Number != 1 || d.Customer != "cust-1" || d.Receipt.ID != "id-ts-1" || len(d.Billed) != 2 || d.Key != "ts-1" || !d.At.Equal(b.now) || d.Adopted {
		t.Errorf("document = %+v, want what the operation bills and the receipt", d)
	}
	if _, f, err := b.Key(agency.Account, "ts-1"); f != nil || err != nil {
		t.Errorf("frozen = %+v, %v, want nothing after the answer", f, err)
	}
	b.keysAreWhole()
}

func TestRecordIsAllOrNothing(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1")))
	b.unchanged("a batch with a key that is not open", func() {
		if err := b.Record(agency.Account, []Answer{{Key: "ts-1", At: b.now}, {Key: "ts-2", At: b.now}}); !errors.Is(err, ErrDamaged) {
			t.Errorf("Record = %v, want %v", err, ErrDamaged)
		}
	})
}

func TestUpdateReleasesWhatStandsOnNoDocument(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.group("ts-2")
	b.must(b.claim(create("ts-1", 0, "e1", "e2")))
	b.record("ts-1")
	second := create("ts-1", 1, "e3")
	second.Document = 2
	b.must(b.claim(second))
	b.record("ts-1.2")
	b.must(b.claim(update("ts-1", 2, 1, "e2", "e4")))
	if err := b.claim(create("ts-2", 0, "e1")); !errors.Is(err, ErrTaken) {
		t.Errorf("before the answer: %v, want %v", err, ErrTaken)
	}
	b.record("ts-1.3")
	if got := b.claims("e1", "e2", "e3", "e4"); !slices.Equal(got, []string{"", "ts-1", "ts-1", "ts-1"}) {
		t.Errorf("claims = %q, want e1 free and the others under ts-1", got)
	}
	docs := b.documents("ts-1")
	if len(docs) != 2 || docs[0].Key != "ts-1.3" || docs[1].Key != "ts-1.2" {
		t.Errorf("documents = %+v, want the first as updated and the second", docs)
	}
	b.must(b.claim(create("ts-2", 0, "e1")))
	b.keysAreWhole()
}

func TestRecordEndsBeingLost(t *testing.T) {
	b := newBook(t)
	b.must(b.MarkDue(agency.Account, []Group{{Reference: "ts-1", Channel: agency, Lost: true, Absent: b.now}}))
	b.must(b.claim(create("ts-1", 0, "e1")))
	b.record("ts-1")
	if g, _, err := b.Group(agency.Account, "ts-1"); err != nil || g.Lost || !g.Absent.IsZero() {
		t.Errorf("group = %+v, %v, want it neither lost nor absent", g, err)
	}
}

func TestHistorySaysHowADocumentCameAbout(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1")))
	receipt := accounting.Receipt{ID: "d1", Status: accounting.Draft, Currency: "EUR"}
	b.must(b.Record(agency.Account, []Answer{{Key: "ts-1", Receipt: receipt, At: b.now, Adopted: true}}))
	b.must(b.claim(update("ts-1", 1, 1, "e1")))
	b.record("ts-1.2")
	events, err := b.History(agency.Account, "ts-1")
	b.must(err)
	var got []string
	for _, e := range events {
		got = append(got, strings.SplitN(e.What, ":", 2)[0])
	}
	want := []string{"create of 95.00 EUR claimed under key ts-1", "found and adopted", "update of 95.00 EUR claimed under key ts-1.2", "updated"}
	if !slices.Equal(got, want) {
		t.Errorf("history = %q, want %q", got, want)
	}
	if !b.documents("ts-1")[0].At.Equal(b.now) {
		t.Error("the document does not say when it was recorded last")
	}
}

func TestDroppedKeyLetsItsEntriesGo(t *testing.T) {
	for _, outcome := range []Outcome{Refused, Dropped} {
		b := newBook(t)
		b.group("ts-1")
		b.group("ts-2")
		b.must(b.claim(create("ts-1", 0, "e1")))
		drop := []Conclusion{{Reference: "ts-1", Drop: outcome, Error: "no such customer"}}
		_, err := b.Conclude(agency.Account, drop, b.now)
		b.must(err)
		if k := b.key("ts-1"); k.Outcome != outcome {
			t.Errorf("outcome = %q, want %q", k.Outcome, outcome)
		}
		b.must(b.claim(create("ts-2", 0, "e1")))
		b.must(b.claim(create("ts-1", 1, "e2")))
		b.now = b.now.Add(ttl)
		if got := b.sweep(); got.Keys != 1 {
			t.Errorf("Sweep = %+v, want the key that was %s", got, outcome)
		}
		b.keysAreWhole()
	}
}

func TestRefusedUpdateKeepsWhatIsOnTheDocument(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1", "e2")))
	b.record("ts-1")
	b.must(b.claim(update("ts-1", 1, 1, "e1", "e3")))
	_, err := b.Conclude(agency.Account, []Conclusion{{Reference: "ts-1", Drop: Refused}}, b.now)
	b.must(err)
	if got := b.claims("e1", "e2", "e3"); !slices.Equal(got, []string{"ts-1", "ts-1", ""}) {
		t.Errorf("claims = %q, want those on the document kept and e3 free", got)
	}
}

func TestConclusionThatChangesNothingWritesNothing(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	done, since, no := "empty", b.now, false
	_, err := b.Conclude(agency.Account, []Conclusion{{Reference: "ts-1", Done: &done, Waiting: &since}}, b.now)
	b.must(err)
	b.now = b.now.Add(time.Hour)
	tests := map[string]Conclusion{
		"nothing":             {Reference: "ts-1"},
		"done as before":      {Reference: "ts-1", Done: &done},
		"waiting as before":   {Reference: "ts-1", Waiting: &since, Lost: &no},
		"settled, older mark": {Reference: "ts-1", Settled: true, Mark: 999},
		"nothing to close":    {Reference: "ts-1", Close: "over"},
		"no such group":       {Reference: "ts-9", Settled: true, Done: &done},
	}
	for name, c := range tests {
		b.unchanged(name, func() {
			if asked, err := b.Conclude(agency.Account, []Conclusion{c}, b.now); err != nil || len(asked) > 0 {
				t.Errorf("%s: Conclude = %+v, %v, want nothing", name, asked, err)
			}
		})
	}
}

func TestConclusionsOfABatchAreOneCommit(t *testing.T) {
	b := newBook(t)
	var cs []Conclusion
	for n := range 100 {
		ref := fmt.Sprintf("ts-%03d", n)
		b.group(ref)
		cs = append(cs, Conclusion{Reference: ref, Item: &Item{Subject: ref, Kind: Unmapped, Status: Undecided}})
	}
	before := b.Commits()
	asked, err := b.Conclude(agency.Account, cs, b.now)
	b.must(err)
	if got := b.Commits() - before; got != 1 || len(asked) != 100 {
		t.Errorf("%d items in %d commits, want 100 in 1", len(asked), got)
	}
}

// entriesAreWhole fails unless each entry on a document or in a frozen operation is recorded under its
// reference, and no entry stands on documents of two references.
func (b *book) entriesAreWhole() {
	b.t.Helper()
	want := map[string]string{}
	b.must(b.view(func(tx *bbolt.Tx) error {
		hold := func(reference string, all []Billed) {
			for _, e := range all {
				if other, taken := want[e.Entry.ID]; taken && other != reference {
					b.t.Errorf("entry %s is billed under %s and %s", e.Entry.ID, other, reference)
				}
				want[e.Entry.ID] = reference
			}
		}
		err := scan(tx, bucketReceipt, nil, func(key, value []byte) error {
			var d Document
			err := decode(bucketReceipt, key, value, &d)
			hold(d.Reference, d.Billed)
			return err
		})
		return errors.Join(err, scan(tx, bucketFrozen, nil, func(key, value []byte) error {
			var f Frozen
			err := decode(bucketFrozen, key, value, &f)
			hold(f.Invoice.Reference, f.Billed)
			return err
		}))
	}))
	got := map[string]string{}
	b.must(b.view(func(tx *bbolt.Tx) error {
		return scan(tx, bucketClaim, nil, func(key, value []byte) error {
			_, rest, err := cut(key)
			if err != nil {
				return err
			}
			entry, _, err := cut(rest)
			if err != nil {
				return err
			}
			var c Claim
			got[entry] = ""
			err = decode(bucketClaim, key, value, &c)
			got[entry] = c.Reference
			return err
		})
	}))
	for entry, ref := range want {
		if got[entry] != ref {
			b.t.Errorf("entry %s is recorded under %q, want %q", entry, got[entry], ref)
		}
		delete(got, entry)
	}
	if len(got) > 0 {
		b.t.Errorf("recorded and nowhere billed: %v", got)
	}
}

// TestRandomOperationsKeepTheFileWhole lets an engine without any sense do all that the store allows.
func TestRandomOperationsKeepTheFileWhole(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBook(t)
		first := map[string]time.Time{}
		reference := func() string { return fmt.Sprintf("ts-%d", rapid.IntRange(0, 3).Draw(r, "reference")) }
		entries := func() []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"e1", "e2", "e3", "e4", "e5"}), 1, 3, rapid.ID[string]).Draw(r, "entries")
		}
		newest := func() string {
			g, _, err := b.Group(agency.Account, reference())
			b.must(err)
			return g.Key
		}
		allowed := func(err error) {
			if err != nil && !errors.Is(err, ErrDamaged) { // ErrDamaged: the key is not open
				b.must(err)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"mark": func(*rapid.T) { b.group(reference()) },
			"claim": func(r *rapid.T) {
				ref := reference()
				g, known, err := b.Group(agency.Account, ref)
				b.must(err)
				op := create(ref, g.Operations-rapid.IntRange(0, 1).Draw(r, "behind"), entries()...)
				op.Document = rapid.IntRange(1, 2).Draw(r, "document")
				if k := b.key(g.Key); k != nil && k.Outcome == Unknown {
					return // the engine never claims while an outcome is unknown
				}
				if refused := b.claim(op); refused == nil {
					if name := KeyName(ref, op.After+1); known && first[name].IsZero() {
						first[name] = b.now
					} else {
						r.Fatalf("%s was claimed twice", name)
					}
				}
			},
			"attempt": func(*rapid.T) { allowed(b.Attempted(agency.Account, newest(), b.now, false, "timeout")) },
			"record":  func(*rapid.T) { allowed(b.Record(agency.Account, []Answer{{Key: newest(), At: b.now}})) },
			"drop": func(*rapid.T) {
				_, err := b.Conclude(agency.Account, []Conclusion{{Reference: reference(), Drop: Dropped}}, b.now)
				allowed(err)
			},
			"wait": func(r *rapid.T) {
				b.now = b.now.Add(time.Duration(rapid.IntRange(0, 80).Draw(r, "hours")) * time.Hour)
			},
			"sweep": func(*rapid.T) { b.sweep() },
			"week": func(r *rapid.T) {
				w := week("w1", monday.AddDays(rapid.IntRange(0, 1).Draw(r, "day")), entries()...)
				w.State = rapid.SampledFrom([]tracker.State{tracker.Approved, tracker.Pending, tracker.Withdrawn}).Draw(r, "state")
				w.Derived = true
				b.store(w)
			},
			"": func(r *rapid.T) {
				b.keysAreWhole()
				b.entriesAreWhole()
				b.weeksAreWhole()
				for name, at := range first {
					if k := b.key(name); k != nil && !k.First.Equal(at) {
						r.Fatalf("First of %s = %s, want %s", name, k.First, at)
					}
				}
			},
		})
	})
}
