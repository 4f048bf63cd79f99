package trackertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// day gives a member an approved week with an entry at both ends of each day.
func (s *scene) day(zone string, begins time.Weekday, first civil.Date) {
	m := s.world.Join("in "+zone, zone)
	m.Begins = begins
	var entries []*Entry
	for i := range 7 {
		early, late := s.world.Work(first.AddDays(i)), s.world.Work(first.AddDays(i))
		early.Clock, late.Clock = 0, 23*time.Hour+30*time.Minute
		early.Seconds, late.Seconds = 1800, 1200
		entries = append(entries, early, late)
	}
	s.world.Approve(m, first, entries...)
}

func zones(s *scene) {
	for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata", "Europe/Berlin", "America/Los_Angeles", "UTC"} {
		s.day(zone, time.Monday, Monday)
	}
	s.holds("members on both sides of the date line")
}

// daylightSaving covers the nights in which clocks are changed, also where midnight does not exist.
func daylightSaving(s *scene) {
	for _, first := range []civil.Date{{Year: 2026, Month: 10, Day: 19}, {Year: 2026, Month: 10, Day: 26}, {Year: 2026, Month: 9, Day: 28}} {
		for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"} {
			s.day(zone, time.Monday, first)
		}
	}
	time.Sleep(40 * 24 * time.Hour)
	s.holds("weeks in which clocks are changed")
}

func week53(s *scene) {
	time.Sleep(90 * 24 * time.Hour)
	s.day("Europe/Berlin", time.Monday, civil.Date{Year: 2026, Month: 12, Day: 21})
	s.day("America/New_York", time.Monday, civil.Date{Year: 2026, Month: 12, Day: 28})
	s.day("Pacific/Auckland", time.Monday, civil.Date{Year: 2027, Month: 1, Day: 4})
	s.holds("around the end of the year")
}

func sundays(s *scene) {
	if s.Mondays {
		return
	}
	s.day("America/Chicago", time.Sunday, Monday.AddDays(-8))
	s.day("Pacific/Honolulu", time.Sunday, Monday.AddDays(-1))
	s.holds("weeks that begin on Sunday")
}

// nothing leaves out what a vendor may leave out.
func nothing(s *scene) {
	m := s.world.Join("Ada", "Europe/Berlin")
	strip := func(change func(*Entry)) *Entry {
		e := s.world.Work(Monday)
		change(e)
		return e
	}
	s.world.Approve(m, Monday,
		strip(func(e *Entry) { e.Rate.Valid, e.Currency = false, "" }),
		strip(func(e *Entry) { e.Task = tracker.Ref{} }),
		strip(func(e *Entry) { e.Project, e.Task, e.Client = tracker.Ref{}, tracker.Ref{}, tracker.Ref{} }),
		strip(func(e *Entry) { e.Client = tracker.Ref{} }),
		strip(func(e *Entry) { e.Note = "" }),
		strip(func(e *Entry) { e.Billable = false }),
		strip(func(e *Entry) { e.Seconds = 0 }),
	)
	s.world.Approve(s.world.Join("Nobody", "UTC"), Monday.AddDays(-7))
	got, want := told(s.all()), s.expected(s.world)
	for key, one := range want {
		if len(one.Entries) == 0 {
			delete(want, key) // Some trackers know no week without entries.
			delete(got, key)
		}
	}
	compare(s.T, "with much left out", want, got)
}

// hostile uses texts that break careless programs.
func hostile(s *scene) {
	m := s.world.Join("Zoë 🏳️‍🌈 \u202eevil", "Europe/Berlin")
	var entries []*Entry
	for _, note := range []string{"😀", "\u202e\u2066abc", "a\x00b", strings.Repeat("long ", 4000), "<script>alert(1)</script>", "\"quoted\" \\ back\nnew line\r\n", "=cmd()", "\ufeffmark"} {
		e := s.world.Work(Monday)
		e.Note, e.Client.Name, e.Project.Name, e.Task.Name = note, "C "+note[:min(len(note), 40)], "P "+note[:1], "T"
		if strings.ToValidUTF8(e.Project.Name, "") != e.Project.Name || strings.ToValidUTF8(e.Client.Name, "") != e.Client.Name {
			e.Project.Name, e.Client.Name = "P", "C"
		}
		entries = append(entries, e)
	}
	for i, e := range entries { // One name for each id: some vendors keep clients and projects apart.
		e.Client.ID, e.Project.ID, e.Task.ID = fmt.Sprint(801+i), fmt.Sprint(901+i), fmt.Sprint(1001+i)
	}
	s.world.Approve(m, Monday, entries...)
	s.holds("hostile texts")
}

