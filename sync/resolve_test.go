package sync

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// unknownCreate is a scene in which a first create ended without an answer.
func unknownCreate(t *testing.T, f peerFault, traits accounting.Traits) (*scene, tracker.Week) {
	s := newScene(t)
	s.pass() // the first run ends
	s.books.traits = traits
	s.books.faults = []peerFault{f}
	w := week("r1", entry("a", 1))
	s.tracker.put(w)
	s.failing()
	return s, w
}

var sure = accounting.Traits{Authoritative: true, GuardsDrafts: true}

func TestLostReplyIsAdopted(t *testing.T) {
	s, _ := unknownCreate(t, lostReply, sure)
	if report := s.pass(); report.Count(Adopted) != 1 || report.Count(Created) != 0 {
		t.Errorf("adopted, created = %d, %d; want 1, 0", report.Count(Adopted), report.Count(Created))
	}
	s.wantCalls(s.only().Reference)
	s.wantLive(1, "100")
	s.quiet()
}

func TestLostRequestIsSentAgainUnderTheSameKeyWithTheSameBytes(t *testing.T) {
	s := newScene(t)
	s.pass()
	s.books.faults = []peerFault{lostReply, "", ""}
	rec := &recordingBooks{peerBooks: s.books, lost: 2}
	engine := New(s.store, s.tracker, rec, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	s.books.faults = nil
	s.tracker.put(week("r1", entry("a", 1)))
	for range 2 {
		if _, err := engine.Pass(context.Background(), s.now); err == nil {
			t.Fatal("Pass: no error, want that of the lost request")
		}
		s.wait(90 * time.Second)
		s.rules.Lines, s.rules.DueDays = LineEntry, 30 // settings changed in between make no other bytes
		engine = New(s.store, s.tracker, rec, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	}
	report, err := engine.Pass(context.Background(), s.now)
	s.must(err)
	if report.Count(Created) != 1 || len(rec.sent) != 3 {
		t.Fatalf("created = %d by %d attempts, want 1 by 3", report.Count(Created), len(rec.sent))
	}
	for _, a := range rec.sent {
		if a != rec.sent[0] {
			t.Errorf("attempts = %v, want one key and one body", rec.sent)
		}
	}
	s.wantLive(1, "100")
}

// recordingBooks writes down what was sent, and loses the first requests.
type recordingBooks struct {
	*peerBooks
	lost int
	sent []peerCall
}

func (b *recordingBooks) Create(ctx context.Context, key string, req accounting.Request, p accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error) {
	b.sent = append(b.sent, peerCall{"create", key, string(req.Steps[0].Body)})
	if len(b.sent) <= b.lost {
		return accounting.Receipt{}, errors.New("409: the key is in use")
	}
	return b.peerBooks.Create(ctx, key, req, p, save)
}

func TestNeverExecutedIsSentAgainOrGivenUp(t *testing.T) {
	tests := []struct {
		name    string
		entries []tracker.Entry
		keys    []string
		net     string
	}{
		{"row 3a: same content, same key", []tracker.Entry{entry("a", 1)}, []string{""}, "100"},
		{"row 3a: other content, next key", []tracker.Entry{entry("a", 2)}, []string{".2"}, "200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := unknownCreate(t, refusedNow, sure)
			s.tracker.put(again(w, s.now, tt.entries...))
			if report := s.pass(); report.Count(Created) != 1 {
				t.Errorf("created = %d, want 1", report.Count(Created))
			}
			s.wantCalls(s.only().Reference + tt.keys[0])
			s.wantLive(1, tt.net)
			s.quiet()
		})
	}
}

func TestContentChangedBeforeTheOutcomeIsKnown(t *testing.T) {
	tests := []struct {
		name  string
		fault peerFault
		want  []tracker.Entry
		keys  []string
		net   string
		kind  state.Kind
	}{
		{"row 5: it had arrived, more is wanted", lostReply, []tracker.Entry{entry("a", 2)}, []string{""}, "100", state.Changed},
		{"row 5: it had arrived, nothing is wanted", lostReply, nil, []string{""}, "100", state.Withdrawn},
		{"row 5: it had not arrived, more is wanted", lostRequest, []tracker.Entry{entry("a", 2)}, []string{".2"}, "200", ""},
		{"row 5: it had not arrived, nothing is wanted", lostRequest, nil, nil, "0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := unknownCreate(t, tt.fault, sure)
			ref := s.only().Reference
			s.tracker.put(again(w, s.now, tt.want...))
			s.pass()
			var keys []string
			for _, k := range tt.keys {
				keys = append(keys, ref+k)
			}
			s.wantCalls(keys...)
			live := 1
			if tt.net == "0" {
				live = 0
			}
			s.wantLive(live, tt.net)
			if tt.kind != "" {
				s.asked(tt.kind)
			} else {
				s.wantItems(0)
			}
			s.quiet()
		})
	}
}

