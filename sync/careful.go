package sync

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/money"
)

// lookFirst looks every task up before any is created, as it is done while the state may not know what
// was billed before. What is found is adopted. What is not found may be created in a first run, and
// waits for a person after a rebuild. It returns what may be created now.
func (p *poster) lookFirst(ctx context.Context, tasks []*task) (free []*task, found bool, err error) {
	results := p.each(ctx, tasks, func(ctx context.Context, t *task) result { return p.peek(ctx, t, t.op.Frozen.Invoice.Reference) })
	var known, unknown []*task
	for _, r := range results {
		switch {
		case r.err != nil:
			p.fail(r)
		case len(r.task.found) > 0:
			known = append(known, r.task)
		default:
			unknown = append(unknown, r.task)
		}
	}
	if slices.ContainsFunc(known, func(t *task) bool { return t.sit.Group.Operations == 0 }) {
		if err := p.beginRebuild(); err != nil {
			return nil, false, err
		}
	}
	for part := range slices.Chunk(known, batch) {
		err := p.run(ctx, part, func(_ context.Context, t *task) result { return p.adopt(t, t.found, true) })
		if err != nil {
			return nil, false, err
		}
	}
	if len(p.errs) > 0 {
		return nil, len(known) > 0, nil // One that could not be looked up may be the one that shows a lost state.
	}
	free, err = p.absentAll(unknown)
	return free, len(known) > 0, err
}

// peek looks up what bears a reference before anything is claimed.
func (p *poster) peek(ctx context.Context, t *task, reference string) (r result) {
	if r.err = ctx.Err(); r.err != nil {
		return r
	}
	var err error
	if t.found, err = p.books.Find(ctx, reference); err != nil {
		r.err = fmt.Errorf("look-up: %w", err)
	}
	return r
}

// peekAll looks up, while the state may not know what was billed before, the groups that nothing would be
// created for: those that wait, and those of which nothing is approved any more. What is found is adopted if
// it is what the group holds, and a person's otherwise: later nobody would look.
func (p *poster) peekAll(ctx context.Context, tasks []*task) (found bool, err error) {
	if p.mode == state.Normal {
		return false, nil
	}
	tasks = slices.DeleteFunc(tasks, func(t *task) bool {
		return t.sit.Group.Operations > 0 || (t.decision.Do == Finish && len(t.kase.Content.Entries) > 0)
	})
	results := p.each(ctx, tasks, func(ctx context.Context, t *task) result { return p.peek(ctx, t, t.reference()) })
	var known []*task
	for _, r := range results {
		r.task.peeked = r.err != nil || len(r.task.found) > 0
		switch {
		case r.err != nil:
			p.fail(r)
		case r.task.peeked:
			known = append(known, r.task)
		}
	}
	if len(known) == 0 {
		return false, nil
	}
	if err := p.beginRebuild(); err != nil {
		return false, err
	}
	return true, p.takeFound(ctx, known)
}

// takeFound adopts what was found of groups that nothing would be created for, or asks a person about it.
func (p *poster) takeFound(ctx context.Context, known []*task) error {
	var held []*task
	var asked []state.Conclusion
	for _, t := range known {
		t.decision.Document, t.decision.Entries = 1, t.kase.Content.Entries
		customer, _ := p.rules.customer(clientOf(t.sit.Group, t.decision.Entries), p.pins)
		err := p.prepare(t, customer, state.Create)
		if err == nil && len(t.decision.Entries) > 0 {
			t.op.Client, t.op.Line = clientOf(t.sit.Group, t.decision.Entries).ID, customer.Client
			held = append(held, t)
			continue
		}
		text := "an invoice bears the reference, and is not what the group holds now: " + few(idsOf(t.found))
		asked = append(asked, p.asked(t, state.Mismatch, text))
	}
	if err := p.conclude(asked); err != nil {
		return err
	}
	for part := range slices.Chunk(held, batch) {
		err := p.run(ctx, part, func(_ context.Context, t *task) result { return p.adopt(t, t.found, true) })
		if err != nil {
			return err
		}
	}
	return nil
}

// absentAll returns which of the tasks that were not found may be created: those that a person
// released, and in a first run those whose absence is proven.
func (p *poster) absentAll(tasks []*task) (free []*task, err error) {
	var cs []state.Conclusion
	var lost []state.Listed
	for _, t := range tasks {
		switch {
		case t.sit.Group.Released == t.kase.Wanted:
			free = append(free, t)
		case p.mode == state.Rebuild, t.sit.Group.Lost, p.mode == state.FirstRun && !p.books.Traits().Authoritative:
			yes := true
			cs = append(cs, state.Conclusion{Reference: t.reference(), Lost: &yes})
			lost = append(lost, p.listed(t))
			p.report.Waiting++
		case p.mode == state.Normal, p.proven(t):
			free = append(free, t)
		default:
			p.open = true
			p.report.Waiting++
			if now := p.now(); t.sit.Group.Absent.IsZero() || t.sit.Group.Absent.After(now) {
				cs = append(cs, state.Conclusion{Reference: t.reference(), Absent: &now})
			}
		}
	}
	if p.lost = len(lost); p.lost > 0 {
		cs = append(cs, p.listItem(state.Lost, lost, "not found in the accounting system after the state was lost or restored: create them only if they were never billed"))
	}
	for part := range slices.Chunk(cs, batch) {
		if err := p.conclude(part); err != nil {
			return nil, err
		}
	}
	return free, nil
}

