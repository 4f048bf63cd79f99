package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/state"
	"tidemark/sync/accounting"
)

// resolveAll finds out what became of operations without an answer. Again says that something was.
func (p *poster) resolveAll(ctx context.Context, tasks []*task) (again bool, err error) {
	for part := range slices.Chunk(tasks, batch) {
		if ctx.Err() != nil {
			return false, nil
		}
		found, err := p.resolveBatch(ctx, part)
		if err != nil {
			return false, err
		}
		again = again || found
	}
	return again, nil
}

func (p *poster) resolveBatch(ctx context.Context, tasks []*task) (again bool, err error) {
	unlock := p.store.Lock(references(tasks)...)
	defer unlock()
	if tasks, err = p.stillOpen(tasks); err != nil {
		return false, err
	}
	results := p.each(ctx, tasks, p.resolve)
	for _, r := range results {
		switch {
		case r.answer != nil, r.conclusion != nil:
			again = true
		default:
			p.report.Unknown++
			p.open = true
		}
	}
	return again, p.finish(results)
}

// stillOpen reads again, under the locks, what the operations are that are to be found out about, and
// leaves out those that somebody else has finished or taken over in between.
func (p *poster) stillOpen(tasks []*task) (open []*task, err error) {
	for _, t := range tasks {
		sit, err := p.store.Situation(p.channel, t.reference(), nil)
		if err != nil {
			return nil, err
		}
		k := sit.Key
		if k == nil || k.Outcome != state.Unknown || k.Name != t.sit.Key.Name || sit.Item != nil {
			continue
		}
		t.sit.Key, t.sit.Frozen = sit.Key, sit.Frozen
		t.op = state.Operation{Reference: t.reference(), After: sit.Group.Operations - 1, Document: k.Document, Act: k.Act, Digest: k.Digest, Frozen: *sit.Frozen}
		open = append(open, t)
	}
	return open, nil
}

func (p *poster) resolve(ctx context.Context, t *task) result {
	same := t.op.Digest == p.wantedOf(t)
	r := result{}
	switch {
	case t.decision.Do == Verify:
		r = p.verify(ctx, t)
	case t.sit.Key.Unsent && !same: // row 3a
		return p.dropped(t, "it was never sent, and something else is wanted now")
	case t.sit.Key.Unsent: // row 3a
		r = p.sendAgain(ctx, t)
	default: // rows 4 and 5
		r = p.lookUp(ctx, t, same)
	}
	if r.answer != nil {
		r.answer.Settles = false // What else has changed meanwhile is decided now.
	}
	return r
}

// sendAgain sends what was surely never executed, under the same key: row 3a. That it may be executed from
// now on is on the disk before any byte leaves.
func (p *poster) sendAgain(ctx context.Context, t *task) result {
	found, err := p.books.Find(ctx, t.op.Frozen.Invoice.Reference)
	switch {
	case err != nil:
		return result{err: fmt.Errorf("look-up: %w", err)}
	case len(found) > 0:
		return p.adopt(t, found, true)
	}
	if err := p.store.Sending(p.channel.Account, t.sit.Key.Name); err != nil {
		return result{err: err}
	}
	return p.send(ctx, t, true)
}

// wantedOf returns the digest of what the document of an open operation would bill now.
func (p *poster) wantedOf(t *task) state.Digest {
	c := t.kase
	_, added := c.compare()
	if t.op.Act == state.Update {
		return groupDigest(c.entriesOf(t.op.Document, added))
	}
	return groupDigest(added)
}

// lookUp asks the accounting system for the document of a create without an answer: rows 4 and 5.
func (p *poster) lookUp(ctx context.Context, t *task, same bool) result {
	if wait, r := p.settling(t); wait {
		return r
	}
	reference := t.op.Frozen.Invoice.Reference
	found, err := p.books.Find(ctx, reference)
	switch {
	case err != nil && !p.now().Before(t.sit.Key.First.Add(p.rules.WaitAtMost)):
		c := p.asked(t, state.NotKnown, "an attempt got no answer, and it cannot be looked up: "+err.Error())
		return result{conclusion: &c}
	case err != nil:
		return result{err: fmt.Errorf("look-up: %w", err)}
	case resumes(t, found) && !p.now().Before(t.sit.Key.First.Add(p.rules.WaitAtMost)):
		c := p.asked(t, state.NotKnown, "the document "+found[0].ID+" was begun and cannot be finished: "+t.sit.Key.Error+"; delete or finish it there, and settle or retry")
		return result{conclusion: &c}
	case resumes(t, found):
		return p.send(ctx, t, false)
	case len(found) > 0:
		return p.adopt(t, found, false)
	}
	absent, r := p.surelyAbsent(ctx, t, same)
	switch {
	case !absent:
		return r
	case same:
		return p.send(ctx, t, false)
	default:
		return p.dropped(t, "proven absent, and something else is wanted now")
	}
}

