package sync

import (
	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

func (w *world) person() {
	items, err := w.store.Items("")
	w.must(err)
	if len(items) == 0 {
		return
	}
	i := items[w.rnd.IntN(len(items))]
	r := Ruling{Subject: i.Subject, Who: "ana", Note: "looked at it", Until: civil.DateOf(w.clock).AddDays(1 + w.rnd.IntN(5))}
	r.Action = []Action{Settle, Skip, Postpone, Retry, Release}[w.rnd.IntN(5)]
	if !w.sensible(i, &r) {
		return
	}
	err = w.engine.Rule(r, w.clock)
	w.say("person: %s %s (%s), error %v", r.Action, r.Subject, i.Kind, err)
}

func (w *world) sensible(i state.Item, r *Ruling) bool {
	switch i.Kind {
	case state.Lost:
		r.Action = Release
		for _, l := range i.List {
			if w.standsThere(l.Reference) {
				return false
			}
		}
	case state.Limit:
		r.Action = Release
	case state.NotKnown:
		return r.Action != Retry || !w.standsThere(i.Subject)
	}
	return true
}

func (w *world) standsThere(reference string) bool {
	story, known, err := w.engine.Explain(reference, w.clock)
	w.must(err)
	if !known {
		return true
	}
	on := w.books.entries()
	for _, b := range story.Entries {
		if len(on[b.Entry.ID]) > 0 {
			return true
		}
	}
	for _, d := range w.books.live() {
		if d.receipt.Reference == reference {
			return true
		}
	}
	return false
}

func (w *world) bookkeeper() {
	live := w.books.live()
	if len(live) == 0 {
		return
	}
	d := live[w.rnd.IntN(len(live))]
	status := []accounting.Status{accounting.Final, accounting.Edited}[w.rnd.IntN(2)]
	w.books.touch(d.receipt.ID, func(r *accounting.Receipt) { r.Status = status })
	w.say("bookkeeper: %s is now %s", d.receipt.ID, status)
}
