package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

func betaWork(id string, hours float64) tracker.Entry {
	return with(entry(id, hours), func(e *tracker.Entry) {
		e.Client, e.Project = tracker.Ref{ID: "c2", Name: "Beta Ltd"}, tracker.Ref{ID: "p9", Name: "Audit"}
	})
}

func TestApprovedWeekBecomesOneDraftUnderItsReference(t *testing.T) {
	s := newScene(t)
	report := s.bill(1, week("r1", entry("a", 1.5), entry("b", 2)))
	g := s.only()
	s.wantCalls(g.Reference)
	s.wantLive(1, "350")
	m := report.Invoices[0]
	if m.Reference != g.Reference || m.Seconds != 12600 || !m.Amount.Equal(decimal.NewFromInt(350)) || m.Client != "Acme GmbH" || m.ID != "inv-1" {
		t.Errorf("report = %+v, want the invoice inv-1 of 3.5 h and 350", m)
	}
	if !report.Net(Created)["EUR"].Equal(decimal.NewFromInt(350)) {
		t.Errorf("net created = %v, want 350 EUR", report.Net(Created))
	}
	s.quiet()
}

func TestOneBadRecordNeverBlocksTheOthers(t *testing.T) {
	s := newScene(t)
	s.rules.Workers = 1
	s.restart()
	s.books.faults = []peerFault{"", "", rejected}
	for i := range 5 {
		s.tracker.put(week(fmt.Sprintf("r%d", i), ofProject(entry(fmt.Sprintf("e%d", i), 1), fmt.Sprintf("p%d", i))))
	}
	s.bill(4)
	if i := s.asked(state.Rejected); !strings.Contains(i.Text, "The period is locked.") {
		t.Errorf("item says %q, want the system's own sentence", i.Text)
	}
	s.quiet()
	i := s.items()[0]
	s.rule(i.Subject, Retry)
	s.bill(1)
	s.wantLive(5, "500")
	s.wantItems(0)
	if last := s.books.calls[len(s.books.calls)-1].Key; last != i.Subject+".2" {
		t.Errorf("key after a refusal = %s, want the next, %s.2", last, i.Subject)
	}
}

func TestRecordThatFailsIsTriedAgainWhateverIsListedLater(t *testing.T) {
	s := newScene(t)
	s.books.faults = []peerFault{refusedNow}
	s.tracker.put(week("r1", entry("a", 1)))
	if report, _ := s.failing(); report.Failed == 0 {
		t.Error("failed = 0, want the group")
	}
	delete(s.tracker.weeks, "r1")
	s.bill(1)
	s.wantCalls(s.only().Reference)
}

func TestCurrenciesAreNeverSummed(t *testing.T) {
	s := newScene(t)
	s.bill(2, week("r1", entry("a", 1), with(entry("b", 1), func(e *tracker.Entry) { e.Currency = "USD" })))
	s.quiet()
}

func TestClientWithoutACustomerHoldsOnlyItselfBack(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", entry("a", 1), with(betaWork("b", 1), func(e *tracker.Entry) { e.Client = tracker.Ref{ID: "c7", Name: "Newcomer"} })))
	i := s.asked(state.Unmapped)
	if !strings.Contains(i.Text, "Newcomer") {
		t.Errorf("item says %q, want the client's name", i.Text)
	}
	s.quiet()
	s.rules.Customers = append(s.rules.Customers, Customer{Client: "Newcomer", Customer: "cust-7"})
	s.restart()
	s.rule(i.Subject, Retry)
	s.bill(1)
	s.wantItems(0)
}

func TestWorkThatIsNotBillableBillsNothing(t *testing.T) {
	s := newScene(t)
	s.bill(0, week("r1", with(entry("a", 8), func(e *tracker.Entry) { e.Billable = false })))
	s.bill(0, week("r2", with(entry("b", 8), func(e *tracker.Entry) { e.Rate = price("0") })))
	if g := s.only(); g.Done == "" {
		t.Errorf("group at a rate of zero = %+v, want it done with a reason", g)
	}
	s.wantItems(0)
	s.quiet()
}

