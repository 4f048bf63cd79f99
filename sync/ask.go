package sync

import (
	"cmp"
	"fmt"
	"time"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// ask makes the item for a question about a group. What a person accepted before stays known.
func (p *poster) ask(c Case, kind state.Kind, text string) *state.Item {
	i := &state.Item{
		Subject: c.Group.Reference, Kind: kind, Status: state.Undecided, Sync: p.rules.Name, Channel: p.channel,
		Title:  heading(c.Group, c.Content.Entries, c.Documents),
		Text:   text,
		Billed: billedTotals(c.Documents, c.Group.Currency),
		Wanted: p.rules.totals(c.Content.Entries, c.Group.Currency),
		Digest: c.Wanted,
	}
	if c.Item != nil {
		i.Accepted = c.Item.Accepted
	}
	return i
}

// heading names a group for a person: its client and what it is for.
func heading(g state.Group, entries []state.Billed, docs []state.Document) string {
	client, what := names(g, entries, docs)
	return client + ": " + what
}

// names returns the client of a group, and what it is for.
func names(g state.Group, entries []state.Billed, docs []state.Document) (client, what string) {
	if len(entries) == 0 && len(docs) > 0 {
		entries = docs[0].Billed
	}
	return cmp.Or(clientOf(g, entries).Label(), "(no client)"), title(g, entries)
}

// asked is the conclusion that a person has to decide a group.
func (p *poster) asked(t *task, kind state.Kind, text string) state.Conclusion {
	return state.Conclusion{Reference: t.reference(), Mark: t.due.Mark, Settled: true, Item: p.ask(t.kase, kind, text)}
}

// rejected hands what the accounting system refused to a person, in its own words.
func (p *poster) rejected(t *task, err error) state.Conclusion {
	return p.asked(t, state.Rejected, err.Error()+": mend the cause, then retry")
}

// conclude writes conclusions and reports the items among them.
func (p *poster) conclude(cs []state.Conclusion) error {
	asked, err := p.store.Conclude(p.channel.Account, cs, p.clock.Now)
	p.report.ask(asked)
	return err
}

// reopenWeeks opens the items of weeks that were held until a day that has come. Those of groups are opened
// when the group is decided.
func (p *poster) reopenWeeks() error {
	today := todayOf(p.clock.Now, p.rules.Location)
	var cs []state.Conclusion
	for subject, i := range p.items {
		if i.Week != "" && i.Status == state.Held && !today.Before(i.Until) {
			i.Status, i.Until = state.Undecided, civil.Date{}
			p.items[subject] = i
			cs = append(cs, state.Conclusion{Reference: subject, Item: &i})
		}
	}
	return p.conclude(cs)
}

// troubleItem makes the item of a week that cannot be billed as a whole; nil for one that can.
func (e *Engine) troubleItem(w tracker.Week) *state.Item {
	if w.Trouble == nil {
		return nil
	}
	kind := state.Ambiguous
	if w.Trouble.Kind == tracker.Incomplete {
		kind = state.Incomplete
	}
	return e.weekItem(w, kind, w.Trouble.Text)
}

// askedAgain returns the item of a week with regard to what a person decided about it before: what was
// accepted stays known, and a week that has changed since then is asked about even if nothing else is
// wrong with it. The state keeps a decision that is about this very content.
func (e *Engine) askedAgain(w tracker.Week, item *state.Item) (*state.Item, error) {
	old, err := e.store.Item(e.channel.Account, state.WeekSubject(e.channel, w.ID))
	if err != nil || old == nil || old.Accepted == "" {
		return item, err
	}
	if item == nil {
		item = e.weekItem(w, state.Changed, "it has changed since a person decided about it")
		if old.Who != "" {
			item.Text = fmt.Sprintf("it was %s by %s, and has changed since", old.Status, old.Who)
		}
	}
	item.Accepted = old.Accepted
	return item, nil
}

// conflictItem makes the item of a week that the tracker now describes otherwise than before, though it
// says that nothing has changed.
func (e *Engine) conflictItem(w tracker.Week, stored state.Head) *state.Item {
	text := fmt.Sprintf("version %d came with other contents than before; the first ones stay", w.Version.Number)
	if w.Version.Number < stored.Version.Number {
		text = fmt.Sprintf("version %d came after version %d, and stays so; the newer one stays", w.Version.Number, stored.Version.Number)
	}
	return e.weekItem(w, state.Ambiguous, text+where(w)+": mend it at the tracker, then retry")
}

func where(w tracker.Week) string {
	if w.Origin == "" {
		return ""
	}
	return " (" + w.Origin + ")"
}

func (e *Engine) weekItem(w tracker.Week, kind state.Kind, text string) *state.Item {
	return &state.Item{
		Subject: state.WeekSubject(e.channel, w.ID), Kind: kind, Status: state.Undecided, Sync: e.rules.Name, Channel: e.channel,
		Title: w.Member.Label() + ", " + period(w.Period), Text: text, Week: w.ID, Wanted: state.Totals{Seconds: secondsOf(w)},
		Digest: weekDigest(w),
	}
}

func secondsOf(w tracker.Week) (sum int64) {
	for _, e := range w.Entries {
		if e.Billable {
			sum += e.Seconds
		}
	}
	return sum
}

// unreadItem hands a record that could not be read for a day to a person.
func (e *Engine) unreadItem(u state.Unread) state.Conclusion {
	subject := state.UnreadSubject(e.channel, u.ID)
	return state.Conclusion{Reference: subject, Item: &state.Item{
		Subject: subject, Kind: state.Unreadable, Status: state.Undecided, Sync: e.rules.Name, Channel: e.channel,
		Title: u.ID, Text: u.Reason,
	}}
}

// todayOf returns the day on which now falls in a zone.
func todayOf(now time.Time, zone *time.Location) civil.Date { return civil.DateOf(now.In(zone)) }
