package sync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// audit compares the week of the tests, which must go well.
func (s *scene) audit() Audit {
	s.t.Helper()
	a, err := s.engine.Audit(context.Background(), s.now, civil.Period{First: monday, Last: monday.AddDays(6)})
	s.must(err)
	return a
}

// wantFound checks that an audit finds these defects, and nothing else.
func (s *scene) wantFound(a Audit, kinds ...Defect) {
	s.t.Helper()
	var got []Defect
	for _, f := range a.Findings {
		got = append(got, f.Kind)
	}
	if fmt.Sprint(got) != fmt.Sprint(kinds) {
		s.t.Fatalf("findings = %v, want %v: %+v", got, kinds, a.Findings)
	}
}

// waits returns how many are left alone for a reason.
func (a Audit) waits(why Reason) int {
	for _, w := range a.Waiting {
		if w.Reason == why {
			return w.Count
		}
	}
	return 0
}

// put adds an invoice that somebody else made.
func (b *peerBooks) put(mend func(r *accounting.Receipt)) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := &peerDoc{receipt: accounting.Receipt{ID: fmt.Sprintf("hand-%d", len(b.docs)+1), Customer: "cust-1", Currency: "EUR", Date: monday.AddDays(6), Status: accounting.Final}}
	mend(&d.receipt)
	b.docs = append(b.docs, d)
	return d.receipt.ID
}

// remove deletes an invoice without a trace.
func (b *peerBooks) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, d := range b.docs {
		if d.receipt.ID == id {
			b.docs = append(b.docs[:i], b.docs[i+1:]...)
			return
		}
	}
}

// lines makes an invoice bear amounts.
func lines(r *accounting.Receipt, amounts ...int64) {
	r.Net, r.Amounts = decimal.Zero, nil
	for _, a := range amounts {
		r.Amounts = append(r.Amounts, decimal.NewFromInt(a))
		r.Net = r.Net.Add(decimal.NewFromInt(a))
	}
}

// billedWeek is a scene with one invoice of two lines, inv-1, for 800 EUR.
func billedWeek(t *testing.T) (s *scene, ref string) {
	s = newScene(t, func(r *Settings) { r.Lines = LineEntry })
	s.bill(1, week("w1", entry("a", 5), entry("b", 3)))
	return s, s.only().Reference
}

func TestAuditFindsNothingWhereEverythingAgrees(t *testing.T) {
	s, _ := billedWeek(t)
	s.books.put(func(r *accounting.Receipt) { r.Reference = "RENT-11"; lines(r, 650) })
	a := s.audit()
	s.wantFound(a)
	for name, tally := range map[string]Tally{"approved": a.Approved, "recorded": a.Recorded, "booked": a.Booked} {
		if tally.Count != 1 || !tally.Net["EUR"].Equal(decimal.NewFromInt(800)) {
			t.Errorf("%s = %+v, want one of 800 EUR", name, tally)
		}
	}
	if a.Weeks != 1 || len(a.Waiting)+len(a.Decided)+len(a.Notes) != 0 {
		t.Errorf("audit = %+v, want one week and nothing else to say", a)
	}
}

