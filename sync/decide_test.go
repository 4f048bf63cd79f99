package sync

import (
	"strings"
	"testing"
	"time"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// given makes a case of a group that holds entries now, with an invoice for each list of billed ones.
func given(now []tracker.Entry, billed ...[]tracker.Entry) Case {
	rules := testRules()
	c := Case{
		Now: afterwards, Rules: rules, Guards: true, Mapped: true,
		Group: state.Group{Reference: "ts-26w45-a", Per: string(PerProject), Period: week("w").Period, Client: tracker.Ref{ID: "c1"}, Currency: "EUR"},
	}
	for _, e := range now {
		b, _ := rules.bill(week("w"), e)
		c.Content.Entries = append(c.Content.Entries, b)
	}
	for n, entries := range billed {
		d := state.Document{Reference: c.Group.Reference, Number: n + 1}
		for _, e := range entries {
			b, _ := rules.bill(week("w"), e)
			d.Billed = append(d.Billed, b)
		}
		c.Documents = append(c.Documents, d)
		c.Key = &state.Key{Act: state.Create, Outcome: state.Done, First: afterwards}
	}
	c.Live = len(billed) > 0
	c.Wanted = groupDigest(c.Content.Entries)
	return c
}

func entries(all ...tracker.Entry) []tracker.Entry { return all }

func (c Case) having(mend func(c *Case)) Case {
	mend(&c)
	return c
}

func expired(c *Case)       { c.Live = false }
func unguarded(c *Case)     { c.Live, c.Guards = false, false }
func updateDrafts(c *Case)  { c.Rules.Corrections = UpdateDrafts }
func reviewAlways(c *Case)  { c.Live, c.Rules.Corrections = false, Review }
func secondInvoice(c *Case) { c.Rules.Late = SecondInvoice }

func itemOf(status state.Status, kind state.Kind, accepted state.Digest) func(*Case) {
	return func(c *Case) {
		c.Item = &state.Item{Status: status, Kind: kind, Accepted: accepted, Text: "as it was asked", Who: "mira"}
	}
}

func keyIs(act state.Act, outcome state.Outcome) func(*Case) {
	return func(c *Case) { c.Key = &state.Key{Act: act, Outcome: outcome, First: afterwards} }
}

// TestBillingAGroup holds Decide to the table "Billing a group", row by row.
func TestBillingAGroup(t *testing.T) {
	a, b := entry("a", 2), entry("b", 3)
	grown := entry("a", 4)
	tests := []struct {
		row  string
		c    Case
		do   Do
		kind state.Kind
	}{
		{"row 1: open item, content as asked", given(entries(grown), entries(a)).having(itemOf(state.Undecided, state.Changed, "")), Ask, state.Changed},
		{"row 1: open item of another cause stays", given(entries(a)).having(itemOf(state.Undecided, state.Rejected, "")), Ask, state.Rejected},
		{"row 1: a change joins the open item", given(nil, entries(a)).having(itemOf(state.Undecided, state.Late, "")), Ask, state.Withdrawn},
		{"row 1: open item holds an unknown create back", given(entries(a)).having(keyIs(state.Create, state.Unknown)).having(itemOf(state.Undecided, state.NotKnown, "")), Ask, state.NotKnown},
		{"row 1: an open item ends when what is wanted is what was billed", given(entries(a), entries(a)).having(itemOf(state.Undecided, state.Changed, "")), Finish, ""},
		{"row 1: held until a later day", given(entries(a)).having(itemOf(state.Held, state.Waiting, "")).having(func(c *Case) { c.Item.Until = civil.DateOf(afterwards).AddDays(1) }), Leave, ""},
		{"row 1: held until today opens again", given(entries(a)).having(itemOf(state.Held, state.Waiting, "")).having(func(c *Case) { c.Item.Until = civil.DateOf(afterwards) }), Ask, state.Waiting},
		{"row 1: settled, same content", given(entries(a)).having(func(c *Case) { itemOf(state.Settled, state.Changed, c.Wanted)(c) }), Leave, ""},
		{"row 1: settled, another content", given(entries(a)).having(itemOf(state.Settled, state.Changed, "1:other")), Ask, state.Changed},
		{"row 1: skipped, same content", given(entries(a)).having(func(c *Case) { itemOf(state.Skipped, state.Changed, c.Wanted)(c) }), Leave, ""},
		{"row 1: skipped, nothing wanted any more", given(nil).having(itemOf(state.Skipped, state.Changed, "1:other")), Leave, ""},
		{"row 1: skipped, another content", given(entries(a)).having(itemOf(state.Skipped, state.Changed, "1:other")), Ask, state.Changed},
		{"row 2: nothing approved and billable", given(nil), Finish, ""},
		{"row 2: zero by policy", given(entries(with(a, func(e *tracker.Entry) { e.Rate = price("0") }))), Finish, ""},
		{"row 2: pending, nothing approved", given(nil).having(func(c *Case) { c.Content.Pending = "not approved yet" }), Hold, ""},
		{"row 2: pending, a part approved", given(entries(a)).having(func(c *Case) { c.Content.Pending = "not approved yet" }), Hold, ""},
		{"row 2: pending for less than wait_at_most", given(entries(a)).having(func(c *Case) {
			c.Content.Pending, c.Group.Waiting = "not approved yet", afterwards.Add(-c.Rules.WaitAtMost+1)
		}), Hold, ""},
		{"row 2: pending for wait_at_most", given(entries(a)).having(func(c *Case) {
			c.Content.Pending, c.Group.Waiting = "not approved yet", afterwards.Add(-c.Rules.WaitAtMost)
		}), Ask, state.Waiting},
		{"row 2: settles one nanosecond more", given(entries(a)).having(func(c *Case) { c.Rules.Settle, c.Content.Approved = time.Hour, afterwards.Add(-time.Hour+1) }), Hold, ""},
		{"row 2: ended before start", given(entries(a)).having(func(c *Case) { c.Rules.Start = monday.AddDays(7) }), Finish, ""},
		{"row 2: ends on the day of start", given(entries(a)).having(func(c *Case) { c.Rules.Start = monday.AddDays(6) }), Make, ""},
		{"row 2: made for another way of splitting", given(entries(a)).having(func(c *Case) { c.Rules.Per = PerClient }), Finish, ""},
		{"row 2: ignored", given(nil).having(func(c *Case) { c.Content.Ignored = true }), Finish, ""},
		{"row 2: billed under another reference as a whole", given(entries(a)).having(func(c *Case) { c.Recorded.Under = []string{"ts-881"} }), Finish, ""},
		{"row 3: complete", given(entries(a, b)), Make, ""},
		{"row 3: settled exactly now", given(entries(a)).having(func(c *Case) { c.Rules.Settle, c.Content.Approved = time.Hour, afterwards.Add(-time.Hour) }), Make, ""},
		{"row 3: entry recorded under another reference", given(entries(a)).having(func(c *Case) { c.Recorded.Moved = []string{"a"} }), Ask, state.Moved},
		{"row 3: entry that looks like a vanished one", given(entries(a)).having(func(c *Case) { c.Recorded.Similar = []string{"a"} }), Ask, state.Moved},
		{"row 3: entry in two approved weeks", given(entries(a)).having(func(c *Case) { c.Recorded.Shared = []string{"a"} }), Ask, state.Ambiguous},
		{"row 3: billed elsewhere", given(entries(with(a, func(e *tracker.Entry) { e.Elsewhere = true }))), Ask, state.Elsewhere},
		{"row 3: running timer", given(entries(with(a, func(e *tracker.Entry) { e.Running, e.Seconds = true, -1 }))), Ask, state.Incomplete},
		{"row 3: negative duration", given(entries(with(a, func(e *tracker.Entry) { e.Seconds = -1 }))), Ask, state.Incomplete},
		{"row 3: negative rate", given(entries(with(a, func(e *tracker.Entry) { e.Rate = price("-1") }))), Ask, state.Incomplete},
		{"row 3: negative amount", given(entries(with(a, func(e *tracker.Entry) { e.Amount = price("-1") }))), Ask, state.Incomplete},
		{"row 3: no rate", given(entries(with(a, func(e *tracker.Entry) { e.Rate.Valid = false }))), Ask, state.Incomplete},
		{"row 3: no currency", given(entries(a)).having(func(c *Case) { c.Group.Currency = "" }), Ask, state.Incomplete},
		{"row 3: no customer", given(entries(a)).having(func(c *Case) { c.Mapped = false }), Ask, state.Unmapped},
		{"row 3a: refused, then retried", given(entries(a)).having(keyIs(state.Create, state.Refused)), Make, ""},
		{"row 3a: never executed", given(entries(a)).having(keyIs(state.Create, state.Unknown)).having(func(c *Case) { c.Key.Unsent = true }), Resolve, ""},
		{"row 4: unknown, same", given(entries(a)).having(keyIs(state.Create, state.Unknown)), Resolve, ""},
		{"row 5: unknown, nothing wanted", given(nil).having(keyIs(state.Create, state.Unknown)), Resolve, ""},
		{"row 5: dropped, then anew", given(entries(a)).having(keyIs(state.Create, state.Dropped)), Make, ""},
		{"row 5: unknown second document", given(entries(a, b), entries(a)).having(keyIs(state.Create, state.Unknown)), Resolve, ""},
		{"row 6: live key, same content", given(entries(a), entries(a)), Finish, ""},
		{"row 6: two documents, same union", given(entries(a, b), entries(a), entries(b)), Finish, ""},
		{"row 6: pending does not hold back a billed group", given(entries(a), entries(a)).having(func(c *Case) { c.Content.Pending = "not approved yet" }), Finish, ""},
		{"row 7: live key, different content", given(entries(grown), entries(a)), Ask, state.Changed},
		{"row 7: live key, an entry gone", given(entries(a), entries(a, b)), Ask, state.Changed},
		{"row 7: live key, update-drafts", given(entries(grown), entries(a)).having(updateDrafts), Mend, ""},
		{"row 7: live key, update-drafts, no guard", given(entries(grown), entries(a)).having(updateDrafts).having(func(c *Case) { c.Guards = false }), Ask, state.Changed},
		{"row 8: expired key, same content", given(entries(a), entries(a)).having(expired), Finish, ""},
		{"row 8: swept key, same content", given(entries(a), entries(a)).having(expired).having(func(c *Case) { c.Key = nil }), Finish, ""},
		{"row 9: expired key, different content", given(entries(grown), entries(a)).having(expired), Mend, ""},
		{"row 9: swept key, different content", given(entries(grown), entries(a)).having(expired).having(func(c *Case) { c.Key = nil }), Mend, ""},
		{"row 9: no guard", given(entries(grown), entries(a)).having(unguarded), Ask, state.Changed},
		{"row 9: corrections review", given(entries(grown), entries(a)).having(reviewAlways), Ask, state.Changed},
		{"row 9: two documents concerned", given(entries(grown, entry("b", 9)), entries(a), entries(b)).having(expired), Ask, state.Changed},
		{"row 9: holds an entry recorded under another reference", given(entries(grown, b), entries(a)).having(expired).having(func(c *Case) { c.Recorded.Moved = []string{"b"} }), Ask, state.Moved},
		{"row 9: running timer", given(entries(with(grown, func(e *tracker.Entry) { e.Running = true })), entries(a)).having(expired), Ask, state.Incomplete},
		{"row 9: one document's entries all gone", given(entries(a), entries(a), entries(b)).having(expired), Ask, state.Withdrawn},
		{"row 10: update claimed, unknown", given(entries(grown), entries(a)).having(keyIs(state.Update, state.Unknown)), Verify, ""},
		{"row 10: before row 12", given(nil, entries(a)).having(keyIs(state.Update, state.Unknown)), Verify, ""},
		{"row 11: late, review", given(entries(a, b), entries(a)), Ask, state.Late},
		{"row 11: late, review, expired", given(entries(a, b), entries(a)).having(expired), Ask, state.Late},
		{"row 11: second-invoice", given(entries(a, b), entries(a)).having(secondInvoice), Further, ""},
		{"row 11: second-invoice, corrections review", given(entries(a, b), entries(a)).having(secondInvoice).having(reviewAlways), Ask, state.Late},
		{"row 11: second-invoice, recorded under another reference", given(entries(a, b), entries(a)).having(secondInvoice).having(func(c *Case) { c.Recorded.Moved = []string{"b"} }), Ask, state.Moved},
		{"row 11: second-invoice waits for what is pending", given(entries(a, b), entries(a)).having(secondInvoice).having(func(c *Case) { c.Content.Pending = "not approved yet" }), Hold, ""},
		{"row 12: nothing approved is left", given(nil, entries(a)), Ask, state.Withdrawn},
		{"row 12: nothing approved is left, expired", given(nil, entries(a)).having(expired), Ask, state.Withdrawn},
		{"row 12: nothing approved is left, update-drafts", given(nil, entries(a)).having(updateDrafts), Ask, state.Withdrawn},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) {
			if got := Decide(tt.c); got.Do != tt.do || got.Kind != tt.kind {
				t.Errorf("Decide = %s %s (%s), want %s %s", got.Do, got.Kind, got.Text, tt.do, tt.kind)
			}
		})
	}
}