// resumes reports whether what was found is the document that an earlier attempt of many steps had begun,
// and lets the operation go on with it. A draft of ours without any line is what the first step leaves,
// also where the process died before it could note that.
func resumes(t *task, found []accounting.Receipt) bool {
	f := &t.op.Frozen
	if len(found) != 1 || found[0].Status != accounting.Draft || f.Progress.Done >= len(f.Request.Steps) {
		return false
	}
	first := found[0]
	if f.Progress.Document != "" {
		return first.ID == f.Progress.Document
	}
	if len(f.Request.Steps) == 1 || len(first.Amounts) > 0 || first.Customer != f.Invoice.Customer || first.Currency != f.Invoice.Currency {
		return false
	}
	f.Progress = accounting.Progress{Done: 1, Document: first.ID}
	return true
}

// settling reports whether the effect of the last attempt may still appear. An attempt that was stamped by
// a clock that was ahead is stamped anew: the wait begins now. One that another process made is stamped with when
// this one began, for the next: a process that lives for one pass would wait for ever.
func (p *poster) settling(t *task) (bool, result) {
	switch end := p.endOf(t); {
	case end.After(p.now()):
		return true, result{attempt: &attempt{t.sit.Key.Name, p.now(), false, t.sit.Key.Error}}
	case !p.now().Before(end.Add(p.books.Traits().SettleAfter)):
		return false, result{}
	case t.sit.Key.Ended.IsZero():
		return true, result{attempt: &attempt{t.sit.Key.Name, end, false, t.sit.Key.Error}}
	}
	return true, result{}
}

// endOf returns when the last attempt ended. Of one that this process did not see, it is known only
// that it ended before the process began.
func (p *poster) endOf(t *task) time.Time {
	if t.sit.Key.Ended.IsZero() {
		return p.started
	}
	return t.sit.Key.Ended
}

// surelyAbsent decides whether a first empty look-up is proof. Where it is not, the result says what to
// do: to ask again later, to send the same bytes while the system remembers the key, or to ask a person.
func (p *poster) surelyAbsent(ctx context.Context, t *task, same bool) (bool, result) {
	traits, k := p.books.Traits(), t.sit.Key
	if !traits.Authoritative {
		if same && p.now().Before(k.First.Add(traits.KeyMemory)) {
			return true, result{}
		}
		c := p.asked(t, state.NotKnown, "an attempt got no answer ("+k.Error+"), and looking it up proves nothing: see whether an invoice "+t.op.Frozen.Invoice.Reference+" exists; if not, retry")
		return false, result{conclusion: &c}
	}
	if traits.SearchLag == 0 {
		again, err := p.books.Find(ctx, t.op.Frozen.Invoice.Reference)
		switch {
		case err != nil:
			return false, result{err: fmt.Errorf("look-up: %w", err)}
		case len(again) > 0:
			return false, p.adopt(t, again, false)
		}
		return true, result{}
	}
	if k.Absent.IsZero() || k.Absent.After(p.now()) {
		return false, result{err: p.store.NoteAbsent(p.channel.Account, k.Name, p.now())}
	}
	return !p.now().Before(k.Absent.Add(traits.SearchLag)), result{}
}