// proven reports whether in a first run the absence of a group can be believed after the look-up that
// follows its claim: that is the second one, and it has to come late enough.
func (p *poster) proven(t *task) bool {
	traits, now := p.books.Traits(), p.now()
	if now.Before(p.standing.Since.Add(traits.SettleAfter)) {
		return false
	}
	if traits.SearchLag == 0 {
		return true
	}
	absent := t.sit.Group.Absent
	return !absent.IsZero() && !now.Before(absent.Add(traits.SearchLag))
}

// limit holds everything back if more would be created than one pass may. What a person released goes on.
func (p *poster) limit(tasks []*task) (free []*task, err error) {
	subject := state.ListSubject(p.channel, state.Limit)
	var held []*task
	for _, t := range tasks {
		if t.sit.Group.Released == t.kase.Wanted {
			free = append(free, t)
		} else {
			held = append(held, t)
		}
	}
	if p.created+len(held) <= p.rules.MaxNew {
		if _, open := p.items[subject]; !open || p.created > 0 || p.scope != (scope{}) {
			return tasks, nil
		}
		delete(p.items, subject)
		return tasks, p.conclude([]state.Conclusion{{Reference: subject, Close: "no more than max_new_invoices are to be created"}})
	}
	list := make([]state.Listed, len(held))
	for i, t := range held {
		list[i] = p.listed(t)
	}
	p.report.Waiting += len(held)
	why := fmt.Sprintf("this pass would create %d invoices, and max_new_invoices is %d: none was created", len(held), p.rules.MaxNew)
	return free, p.conclude([]state.Conclusion{p.listItem(state.Limit, list, why)})
}

func (p *poster) listed(t *task) state.Listed {
	return state.Listed{
		Reference: t.reference(), Digest: t.kase.Wanted, Title: heading(t.sit.Group, t.decision.Entries, nil),
		Totals: p.rules.totals(t.decision.Entries, t.sit.Group.Currency),
	}
}

// listItem makes the one item that stands for many groups.
func (p *poster) listItem(kind state.Kind, list []state.Listed, why string) state.Conclusion {
	subject := state.ListSubject(p.channel, kind)
	i := &state.Item{
		Subject: subject, Kind: kind, Status: state.Undecided, Sync: p.rules.Name, Channel: p.channel,
		Title: countOf(list) + ", " + sums(list), Text: why, List: list,
	}
	for _, l := range list {
		i.Wanted.Seconds += l.Totals.Seconds
	}
	if one := currenciesOf(list); len(one) == 1 {
		i.Wanted.Currency = one[0]
		for _, l := range list {
			i.Wanted.Amount = i.Wanted.Amount.Add(l.Totals.Amount)
		}
	}
	return state.Conclusion{Reference: subject, Item: i}
}

func countOf(list []state.Listed) string {
	if len(list) == 1 {
		return "1 invoice"
	}
	return fmt.Sprintf("%d invoices", len(list))
}

func currenciesOf(list []state.Listed) (all []money.Currency) {
	for _, l := range list {
		if !slices.Contains(all, l.Totals.Currency) {
			all = append(all, l.Totals.Currency)
		}
	}
	slices.Sort(all)
	return all
}

// sums writes the money of a list, each currency for itself.
func sums(list []state.Listed) string {
	var parts []string
	for _, c := range currenciesOf(list) {
		sum := decimal.Zero
		for _, l := range list {
			if l.Totals.Currency == c {
				sum = sum.Add(l.Totals.Amount)
			}
		}
		parts = append(parts, c.Format(sum))
	}
	return strings.Join(parts, " and ")
}

// beginRebuild makes the channel careful: an invoice of ours was found that this state never claimed.
func (p *poster) beginRebuild() error {
	if p.mode == state.Rebuild {
		return nil
	}
	p.mode = state.Rebuild
	p.report.warn("invoices were found in the accounting system that this state never made: only what is found there is recorded, the rest waits for a person")
	return p.setMode(state.Rebuild)
}

func (p *poster) setMode(mode state.Mode) error {
	return p.store.ChangeStanding(p.channel, p.clock.Now, func(st *state.Standing) { st.Mode = mode })
}

// endLost closes the list of what was not found when nothing of it is left.
func (p *poster) endLost() error {
	subject := state.ListSubject(p.channel, state.Lost)
	if _, open := p.items[subject]; !open || p.lost > 0 {
		return nil
	}
	due, err := p.store.Due(p.channel)
	if err != nil || slices.ContainsFunc(due, func(d state.Due) bool { return d.Group.Lost }) {
		return err
	}
	return p.conclude([]state.Conclusion{{Reference: subject, Close: "all of it was found or is no longer wanted"}})
}

// endMode ends a first run or a rebuild after a full pass in which everything due was looked up.
func (p *poster) endMode() error {
	if p.mode == state.Normal || p.open || len(p.errs) > 0 {
		return nil
	}
	return p.setMode(state.Normal)
}