func TestFurtherDocumentBillsOnlyWhatWasAdded(t *testing.T) {
	a, b, c := entry("a", 2), entry("b", 3), entry("c", 1)
	d := Decide(given(entries(a, b, c), entries(a), entries(b)).having(secondInvoice))
	if d.Document != 3 || len(d.Entries) != 1 || d.Entries[0].Entry.ID != "c" {
		t.Errorf("Decide = document %d with %v, want document 3 with c alone", d.Document, d.Entries)
	}
}

func TestNinthDocumentIsTheLast(t *testing.T) {
	var now []tracker.Entry
	var billed [][]tracker.Entry
	for id := range strings.SplitSeq("abcdefghi", "") {
		now = append(now, entry(id, 1))
		billed = append(billed, entries(entry(id, 1)))
	}
	c := given(append(now, entry("z", 1)), billed...).having(secondInvoice)
	if d := Decide(c); d.Do != Ask || d.Kind != state.Late {
		t.Errorf("Decide = %s %s, want ask late", d.Do, d.Kind)
	}
}

func TestUpdateTouchesOnlyTheDocumentThatBearsTheEntry(t *testing.T) {
	a, b := entry("a", 2), entry("b", 3)
	d := Decide(given(entries(a, entry("b", 5)), entries(a), entries(b)).having(expired))
	if d.Do != Mend || d.Document != 2 || len(d.Entries) != 1 || d.Entries[0].Entry.Seconds != 5*3600 {
		t.Errorf("Decide = %s document %d with %v, want mend document 2 with b of 5 h", d.Do, d.Document, d.Entries)
	}
}

// TestWaitingEndsWhenTheGroupIsComplete: a group that waited too long is a person's, but not for longer
// than it waits.
func TestWaitingEndsWhenTheGroupIsComplete(t *testing.T) {
	late := func(c *Case) {
		itemOf(state.Undecided, state.Waiting, "")(c)
		c.Group.Waiting = afterwards.Add(-20 * 24 * time.Hour)
	}
	if d := Decide(given(entries(entry("a", 2))).having(late)); d.Do != Make || d.Close == "" {
		t.Errorf("Decide of a complete group = %s, closing %q, want make and a reason to close", d.Do, d.Close)
	}
	settling := given(entries(entry("a", 2))).having(late).having(func(c *Case) {
		c.Rules.Settle, c.Content.Approved = time.Hour, afterwards.Add(-time.Minute)
	})
	if d := Decide(settling); d.Do != Hold || d.Close == "" {
		t.Errorf("Decide of a group that settles = %s, closing %q, want hold and a reason to close", d.Do, d.Close)
	}
}
