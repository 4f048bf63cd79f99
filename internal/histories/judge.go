package histories

import (
	"slices"
	"strings"
	"time"

	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// lines returns the lines of all documents by the note of the entry that each bills.
func (h *history) lines() map[string][]accounting.Line {
	all := map[string][]accounting.Line{}
	for _, d := range h.books.docs {
		for _, l := range d.invoice.Lines {
			note := l.Text[strings.LastIndex(l.Text, " ")+1:]
			all[note] = append(all[note], l)
		}
	}
	return all
}

// judge holds what must be true at every moment: one document a reference, each entry on at most one, nothing
// billed that was never approved, and a watermark that passed nothing.
func (h *history) judge() {
	seen := map[string]bool{}
	for _, d := range h.books.docs {
		if seen[d.receipt.Reference] {
			h.Errorf("two documents bear %s", d.receipt.Reference)
		}
		seen[d.receipt.Reference] = true
	}
	for note, lines := range h.lines() {
		if len(lines) > 1 {
			h.Errorf("entry %s stands on %d documents", note, len(lines))
		}
		if !h.ever[note] {
			h.Errorf("entry %s is billed and was never approved", note)
		}
	}
	mark, err := h.store.Watermark(h.engine.Channel())
	if err != nil || mark.After(time.Now()) {
		h.Errorf("watermark %s, %v; now is %s", mark, err, time.Now())
	}
}

// judgeRest holds what must be true when nothing more happens: a pass changes nothing, every approved entry is
// billed as it is or somebody was asked, and so is every line for which there is no such entry.
func (h *history) judgeRest() {
	writes, commits := h.books.writes, h.store.Commits()
	if err := h.pass(); err != nil {
		h.Error(err)
	}
	if n, c := h.books.writes-writes, h.store.Commits()-commits; n != 0 || c > 2 {
		h.Errorf("a pass over a world at rest wrote %d documents and committed %d times", n, c)
	}
	asked := h.asked()
	lines, now := h.lines(), map[string]*trackertest.Entry{}
	for _, s := range h.world.Sheets {
		for _, e := range s.Entries {
			if h.approved(s, e) {
				now[e.Note] = e
				h.judgeEntry(s, e, lines[e.Note], asked)
			}
		}
	}
	for note, all := range lines {
		e := now[note]
		if e != nil && e.Seconds == all[0].Seconds || len(all) != 1 {
			continue
		}
		if h.Mute && h.whose[note].Left {
			continue // What was taken in stands.
		}
		if d := h.documentOf(note); !asked.covers(d.Period) {
			h.Errorf("%s bills %d s of entry %s, the tracker says %+v, and nobody was asked", d.Reference, all[0].Seconds, note, e)
		}
	}
	h.judgeAudit(asked)
}

// judgeAudit holds that an audit of a world at rest finds nothing about which nobody was asked, and that it finds a
// second invoice, whatever else there is.
func (h *history) judgeAudit(asked periods) {
	days := civil.Period{First: start, Last: civil.DateOf(time.Now())}
	audit, err := h.engine.Audit(h.Context(), time.Now(), days)
	if err != nil {
		h.Errorf("audit: %v", err)
	}
	for _, f := range audit.Findings {
		if f.Review == "" && !asked.covers(f.Period) {
			h.Errorf("the audit finds what nobody was asked about: %+v", f)
		}
	}
	if len(h.books.docs) == 0 {
		return
	}
	again := *h.books.docs[h.rnd.IntN(len(h.books.docs))]
	again.receipt.ID = "again"
	h.books.docs = append(h.books.docs, &again)
	audit, err = h.engine.Audit(h.Context(), time.Now(), days)
	if err != nil || audit.Count(sync.BilledTwice) != 1 {
		h.Errorf("the audit finds %d duplicates, %v, want the one that was made: %+v", audit.Count(sync.BilledTwice), err, audit.Findings)
	}
}

func (h *history) documentOf(note string) accounting.Invoice {
	for _, d := range h.books.docs {
		for _, l := range d.invoice.Lines {
			if strings.HasSuffix(l.Text, " "+note) {
				return d.invoice
			}
		}
	}
	return accounting.Invoice{}
}

// approved reports whether the tracker says of an entry that it is approved.
func (h *history) approved(s *trackertest.Sheet, e *trackertest.Entry) bool {
	state := s.State
	if h.State != nil {
		state = h.State(s)
	}
	if h.State == nil && state == tracker.Approved && e.Open {
		return false
	}
	return e.Billable && state.Approves() && (state != tracker.Growing || !e.Open)
}

// judgeEntry holds that an approved entry is billed, or waits for others of its period, or somebody was asked.
func (h *history) judgeEntry(s *trackertest.Sheet, e *trackertest.Entry, lines []accounting.Line, asked periods) {
	if len(lines) == 1 || asked.covers(s.Period) || h.waits(s.Period) || h.Mute && s.Member.Left && (h.unreadable(s) || h.takenIn(s)) {
		return
	}
	h.Errorf("entry %s of member %s in %s is approved and on no document, and nobody was asked", e.Note, s.Member.ID, s.Period.First)
}

// takenIn reports whether something of a sheet was billed, and with it the sheet taken in as approved. Of what was added
// before its member left nobody tells then.
func (h *history) takenIn(s *trackertest.Sheet) bool {
	lines := h.lines()
	return slices.ContainsFunc(s.Entries, func(e *trackertest.Entry) bool { return len(lines[e.Note]) > 0 })
}

// unreadable reports whether a person was asked about the record of a sheet that cannot be read. Its id bears the
// member and the first day.
func (h *history) unreadable(s *trackertest.Sheet) bool {
	items, err := h.store.Items("")
	if err != nil {
		h.Fatal(err)
	}
	return slices.ContainsFunc(items, func(i state.Item) bool {
		return i.Kind == state.Unreadable && strings.Contains(i.Title, s.Member.ID) && strings.Contains(i.Title, s.Period.First.String())
	})
}

// waits reports whether a sheet of the period is not all approved, so that its groups wait.
func (h *history) waits(period civil.Period) bool {
	for _, s := range h.world.Sheets {
		for _, e := range s.Entries {
			if s.Period == period && (s.State != tracker.Approved || e.Open) {
				return true
			}
		}
	}
	return false
}

// periods are those about which a person was asked.
type periods map[civil.Period]bool

func (p periods) covers(period civil.Period) bool { return p[period] }

// asked returns the periods of all groups and weeks about which a person was asked.
func (h *history) asked() periods {
	all := periods{}
	items, err := h.store.Items("")
	if err != nil {
		h.Fatal(err)
	}
	for _, i := range items {
		story, found, err := h.engine.Explain(i.Subject, time.Now())
		switch {
		case err != nil:
			h.Error(err)
		case found && story.Group != nil:
			all[story.Group.Period] = true
		case found && story.Week != nil:
			all[story.Week.Period] = true
		case i.Kind != state.Unreadable:
			h.Errorf("an item about nothing: %+v", i)
		}
	}
	return all
}

var _ sync.Accounting = (*books)(nil)