// TestOneEmptySearchIsNoProof: a new document may stay invisible for SearchLag, and an attempt may take
// effect until SettleAfter.
func TestOneEmptySearchIsNoProof(t *testing.T) {
	traits := sure
	traits.SettleAfter, traits.SearchLag = 5*time.Minute, time.Minute
	s, _ := unknownCreate(t, lostReply, traits)
	finds := s.books.finds
	s.wait(traits.SettleAfter - time.Nanosecond)
	s.pass()
	if s.books.finds != finds {
		t.Error("it was looked up before the attempt had settled")
	}
	s.wait(time.Nanosecond)
	s.books.blind = 1
	if report := s.pass(); report.Unknown != 1 {
		t.Errorf("unknown = %d after one empty search, want 1", report.Unknown)
	}
	s.wantCalls(s.only().Reference)
	s.wait(traits.SearchLag)
	if report := s.pass(); report.Count(Adopted) != 1 {
		t.Errorf("adopted = %d, want 1", report.Count(Adopted))
	}
	s.wantLive(1, "100")
	s.quiet()
}

func TestProvenAbsenceTakesTwoSearchesAfterTheAttemptSettled(t *testing.T) {
	traits := sure
	traits.SettleAfter, traits.SearchLag = 5*time.Minute, time.Minute
	s, _ := unknownCreate(t, lostRequest, traits)
	s.wait(traits.SettleAfter)
	s.pass()
	s.wait(traits.SearchLag - time.Nanosecond)
	s.pass()
	s.wantLive(0, "0")
	s.wait(100 * 24 * time.Hour) // whatever the key's age
	if report := s.pass(); report.Count(Created) != 1 {
		t.Errorf("created = %d, want 1", report.Count(Created))
	}
	s.wantCalls(s.only().Reference)
}

// A program that runs one pass at a time, from a timer, begins anew each time.
func TestAttemptOfAProcessThatDiedSettlesForProcessesOfOnePass(t *testing.T) {
	traits := sure
	traits.SettleAfter = 5 * time.Minute
	s, _ := unknownCreate(t, lostRequest, traits)
	s.must(s.store.Attempted(s.engine.channel.Account, s.only().Reference, time.Time{}, false, "")) // As if it had died.
	for range 3 {
		s.wait(2 * time.Minute)
		s.restart()
		s.pass()
	}
	s.wantLive(0, "0")
	s.wait(2 * time.Minute)
	s.restart()
	if report := s.pass(); report.Count(Created) != 1 {
		t.Errorf("created = %d eight minutes after the attempt, want 1", report.Count(Created))
	}
	s.quiet()
}

func TestAnErrorIsNeverAbsence(t *testing.T) {
	s, _ := unknownCreate(t, lostReply, sure)
	s.books.finding = errors.New("503")
	for range 3 {
		s.wait(time.Hour)
		s.failing()
	}
	s.wantCalls(s.only().Reference)
	s.books.finding = nil
	s.pass()
	s.wantLive(1, "100")
	s.wantCalls(s.only().Reference)
}

// TestFirstCreateIsLookedUpFirst: also a lone create asks before it sends, and an error there sends nothing.
func TestFirstCreateIsLookedUpFirst(t *testing.T) {
	s := newScene(t)
	s.pass()
	s.books.finding = errors.New("503")
	s.tracker.put(week("r1", entry("a", 1)))
	s.failing()
	s.wantCalls()
	s.books.finding = nil
	s.bill(1)
	s.wantCalls(s.only().Reference)
}

func TestHitsThatAreNotWhatWeWantArePersons(t *testing.T) {
	tests := []struct {
		name string
		mend func(b *peerBooks)
		kind state.Kind
		says string
	}{
		{"voided", func(b *peerBooks) {
			b.touch("inv-1", func(r *accounting.Receipt) { r.Status = accounting.Void })
		}, state.Mismatch, "voided"},
		{"another net", func(b *peerBooks) {
			b.touch("inv-1", func(r *accounting.Receipt) { r.Net = decimal.NewFromInt(90) })
		}, state.Mismatch, "90.00 EUR where 100.00 EUR"},
		{"another customer", func(b *peerBooks) { b.touch("inv-1", func(r *accounting.Receipt) { r.Customer = "cust-9" }) }, state.Mismatch, "cust-9"},
		{"another currency", func(b *peerBooks) { b.touch("inv-1", func(r *accounting.Receipt) { r.Currency = "USD" }) }, state.Mismatch, "USD"},
		{"other lines", func(b *peerBooks) {
			b.touch("inv-1", func(r *accounting.Receipt) {
				r.Amounts = []decimal.Decimal{decimal.NewFromInt(60), decimal.NewFromInt(40)}
			})
		}, state.Mismatch, "other lines"},
		{"two of them", func(b *peerBooks) {
			twin := *b.docs[0]
			twin.receipt.ID = "inv-2"
			b.docs = append(b.docs, &twin)
		}, state.Duplicate, "inv-2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := unknownCreate(t, lostReply, sure)
			tt.mend(s.books)
			s.pass()
			if i := s.asked(tt.kind); !strings.Contains(i.Text, tt.says) {
				t.Errorf("item says %q, want %q in it", i.Text, tt.says)
			}
			s.wantCalls(s.only().Reference)
			s.quiet()
		})
	}
}

