package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/state"
	"tidemark/sync/accounting"
)

// inHand is how long a request that was sent may still take when the program is told to stop.
const inHand = 8 * time.Second

// result is what became of one operation. At most one of answer, conclusion and attempt is set.
type result struct {
	task       *task
	answer     *state.Answer
	conclusion *state.Conclusion
	attempt    *attempt
	deed       Deed
	touched    bool // of an update: the draft was no longer as it was read
	err        error
}

// attempt is an operation that got no answer.
type attempt struct {
	key    string
	ended  time.Time
	unsent bool
	cause  string
}

// makeAll creates what was decided to be created. Again says that a group has to be decided anew.
func (p *poster) makeAll(ctx context.Context, tasks []*task) (again bool, err error) {
	p.lost = 0
	if tasks, err = p.prepareAll(tasks); err != nil {
		return false, err
	}
	found := false
	if p.mode != state.Normal || slices.ContainsFunc(tasks, func(t *task) bool { return t.sit.Group.Lost }) {
		if tasks, found, err = p.lookFirst(ctx, tasks); err != nil {
			return false, err
		}
	}
	if tasks, err = p.limit(tasks); err != nil {
		return false, err
	}
	p.created += len(tasks)
	for part := range slices.Chunk(tasks, batch) {
		if ctx.Err() != nil {
			return false, nil
		}
		if err := p.run(ctx, part, p.create); err != nil {
			return false, err
		}
		if p.rebuild.Swap(false) {
			return true, p.beginRebuild()
		}
	}
	return found, nil
}

// prepareAll makes the request of each task. What cannot be said in the accounting system is a person's.
func (p *poster) prepareAll(tasks []*task) (ready []*task, err error) {
	var asked []state.Conclusion
	for _, t := range tasks {
		client := clientOf(t.sit.Group, t.decision.Entries)
		customer, mapped := p.rules.customer(client, p.pins)
		if !mapped {
			d := t.kase.unmapped() // another client took the line in this very pass
			asked = append(asked, p.asked(t, d.Kind, d.Text))
			continue
		}
		if _, pinned := p.pins[client.ID]; !pinned {
			p.pins[client.ID] = customer.Client
		}
		if err := p.prepare(t, customer, state.Create); err != nil {
			asked = append(asked, p.rejected(t, err))
			continue
		}
		t.op.Client, t.op.Line = client.ID, customer.Client
		ready = append(ready, t)
	}
	return ready, p.conclude(asked)
}

// prepare makes the operation of a task: the invoice, and the bytes that are frozen for it.
func (p *poster) prepare(t *task, customer Customer, act state.Act) error {
	d := t.decision
	inv := p.rules.invoice(t.sit.Group, d.Document, d.Entries, customer)
	req, err := p.books.Prepare(inv)
	if err != nil {
		return err
	}
	t.op = state.Operation{
		Reference: t.reference(), After: t.sit.Group.Operations, Document: d.Document, Act: act,
		Digest: groupDigest(d.Entries),
		Frozen: state.Frozen{Invoice: inv, Request: req, Billed: d.Entries},
	}
	return nil
}

// run claims the operations of up to a batch in one transaction, does each, and records the receipts
// in another. A lone operation is not held back for others.
func (p *poster) run(ctx context.Context, tasks []*task, do func(ctx context.Context, t *task) result) error {
	unlock := p.store.Lock(references(tasks)...)
	defer unlock()
	ops := make([]state.Operation, len(tasks))
	for i, t := range tasks {
		ops[i] = t.op
	}
	refused, err := p.store.Claim(p.channel.Account, p.channel.Tracker, ops, p.clock.Now)
	if err != nil {
		return err
	}
	p.faults.Hit("key-claimed")
	var claimed []*task
	var asked []state.Conclusion
	for i, t := range tasks {
		switch {
		case refused[i] == nil:
			claimed = append(claimed, t)
		case errors.Is(refused[i], state.ErrTaken):
			asked = append(asked, p.asked(t, state.Moved, refused[i].Error()))
		}
	}
	if err := p.conclude(asked); err != nil {
		return err
	}
	return p.finish(p.each(ctx, claimed, do))
}

func references(tasks []*task) []string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.reference()
	}
	return names
}