func ids(s *scene) {
	s.team(3)
	s.mend = func(body any) any { return walk(body, swapIDs) }
	s.holds("ids as text where they were numbers, and the other way round")
}

func newMembers(s *scene) {
	s.team(3)
	s.mend = func(body any) any { return walk(body, addMembers) }
	s.holds("members that nobody knows")
}

// noApproval takes away whatever says that something is approved.
func noApproval(s *scene) {
	s.team(3)
	if len(s.Approval) == 0 {
		s.Fatal("the dialect does not say which members tell of approval")
	}
	s.mend = func(body any) any {
		if _, text := body.(string); text { // An answer that is nothing but a text has no members: it tells by itself.
			return ""
		}
		return walk(body, without(s.Approval))
	}
	weeks, _, err := s.read(everything())
	for _, w := range weeks {
		if w.State.Approves() {
			s.Errorf("week %s is %s though nothing says so", w.ID, w.State)
		}
	}
	if err == nil && len(weeks) == 0 && s.silent() {
		s.Error("no error, no week and no unread record: nobody would notice")
	}
}

// silent reports whether a traversal of everything tells of no unread record.
func (s *scene) silent() bool {
	for page, err := range s.tracker.Weeks(s.Context(), everything()) {
		if err != nil {
			return false
		}
		if len(page.Unread) > 0 {
			return false
		}
	}
	return true
}

// only returns the one week that is told, which must be as the world has it.
func (s *scene) only(what string) tracker.Week {
	s.Helper()
	s.holds(what)
	weeks := s.all()
	if len(weeks) != 1 {
		s.Fatalf("%s: %d weeks, want 1", what, len(weeks))
	}
	return weeks[0]
}

// life takes a sheet through everything that can happen to it. It is one record all the while.
func life(s *scene) {
	m := s.world.Join("Ada", "Europe/Berlin")
	sheet := s.world.Submit(m, Week(Monday), s.world.Work(Monday), s.world.Work(Monday.AddDays(1)))
	last := s.only("submitted")
	step := func(what string, change func()) {
		s.Helper()
		time.Sleep(time.Hour)
		change()
		w := s.only(what)
		if w.ID != last.ID {
			s.Errorf("%s: id %q, was %q", what, w.ID, last.ID)
		}
		if w.Version.Kind == tracker.Stamp && w.Version.Number < last.Version.Number {
			s.Errorf("%s: version %d, was %d", what, w.Version.Number, last.Version.Number)
		}
		last = w
	}
	step("approved", func() { s.world.Set(sheet, tracker.Approved) })
	approved := last
	step("withdrawn", func() { s.world.Set(sheet, tracker.Withdrawn) })
	step("submitted again", func() { s.world.Set(sheet, tracker.Pending) })
	step("approved again", func() { s.world.Set(sheet, tracker.Approved) })
	if last.Version.Kind == tracker.Stamp && last.Version == approved.Version {
		s.Error("approved again under the same version")
	}
	step("edited under the same approval", func() {
		s.world.Edit(sheet.Entries[0], func(e *Entry) { e.Seconds = 7200 })
	})
	step("an entry less", func() { s.world.Shrink(sheet) })
}

func growth(s *scene) {
	m := s.world.Join("Ada", "Europe/Berlin")
	sheet := s.world.Approve(m, Monday, s.world.Work(Monday))
	time.Sleep(time.Hour)
	s.world.Grow(sheet, s.world.Work(Monday.AddDays(3)))
	s.holds("more work on an approved sheet")
	time.Sleep(time.Hour)
	s.world.Set(sheet, tracker.Approved)
	s.holds("more work, approved")
}

