package sync

import (
	"fmt"
	"slices"
	"time"

	"tidemark/state"
	"tidemark/sync/tracker"
)

// Case is everything that the decision on a group depends on.
type Case struct {
	Now       time.Time
	Rules     Settings
	Guards    bool // the accounting system guards drafts
	Group     state.Group
	Documents []state.Document // recorded invoices, the first one first
	Key       *state.Key       // the newest operation; nil if there was none or it was swept
	Live      bool             // that key has not expired
	Item      *state.Item      // what a person has to decide, or decided
	Content   Content
	Wanted    state.Digest // of the content
	Recorded  Recorded
	Mapped    bool // the client has a customer
}

// Recorded says what is recorded of the wanted entries in other places than the group's own invoices.
type Recorded struct {
	Under   []string // other references under which all of them are recorded, and where they belong
	Moved   []string // entries that are recorded under another reference, and others that are not
	Similar []string // new entries that look like billed ones which have vanished
	Shared  []string // entries, billed ones too, that two approved weeks hold
}

// Do is what is done with a group.
type Do string

// What can be done with a group. Row numbers are those of the table "Billing a group".
const (
	Leave   Do = "leave"   // nothing is written or sent: it is a person's, or was decided by one (row 1)
	Finish  Do = "finish"  // nothing is to be sent (rows 2, 6 and 8)
	Hold    Do = "hold"    // it waits to be complete (row 2)
	Make    Do = "make"    // a first invoice (row 3)
	Further Do = "further" // a further document with the new entries (row 11)
	Mend    Do = "mend"    // the draft is updated in place (row 9)
	Resolve Do = "resolve" // what became of a create is found out (rows 3a, 4 and 5)
	Verify  Do = "verify"  // what became of an update is found out (row 10)
	Ask     Do = "ask"     // a person decides
)

// Decision is what is done with a group, and why.
type Decision struct {
	Do       Do
	Kind     state.Kind     // of Ask: the question
	Text     string         // why, for a person
	Close    string         // why an open item no longer asks anything; empty if it stays
	Document int            // of Make, Further and Mend: which document
	Entries  []state.Billed // of Make, Further and Mend: what the document bills
}

// Decide decides a group. It goes through the table in the order 1, 10, 12, 11, then 2 to 9.
func Decide(c Case) Decision {
	answered := c.answered()
	if c.Item != nil && answered == "" {
		return c.row1()
	}
	d := c.open()
	d.Close = answered
	return d
}

// open decides a group about which no person has been asked.
func (c Case) open() Decision {
	switch {
	case c.unknown() && c.Key.Act == state.Update: // 10
		return Decision{Do: Verify}
	case c.unknown(): // 3a, 4, 5
		return Decision{Do: Resolve}
	case len(c.Documents) == 0: // 2, 3
		return c.fresh()
	case len(c.Content.Entries) == 0: // 12
		return ask(state.Withdrawn, "nothing of what was billed is approved any more; the program voids and deletes nothing")
	}
	if len(c.Recorded.Shared) > 0 {
		return c.shared()
	}
	changed, added := c.compare()
	switch {
	case len(changed) == 0 && len(added) == 0: // 6, 8
		return Decision{Do: Finish}
	case len(changed) == 0: // 11
		return c.late(added)
	default: // 7, 9
		return c.changed(changed, added)
	}
}

func ask(kind state.Kind, format string, args ...any) Decision {
	return Decision{Do: Ask, Kind: kind, Text: fmt.Sprintf(format, args...)}
}

func (c Case) unknown() bool { return c.Key != nil && c.Key.Outcome == state.Unknown }

// answered returns why the open item of a group no longer asks anything: what is wanted is again what
// was billed, or what was waited for has come. What a person settled or skipped is not touched by it.
func (c Case) answered() string {
	i := c.Item
	if i == nil || i.Status != state.Undecided || i.Accepted != "" {
		return ""
	}
	switch i.Kind {
	case state.Changed, state.Late, state.Withdrawn, state.Ambiguous:
		changed, added := c.compare()
		if len(c.Documents) > 0 && len(changed)+len(added)+len(c.Recorded.Shared) == 0 && !c.unknown() {
			return "what is wanted is what was billed"
		}
	case state.Waiting:
		if len(c.Documents) == 0 && c.Content.Pending == "" {
			return "it is complete"
		}
	}
	return ""
}