// TestAuditFindsDefects plants defects by hand, one at a time. Each is found and named, with the money that it is about.
func TestAuditFindsDefects(t *testing.T) {
	tests := map[string]struct {
		plant  func(s *scene, ref string)
		want   Defect
		amount string // approved, recorded and booked
		says   string
	}{
		"a duplicate under the same reference": {
			func(s *scene, ref string) {
				s.books.put(func(r *accounting.Receipt) { r.Reference = ref; lines(r, 500, 300) })
			},
			BilledTwice, "800 800 1600", "2 live invoices bear the reference",
		},
		"a duplicate that bears another day": {
			func(s *scene, ref string) {
				s.books.put(func(r *accounting.Receipt) { r.Reference = ref; r.Date = monday.AddDays(200); lines(r, 800) })
			},
			BilledTwice, "800 800 1600", "2 live invoices",
		},
		"a look-alike under another reference": {
			func(s *scene, _ string) {
				s.books.put(func(r *accounting.Receipt) {
					r.Reference, r.Number = "PO 4711", "2026-118"
					r.Date = monday.AddDays(8)
					lines(r, 800)
				})
			},
			LooksAlike, "800 800 1600", "invoice 2026-118 is for the same customer, days and total as inv-1",
		},
		"a draft that was deleted": {
			func(s *scene, _ string) { s.books.remove("inv-1") },
			Gone, "800 800 0", "inv-1 was recorded on 2026-11-09, and is not there any more",
		},
		"an amount that was edited": {
			func(s *scene, _ string) {
				s.books.touch("inv-1", func(r *accounting.Receipt) { lines(r, 500, 350) })
			},
			Differs, "800 800 850", "comes to 850.00 EUR in 2 lines; recorded were 800.00 EUR in 2 lines",
		},
		"a line that was removed": {
			func(s *scene, _ string) { s.books.touch("inv-1", func(r *accounting.Receipt) { lines(r, 500) }) },
			Differs, "800 800 500", "comes to 500.00 EUR in 1 line; recorded were 800.00 EUR in 2 lines",
		},
		"lines that were split otherwise": {
			func(s *scene, _ string) {
				s.books.touch("inv-1", func(r *accounting.Receipt) { lines(r, 400, 400) })
			},
			Differs, "800 800 800", "its 2 lines are not the 2 lines",
		},
		"another customer": {
			func(s *scene, _ string) {
				s.books.touch("inv-1", func(r *accounting.Receipt) { r.Customer = "cust-2" })
			},
			Differs, "800 800 800", "for the customer cust-2, and was recorded for cust-1",
		},
		"a reference that was overwritten": {
			func(s *scene, _ string) {
				s.books.touch("inv-1", func(r *accounting.Receipt) { r.Reference = "PO 12" })
			},
			Differs, "800 800 800", `bears the reference "PO 12" now`,
		},
		"hours that were changed at the tracker": {
			func(s *scene, _ string) {
				s.tracker.put(again(week("w1"), s.now, entry("a", 6), entry("b", 3)))
			},
			Differs, "900 800 800", "6.00 h was 5.00 h",
		},
		"hours that were added at the tracker": {
			func(s *scene, _ string) {
				s.tracker.put(again(week("w1"), s.now, entry("a", 5), entry("b", 3), entry("c", 2)))
			},
			Differs, "1000 800 800", "2.00 h were approved after the invoice was made, and are not billed",
		},
		"a week that was withdrawn": {
			func(s *scene, _ string) {
				w := again(week("w1"), s.now, entry("a", 5), entry("b", 3))
				w.State = tracker.Withdrawn
				s.tracker.put(w)
			},
			NotApproved, "0 800 800", "nothing of what was billed is approved",
		},
		"a week that the tracker does not list any more": {
			func(s *scene, _ string) {
				s.tracker.traits.Whole = true
				s.tracker.drop("w1")
			},
			NotApproved, "0 800 800", "does not list what was billed any more: the week of Ann",
		},
		"a week whose invoice was never made": {
			func(s *scene, _ string) {
				w := week("w2", entry("c", 4))
				w.Entries[0].Client, w.Entries[0].Project = tracker.Ref{ID: "c2", Name: "Beta Ltd"}, tracker.Ref{ID: "p9", Name: "Survey"}
				s.tracker.put(w)
			},
			Missing, "400 - -", "approved and due since 2026-11-09 08:00 UTC, and no invoice was made",
		},
		"an invoice with our prefix that is not recorded": {
			func(s *scene, _ string) {
				s.books.put(func(r *accounting.Receipt) { r.Reference = "ts-26w45-abcdefghij"; lines(r, 70) })
			},
			NotRecorded, "- - 70", "bears a reference like ours",
		},
		"an invoice that was voided": {
			func(s *scene, _ string) {
				s.books.touch("inv-1", func(r *accounting.Receipt) { r.Status = accounting.Void })
			},
			Voided, "800 800 0", "is void, and what it billed is still approved",
		},
		"a receipt for what the tracker never had": {
			func(s *scene, _ string) { s.invent() },
			Unfounded, "0 300 300", "never had: week w9",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, ref := billedWeek(t)
			tt.plant(s, ref)
			before, writes := s.store.Commits(), s.books.writes()
			a := s.audit()
			s.wantFound(a, tt.want)
			f := a.Findings[0]
			if got := fmt.Sprintf("%s %s %s", shown(f.Approved), shown(f.Recorded), shown(f.Booked)); got != tt.amount {
				t.Errorf("amounts = %s, want %s", got, tt.amount)
			}
			if !strings.Contains(f.Text, tt.says) || f.Client == "" || f.Title == "" || f.Currency != "EUR" {
				t.Errorf("finding = %+v, want it whole and to say %q", f, tt.says)
			}
			if s.store.Commits() != before || s.books.writes() != writes {
				t.Error("the audit wrote something, want nothing")
			}
		})
	}
}

