package sync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// peerTracker is a time tracker in memory, with a change feed that is asked by change time.
type peerTracker struct {
	mu      sync.Mutex
	weeks   map[string]tracker.Week
	traits  tracker.Traits
	clock   time.Time // the tracker's own; zero: it tells none
	size    int       // of a page; zero: all on one
	broken  map[int]error
	partial bool              // something is held back for now
	unread  map[string]string // announced and not readable, with the reason
	gone    map[string]bool   // readable by id no more
	kept    []tracker.Kept    // of which nothing is said any more

	queries []tracker.Query // every traversal that was asked for
	fetched int             // pages that were yielded
	asked   []string        // ids that were asked for
}

func newPeerTracker(weeks ...tracker.Week) *peerTracker {
	p := &peerTracker{weeks: map[string]tracker.Week{}, traits: tracker.Traits{Feed: true}, broken: map[int]error{}, unread: map[string]string{}, gone: map[string]bool{}}
	for _, w := range weeks {
		p.put(w)
	}
	return p
}

// put stores a week as the tracker has it now.
func (p *peerTracker) put(w tracker.Week) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weeks[w.ID] = w
}

// drop removes a week without a trace.
func (p *peerTracker) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.weeks, id)
}

// hide makes a record that is announced and cannot be read, or readable again.
func (p *peerTracker) hide(id string, hidden bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.unread, id)
	if hidden {
		p.unread[id] = "429"
	}
}

func (p *peerTracker) Account() string        { return "tracker-1" }
func (p *peerTracker) Traits() tracker.Traits { return p.traits }

func (p *peerTracker) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		for n, page := range p.pages(q) {
			if err := cmp.Or(p.broken[n], ctx.Err()); err != nil {
				yield(tracker.Page{}, err)
				return
			}
			p.count()
			if !yield(page, nil) {
				return
			}
		}
	}
}

func (p *peerTracker) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched++
}

func (p *peerTracker) pages(q tracker.Query) (pages []tracker.Page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries = append(p.queries, q)
	var weeks []tracker.Week
	for _, w := range slices.SortedFunc(maps.Values(p.weeks), func(a, b tracker.Week) int { return cmp.Compare(a.ID, b.ID) }) {
		first := w.Period.First
		inRange := !first.Before(q.First.First) && (q.First.Last.IsZero() || !first.After(q.First.Last))
		if inRange && !w.Changed.Before(q.Since) && p.unread[w.ID] == "" {
			weeks = append(weeks, w)
		}
	}
	size := cmp.Or(p.size, max(len(weeks), 1))
	for part := range slices.Chunk(weeks, size) {
		pages = append(pages, tracker.Page{Weeks: slices.Clone(part), Clock: p.clock, Partial: p.partial})
	}
	if len(p.unread) > 0 || len(p.kept) > 0 || len(pages) == 0 {
		page := tracker.Page{Clock: p.clock, Partial: p.partial, Kept: p.kept}
		for id, reason := range p.unread {
			page.Unread = append(page.Unread, tracker.Unread{ID: id, Reason: reason})
		}
		pages = append(pages, page)
	}
	return pages
}

func (p *peerTracker) Week(_ context.Context, id string) (tracker.Week, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, id)
	if p.gone[id] {
		return tracker.Week{}, tracker.ErrGone
	}
	if reason, unread := p.unread[id]; unread {
		return tracker.Week{}, errors.New(reason)
	}
	w, known := p.weeks[id]
	if !known {
		return tracker.Week{}, tracker.ErrGone
	}
	return w, nil
}

// fault is what goes wrong with one call.
type peerFault string

const (
	lostReply   peerFault = "reply lost"   // the effect is there, the caller gets an error
	lostRequest peerFault = "request lost" // no effect, the caller gets an error that says nothing
	refusedNow  peerFault = "not sent"     // no effect, and the caller knows
	rejected    peerFault = "rejected"
	pausedAfter peerFault = "401 after the effect"
)

// peerBooks is an accounting system in memory that guards its drafts.
type peerBooks struct {
	mu      sync.Mutex
	traits  accounting.Traits
	docs    []*peerDoc
	skew    decimal.Decimal // what the books make of a net total, such as a discount that they add
	faults  []peerFault     // of the next writes, in order
	finding error           // of every look-up
	blind   int             // look-ups that find nothing yet, whatever there is
	finds   int             // look-ups by reference
	calls   []peerCall      // every write that arrived
}

type peerDoc struct {
	receipt accounting.Receipt
	invoice accounting.Invoice
	edition int
}

// peerCall is a write as it arrived on the wire.
type peerCall struct {
	Act, Key string
	Body     string
}

func newPeerBooks() *peerBooks {
	return &peerBooks{traits: accounting.Traits{Authoritative: true, GuardsDrafts: true}}
}