// row1 leaves a group to the person who was asked about it or decided. A change joins the open item;
// what was settled or skipped opens again only for other contents than those that were accepted.
func (c Case) row1() Decision {
	i := *c.Item
	today := todayOf(c.Now, c.Rules.Location)
	switch {
	case i.Status == state.Held && today.Before(i.Until):
		return Decision{Do: Leave}
	case i.Status == state.Held, i.Status == state.Undecided:
		if now := c.open(); now.Do == Ask {
			return now
		}
		return ask(i.Kind, "%s", i.Text)
	case i.Accepted == accepted(c.Wanted), i.Status == state.Skipped && c.Wanted == "":
		return Decision{Do: Leave}
	}
	return ask(state.Changed, "it was %s by %s, and has changed since then", i.Status, i.Who)
}

// fresh decides a group without an invoice: rows 2 and 3.
func (c Case) fresh() Decision {
	g, r := c.Group, c.Rules
	switch {
	case g.Period.Last.Before(r.Start):
		return finish("it ended before start")
	case Per(g.Per) != r.Per:
		return finish("invoices are now made per " + string(r.Per))
	case len(c.Content.Entries) == 0 && c.Content.Pending != "":
		return c.hold(c.Content.Pending)
	case len(c.Content.Entries) == 0 && c.Content.Ignored:
		return finish("its client or project is ignored")
	case len(c.Content.Entries) == 0:
		return finish("nothing in it is approved and billable")
	case len(c.Recorded.Under) > 0:
		return finish("it is recorded under " + few(c.Recorded.Under))
	}
	if d := c.refuse(c.Content.Entries); d.Do != "" {
		return d
	}
	return c.make()
}

// make decides a group without an invoice of which nothing is wrong.
func (c Case) make() Decision {
	if why := c.incomplete(); why != "" {
		return c.hold(why)
	}
	if c.Rules.totals(c.Content.Entries, c.Group.Currency).Amount.IsZero() {
		return finish("it comes to nothing")
	}
	if !c.Mapped {
		return c.unmapped()
	}
	return Decision{Do: Make, Document: 1, Entries: c.Content.Entries}
}

func finish(why string) Decision { return Decision{Do: Finish, Text: why} }

// ahead is how many days before its period begins a group may be billed. Systems look for an invoice among those that
// were made since the period began, and some time before.
const ahead = 28

// incomplete returns why a group is not to be billed yet; empty if it may be.
func (c Case) incomplete() string {
	if c.Content.Pending != "" {
		return c.Content.Pending
	}
	if c.Group.Period.First.AddDays(-ahead).In(c.Rules.Location).After(c.Now) {
		return "it is billed four weeks before its period begins at the earliest"
	}
	if ready := c.Content.Approved.Add(c.Rules.Settle); c.Now.Before(ready) {
		return "it settles until " + ready.In(c.Rules.Location).Format("2006-01-02 15:04 MST")
	}
	return ""
}

// hold lets a group wait, and hands it to a person when it has waited too long. What it waited for then
// may come, and something else be waited for: that is a new wait.
func (c Case) hold(why string) Decision {
	since := c.Group.Waiting
	tooLong := !since.IsZero() && !c.Now.Before(since.Add(c.Rules.WaitAtMost))
	if tooLong && c.Content.Pending != "" {
		return ask(state.Waiting, "it has waited since %s: %s", since.In(c.Rules.Location).Format("2006-01-02"), why)
	}
	return Decision{Do: Hold, Text: why}
}

// refuse returns the question that entries which are to be billed for the first time give rise to;
// the zero Decision if there is none.
func (c Case) refuse(entries []state.Billed) Decision {
	incomplete, elsewhere := problems(entries, c.Group)
	switch {
	case len(c.Recorded.Moved) > 0:
		return ask(state.Moved, "recorded under another reference: %s", few(c.Recorded.Moved))
	case len(c.Recorded.Similar) > 0:
		return ask(state.Moved, "looks like an entry that was billed and has vanished: %s", few(c.Recorded.Similar))
	case len(c.Recorded.Shared) > 0:
		return c.shared()
	case len(elsewhere) > 0:
		return ask(state.Elsewhere, "the tracker says that it was billed already: %s", few(elsewhere))
	case len(incomplete) > 0:
		return ask(state.Incomplete, "%s", few(incomplete))
	}
	return Decision{}
}

func (c Case) shared() Decision {
	return ask(state.Ambiguous, "held by two approved weeks: %s", few(c.Recorded.Shared))
}

func (c Case) unmapped() Decision {
	client := clientOf(c.Group, c.Content.Entries)
	return ask(state.Unmapped, "no customer for the client %q (id %q): add a line under invoice.customers, then retry", client.Name, client.ID)
}

