package sync

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Action is what a person can do about a subject of the review.
type Action string

// The actions. Each is written to the history with who did it, when and why.
const (
	Settle   Action = "settle"  // it was handled by hand: nothing is written for these contents
	Skip     Action = "skip"    // it is never billed
	Postpone Action = "hold"    // it is left alone until a day
	Retry    Action = "retry"   // the cause was mended: it is decided anew
	Release  Action = "release" // of a list: its groups may be created, exactly as they are listed
)

// Ruling is what a person does about a subject.
type Ruling struct {
	Subject string
	Action  Action
	Who     string
	Note    string
	Until   civil.Date // of hold
}

// ErrRefused means that an action is not possible. Nothing was written; the text says why.
var ErrRefused = errors.New("review")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

// Rule does what a person decided about a group, a week, an unread record or a list. Doing it twice is
// doing it once.
func (e *Engine) Rule(r Ruling, now time.Time) error {
	switch {
	case r.Who == "":
		return refuse("%s %s: who decides is not known", r.Action, r.Subject)
	case r.Note == "" && (r.Action == Settle || r.Action == Skip):
		return refuse("%s %s: a note is required: say how it was handled", r.Action, r.Subject)
	case r.Action == Postpone && !r.Until.After(todayOf(now, e.rules.Location)):
		return refuse("hold %s: the day %s is not after today", r.Subject, r.Until)
	}
	unlock := e.store.Lock(r.Subject)
	defer unlock()
	item, err := e.store.Item(e.channel.Account, r.Subject)
	if err != nil {
		return err
	}
	g, found, err := e.store.Group(e.channel.Account, r.Subject)
	switch {
	case err != nil:
		return err
	case found && g.Channel == e.channel:
		return e.ruleGroup(r, g, item, now)
	case item == nil || item.Channel != e.channel:
		return fmt.Errorf("%s: %w", r.Subject, state.ErrNoItem)
	case item.Kind == state.Limit, item.Kind == state.Lost:
		return e.ruleList(r, *item, now)
	}
	return e.ruleWeek(r, *item, now)
}

// Owns reports whether a subject belongs to this sync.
func (e *Engine) Owns(subject string) (bool, error) {
	g, found, err := e.store.Group(e.channel.Account, subject)
	if err != nil || found {
		return found && g.Channel == e.channel, err
	}
	item, err := e.store.Item(e.channel.Account, subject)
	return item != nil && item.Channel == e.channel, err
}

// decided is what the state is told of a person's decision.
func decided(r Ruling) state.Ruling {
	what := string(r.Action)
	if r.Action == Postpone {
		what += " until " + r.Until.String()
	}
	return state.Ruling{Subject: r.Subject, What: what, Who: r.Who, Note: r.Note}
}

// standing is an item after a person's decision.
func standing(i state.Item, r Ruling, now time.Time) *state.Item {
	i.Who, i.Note, i.Decided = r.Who, r.Note, now
	switch r.Action {
	case Settle:
		i.Status, i.Accepted = state.Settled, accepted(i.Digest)
	case Skip:
		i.Status, i.Accepted = state.Skipped, accepted(i.Digest)
	case Postpone:
		i.Status, i.Until = state.Held, r.Until
	case Retry, Release:
		return nil
	}
	return &i
}

// accepted is the digest that a person accepted; that of nothing has a name of its own, so that it is not
// taken for no decision.
func accepted(d state.Digest) state.Digest { return cmp.Or(d, state.Nothing) }

func (e *Engine) ruleGroup(r Ruling, g state.Group, item *state.Item, now time.Time) error {
	t, err := e.look(g, now)
	if err != nil {
		return err
	}
	out := decided(r)
	unknown := t.sit.Key != nil && t.sit.Key.Outcome == state.Unknown
	switch r.Action {
	case Settle, Skip:
		out.Drop = unknown
		out.Claim = e.own(t)
		if unknown { // An invoice may bear what was frozen, whatever the group holds now.
			out.Claim = append(out.Claim, t.sit.Frozen.Billed...)
		}
	case Retry:
		if item == nil {
			return fmt.Errorf("%s: %w", r.Subject, state.ErrNoItem)
		}
		out.Drop = unknown && item.Kind == state.NotKnown
		if item.Accepted != "" || item.Status == state.Held {
			out.Release = unbilled(t)
		}
	case Release:
		return refuse("release %s: only a limit or lost list is released", r.Subject)
	case Postpone:
		out.Claim = e.own(t)
	}
	out.Item = standing(*e.itemNow(t, item), r, now)
	return e.store.Rule(e.channel, out, now)
}