// verify reads the draft that an update without an answer was for: row 10.
func (p *poster) verify(ctx context.Context, t *task) result {
	traits, left := p.books.Traits(), t.op.Frozen.Left
	now, err := p.books.Read(ctx, left.ID)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		return p.giveUp(t, "it is gone")
	case err != nil:
		return result{err: fmt.Errorf("look-up: %w", err)}
	case now.Untouched(left) && traits.GuardsDrafts:
		if wait, r := p.settling(t); wait {
			return r
		}
		return p.update(ctx, t)
	case now.Bills(t.op.Frozen.Invoice) && now.Status != accounting.Void:
		return result{deed: Updated, answer: p.answer(t, now, false)}
	}
	return p.giveUp(t, "it is neither as it was left nor as it was to become")
}

// giveUp hands an update to a person.
func (p *poster) giveUp(t *task, why string) result {
	c := p.asked(t, state.Changed, fmt.Sprintf("an update of invoice %s got no answer, and %s", t.op.Frozen.Left.ID, why))
	c.Drop, c.Error = state.Dropped, why
	return result{conclusion: &c}
}

// mendAll updates drafts in place: row 9. Each is read just before, and must be as it was left.
func (p *poster) mendAll(ctx context.Context, tasks []*task) error {
	for part := range slices.Chunk(tasks, batch) {
		if ctx.Err() != nil {
			return nil
		}
		var ready []*task
		results := p.each(ctx, part, p.readDraft)
		for _, r := range results {
			if r.err == nil && r.conclusion == nil {
				ready = append(ready, r.task)
			}
		}
		if err := p.finish(results); err != nil {
			return err
		}
		if len(ready) == 0 {
			continue
		}
		if err := p.run(ctx, ready, p.mend); err != nil {
			return err
		}
		if err := p.mendAgain(ctx, ready); err != nil {
			return err
		}
	}
	return nil
}

// mend updates a draft. Where it was refused since the token had moved after the draft was read, and what
// we wrote is as we left it, it may be sent once more.
func (p *poster) mend(ctx context.Context, t *task) result {
	r := p.update(ctx, t)
	if !r.touched || t.moved != nil {
		return r
	}
	left := t.op.Frozen.Left
	now, err := p.books.Read(ctx, left.ID)
	left.Token = now.Token
	if err == nil && now.Untouched(left) {
		t.moved = &now
		r.conclusion = &state.Conclusion{Reference: t.reference(), Drop: state.Refused, Error: "the token had moved"}
	}
	return r
}

// mendAgain sends the updates once more, each under its next key, whose token had moved.
func (p *poster) mendAgain(ctx context.Context, tasks []*task) error {
	var moved []*task
	for _, t := range tasks {
		if t.moved != nil {
			t.op.After++
			t.op.Frozen.Left = *t.moved
			moved = append(moved, t)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return p.run(ctx, moved, p.mend)
}

// readDraft prepares the update of a draft, if it still is one and as we left it.
func (p *poster) readDraft(ctx context.Context, t *task) result {
	i := slices.IndexFunc(t.sit.Documents, func(d state.Document) bool { return d.Number == t.decision.Document })
	doc := t.sit.Documents[i]
	now, err := p.books.Read(ctx, doc.Receipt.ID)
	switch {
	case errors.Is(err, accounting.ErrAbsent):
		c := p.asked(t, state.Changed, t.decision.Text+"invoice "+doc.Receipt.ID+" no longer exists: it was deleted")
		return result{conclusion: &c}
	case err != nil:
		return result{err: fmt.Errorf("look-up: %w", err)}
	case !now.Untouched(doc.Receipt):
		c := p.asked(t, state.Changed, fmt.Sprintf("invoice %s is no longer the draft that was left: it is %s, %s", now.ID, now.Status, now.Currency.Format(now.Net)))
		return result{conclusion: &c}
	}
	if err := p.prepare(t, Customer{Customer: doc.Customer, Tax: doc.Tax}, state.Update); err != nil {
		c := p.rejected(t, err)
		return result{conclusion: &c}
	}
	t.op.Frozen.Left = doc.Receipt
	return result{}
}

// update sends the frozen update of a draft.
func (p *poster) update(ctx context.Context, t *task) result {
	if ctx.Err() != nil {
		return result{}
	}
	ctx, cancel := stopLate(ctx)
	defer cancel()
	f := t.op.Frozen
	receipt, err := p.books.Update(ctx, p.keyOf(t), f.Request, f.Left)
	p.faults.Hit("update-sent")
	return p.answered(t, receipt, err, Updated, true)
}