func shown(d decimal.NullDecimal) string {
	if !d.Valid {
		return "-"
	}
	return d.Decimal.String()
}

// invent records an invoice for a group that no week of the tracker ever had.
func (s *scene) invent() {
	s.t.Helper()
	ghost := week("w9", ofProject(entry("z", 3), "p9"))
	g := groupOf(s.engine.channel, PerProject, ghost, ghost.Entries[0], "EUR")
	b, _ := s.rules.bill(ghost, ghost.Entries[0])
	inv := s.rules.invoice(g, 1, []state.Billed{b}, Customer{Customer: "cust-1"})
	s.must(s.store.MarkDue("books-1", []state.Group{g}))
	op := state.Operation{Reference: g.Reference, Document: 1, Act: state.Create, Digest: groupDigest([]state.Billed{b}), Frozen: state.Frozen{Invoice: inv, Billed: []state.Billed{b}}}
	refused, err := s.store.Claim("books-1", "tracker-1", []state.Operation{op}, s.now)
	s.must(errors.Join(append(refused, err)...))
	id := s.books.put(func(r *accounting.Receipt) { r.Reference = g.Reference; lines(r, 300) })
	r, err := s.books.Read(context.Background(), id)
	s.must(err)
	s.must(s.store.Record("books-1", []state.Answer{{Key: state.KeyName(g.Reference, 1), Receipt: r, At: s.now, Settles: true}}))
}

// TestAuditFindsTenDefectsAtOnce plants ten in one week: none hides another.
func TestAuditFindsTenDefectsAtOnce(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Lines = LineEntry })
	s.pass() // The first one is over: from now on nothing is looked up before it is made.
	var all []tracker.Week
	for i := range 8 {
		p := fmt.Sprintf("p%d", i)
		all = append(all, week("w"+p, ofProject(entry(p+"a", float64(i+1)), p), ofProject(entry(p+"b", 0.5), p)))
	}
	s.bill(8, all...)
	invoices := map[string]accounting.Receipt{}
	for _, d := range s.books.live() {
		invoices[strings.TrimPrefix(strings.Split(d.invoice.Title, ",")[0], "Project ")] = d.receipt
	}
	s.books.put(func(r *accounting.Receipt) { *r = invoices["p0"]; r.ID = "again" })
	s.books.put(func(r *accounting.Receipt) { *r = invoices["p1"]; r.ID, r.Reference = "alike", "by hand" })
	s.books.remove(invoices["p2"].ID)
	s.books.touch(invoices["p3"].ID, func(r *accounting.Receipt) { lines(r, 400, 60) })
	s.books.touch(invoices["p4"].ID, func(r *accounting.Receipt) { lines(r, 500) })
	gone := again(all[5], s.now, all[5].Entries...)
	gone.State = tracker.Withdrawn
	s.tracker.put(gone)
	s.tracker.put(week("wp8", ofProject(entry("p8a", 9), "p8")))
	s.books.put(func(r *accounting.Receipt) { r.Reference = "ts-26w45-abcdefghij"; lines(r, 70) })
	s.books.touch(invoices["p6"].ID, func(r *accounting.Receipt) { r.Status = accounting.Void })
	s.invent()
	a := s.audit()
	s.wantFound(a, BilledTwice, LooksAlike, NotApproved, Unfounded, NotRecorded, Differs, Differs, Gone, Voided, Missing)
	for _, f := range a.Findings {
		for _, other := range a.Findings {
			if f.Kind == other.Kind && f.Text != other.Text && f.Reference == other.Reference {
				t.Errorf("two findings about one group: %+v and %+v", f, other)
			}
		}
	}
}