// look reads and decides one group as a pass would.
func (e *Engine) look(g state.Group, now time.Time) (*task, error) {
	clock, err := e.store.Observe(now)
	if err != nil {
		return nil, err
	}
	p := &poster{Engine: e, clock: clock, report: &Report{}}
	if err := p.load(); err != nil {
		return nil, err
	}
	tasks, err := p.decidePeriod(g.Period, []state.Due{{Group: g}})
	if err != nil {
		return nil, err
	}
	return tasks[0], nil
}

// itemNow is the item of a group with what is billed and wanted at this moment.
func (e *Engine) itemNow(t *task, item *state.Item) *state.Item {
	p := &poster{Engine: e}
	i := p.ask(t.kase, state.Waiting, "decided by a person before it was asked about")
	if item != nil {
		i.Kind, i.Text, i.Opened = item.Kind, item.Text, item.Opened
	}
	return i
}

// own returns the entries that are recorded under a group when a person takes it over: those that it
// holds and nobody else has. What its invoices bear stays recorded, whatever the tracker says now.
func (e *Engine) own(t *task) (claim []state.Billed) {
	for _, b := range t.kase.Content.Entries {
		if c, taken := t.sit.Claims[b.Entry.ID]; !taken || (c.Account == e.channel.Account && c.Reference == t.reference()) {
			claim = append(claim, b)
		}
	}
	return claim
}

// unbilled returns the entries of a group that stand on none of its invoices.
func unbilled(t *task) (entries []state.Billed) {
	own := ownEntries(t.sit.Documents)
	for _, b := range t.kase.Content.Entries {
		if !own[b.Entry.ID] {
			entries = append(entries, b)
		}
	}
	return entries
}

// ruleList releases the groups of a limit or lost item, exactly as they are listed.
func (e *Engine) ruleList(r Ruling, item state.Item, now time.Time) error {
	out := decided(r)
	switch r.Action {
	case Release:
		out.Free = item.List
	case Postpone:
		out.Item = standing(item, r, now)
	case Settle, Skip, Retry:
		return refuse("%s %s: a list is released or held; settle or skip its references one by one", r.Action, r.Subject)
	}
	return e.store.Rule(e.channel, out, now)
}

// ruleWeek decides about a week as a whole, or about a record that cannot be read.
func (e *Engine) ruleWeek(r Ruling, item state.Item, now time.Time) error {
	out := decided(r)
	out.Item = standing(item, r, now)
	if r.Action == Release {
		return refuse("release %s: only a limit or lost list is released", r.Subject)
	}
	if item.Week == "" {
		return e.store.Rule(e.channel, out, now)
	}
	w, found, err := e.store.Find(e.channel, item.Week)
	if err != nil {
		return err
	}
	if !found {
		return e.store.Rule(e.channel, out, now)
	}
	out.Due = e.groupsOf(w)
	switch {
	case r.Action == Retry && w.Trouble != nil:
		return refuse("retry %s: the week is still as it was: %s; once it is mended at the tracker, the next pass takes it in and closes this", r.Subject, w.Trouble.Text)
	case r.Action == Settle, r.Action == Skip:
		out.Claim, err = e.freeEntriesOf(w, r.Subject)
	case r.Action == Retry && item.Accepted != "":
		out.Release, err = e.freeEntriesOf(w, r.Subject)
	}
	if err != nil {
		return err
	}
	return e.store.Rule(e.channel, out, now)
}

// freeEntriesOf returns the billable entries of a week that are recorded nowhere else.
func (e *Engine) freeEntriesOf(w tracker.Week, subject string) (free []state.Billed, err error) {
	var ids []string
	for _, entry := range w.Entries {
		ids = append(ids, entry.ID)
	}
	sit, err := e.store.Situation(e.channel, subject, ids)
	if err != nil {
		return nil, err
	}
	for _, entry := range w.Entries {
		c, taken := sit.Claims[entry.ID]
		if entry.Billable && (!taken || (c.Account == e.channel.Account && c.Reference == subject)) {
			b, _ := e.rules.bill(w, entry)
			free = append(free, b)
		}
	}
	return free, nil
}