// each does something to every task, a bounded number at a time.
func (p *poster) each(ctx context.Context, tasks []*task, do func(ctx context.Context, t *task) result) []result {
	results := make([]result, len(tasks))
	var group errgroup.Group
	group.SetLimit(max(p.rules.Workers, 1))
	for i, t := range tasks {
		group.Go(func() error {
			results[i] = do(ctx, t)
			results[i].task = t
			if errors.Is(results[i].err, accounting.ErrPaused) {
				p.pause(results[i].err)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	for _, r := range results {
		if p.paused == nil && errors.Is(r.err, accounting.ErrPaused) {
			p.paused = r.err
		}
	}
	return results
}

// finish writes what became of operations: all receipts in one transaction, then the rest.
func (p *poster) finish(results []result) error {
	var answers []state.Answer
	var cs []state.Conclusion
	for _, r := range results {
		if r.err != nil {
			p.fail(r)
		}
		if r.answer != nil {
			answers = append(answers, *r.answer)
		}
		if r.conclusion != nil {
			cs = append(cs, *r.conclusion)
		}
	}
	if p.rebuild.Load() { // On the disk before the receipt that shows it: after a crash nothing else would.
		if err := p.beginRebuild(); err != nil {
			return err
		}
	}
	if err := p.store.Record(p.channel.Account, answers); err != nil {
		return err
	}
	p.faults.Hit("recorded")
	for _, r := range results {
		if r.answer != nil {
			p.made(r)
		}
		if a := r.attempt; a != nil {
			if err := p.store.Attempted(p.channel.Account, a.key, a.ended, a.unsent, a.cause); err != nil {
				return err
			}
		}
	}
	return p.conclude(cs)
}

// fail notes an error of one group. That the system takes nothing for now is said once, and what was broken
// off because of it has not failed.
func (p *poster) fail(r result) {
	p.open = true
	paused := errors.Is(r.err, accounting.ErrPaused)
	if p.paused != nil && (errors.Is(r.err, context.Canceled) || paused && p.said) {
		return
	}
	p.said = p.said || paused
	p.report.Failed++
	p.errs = append(p.errs, fmt.Errorf("%s: %w", r.task.reference(), r.err))
}

func (p *poster) made(r result) {
	inv := r.task.op.Frozen.Invoice
	m := Made{Deed: r.deed, Reference: inv.Reference, Client: inv.Client, Title: inv.Title, Amount: inv.Net(), Currency: inv.Currency, ID: r.answer.Receipt.ID, Link: r.answer.Receipt.Link}
	for _, l := range inv.Lines {
		m.Seconds += l.Seconds
	}
	p.report.Invoices = append(p.report.Invoices, m)
	p.log.Info().Str("reference", m.Reference).Str("client", m.Client).Str("amount", m.Currency.Format(m.Amount)).Str("invoice", m.ID).Msg("invoice " + string(r.deed))
}

// create looks a claimed operation up and creates it if nothing bears its reference: row 3.
func (p *poster) create(ctx context.Context, t *task) result {
	switch {
	case p.rebuild.Load():
		return p.dropped(t, "not sent: what was billed before has to be found first")
	case ctx.Err() != nil: // It was claimed, and goes out under the same key in the next pass.
		return result{attempt: p.attempt(t, true, ctx.Err())}
	}
	found, err := p.books.Find(ctx, t.op.Frozen.Invoice.Reference)
	switch {
	case err != nil:
		return result{err: fmt.Errorf("look-up: %w", err), attempt: p.attempt(t, true, err)}
	case len(found) > 0:
		if t.sit.Group.Operations == 0 {
			p.rebuild.Store(true)
		}
		return p.adopt(t, found, true)
	}
	return p.send(ctx, t, true)
}

// send creates a document under its key. Fresh says that no attempt was made under the key before.
func (p *poster) send(ctx context.Context, t *task, fresh bool) result {
	ctx, cancel := stopLate(ctx)
	defer cancel()
	key := p.keyOf(t)
	save := func(done accounting.Progress) error {
		defer p.faults.Hit("step-done")
		return p.store.Progressed(p.channel.Account, key, done)
	}
	f := t.op.Frozen
	receipt, err := p.books.Create(ctx, key, f.Request, f.Progress, save)
	p.faults.Hit("created")
	return p.answered(t, receipt, err, Created, fresh)
}

// stopLate lets a request that is sent go on for a while after the program was told to stop.
func stopLate(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(inHand, cancel) })
	return late, func() { stop(); cancel() }
}

// answered turns the answer of a write into what is recorded of it.
//
// An answer that does not bill what was sent is none: the document is looked up, and goes to a person as it is.
func (p *poster) answered(t *task, receipt accounting.Receipt, err error, deed Deed, fresh bool) result {
	inv := t.op.Frozen.Invoice
	if _, plan := p.books.(readOnly); err == nil && !plan && !receipt.Bills(inv) {
		err = fmt.Errorf("the answer bills %s to %s, and not %s to %s", receipt.Currency.Format(receipt.Net), receipt.Customer, inv.Currency.Format(inv.Net()), inv.Customer)
	}
	switch {
	case err == nil:
		return result{deed: deed, answer: p.answer(t, receipt, false)}
	case errors.Is(err, accounting.ErrRejected):
		c := p.rejected(t, err)
		c.Drop, c.Error = state.Refused, err.Error()
		return result{conclusion: &c}
	case errors.Is(err, accounting.ErrTouched):
		c := p.asked(t, state.Changed, "the draft is no longer as it was left: "+err.Error())
		c.Drop, c.Error = state.Refused, err.Error()
		return result{conclusion: &c, touched: true}
	case errors.Is(err, accounting.ErrNotSent) && !fresh:
		return result{err: err} // an earlier attempt may still have had an effect
	default:
		return result{err: err, attempt: p.attempt(t, errors.Is(err, accounting.ErrNotSent), err)}
	}
}

func (p *poster) answer(t *task, receipt accounting.Receipt, adopted bool) *state.Answer {
	return &state.Answer{Key: p.keyOf(t), Receipt: receipt, At: p.now(), Adopted: adopted, Settles: true, Mark: t.due.Mark}
}

func (p *poster) attempt(t *task, unsent bool, err error) *attempt {
	return &attempt{p.keyOf(t), p.now(), unsent, err.Error()}
}

// keyOf returns the key of a task's operation: the one that it claimed.
func (p *poster) keyOf(t *task) string { return state.KeyName(t.op.Reference, t.op.After+1) }

// dropped gives up an operation that was claimed and surely not sent.
func (p *poster) dropped(t *task, why string) result {
	return result{conclusion: &state.Conclusion{Reference: t.reference(), Drop: state.Dropped, Error: why}}
}

// adopt records an invoice that was found under the reference, if it is what we wanted. Fresh says that
// nothing was sent under the key, so that it can be given up where a person has to decide.
func (p *poster) adopt(t *task, found []accounting.Receipt, fresh bool) result {
	inv := t.op.Frozen.Invoice
	if len(found) == 1 && found[0].Status != accounting.Void && found[0].Bills(inv) {
		return result{deed: Adopted, answer: p.answer(t, found[0], true)}
	}
	c := p.asked(t, state.Mismatch, differs(found[0], inv))
	if len(found) > 1 {
		c = p.asked(t, state.Duplicate, fmt.Sprintf("%d invoices bear the reference %s: %s", len(found), inv.Reference, few(idsOf(found))))
	}
	if fresh {
		c.Drop, c.Keep, c.Error = state.Dropped, true, "an invoice bears the reference already"
	}
	return result{conclusion: &c}
}

func idsOf(found []accounting.Receipt) (ids []string) {
	for _, r := range found {
		ids = append(ids, fmt.Sprintf("%s (%s, %s)", r.ID, r.Status, r.Currency.Format(r.Net)))
	}
	return ids
}

// differs says how an invoice that was found is not the one that is wanted.
func differs(r accounting.Receipt, inv accounting.Invoice) string {
	what := fmt.Sprintf("invoice %s bears the reference %s, is %s, and says ", r.ID, inv.Reference, r.Status)
	switch {
	case r.Status == accounting.Void:
		return what + "nothing any more: a person voided or deleted it"
	case r.Customer != inv.Customer:
		return what + fmt.Sprintf("customer %s where %s is wanted", r.Customer, inv.Customer)
	case r.Currency != inv.Currency || !r.Net.Equal(inv.Net()):
		return what + fmt.Sprintf("%s where %s is wanted", r.Currency.Format(r.Net), inv.Currency.Format(inv.Net()))
	}
	return what + "the same total on other lines"
}