func (b *peerBooks) Account() string           { return "books-1" }
func (b *peerBooks) Traits() accounting.Traits { return b.traits }

func (b *peerBooks) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	body, err := json.Marshal(inv)
	return accounting.Request{Steps: []accounting.Step{{Method: "PUT", Path: "/invoices", Body: body}}}, err
}

func (b *peerBooks) Find(_ context.Context, reference string) (found []accounting.Receipt, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finds++
	if b.finding != nil {
		return nil, b.finding
	}
	if b.blind > 0 {
		b.blind--
		return nil, nil
	}
	for _, d := range b.docs {
		if d.receipt.Reference == reference {
			found = append(found, d.receipt)
		}
	}
	return found, nil
}

func (b *peerBooks) Read(_ context.Context, id string) (accounting.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.finding != nil {
		return accounting.Receipt{}, b.finding
	}
	if d := b.byID(id); d != nil {
		return d.receipt, nil
	}
	return accounting.Receipt{}, accounting.ErrAbsent
}

func (b *peerBooks) List(_ context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error] {
	return func(yield func(accounting.Receipt, error) bool) {
		b.mu.Lock()
		docs := slices.Clone(b.docs)
		b.mu.Unlock()
		if b.finding != nil {
			yield(accounting.Receipt{}, b.finding)
			return
		}
		for _, d := range docs {
			if days.Contains(d.receipt.Date) && !yield(d.receipt, nil) {
				return
			}
		}
	}
}

func (b *peerBooks) byID(id string) *peerDoc {
	for _, d := range b.docs {
		if d.receipt.ID == id {
			return d
		}
	}
	return nil
}

func (b *peerBooks) nextFault() (f peerFault) {
	if len(b.faults) > 0 {
		f, b.faults = b.faults[0], b.faults[1:]
	}
	return f
}

func (b *peerBooks) Create(_ context.Context, key string, req accounting.Request, _ accounting.Progress, _ func(accounting.Progress) error) (accounting.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.nextFault()
	if err := before(f); err != nil {
		return accounting.Receipt{}, err
	}
	body := req.Steps[0].Body
	b.calls = append(b.calls, peerCall{"create", key, string(body)})
	d := &peerDoc{receipt: accounting.Receipt{ID: fmt.Sprintf("inv-%d", len(b.docs)+1), Status: accounting.Draft}}
	b.write(d, body)
	d.receipt.Net = d.receipt.Net.Add(b.skew)
	b.docs = append(b.docs, d)
	return d.receipt, after(f)
}

func (b *peerBooks) Update(_ context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.nextFault()
	if err := before(f); err != nil {
		return accounting.Receipt{}, err
	}
	d := b.byID(left.ID)
	if d == nil || !d.receipt.Untouched(left) {
		return accounting.Receipt{}, accounting.ErrTouched
	}
	body := req.Steps[0].Body
	b.calls = append(b.calls, peerCall{"update", key, string(body)})
	b.write(d, body)
	return d.receipt, after(f)
}

func before(f peerFault) error {
	switch f {
	case lostRequest:
		return errors.New("time-out")
	case refusedNow:
		return fmt.Errorf("%w: connection refused", accounting.ErrNotSent)
	case rejected:
		return fmt.Errorf("%w: The period is locked.", accounting.ErrRejected)
	case lostReply, pausedAfter:
	}
	return nil
}

func after(f peerFault) error {
	switch f {
	case lostReply:
		return errors.New("connection reset")
	case pausedAfter:
		return pausedError{}
	case lostRequest, refusedNow, rejected:
	}
	return nil
}

func (b *peerBooks) write(d *peerDoc, body []byte) {
	var inv accounting.Invoice
	if err := json.Unmarshal(body, &inv); err != nil {
		panic(err)
	}
	d.edition++
	d.invoice = inv
	r := &d.receipt
	r.Reference, r.Customer, r.Currency, r.Date, r.Net, r.Amounts = inv.Reference, inv.Customer, inv.Currency, inv.Date, inv.Net(), inv.Amounts()
	r.Token = fmt.Sprintf("%s-%d", r.ID, d.edition)
}

// touch does what a person does to an invoice.
func (b *peerBooks) touch(id string, mend func(r *accounting.Receipt)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.byID(id)
	d.edition++
	d.receipt.Token = fmt.Sprintf("%s-%d", id, d.edition)
	mend(&d.receipt)
}

// live returns the invoices that no person voided.
func (b *peerBooks) live() (live []*peerDoc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.docs {
		if d.receipt.Status != accounting.Void {
			live = append(live, d)
		}
	}
	return live
}

// writes returns how many writes arrived.
func (b *peerBooks) writes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls)
}
