package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/tracker"
)

// rate is what an hour of a member costs.
func rate(member string) decimal.Decimal { return decimal.NewFromInt(int64(80 + 10*len(member))) }

var errDead = errors.New("the process is dead")

// watchedBooks watches every write, and can let the process die at one call.
type watchedBooks struct {
	*peerBooks
	world   *world
	watch   sync.Mutex
	bodies  map[string]string // of every attempt, by key
	effects []peerCall
	written map[string]time.Time // when the key of a document's last write was first seen, by its reference
	dieAt   int                  // the call at which the process dies; 0: none
	dead    bool
	image   []byte // of the state file at that moment
}

// alive counts a call and lets the process die at the chosen one.
func (b *watchedBooks) alive() bool {
	b.watch.Lock()
	defer b.watch.Unlock()
	if b.dieAt > 0 && !b.dead {
		if b.dieAt--; b.dieAt == 0 {
			b.dead = true
			snapshot, err := b.world.store.Snapshot()
			if err != nil {
				b.world.t.Error(err)
				return false
			}
			b.image, err = os.ReadFile(snapshot.Path())
			if err := errors.Join(err, snapshot.Discard()); err != nil {
				b.world.t.Error(err)
			}
		}
	}
	return !b.dead
}

func (b *watchedBooks) Find(ctx context.Context, reference string) ([]accounting.Receipt, error) {
	if !b.alive() {
		return nil, errDead
	}
	return b.peerBooks.Find(ctx, reference)
}

func (b *watchedBooks) Read(ctx context.Context, id string) (accounting.Receipt, error) {
	if !b.alive() {
		return accounting.Receipt{}, errDead
	}
	return b.peerBooks.Read(ctx, id)
}

func (b *watchedBooks) Create(ctx context.Context, key string, req accounting.Request, p accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error) {
	if !b.alive() {
		return accounting.Receipt{}, errDead
	}
	b.attempt("create", key, req)
	receipt, err := b.peerBooks.Create(ctx, key, req, p, save)
	if !b.alive() {
		return accounting.Receipt{}, errDead
	}
	return receipt, err
}

func (b *watchedBooks) Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	if !b.alive() {
		return accounting.Receipt{}, errDead
	}
	b.attempt("update", key, req)
	receipt, err := b.peerBooks.Update(ctx, key, req, left)
	if !b.alive() {
		return accounting.Receipt{}, errDead
	}
	return receipt, err
}

// attempt checks one attempt of a write: the same key always carries the same bytes, and nothing is
// written about which a person was asked, or decided.
func (b *watchedBooks) attempt(act, key string, req accounting.Request) {
	b.watch.Lock()
	defer b.watch.Unlock()
	body := string(req.Steps[0].Body)
	name := fmt.Sprintf("%s %s #%d", act, key, b.world.lives)
	if old, known := b.bodies[name]; known && old != body {
		b.world.t.Errorf("key %s was sent with other bytes", key)
	}
	b.bodies[name] = body
	b.effects = append(b.effects, peerCall{act, key, body})
	reference, _, _ := strings.Cut(key, ".")
	b.watchWindow(act, key, body)
	item, err := b.world.store.Item(b.Account(), reference)
	if err != nil || item != nil {
		b.world.t.Errorf("%s %s though a person has it: %+v, %v", act, key, item, err)
	}
}

// watchWindow checks that a draft is corrected only where the rules say so: not while its key lives, unless
// drafts are to be updated at once. A clock that somebody set ahead is no reason.
func (b *watchedBooks) watchWindow(act, key, body string) {
	var inv accounting.Invoice
	if err := json.Unmarshal([]byte(body), &inv); err != nil {
		b.world.t.Error(err)
	}
	last, again := b.written[inv.Reference], b.bodies["seen "+key] == body
	b.bodies["seen "+key] = body
	rules, now := b.world.engine.rules, b.world.real
	switch {
	case act == "create" || again || b.world.lives > 0:
	case rules.Corrections == Review:
		b.world.t.Errorf("%s was updated though every correction is a person's", inv.Reference)
	case rules.Corrections == Window && now.Before(last.Add(rules.TTL)):
		b.world.t.Errorf("%s was updated %s after its key was first seen, within the window", inv.Reference, now.Sub(last))
	}
	k, _, err := b.world.store.Key(b.Account(), key)
	if err != nil || k == nil {
		b.world.t.Errorf("%s %s was sent without a key on the disk: %v", act, key, err)
		return
	}
	b.written[inv.Reference] = k.First
}

// created returns how many creates were attempted since a moment.
func (b *watchedBooks) created(since int) (n int) {
	for _, c := range b.effects[since:] {
		if c.Act == "create" {
			n++
		}
	}
	return n
}

