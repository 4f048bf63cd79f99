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