// TestBadEntriesAreAPersons: what cannot be billed as it stands is asked about, and the rest is billed.
func TestBadEntriesAreAPersons(t *testing.T) {
	tests := []struct {
		name string
		mend func(e *tracker.Entry)
		want state.Kind
	}{
		{"a running timer", func(e *tracker.Entry) { e.Running, e.Seconds = true, -1700000000 }, state.Incomplete},
		{"a negative duration", func(e *tracker.Entry) { e.Seconds = -3600 }, state.Incomplete},
		{"no rate", func(e *tracker.Entry) { e.Rate.Valid = false }, state.Incomplete},
		{"no currency", func(e *tracker.Entry) { e.Currency = "" }, state.Incomplete},
		{"no client", func(e *tracker.Entry) { e.Client = tracker.Ref{} }, state.Unmapped},
		{"billed elsewhere", func(e *tracker.Entry) { e.Elsewhere = true }, state.Elsewhere},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.bill(1, week("r1", with(entry("a", 1), tt.mend)), week("r2", betaWork("b", 2)))
			i := s.asked(tt.want)
			s.quiet()
			s.tracker.put(again(week("r1"), s.now, entry("a", 1)))
			s.pass()
			if tt.name == "no client" || tt.name == "no currency" {
				return // The mended entry belongs to another group.
			}
			s.rule(i.Subject, Retry)
			s.bill(1)
			s.wantLive(2, "300")
			s.wantItems(0)
		})
	}
}

func TestSettleWaitsAfterTheLastApproval(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = time.Hour })
	w := week("r1", entry("a", 1))
	w.Approved = s.now
	s.bill(0, w)
	s.quiet()
	bob := again(week("r2"), s.now.Add(30*time.Minute), entry("b", 1))
	bob.Member = tracker.Ref{ID: "m2", Name: "Bob"}
	s.wait(30 * time.Minute)
	s.bill(0, bob)
	s.wait(time.Hour - time.Nanosecond)
	if report := s.bill(0); report.Waiting != 1 {
		t.Errorf("waiting = %d, want 1", report.Waiting)
	}
	s.wait(time.Nanosecond)
	s.bill(1)
	s.wantLive(1, "200")
}

func TestKnownPendingWeekHoldsItsGroupBackAndNoOther(t *testing.T) {
	s := newScene(t)
	pending := week("r2", entry("b", 1))
	pending.State, pending.Member = tracker.Pending, tracker.Ref{ID: "m2", Name: "Bob"}
	s.bill(1, week("r1", entry("a", 1), betaWork("c", 1)), pending)
	for _, g := range s.groups() {
		if (g.Client.ID == "c1") == g.Waiting.IsZero() {
			t.Errorf("group of %s waits since %s, want only that of c1 to wait", g.Client.ID, g.Waiting)
		}
	}
	s.quiet()
	approved := again(pending, s.now, entry("b", 1))
	approved.State = tracker.Approved
	s.bill(1, approved)
	s.wantLive(2, "300")
}

func TestWaitAtMostHandsToAPersonAndTakesBack(t *testing.T) {
	s := newScene(t)
	pending := week("r1", entry("a", 1))
	pending.State = tracker.Pending
	s.bill(0, pending)
	s.wait(s.rules.WaitAtMost - time.Nanosecond)
	s.bill(0)
	s.wantItems(0)
	s.wait(time.Nanosecond)
	s.bill(0)
	s.asked(state.Waiting)
	s.quiet()
	s.rules.Settle = time.Hour
	s.restart()
	approved := again(pending, s.now, entry("a", 1))
	approved.State = tracker.Approved
	s.bill(0, approved)
	s.wantItems(0)
	s.wait(time.Hour)
	s.bill(1)
	s.quiet()
}

func TestCustomersArePinned(t *testing.T) {
	s := newScene(t)
	s.bill(1, week("r1", betaWork("a", 1)))
	renamed := again(week("r2"), s.now, with(betaWork("b", 1), func(e *tracker.Entry) { e.Client.Name, e.Project = "Gamma Ltd", tracker.Ref{ID: "p8"} }))
	s.bill(1, renamed)
	for _, d := range s.books.live() {
		if d.receipt.Customer != "cust-2" {
			t.Errorf("invoice %s is for %s, want cust-2: the client is the same", d.receipt.ID, d.receipt.Customer)
		}
	}
	taker := again(week("r3"), s.now, with(betaWork("c", 1), func(e *tracker.Entry) { e.Client.ID = "c3" }))
	s.bill(0, taker)
	s.asked(state.Unmapped)
}

func TestTwoClientsOfOneNameAreNotOneCustomer(t *testing.T) {
	s := newScene(t)
	twin := with(betaWork("b", 1), func(e *tracker.Entry) { e.Client.ID = "c3" })
	s.bill(1, week("r1", betaWork("a", 1)), week("r2", twin))
	s.asked(state.Unmapped)
	s.wantLive(1, "100")
	s.quiet()
}