// late decides a group to whose invoices entries were added: row 11.
func (c Case) late(added []state.Billed) Decision {
	texts := make([]string, len(added))
	for i, b := range added {
		texts[i] = describe(b)
	}
	d := c.refuse(added)
	n := len(c.Documents) + 1
	switch {
	case d.Do != "":
		return d
	case c.Rules.Late != SecondInvoice, c.Rules.Corrections == Review, n > 9:
		return ask(state.Late, "approved after the invoice was made: %s", few(texts))
	case c.incomplete() != "":
		return c.hold(c.incomplete())
	case c.Rules.totals(added, c.Group.Currency).Amount.IsZero():
		return Decision{Do: Finish}
	case !c.Mapped:
		return c.unmapped()
	}
	return Decision{Do: Further, Document: n, Entries: added}
}

// changed decides a group whose billed entries have changed: rows 7 and 9.
func (c Case) changed(changed map[int][]string, added []state.Billed) Decision {
	var texts []string
	for _, n := range sortedKeys(changed) {
		texts = append(texts, changed[n]...)
	}
	text := "changed after the invoice was made: " + few(texts)
	switch {
	case c.Rules.Corrections == Review, c.Live && c.Rules.Corrections != UpdateDrafts, !c.Guards:
		return ask(state.Changed, "%s", text)
	case len(changed) > 1:
		return ask(state.Changed, "%s; more than one invoice is concerned", text)
	}
	if d := c.refuse(added); d.Do != "" {
		return d
	}
	n := sortedKeys(changed)[0]
	entries := c.entriesOf(n, added)
	if incomplete, _ := problems(entries, c.Group); len(incomplete) > 0 {
		return ask(state.Incomplete, "%s", few(incomplete))
	}
	if len(entries) == 0 {
		return ask(state.Withdrawn, "nothing of what invoice %s billed is approved any more; the program voids and deletes nothing", documentReference(c.Group.Reference, n))
	}
	return Decision{Do: Mend, Document: n, Entries: entries}
}

// compare returns what of each document has changed or is gone, and what none of them bills.
func (c Case) compare() (changed map[int][]string, added []state.Billed) {
	wanted := map[string]state.Billed{}
	for _, b := range c.Content.Entries {
		wanted[b.Entry.ID] = b
	}
	changed = map[int][]string{}
	billed := map[string]bool{}
	for _, d := range c.Documents {
		for _, old := range d.Billed {
			billed[old.Entry.ID] = true
			now, there := wanted[old.Entry.ID]
			switch {
			case !there:
				changed[d.Number] = append(changed[d.Number], describe(old)+" is gone")
			case !sameEntry(old, now):
				changed[d.Number] = append(changed[d.Number], difference(old, now))
			}
		}
	}
	for _, b := range c.Content.Entries {
		if !billed[b.Entry.ID] {
			added = append(added, b)
		}
	}
	return changed, added
}

// difference says how an entry has changed.
func difference(old, now state.Billed) string {
	if old.Entry.Seconds != now.Entry.Seconds {
		return fmt.Sprintf("%s was %s", describe(now), hours(old.Entry.Seconds))
	}
	return describe(now) + " says something else"
}

// entriesOf returns what a document would bill: of its own entries those that are still wanted, as they
// are now, and the added ones.
func (c Case) entriesOf(n int, added []state.Billed) (entries []state.Billed) {
	i := slices.IndexFunc(c.Documents, func(d state.Document) bool { return d.Number == n })
	own := map[string]bool{}
	for _, b := range c.Documents[i].Billed {
		own[b.Entry.ID] = true
	}
	for _, b := range c.Content.Entries {
		if own[b.Entry.ID] {
			entries = append(entries, b)
		}
	}
	return append(entries, added...)
}

func sortedKeys(m map[int][]string) (keys []int) {
	for n := range m {
		keys = append(keys, n)
	}
	slices.Sort(keys)
	return keys
}

// resembles reports whether a new entry may be a billed one that has vanished under another id: it is
// of the same member in the same period, of the same day and project, or says the same of the same work.
func resembles(v state.Vanished, b state.Billed, g state.Group) bool {
	same := func(a, b tracker.Ref) bool { return a.ID == b.ID }
	switch {
	case same(v.Member, b.Member) && g.Period.Contains(v.Entry.Date):
		return true
	case v.Entry.Date == b.Entry.Date && same(v.Entry.Project, b.Entry.Project):
		return true
	}
	return same(v.Member, b.Member) && same(v.Entry.Project, b.Entry.Project) &&
		v.Entry.Seconds == b.Entry.Seconds && v.Entry.Note == b.Entry.Note
}