// leaver disables a member. What was approved stands: it is told as it was, or kept.
func leaver(s *scene) {
	s.team(3)
	before := told(s.all())
	byKey := map[string]string{}
	for _, w := range s.all() {
		byKey[w.Member.ID+" "+w.Period.First.String()] = w.ID
	}
	s.world.Leave(s.world.Members[1])
	got, kept := map[string]seen{}, map[string]bool{}
	for page, err := range s.tracker.Weeks(s.Context(), everything()) {
		if err != nil {
			s.Fatal(err)
		}
		for key, one := range told(page.Weeks) {
			got[key] = one
		}
		for _, k := range page.Kept {
			kept[k.ID] = true
		}
	}
	for key, want := range before {
		one, there := got[key]
		switch {
		case there:
			compare(s.T, "after a member left", map[string]seen{key: want}, map[string]seen{key: one})
		case !kept[byKey[key]]:
			s.Errorf("%s is neither told nor kept after a member left; kept: %v", key, keys(kept))
		}
	}
}

// vanished deletes a sheet. Nothing is made up about it.
func vanished(s *scene) {
	s.team(3)
	weeks := s.all()
	gone := s.world.Sheets[1]
	s.world.Delete(gone)
	for key := range told(s.all()) {
		if key == gone.Member.ID+" "+Monday.String() {
			s.Errorf("%s is told though nothing is left of it", key)
		}
	}
	for _, w := range weeks {
		_, err := s.tracker.Week(s.Context(), w.ID)
		if isGone := errors.Is(err, tracker.ErrGone); isGone != (w.Member.ID == gone.Member.ID) {
			s.Errorf("Week(%q) of member %s = %v", w.ID, w.Member.ID, err)
		}
	}
}

func byID(s *scene) {
	s.world.PageSize = 2
	s.team(3)
	all := s.all()
	want := told(all)
	for _, w := range all {
		one, err := s.tracker.Week(s.Context(), w.ID)
		if err != nil {
			s.Errorf("Week(%q) = %v", w.ID, err)
			continue
		}
		key := w.Member.ID + " " + w.Period.First.String()
		compare(s.T, w.ID, map[string]seen{key: want[key]}, told([]tracker.Week{one}))
	}
	for _, id := range []string{"", ":", "||", "nobody", "1:2:3:4:5", "1|2|3", "../..", "9:2026-13-45", "\x00"} {
		if w, err := s.tracker.Week(s.Context(), id); err == nil {
			s.Errorf("Week(%q) = %s, want an error", id, w.ID)
		}
	}
	s.fail(slices.Repeat([]remotetest.Fault{remotetest.Status(403)}, 8)...)
	if _, err := s.tracker.Week(s.Context(), all[0].ID); err == nil || errors.Is(err, tracker.ErrGone) {
		s.Errorf("Week while the list is forbidden = %v, want an error that does not say that it is gone", err)
	}
}

// marks tells running timers and work that somebody billed.
func marks(s *scene) {
	m := s.world.Join("Ada", "Europe/Berlin")
	running, billed := s.world.Work(Monday), s.world.Work(Monday.AddDays(1))
	running.Running, running.Seconds = true, 0
	billed.Invoiced = true
	s.world.Approve(m, Monday, running, billed, s.world.Work(Monday.AddDays(2)))
	s.holds("a running timer and work that is billed elsewhere")
}

func access(s *scene) {
	s.team(2)
	a, err := s.tracker.Access(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if a.User == "" || a.Account == "" || len(a.Reads) == 0 {
		s.Errorf("Access = %+v, want a user, an account and what is read", a)
	}
	transport := remotetest.Serve(s.T, s.Handler(s.world))
	other := s.New(s.T, remote.New(remote.Options{Transport: transport}), remotetest.Base, "wrong-"+s.Token)
	_, err = other.Access(s.Context())
	s.wants("Access with a wrong token", err, remote.Unauthorised)
}