func TestLiveKeyHoldsAChangeBack(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 8))
	s.bill(1, w)
	s.tracker.put(again(w, s.now, entry("a", 9)))
	s.pass()
	i := s.asked(state.Changed)
	if i.Billed.Seconds != 8*3600 || i.Wanted.Seconds != 9*3600 || !i.Difference().Equal(decimal.NewFromInt(100)) {
		t.Errorf("item = %+v, want 8 h billed, 9 h wanted, 100 more", i)
	}
	s.quiet()
	s.wait(100 * 24 * time.Hour)
	s.pass()
	s.wantLive(1, "800")
	s.asked(state.Changed)
}

func TestChangeBackToWhatWasBilledClosesTheQuestion(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 8))
	s.bill(1, w)
	b := again(w, s.now, entry("a", 9))
	s.tracker.put(b)
	s.pass()
	s.asked(state.Changed)
	s.tracker.put(again(b, s.now, entry("a", 8)))
	s.pass()
	s.wantItems(0)
	s.wantLive(1, "800")
	s.quiet()
}

// TestKeyIsExpiredAtExactlyItsTTL: a re-issue gets through at first seen + ttl and not before, whether or
// not a sweep has run, and a resend stream never keeps its own key alive.
func TestKeyIsExpiredAtExactlyItsTTL(t *testing.T) {
	tests := []struct {
		after time.Duration
		swept bool
		want  string
	}{
		{-time.Nanosecond, false, "100"},
		{0, false, "200"},
		{time.Nanosecond, false, "200"},
		{0, true, "200"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("ttl %+d ns, swept %v", tt.after, tt.swept), func(t *testing.T) {
			s := newScene(t)
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			for range 70 { // the same is sent again each hour
				s.wait(time.Hour)
				s.pass()
			}
			s.wait(2*time.Hour + tt.after)
			if tt.swept {
				clock, err := s.store.Observe(s.now)
				s.must(err)
				if swept, err := s.store.Sweep(clock, s.rules.TTL); err != nil || swept.Keys != 1 {
					t.Fatalf("Sweep = %+v, %v; want one key", swept, err)
				}
			}
			s.tracker.put(again(w, s.now, entry("a", 2)))
			s.pass()
			s.wantLive(1, tt.want)
			if tt.want == "200" {
				ref := s.only().Reference
				s.wantCalls(ref, ref+".2")
				s.wantItems(0)
			}
			s.quiet()
		})
	}
}

func TestCorrectionsReviewNeverUpdates(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = Review })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.wait(100 * time.Hour)
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.pass()
	s.asked(state.Changed)
	s.wantLive(1, "100")
	s.quiet()
}

func TestCorrectionsUpdateDraftsUpdatesAtOnce(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	w = again(w, s.now, entry("a", 2))
	s.tracker.put(w)
	if report := s.pass(); report.Count(Updated) != 1 {
		t.Errorf("updated = %d, want 1", report.Count(Updated))
	}
	s.tracker.put(again(w, s.now, entry("a", 1)))
	s.pass()
	s.wantLive(1, "100")
	ref := s.only().Reference
	s.wantCalls(ref, ref+".2", ref+".3")
	s.quiet()
}

func TestUpdateLeavesAloneWhatIsNoLongerOurDraft(t *testing.T) {
	tests := []struct {
		name string
		mend func(r *accounting.Receipt)
	}{
		{"approved", func(r *accounting.Receipt) { r.Status = accounting.Final }},
		{"voided", func(r *accounting.Receipt) { r.Status = accounting.Void }},
		{"another amount", func(r *accounting.Receipt) { r.Net = decimal.NewFromInt(90) }},
		{"another text", func(*accounting.Receipt) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			s.books.touch("inv-1", tt.mend)
			s.tracker.put(again(w, s.now, entry("a", 2)))
			s.pass()
			if i := s.asked(state.Changed); i.Wanted.Seconds != 7200 || i.Billed.Seconds != 3600 {
				t.Errorf("item = %+v, want both figures", i)
			}
			s.wantCalls(s.only().Reference)
			s.quiet()
		})
	}
}

func TestSystemThatGuardsNothingIsNeverUpdated(t *testing.T) {
	s := newScene(t)
	s.books.traits.GuardsDrafts = false
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.wait(100 * time.Hour)
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.pass()
	s.asked(state.Changed)
	s.wantLive(1, "100")
}