func TestWithoutAnAuthoritativeSearchOnlyTheKeysMemoryCounts(t *testing.T) {
	traits := accounting.Traits{KeyMemory: time.Hour}
	t.Run("within it the same bytes go again", func(t *testing.T) {
		s, _ := unknownCreate(t, lostRequest, traits)
		s.wait(time.Hour - time.Nanosecond)
		s.pass()
		s.wantCalls(s.only().Reference)
		s.wantLive(1, "100")
	})
	t.Run("after it a person decides", func(t *testing.T) {
		s, _ := unknownCreate(t, lostRequest, traits)
		s.wait(time.Hour)
		s.pass()
		i := s.asked(state.NotKnown)
		s.wantCalls()
		s.quiet()
		s.rule(i.Subject, Retry)
		s.bill(1)
		s.wantCalls(s.only().Reference + ".2")
		s.wantItems(0)
	})
	t.Run("other content is never sent under it", func(t *testing.T) {
		s, w := unknownCreate(t, lostRequest, traits)
		s.tracker.put(again(w, s.now, entry("a", 2)))
		s.pass()
		s.asked(state.NotKnown)
		s.wantCalls()
	})
}

// TestAttemptThatNobodySawEndIsTakenToEndWithTheProcess: after a crash the wait begins at the start.
func TestAttemptThatNobodySawEndIsTakenToEndWithTheProcess(t *testing.T) {
	s := newScene(t)
	s.pass()
	s.books.traits.SettleAfter = time.Hour
	s.tracker.put(week("r1", entry("a", 1)))
	dying := New(s.store, s.tracker, dyingBooks{s.books, s.store}, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	if _, err := dying.Pass(context.Background(), s.now); err == nil {
		t.Fatal("Pass over a closed state: no error, want one")
	}
	s.wait(10 * time.Hour)
	store, err := state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.store = store
	s.restart()
	if report := s.pass(); report.Unknown != 1 || report.Count(Created) != 0 {
		t.Errorf("unknown, created = %d, %d right after the start; want 1, 0", report.Unknown, report.Count(Created))
	}
	s.wait(time.Hour)
	if report := s.pass(); report.Count(Created) != 1 {
		t.Errorf("created = %d an hour after the start, want 1", report.Count(Created))
	}
	s.wantCalls(s.only().Reference)
}

// dyingBooks takes the state away while a create is on its way, so that nobody can note how it ended.
type dyingBooks struct {
	*peerBooks
	store *state.Store
}

func (b dyingBooks) Create(context.Context, string, accounting.Request, accounting.Progress, func(accounting.Progress) error) (accounting.Receipt, error) {
	return accounting.Receipt{}, errors.Join(errors.New("time-out"), b.store.Close())
}

func TestSecondOfTwoSearchesCounts(t *testing.T) {
	s, _ := unknownCreate(t, lostReply, sure)
	s.books.blind = 1
	if report := s.pass(); report.Count(Adopted) != 1 {
		t.Errorf("adopted = %d, want 1", report.Count(Adopted))
	}
	s.wantLive(1, "100")
	s.wantCalls(s.only().Reference)
}

// TestLaterAttemptThatWasNotSentSaysNothingOfTheEarlierOne: that one may have arrived.
func TestLaterAttemptThatWasNotSentSaysNothingOfTheEarlierOne(t *testing.T) {
	s, w := unknownCreate(t, lostReply, accounting.Traits{KeyMemory: time.Hour})
	s.books.blind, s.books.faults = 100, []peerFault{refusedNow}
	s.failing()
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.pass()
	s.asked(state.NotKnown)
	s.wantLive(1, "100")
}

// An answer that tells of another amount, such as one with a discount or in another currency, is no invoice as it was
// wanted: it is a person's, and not sent again.
func TestAnswerThatBillsSomethingElseIsAPersons(t *testing.T) {
	s := newScene(t)
	s.pass()
	s.books.skew = decimal.NewFromInt(-20)
	s.tracker.put(week("r1", entry("a", 1)))
	s.failing()
	s.wait(time.Hour)
	s.pass()
	items, err := s.store.Items("")
	s.must(err)
	if len(items) != 1 || items[0].Kind != state.Mismatch {
		t.Errorf("items %+v, want one mismatch", items)
	}
	if n := len(s.books.docs); n != 1 {
		t.Errorf("%d documents, want 1", n)
	}
}

// A week that is approved long before it begins is not billed yet.
func TestPeriodFarAheadWaits(t *testing.T) {
	s := newScene(t)
	s.pass()
	w := week("r1", entry("a", 1))
	first := civil.DateOf(s.now).AddDays(40)
	w.Period = civil.Period{First: first, Last: first.AddDays(6)}
	w.Entries[0].Date = first
	s.tracker.put(w)
	if r := s.pass(); r.Count(Created) != 0 || r.Waiting != 1 {
		t.Errorf("created %d, waiting %d; want 0, 1", r.Count(Created), r.Waiting)
	}
	s.wait(13 * 24 * time.Hour)
	if r := s.pass(); r.Count(Created) != 1 {
		t.Errorf("created %d four weeks before, want 1", r.Count(Created))
	}
}