// entries returns on which live invoices each entry stands. Its id is the note of its line.
func (b *watchedBooks) entries() map[string][]string {
	on := map[string][]string{}
	for _, d := range b.live() {
		for _, l := range d.invoice.Lines {
			id := l.Text[strings.LastIndex(l.Text, " ")+1:]
			on[id] = append(on[id], d.receipt.Reference)
		}
	}
	return on
}

// check holds what must be true after every step.
func (w *world) check() {
	w.checkOnce()
	w.checkWatermark()
}

// checkOnce: at most one live invoice a reference, and each entry on at most one.
func (w *world) checkOnce() {
	seen := map[string]string{}
	for _, d := range w.books.live() {
		if other := seen[d.receipt.Reference]; other != "" {
			w.t.Errorf("two live invoices bear %s: %s and %s", d.receipt.Reference, other, d.receipt.ID)
		}
		seen[d.receipt.Reference] = d.receipt.ID
	}
	for id, on := range w.books.entries() {
		if len(on) > 1 {
			w.t.Errorf("entry %s stands on %d live invoices: %v", id, len(on), on)
		}
	}
}

// checkWatermark: never later than now, and it never passed a record that was not taken in.
func (w *world) checkWatermark() {
	mark, err := w.store.Watermark(w.engine.Channel())
	w.must(err)
	if mark.After(w.newest) {
		w.t.Errorf("the watermark %s is later than any change, %s", mark, w.newest)
	}
}

// quiet lets everything that was begun come to its end.
func (w *world) quiet() {
	w.books.faults, w.books.finding = nil, nil
	for range 8 {
		w.sleep(2 * time.Hour)
		w.must(w.pass())
	}
	w.sleep(100 * time.Hour)
	for range 3 {
		w.sleep(2 * time.Hour)
		w.must(w.pass())
	}
	w.check()
}

// checkQuiet holds what must be true when nothing more happens.
func (w *world) checkQuiet() {
	before, commits := len(w.books.effects), w.store.Commits()
	w.must(w.pass())
	if n := len(w.books.effects) - before; n != 0 {
		w.t.Errorf("a second pass sent %d writes", n)
	}
	if n := w.store.Commits() - commits; n != 1 {
		w.t.Errorf("a second pass committed %d times, want 1 for its heartbeat", n)
	}
	for _, week := range w.tracker.weeks {
		w.checkWeek(week)
	}
	w.checkDrafts()
}

// checkWeek: every approved entry is billed, waiting, in review, or done for a reason.
func (w *world) checkWeek(week tracker.Week) {
	if week.State != tracker.Approved || week.Period.Last.Before(w.rules.Start) {
		return
	}
	due := map[string]bool{}
	all, err := w.store.Due(w.engine.Channel())
	w.must(err)
	for _, d := range all {
		due[d.Group.Reference] = true
	}
	weekItem, err := w.store.Item(w.books.Account(), state.WeekSubject(w.engine.Channel(), week.ID))
	w.must(err)
	on := w.books.entries()
	for _, g := range w.engine.groupsOf(week) {
		item, err := w.store.Item(w.books.Account(), g.Reference)
		w.must(err)
		stored, known, err := w.store.Group(w.books.Account(), g.Reference)
		w.must(err)
		accounted := item != nil || weekItem != nil || due[g.Reference] || (known && stored.Done != "")
		for _, e := range week.Entries {
			_, currency := w.rules.effective(week.Member, e)
			if e.Billable && groupOf(w.engine.Channel(), w.rules.Per, week, e, currency).Reference == g.Reference && !accounted && len(on[e.ID]) == 0 {
				w.t.Errorf("entry %s of week %s is nowhere: group %s, known %v", e.ID, week.ID, g.Reference, known)
			}
		}
	}
}

// checkDrafts: what a live invoice says is what the tracker says, unless a person has it.
func (w *world) checkDrafts() {
	now := map[string]tracker.Entry{}
	for _, week := range w.tracker.weeks {
		for _, e := range week.Entries {
			if week.State == tracker.Approved && e.Billable {
				now[e.ID] = e
			}
		}
	}
	for _, d := range w.books.live() {
		group := d.receipt.Reference
		if i := strings.LastIndex(group, "-"); i == len(group)-2 {
			group = group[:i]
		}
		item, err := w.store.Item(w.books.Account(), group)
		w.must(err)
		if item != nil {
			continue
		}
		for _, l := range d.invoice.Lines {
			id := l.Text[strings.LastIndex(l.Text, " ")+1:]
			if now[id].Seconds != l.Seconds {
				w.t.Errorf("invoice %s bills %d s of entry %s, the tracker says %d s, and nobody was asked", d.receipt.ID, l.Seconds, id, now[id].Seconds)
			}
		}
	}
}