func TestLateWorkIsAPersonsOrASecondInvoice(t *testing.T) {
	for _, late := range []Late{LateReview, SecondInvoice} {
		t.Run(string(late), func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Late = late })
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			w = again(w, s.now, entry("a", 1), entry("b", 2))
			ref := s.only().Reference
			if late == LateReview {
				s.bill(0, w)
				if i := s.asked(state.Late); i.Wanted.Seconds-i.Billed.Seconds != 7200 {
					t.Errorf("item = %+v, want 2 h more", i)
				}
				s.wantCalls(ref)
				s.quiet()
				return
			}
			s.bill(1, w)
			s.wantCalls(ref, ref+".2")
			if second := s.books.live()[1].receipt; second.Reference != ref+"-2" || !second.Net.Equal(decimal.NewFromInt(200)) {
				t.Errorf("second invoice = %+v, want %s-2 of 200", second, ref)
			}
			s.quiet()
			s.wait(100 * time.Hour)
			s.tracker.put(again(w, s.now, entry("a", 1), entry("b", 3)))
			s.pass()
			s.wantLive(2, "400")
			s.wantCalls(ref, ref+".2", ref+".3")
		})
	}
}

func TestWithdrawnIsAPersonsAndNothingIsVoided(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	gone := again(w, s.now, entry("a", 1))
	gone.State = tracker.Withdrawn
	s.tracker.put(gone)
	s.pass()
	s.asked(state.Withdrawn)
	s.wantLive(1, "100")
	s.quiet()
	back := again(gone, s.now, entry("a", 1))
	s.bill(0, back)
	if items := s.items(); len(items) != 1 {
		t.Errorf("items = %v, want the question to stay while the week is withdrawn", items)
	}
	back = again(back, s.now, entry("a", 1))
	back.State = tracker.Approved
	s.bill(0, back)
	s.wantItems(0)
	s.quiet()
}

func TestEntryMovedToAnotherProjectIsNeverBilledTwice(t *testing.T) {
	for _, corrections := range []Corrections{Window, UpdateDrafts} {
		t.Run(string(corrections), func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Corrections = corrections })
			w := week("r1", entry("a", 1), entry("b", 2))
			s.bill(1, w)
			s.tracker.put(again(w, s.now, entry("b", 2), ofProject(entry("a", 1), "p2")))
			s.pass()
			live := map[string]int{}
			for _, d := range s.books.live() {
				live[d.receipt.Reference]++
			}
			if len(live) != 1 {
				t.Errorf("live invoices = %v, want one", live)
			}
			var moved bool
			for _, i := range s.items() {
				moved = moved || i.Kind == state.Moved
			}
			if corrections == Window && !moved {
				t.Errorf("items = %v, want one that says moved", s.items())
			}
			s.quiet()
		})
	}
}

func TestEntryWithADerivedIdThatMovedIsAPersons(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1), entry("b", 2))
	w.Derived = true
	s.bill(1, w)
	moved := again(w, s.now, entry("b", 2), ofProject(entry("a-in-p2", 1), "p2"))
	s.tracker.put(moved)
	s.pass()
	s.wantLive(1, "300")
	kinds := map[state.Kind]int{}
	for _, i := range s.items() {
		kinds[i.Kind]++
	}
	if kinds[state.Changed] != 1 || kinds[state.Moved] != 1 {
		t.Errorf("items = %v, want one changed and one moved", kinds)
	}
	s.quiet()
}

func TestEntryOfTwoApprovedWeeksIsAmbiguous(t *testing.T) {
	tests := []struct {
		name  string
		other func() tracker.Week
		first bool // the first week is billed before the other comes
	}{
		{"of one period, together", func() tracker.Week { return week("r2", entry("a", 2)) }, false},
		{"of one period, after the first was billed", func() tracker.Week { return week("r2", entry("a", 2)) }, true},
		{"of one period and the same, after the first was billed", func() tracker.Week { return week("r2", entry("a", 1)) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.tracker.put(week("r1", entry("a", 1)))
			if tt.first {
				s.bill(1)
			}
			s.bill(0, tt.other())
			s.asked(state.Ambiguous)
			s.quiet()
		})
	}
}