func TestAuditLeavesAloneWhatWaits(t *testing.T) {
	tests := map[string]struct {
		rules func(*Settings)
		plant func(s *scene)
		want  Reason
	}{
		"a pending week": {nil, func(s *scene) {
			w := week("w2", ofProject(entry("c", 4), "p2"))
			w.State = tracker.Pending
			s.tracker.put(w)
		}, Incomplete},
		"a week that settles": {func(r *Settings) { r.Settle = 2 * time.Hour }, func(s *scene) {
			s.tracker.put(week("w2", ofProject(entry("c", 4), "p2")))
		}, Incomplete},
		"an ignored client": {func(r *Settings) { r.IgnoreClients = []string{"c3"} }, func(s *scene) {
			s.tracker.put(week("w2", with(entry("c", 4), func(e *tracker.Entry) { e.Client.ID = "c3" })))
		}, NothingDue},
		"a client without a customer": {nil, func(s *scene) {
			s.tracker.put(week("w2", with(entry("c", 4), func(e *tracker.Entry) { e.Client.ID = "c3" })))
			s.pass()
		}, WithPerson},
		"what a person has skipped": {nil, func(s *scene) {
			s.tracker.put(week("w2", with(entry("c", 4), func(e *tracker.Entry) { e.Client.ID = "c3" })))
			s.pass()
			s.rule(s.asked(state.Unmapped).Subject, Skip)
		}, SkippedHere},
		"what a person has settled": {nil, func(s *scene) {
			s.tracker.put(week("w2", with(entry("c", 4), func(e *tracker.Entry) { e.Client.ID = "c3" })))
			s.pass()
			s.rule(s.asked(state.Unmapped).Subject, Settle)
		}, SettledHere},
		"what a person holds": {nil, func(s *scene) {
			s.tracker.put(week("w2", with(entry("c", 4), func(e *tracker.Entry) { e.Client.ID = "c3" })))
			s.pass()
			s.rule(s.asked(state.Unmapped).Subject, Postpone)
		}, HeldBack},
		"a list that a person has to release": {func(r *Settings) { r.MaxNew = 1 }, func(s *scene) {
			s.tracker.put(week("w2", ofProject(entry("c", 4), "p2"), ofProject(entry("d", 4), "p3")))
			s.pass()
		}, WithPerson},
		"an operation without an answer": {nil, func(s *scene) {
			s.tracker.put(week("w2", ofProject(entry("c", 4), "p2")))
			s.books.faults = []peerFault{lostReply}
			_, err := s.engine.Pass(context.Background(), s.now)
			if err != nil {
				s.t.Log(err)
			}
		}, InFlight},
		"what is gone on both sides": {nil, func(s *scene) {
			w := again(week("w1"), s.now, entry("a", 5), entry("b", 3))
			w.State = tracker.Withdrawn
			s.tracker.put(w)
			s.books.remove("inv-1")
		}, BothGone},
		"a record that cannot be read": {nil, func(s *scene) { s.tracker.hide("w2", true) }, NotRead},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Lines = LineEntry })
			s.bill(1, week("w1", entry("a", 5), entry("b", 3)))
			if tt.rules != nil {
				tt.rules(&s.rules)
				s.restart()
			}
			tt.plant(s)
			a := s.audit()
			s.wantFound(a)
			if a.waits(tt.want) == 0 || len(a.Waiting) != 1 {
				t.Errorf("waiting = %+v, want it for %s", a.Waiting, tt.want)
			}
		})
	}
}

func TestAuditCountsWeeksBeforeStart(t *testing.T) {
	s, _ := billedWeek(t)
	s.rules.Start = monday.AddDays(7)
	s.restart()
	s.tracker.put(week("w0", ofProject(entry("z", 8), "p8")))
	a := s.audit()
	s.wantFound(a)
	if a.waits(BeforeStart) != 1 {
		t.Errorf("waiting = %+v, want one week before start", a.Waiting)
	}
}

// TestAuditSaysWhatAPersonWasAsked: an open question is no excuse for an invoice that is wrong, an answer is.
func TestAuditSaysWhatAPersonWasAsked(t *testing.T) {
	s, ref := billedWeek(t)
	s.tracker.put(again(week("w1"), s.now, entry("a", 6), entry("b", 3)))
	s.pass()
	a := s.audit()
	s.wantFound(a, Differs)
	if a.Findings[0].Review != state.Changed || a.Findings[0].Decision != "" {
		t.Errorf("finding = %+v, want it with its open question", a.Findings[0])
	}
	for _, action := range []Action{Postpone, Settle} {
		s.rule(ref, action)
		a = s.audit()
		s.wantFound(a)
		if len(a.Decided) != 1 || !strings.Contains(a.Decided[0].Decision, "by mira") {
			t.Errorf("%s: decided = %+v, want what mira decided", action, a.Decided)
		}
	}
	s.books.put(func(r *accounting.Receipt) { r.Reference = ref; lines(r, 800) })
	s.wantFound(s.audit(), BilledTwice)
	s.tracker.put(again(s.tracker.weeks["w1"], s.now.Add(time.Minute), entry("a", 7), entry("b", 3)))
	s.wantFound(s.audit(), BilledTwice, Differs)
}

