package sync

import (
	"fmt"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

func (w *world) client() tracker.Ref {
	n := w.rnd.IntN(3) // client-2 has no customer
	return tracker.Ref{ID: fmt.Sprintf("client-%d", n), Name: fmt.Sprintf("Client %d", n)}
}

func (w *world) entry(first civil.Date, member string) tracker.Entry {
	w.serial++
	client := w.client()
	e := tracker.Entry{
		ID: fmt.Sprintf("e%04d", w.serial), Date: first.AddDays(w.rnd.IntN(7)), Seconds: int64(1+w.rnd.IntN(16)) * 1800, Billable: !w.chance(10),
		Client: client, Project: tracker.Ref{ID: client.ID + "-p" + fmt.Sprint(w.rnd.IntN(2))}, Currency: "EUR",
	}
	e.Note = e.ID
	e.Rate.Valid = !w.chance(4)
	e.Rate.Decimal = rate(member)
	return e
}

func (w *world) newWeek() {
	member := fmt.Sprintf("m%d", w.rnd.IntN(3))
	first := firstStart.AddDays(7 * w.rnd.IntN(4))
	id := fmt.Sprintf("%s-%s", member, first)
	if _, known := w.tracker.weeks[id]; known {
		return
	}
	week := tracker.Week{ID: id, Period: civil.Period{First: first, Last: first.AddDays(6)}, Member: tracker.Ref{ID: member}, State: tracker.Approved}
	for range w.rnd.IntN(5) {
		week.Entries = append(week.Entries, w.entry(first, member))
	}
	if w.chance(20) {
		week.State = tracker.Pending
	}
	w.store1(week, "new week %s")
}

func (w *world) store1(week tracker.Week, what string) {
	if old, known := w.tracker.weeks[week.ID]; known {
		w.former[week.ID] = old
		week.Version = old.Version
	} else {
		week.Version.Kind = []tracker.Kind{tracker.None, tracker.Stamp, tracker.Exact}[w.rnd.IntN(3)]
	}
	if week.Version.Kind != tracker.None {
		week.Version.Number++
	}
	week.Changed = w.clock
	w.newest = later(w.newest, w.clock)
	if week.State == tracker.Approved {
		week.Approved = w.clock
	}
	w.tracker.put(week)
	w.say(what, week.ID)
}

func (w *world) anyWeek() (week tracker.Week, ok bool) {
	pages := w.tracker.pages(tracker.Query{})
	var all []tracker.Week
	for _, p := range pages {
		all = append(all, p.Weeks...)
	}
	if len(all) == 0 {
		return week, false
	}
	week = all[w.rnd.IntN(len(all))]
	week.Entries = append([]tracker.Entry(nil), week.Entries...)
	return week, true
}

func (w *world) grow() {
	if week, ok := w.anyWeek(); ok {
		week.Entries = append(week.Entries, w.entry(week.Period.First, week.Member.ID))
		w.store1(week, "grow %s")
	}
}

func (w *world) correct() {
	if week, ok := w.anyWeek(); ok && len(week.Entries) > 0 {
		i := w.rnd.IntN(len(week.Entries))
		week.Entries[i].Seconds = int64(1+w.rnd.IntN(16)) * 1800
		if w.chance(20) {
			week.Entries = append(week.Entries[:i], week.Entries[i+1:]...)
		}
		w.store1(week, "correct %s")
	}
}

func (w *world) revert() {
	if week, ok := w.anyWeek(); ok {
		if old, known := w.former[week.ID]; known {
			w.store1(old, "revert %s")
		}
	}
}

func (w *world) withdraw() {
	if week, ok := w.anyWeek(); ok {
		week.State = []tracker.State{tracker.Withdrawn, tracker.Pending}[w.rnd.IntN(2)]
		w.store1(week, "withdraw %s")
	}
}

func (w *world) approve() {
	if week, ok := w.anyWeek(); ok && week.State != tracker.Approved {
		week.State = tracker.Approved
		w.store1(week, "approve %s")
	}
}

func (w *world) move() {
	if week, ok := w.anyWeek(); ok && len(week.Entries) > 0 {
		i := w.rnd.IntN(len(week.Entries))
		other := w.entry(week.Period.First, week.Member.ID)
		week.Entries[i].Client, week.Entries[i].Project = other.Client, other.Project
		w.store1(week, "move an entry of %s")
	}
}

func (w *world) rename() {
	if week, ok := w.anyWeek(); ok {
		for i := range week.Entries {
			week.Entries[i].Client.Name += "!"
		}
		w.store1(week, "rename the clients of %s")
	}
}

func (w *world) resend() {
	if week, ok := w.anyWeek(); ok {
		week.Changed = w.clock
		w.newest = later(w.newest, w.clock)
		w.tracker.put(week)
		w.say("resend %s", week.ID)
	}
}

func (w *world) breakTracker() {
	if week, ok := w.anyWeek(); ok && w.chance(50) {
		w.tracker.hide(week.ID, true)
		w.say("the tracker cannot read %s", week.ID)
		_ = w.pass()
		w.tracker.hide(week.ID, false)
		return
	}
	w.tracker.broken[w.rnd.IntN(3)] = fmt.Errorf("500")
	err := w.pass()
	w.say("the tracker broke: %v", err)
	clear(w.tracker.broken)
}

func (w *world) late() {
	now := w.clock
	w.clock = w.clock.Add(-time.Duration(w.rnd.IntN(40)) * time.Hour)
	w.correct()
	w.clock = now
}
