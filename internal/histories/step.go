package histories

import (
	"fmt"
	"time"

	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// step lets one thing happen, and often a pass after it.
func (h *history) step() {
	steps := []func(){
		h.submit, h.submit, h.submit, h.approve, h.approve, h.withdraw, h.grow, h.shrink, h.edit, h.remove, h.leave,
	}
	steps[h.rnd.IntN(len(steps))]()
	h.remember()
	if h.chance(40) {
		time.Sleep(time.Duration(h.rnd.IntN(100)) * time.Hour)
	}
	if !h.chance(70) {
		return
	}
	h.sick = []int{0, 0, 5, 30}[h.rnd.IntN(4)]
	h.say("faults on %d %% of requests", h.sick)
	_ = h.pass()
}

// remember notes which entries are approved now.
func (h *history) remember() {
	defer h.world.Lock()()
	for _, s := range h.world.Sheets {
		for _, e := range s.Entries {
			h.whose[e.Note] = s.Member
			if s.State == tracker.Approved {
				h.ever[e.Note] = true
			}
		}
	}
}

func (h *history) work(week int) *trackertest.Entry {
	e := h.world.Work(start.AddDays(7*week + h.rnd.IntN(7)))
	e.Seconds = int64(1+h.rnd.IntN(16)) * 1800
	e.Billable = !h.chance(10)
	e.Client, e.Project = tracker.Ref{ID: "501", Name: "Acme"}, tracker.Ref{ID: "601", Name: "Site"}
	if h.chance(40) {
		e.Client, e.Project = tracker.Ref{ID: "502", Name: "Beta"}, tracker.Ref{ID: "602", Name: "Shop"}
	}
	e.Note = fmt.Sprintf("e%d", e.Number)
	return e
}

// submit puts a new sheet before its approver, who often approves it at once.
func (h *history) submit() {
	m, week := h.world.Members[h.rnd.IntN(len(h.world.Members))], h.rnd.IntN(5)
	first := start.AddDays(7 * week)
	unlock := h.world.Lock()
	taken := h.world.Sheet(m.ID, first) != nil
	unlock()
	if taken || m.Left {
		return
	}
	var entries []*trackertest.Entry
	for range 1 + h.rnd.IntN(4) {
		entries = append(entries, h.work(week))
	}
	s := h.world.Submit(m, trackertest.Week(first), entries...)
	h.say("member %s submits %s", m.ID, first)
	if h.chance(70) {
		h.set(s, tracker.Approved)
	}
}

func (h *history) set(s *trackertest.Sheet, state tracker.State) {
	h.say("%s of member %s becomes %s", s.Period.First, s.Member.ID, state)
	h.world.Set(s, state)
}

// any returns a sheet of somebody who is still there; nil if there is none.
func (h *history) any() *trackertest.Sheet {
	var all []*trackertest.Sheet
	for _, s := range h.world.Sheets {
		if !s.Member.Left {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[h.rnd.IntN(len(all))]
}

func (h *history) approve() {
	if s := h.any(); s != nil {
		h.set(s, tracker.Approved)
	}
}

func (h *history) withdraw() {
	s := h.any()
	if s == nil || s.State != tracker.Approved {
		return
	}
	h.set(s, tracker.Withdrawn)
	if h.chance(60) {
		time.Sleep(time.Hour)
		h.set(s, tracker.Pending)
		h.set(s, tracker.Approved)
	}
}

func (h *history) grow() {
	s := h.any()
	if s == nil || s.State == tracker.Withdrawn {
		return
	}
	e := h.work(start.DaysUntil(s.Period.First) / 7)
	h.say("%s of member %s grows by %s", s.Period.First, s.Member.ID, e.Note)
	h.world.Grow(s, e)
	if h.chance(60) {
		h.set(s, tracker.Approved)
	}
}

func (h *history) shrink() {
	if s := h.any(); s != nil && len(s.Entries) > 1 {
		h.say("%s of member %s loses an entry", s.Period.First, s.Member.ID)
		h.world.Shrink(s)
	}
}

func (h *history) edit() {
	s := h.any()
	if s == nil || s.State == tracker.Withdrawn { // A withdrawn approval is a frozen copy.
		return
	}
	e := s.Entries[h.rnd.IntN(len(s.Entries))]
	h.world.Edit(e, func(e *trackertest.Entry) { e.Seconds = int64(1+h.rnd.IntN(16)) * 1800 })
	h.say("%s of member %s is edited: %s", s.Period.First, s.Member.ID, e.Note)
}

func (h *history) remove() {
	if s := h.any(); s != nil && h.chance(30) {
		h.say("%s of member %s is deleted", s.Period.First, s.Member.ID)
		h.world.Delete(s)
	}
}

func (h *history) leave() {
	if m := h.world.Members[h.rnd.IntN(len(h.world.Members))]; h.chance(15) && !m.Left {
		h.say("member %s leaves", m.ID)
		h.world.Leave(m)
	}
}