func TestAuditOfAnotherRangeSaysNothing(t *testing.T) {
	s, ref := billedWeek(t)
	s.books.put(func(r *accounting.Receipt) { r.Reference = ref; lines(r, 800) })
	s.books.put(func(r *accounting.Receipt) { r.Reference = "ts-26w45-abcdefghij"; lines(r, 70) })
	for _, first := range []civil.Date{monday.AddDays(-7), monday.AddDays(7)} {
		a, err := s.engine.Audit(context.Background(), s.now, civil.Period{First: first, Last: first.AddDays(6)})
		s.must(err)
		s.wantFound(a)
	}
}

// TestAuditMissesNothingByAnError: what cannot be asked ends the audit, and never looks like nothing.
func TestAuditMissesNothingByAnError(t *testing.T) {
	days := civil.Period{First: monday, Last: monday.AddDays(6)}
	tests := map[string]func(s *scene){
		"the tracker":                       func(s *scene) { s.tracker.broken[0] = errors.New("503") },
		"the accounting system":             func(s *scene) { s.books.finding = errors.New("503") },
		"a tracker that holds back":         func(s *scene) { s.tracker.partial = true },
		"a tracker that wants to be left":   func(s *scene) { s.parked(func(st *state.Standing) { st.Parked = s.now.Add(time.Hour) }) },
		"a system that wants to be left be": func(s *scene) { s.parked(func(st *state.Standing) { st.Paused = s.now.Add(time.Hour) }) },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := billedWeek(t)
			spoil(s)
			if a, err := s.engine.Audit(context.Background(), s.now, days); err == nil {
				t.Errorf("Audit = %+v, want an error", a)
			}
		})
	}
}

func (s *scene) parked(mend func(*state.Standing)) {
	s.t.Helper()
	s.must(s.store.ChangeStanding(s.engine.channel, s.now, mend))
}

// busyBooks let a pass run while an audit looks invoices up.
type busyBooks struct {
	*peerBooks
	once      sync.Once
	meanwhile func()
}

func (b *busyBooks) Find(ctx context.Context, reference string) ([]accounting.Receipt, error) {
	b.once.Do(b.meanwhile)
	return b.peerBooks.Find(ctx, reference)
}

func TestAuditDoesNotMindAPassMeanwhile(t *testing.T) {
	s, _ := billedWeek(t)
	s.tracker.put(week("w2", ofProject(entry("c", 4), "p2")))
	auditor := New(s.store, s.tracker, &busyBooks{peerBooks: s.books, meanwhile: func() { s.pass() }}, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
	a, err := auditor.Audit(context.Background(), s.now, civil.Period{First: monday, Last: monday.AddDays(6)})
	s.must(err)
	s.wantFound(a)
	if a.waits(InFlight) != 1 {
		t.Errorf("waiting = %+v, want what the pass was at work on", a.Waiting)
	}
}

func TestAuditLeavesNothingBehind(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s, _ := billedWeek(t)
	s.audit()
	left, err := os.ReadDir(folder)
	s.must(err)
	for _, f := range left {
		if strings.HasPrefix(f.Name(), "tidemark-") {
			t.Errorf("%s is left", f.Name())
		}
	}
}

func TestReferencesOfOurs(t *testing.T) {
	tests := map[string]string{
		"ts-26w48-abcdefghij": "2026-W48", "ts-26w48-abcdefghij-2": "2026-W48", "ts-881": "0000-W00", "ts-w1-3": "0000-W00",
		"ts-26w48-abcdefghi": "", "ts-26w48-ABCDEFGHIJ": "", "TS-881": "", "ts-": "", "xts-881": "", "ts-4711 Acme": "",
	}
	for reference, want := range tests {
		got := ""
		if w, is := ours("ts-", reference); is {
			got = w.String()
		}
		if got != want {
			t.Errorf("ours(%q) = %q, want %q", reference, got, want)
		}
	}
}