func TestPerChangedBillsNothingTwice(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1), ofProject(entry("b", 2), "p2"))
	s.bill(2, w)
	s.rules.Per = PerClient
	s.restart()
	s.bill(0)
	s.wantItems(0)
	s.quiet()
	later := week("r2", entry("c", 1), ofProject(entry("d", 1), "p2"))
	later.Period = civil.Period{First: monday.AddDays(7), Last: monday.AddDays(13)}
	for i := range later.Entries {
		later.Entries[i].Date = monday.AddDays(8)
	}
	later.Changed = s.now
	s.bill(1, later)
	s.tracker.put(again(w, s.now, entry("a", 1), ofProject(entry("b", 2), "p2"), ofProject(entry("z", 1), "p2")))
	s.pass()
	if n := s.books.writes(); n != 3 {
		t.Errorf("writes = %d, want 3: what came late to a group of the old kind is a person's", n)
	}
	if len(s.items()) == 0 {
		t.Error("items = none, want one on the late entry")
	}
}

func TestWeekWithAPersonLeavesTheInvoicesOfOthersAlone(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	ann, bob := week("r1", entry("a", 1)), week("r2", entry("b", 2))
	bob.Member = tracker.Ref{ID: "m2", Name: "Bob"}
	s.bill(1, ann, bob)
	torn := again(bob, s.now, entry("b", 2))
	torn.Trouble = &tracker.Trouble{Kind: tracker.Ambiguous, Text: "two files hold it"}
	s.tracker.put(torn)
	s.pass()
	s.asked(state.Ambiguous)
	s.wantLive(1, "300")
	s.tracker.put(again(ann, s.now, entry("a", 5)))
	s.pass()
	s.wantLive(1, "700")
	s.asked(state.Ambiguous)
	s.quiet()
	s.rule(s.items()[0].Subject, Settle)
	s.pass()
	s.wantLive(1, "700")
	if i := s.items(); len(i) != 1 || i[0].Status != state.Settled {
		t.Errorf("items = %+v, want the settled one alone", i)
	}
	s.quiet()
}

func TestStepsOfAManyStepCreateAreResumed(t *testing.T) {
	s := newScene(t)
	steps := &stepBooks{peerBooks: s.books, fail: 2}
	engine := New(s.store, s.tracker, steps, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	s.tracker.put(week("r1", entry("a", 1)))
	if _, err := engine.Pass(context.Background(), s.now); err == nil {
		t.Fatal("Pass: no error, want that of the second step")
	}
	steps.fail = 0
	report, err := engine.Pass(context.Background(), s.now)
	s.must(err)
	if report.Count(Created) != 1 || len(s.books.live()) != 1 {
		t.Errorf("created = %d, live = %d; want the one document that was begun", report.Count(Created), len(s.books.live()))
	}
	ref := s.only().Reference
	if got, want := strings.Join(steps.sent, " "), ref+"/1 "+ref+"/2 "+ref+"/2"; got != want {
		t.Errorf("steps sent = %s, want %s", got, want)
	}
}

// stepBooks makes a draft and then its lines, each step under a key of its own.
type stepBooks struct {
	*peerBooks
	fail int // the step that fails
	sent []string
}

func (b *stepBooks) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	req, err := b.peerBooks.Prepare(inv)
	req.Steps = append(req.Steps, req.Steps[0])
	return req, err
}

func (b *stepBooks) Create(ctx context.Context, key string, req accounting.Request, done accounting.Progress, save func(accounting.Progress) error) (r accounting.Receipt, err error) {
	for n := done.Done + 1; n <= len(req.Steps); n++ {
		b.sent = append(b.sent, fmt.Sprintf("%s/%d", key, n))
		if n == b.fail {
			return r, errors.New("500")
		}
		if n == 1 {
			if r, err = b.peerBooks.Create(ctx, key, req, done, save); err != nil {
				return r, err
			}
			done.Document = r.ID
		}
		done.Done = n
		if err := save(done); err != nil {
			return r, err
		}
	}
	return b.Read(ctx, done.Document)
}

// TestInvoicesCostTwoCommitsABatch: the claims and the receipts, each of which is two flushes. A lone
// invoice costs four flushes, a hundred cost no more.
func TestInvoicesCostTwoCommitsABatch(t *testing.T) {
	for invoices, want := range map[int]int64{1: 2, 100: 2, 101: 4} {
		s := newScene(t)
		s.pass()
		s.some(invoices)
		s.must(s.engine.pull(context.Background(), s.now, &Report{}))
		clock, err := s.store.Observe(s.now)
		s.must(err)
		commits, report := s.store.Commits(), Report{}
		s.must(s.engine.post(context.Background(), clock, scope{}, true, &report))
		if got := s.store.Commits() - commits; got != want || report.Count(Created) != invoices {
			t.Errorf("commits = %d for %d invoices, want %d for %d", got, report.Count(Created), want, invoices)
		}
	}
}
