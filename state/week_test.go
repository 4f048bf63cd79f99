package state

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// week makes an approved week of seven days.
func week(id string, first civil.Date, entries ...string) tracker.Week {
	w := tracker.Week{ID: id, Version: tracker.Version{Kind: tracker.Exact, Number: 1}, State: tracker.Approved,
		Period: civil.Period{First: first, Last: first.AddDays(6)}, Member: tracker.Ref{ID: "m1"}}
	for _, e := range entries {
		w.Entries = append(w.Entries, tracker.Entry{ID: e, Date: first, Seconds: 3600, Billable: true})
	}
	return w
}

// stored returns the change that stores a week in place of what is there now.
func (b *book) stored(w tracker.Week) Change {
	b.t.Helper()
	c := Change{Week: w, Head: Head{First: w.Period.First, Version: w.Version, State: w.State, Digest: Digest(fmt.Sprint("1:", w.Entries)), Sequence: 1}}
	old, found, err := b.Find(agency, w.ID)
	b.must(err)
	if found {
		heads, err := b.Heads(agency, []Place{PlaceOf(old)})
		b.must(err)
		c.Old, c.Head.Sequence = &old, heads[0].Sequence+1
	}
	return c
}

// takeIn stores changes in one batch and returns how many unread records are new.
func (b *book) takeIn(in Intake) int {
	b.t.Helper()
	before, err := b.Unread(agency)
	b.must(err)
	in.Now = b.now
	_, err = b.TakeIn(agency, in)
	b.must(err)
	after, err := b.Unread(agency)
	b.must(err)
	return len(after) - len(before)
}

// store takes in weeks, each in a batch of its own.
func (b *book) store(weeks ...tracker.Week) {
	b.t.Helper()
	for _, w := range weeks {
		b.takeIn(Intake{Weeks: []Change{b.stored(w)}})
	}
}

// weeksAreWhole fails unless each week has one row in week, content and place, and each entry of an
// approved one is held by it.
func (b *book) weeksAreWhole() {
	b.t.Helper()
	want := map[string]bool{}
	b.must(b.Weeks(agency, civil.Period{}, func(w tracker.Week) error {
		p := PlaceOf(w)
		want[fmt.Sprintf("week %q", p.key(agency))] = true
		want[fmt.Sprintf("content %q", p.key(agency))] = true
		want[fmt.Sprintf("place %q", text(agency.key(), w.ID))] = true
		for _, e := range w.Entries {
			if w.State == tracker.Approved {
				want[fmt.Sprintf("holder %q", holderKey(agency, e.ID, p))] = true
			}
		}
		return nil
	}))
	got := map[string]bool{}
	b.must(b.view(func(tx *bbolt.Tx) error {
		for _, bucket := range [][]byte{bucketWeek, bucketContent, bucketPlace, bucketHolder} {
			for _, key := range keysWith(tx, bucket, nil) {
				got[fmt.Sprintf("%s %q", bucket, key)] = true
			}
		}
		return nil
	}))
	if !maps.Equal(got, want) {
		b.t.Errorf("rows of weeks = %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func TestHeadsAreFoundByOneCursor(t *testing.T) {
	book := newBook(t)
	rapid.Check(t, func(t *rapid.T) {
		ch := Channel{Tracker: fmt.Sprint(book.now.UnixNano()), Account: "a", Prefix: "ts-"}
		book.now = book.now.Add(1)
		place := rapid.Custom(func(t *rapid.T) Place {
			return Place{monday.AddDays(rapid.IntRange(0, 3).Draw(t, "day")), part().Draw(t, "id")}
		})
		want := map[string]Head{}
		in := Intake{}
		for _, p := range rapid.SliceOfDistinct(place, func(p Place) string { return p.ID }).Draw(t, "stored") {
			w := week(p.ID, p.First)
			want[p.ID] = Head{First: p.First, Version: w.Version, State: w.State, Digest: Digest(p.ID), Sequence: uint64(len(want) + 1)}
			in.Weeks = append(in.Weeks, Change{Week: w, Head: want[p.ID]})
		}
		_, err := book.TakeIn(ch, in)
		book.must(err)
		asked := rapid.SliceOf(place).Draw(t, "asked")
		for id, h := range want {
			if rapid.Bool().Draw(t, "ask") {
				asked = append(asked, Place{h.First, id})
			}
		}
		slices.SortFunc(asked, Place.Compare)
		heads, err := book.Heads(ch, asked)
		book.must(err)
		for i, p := range asked {
			h, stored := want[p.ID]
			if (heads[i] != nil) != stored || stored && *heads[i] != h {
				t.Errorf("head of %v = %+v, want %+v, stored %t", p, heads[i], h, stored)
			}
		}
	})
}

func TestHeadsOfNearAndFarPlaces(t *testing.T) {
	b := newBook(t)
	var in Intake
	for n := range 300 {
		w := week(fmt.Sprintf("w%04d", n), monday)
		in.Weeks = append(in.Weeks, Change{Week: w, Head: Head{First: monday, Version: w.Version, State: w.State, Sequence: uint64(n + 1)}})
	}
	b.takeIn(in)
	// Without their places, only the cursor finds them.
	b.must(b.update(func(tx *bbolt.Tx) error { return removeAll(tx, bucketPlace, keysWith(tx, bucketPlace, nil)) }))
	for _, step := range []int{1, 7, 8, 9, 10, 50, 299} {
		var places []Place
		for n := 0; n < 310; n += step {
			places = append(places, Place{monday, fmt.Sprintf("w%04d", n)})
		}
		heads, err := b.Heads(agency, places)
		b.must(err)
		for i, h := range heads {
			if n := i * step; (h != nil) != (n < 300) || h != nil && h.Sequence != uint64(n+1) {
				t.Errorf("step %d: head of %s = %+v, want that of week %d", step, places[i].ID, h, n)
			}
		}
	}
}

func TestWeekOfAMovedPeriodIsFoundAndLeavesNothingBehind(t *testing.T) {
	b := newBook(t)
	moves := []civil.Date{monday, monday.AddDays(1), monday.AddDays(-7), monday.AddDays(1)}
	for i, first := range moves {
		w := week("w1", first, fmt.Sprintf("e%d", i))
		heads, err := b.Heads(agency, []Place{PlaceOf(w)})
		b.must(err)
		if i > 0 && (heads[0] == nil || heads[0].First != moves[i-1] || heads[0].Sequence != uint64(i)) {
			t.Fatalf("move %d: head = %+v, want the one of %s", i, heads[0], moves[i-1])
		}
		b.store(w)
		b.weeksAreWhole()
	}
	former, err := b.Former(agency, Place{moves[3], "w1"})
	b.must(err)
	var got []civil.Date
	for _, w := range former {
		got = append(got, w.Period.First)
	}
	if !slices.Equal(got, moves[:3]) {
		t.Errorf("former periods = %v, want %v", got, moves[:3])
	}
	if n := b.rows(bucketFormer); n != 3 {
		t.Errorf("%d former contents are stored, want 3", n)
	}
}

func TestFormerContentsAreKeptInOrder(t *testing.T) {
	b := newBook(t)
	for i := range 5 {
		b.store(week("w1", monday, fmt.Sprintf("e%d", i)))
	}
	former, err := b.Former(agency, Place{monday, "w1"})
	b.must(err)
	for i, w := range former {
		if want := fmt.Sprintf("e%d", i); w.Entries[0].ID != want {
			t.Errorf("former content %d has entry %s, want %s", i, w.Entries[0].ID, want)
		}
	}
	if len(former) != 4 {
		t.Errorf("%d former contents, want 4", len(former))
	}
	if w, err := b.Content(agency, Place{monday, "w1"}); err != nil || w.Entries[0].ID != "e4" {
		t.Errorf("Content = %+v, %v, want entry e4", w, err)
	}
}

func TestOnlyApprovedWeeksHoldEntries(t *testing.T) {
	b := newBook(t)
	shared := func() []string {
		sit, err := b.Situation(agency, "ts-1", []string{"e1", "e2", "e9"})
		b.must(err)
		return sit.Shared
	}
	b.store(week("w1", monday, "e1", "e2"), week("w2", monday, "e1"))
	if got := shared(); !slices.Equal(got, []string{"e1"}) {
		t.Errorf("Shared = %q, want e1", got)
	}
	pending := week("w2", monday, "e1")
	pending.State = tracker.Pending
	b.store(pending)
	if got := shared(); len(got) > 0 {
		t.Errorf("Shared = %q after one week is no longer approved, want none", got)
	}
	b.store(week("w2", monday, "e1", "e2"), week("w1", monday.AddDays(7), "e2"))
	if got := shared(); !slices.Equal(got, []string{"e2"}) {
		t.Errorf("Shared = %q after the other week moved, want e2", got)
	}
	b.weeksAreWhole()
}

func TestBilledEntryThatVanishedIsWatched(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1", "e2")))
	b.record("ts-1")
	derived := func(entries ...string) tracker.Week {
		w := week("w1", monday, entries...)
		w.Derived = true
		return w
	}
	vanished := func() (ids []string) {
		all, err := b.Vanished(agency)
		b.must(err)
		for _, v := range all {
			ids = append(ids, v.Reference+" "+v.Entry.ID)
		}
		return ids
	}
	tests := []struct {
		name string
		do   func()
		want []string
	}{
		{"billed", func() { b.store(derived("e1", "e2", "e3")) }, nil},
		{"two gone, one of them billed", func() { b.store(derived("e2")) }, []string{"ts-1 e1"}},
		{"back", func() { b.store(derived("e1", "e2")) }, nil},
		{"both gone", func() { b.store(derived()) }, []string{"ts-1 e1", "ts-1 e2"}},
		{"released by a person", func() { b.must(b.Rule(agency, Ruling{Subject: "ts-1", Release: billed("e1")}, b.now)) }, []string{"ts-1 e2"}},
		{"accepted by a person", func() {
			b.must(b.Rule(agency, Ruling{Subject: "ts-1", Item: &Item{Subject: "ts-1", Status: Settled, Accepted: "1:x"}}, b.now))
		}, nil},
		{"ids of the tracker's own", func() { b.store(week("w2", monday, "e2"), week("w2", monday)) }, nil},
	}
	for _, tt := range tests {
		tt.do()
		if got := vanished(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Vanished = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// due returns the marks of the groups that are due, by reference.
func (b *book) due() map[string]uint64 {
	b.t.Helper()
	marks := map[string]uint64{}
	due, err := b.Due(agency)
	b.must(err)
	for _, d := range due {
		marks[d.Group.Reference] = d.Mark
	}
	return marks
}

func TestChangeInBetweenKeepsAGroupDue(t *testing.T) {
	ends := map[string]func(b *book, mark uint64){
		"concluded": func(b *book, mark uint64) {
			_, err := b.Conclude(agency.Account, []Conclusion{{Reference: "ts-1", Mark: mark, Settled: true}}, b.now)
			b.must(err)
		},
		"recorded": func(b *book, mark uint64) {
			b.must(b.Record(agency.Account, []Answer{{Key: "ts-1", Settles: true, Mark: mark, At: b.now}}))
		},
	}
	changes := map[string]func(b *book){
		"marked":     func(b *book) { b.group("ts-1") },
		"a new week": func(b *book) { b.store(week("w1", monday, "e1")) },
		"a ruling":   func(b *book) { b.must(b.Rule(agency, Ruling{Subject: "ts-1"}, b.now)) },
	}
	for end, finish := range ends {
		for what, change := range changes {
			b := newBook(t)
			b.group("ts-1")
			b.must(b.claim(create("ts-1", 0, "e1")))
			mark := b.due()["ts-1"]
			change(b)
			finish(b, mark)
			if _, still := b.due()["ts-1"]; !still {
				t.Errorf("%s, %s in between: no longer due, want due", end, what)
			}
		}
		b := newBook(t)
		b.group("ts-1")
		b.must(b.claim(create("ts-1", 0, "e1")))
		finish(b, b.due()["ts-1"])
		if got := b.due(); len(got) > 0 {
			t.Errorf("%s with nothing in between: due = %v, want none", end, got)
		}
	}
}

func TestChangedWeekMakesDueWhatItIsBilledUnder(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1")))
	b.record("ts-1")
	b.store(week("w1", monday, "e1"))
	for _, w := range []tracker.Week{week("w1", monday, "e1", "e2"), week("w1", monday)} {
		_, err := b.Conclude(agency.Account, []Conclusion{{Reference: "ts-1", Mark: b.due()["ts-1"], Settled: true}}, b.now)
		b.must(err)
		if b.store(w); len(b.due()) != 1 {
			t.Errorf("due = %v after the week became %v, want ts-1", b.due(), w.Entries)
		}
	}
}

func TestDueOfAnotherChannelIsNotOurs(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	other := Channel{agency.Tracker, agency.Account, "ab-"}
	b.must(b.MarkDue(agency.Account, []Group{{Reference: "ab-1", Channel: other}}))
	if got := b.due(); len(got) != 1 || got["ts-1"] == 0 {
		t.Errorf("due = %v, want ts-1 alone", got)
	}
}

func TestKnownGroupIsNotStoredAnew(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1")))
	b.group("ts-1")
	if g, _, err := b.Group(agency.Account, "ts-1"); err != nil || g.Operations != 1 {
		t.Errorf("group = %+v, %v, want its one operation kept", g, err)
	}
}

func TestWhatChangesNothingWritesNothing(t *testing.T) {
	b := newBook(t)
	w := week("w1", monday, "e1")
	b.store(w)
	item := &Item{Subject: WeekSubject(agency, "w1"), Kind: Ambiguous, Status: Undecided, Text: "two contents", Digest: "1:b"}
	ambiguous := b.stored(w)
	ambiguous.Noted, ambiguous.Item = true, item
	b.takeIn(Intake{Weeks: []Change{ambiguous}, Unread: []Unread{{ID: "w9", Reason: "500"}}})
	b.must(b.AdvanceWatermark(agency, b.now))
	b.must(b.ChangeStanding(agency, b.now, func(s *Standing) { s.Mode = Normal }))
	b.now = b.now.Add(time.Hour)
	tests := map[string]func(){
		"an empty batch":              func() { b.takeIn(Intake{}) },
		"an item that is open":        func() { b.takeIn(Intake{Weeks: []Change{ambiguous}}) },
		"an unread record, once more": func() { b.takeIn(Intake{Unread: []Unread{{ID: "w9", Reason: "other"}}}) },
		"a gone record, unknown":      func() { b.takeIn(Intake{Gone: []string{"w8"}}) },
		"no groups":                   func() { b.must(b.MarkDue(agency.Account, nil)) },
		"an equal watermark":          func() { b.must(b.AdvanceWatermark(agency, b.now.Add(-time.Hour))) },
		"an older watermark":          func() { b.must(b.AdvanceWatermark(agency, b.now.AddDate(-1, 0, 0))) },
		"an equal standing":           func() { b.must(b.ChangeStanding(agency, b.now, func(s *Standing) { s.Mode = Normal })) },
		"no slices":                   func() { b.must(b.ForgetSlices(agency, "job")) },
		"no answers":                  func() { b.must(b.Record(agency.Account, nil)) },
		"no operations":               func() { _, err := b.Claim(agency.Account, agency.Tracker, nil, b.now); b.must(err) },
		"a refused change":            func() { b.refusedChange() },
	}
	for name, fn := range tests {
		b.unchanged(name, fn)
	}
}

// refusedChange takes in a week whose head could not be read again.
func (b *book) refusedChange() {
	b.t.Helper()
	if _, err := b.TakeIn(agency, Intake{Weeks: []Change{{Week: week("w2", monday)}}}); err == nil {
		b.t.Error("a week without a version kind was stored")
	}
}

func TestNewerVersionOfTheSameMakesNothingDue(t *testing.T) {
	b := newBook(t)
	b.store(week("w1", monday, "e1"))
	noted := Change{Week: week("w1", monday, "e1"), Noted: true, Groups: []Group{{Reference: "ts-1", Channel: agency}}}
	noted.Head = Head{First: monday, Version: tracker.Version{Kind: tracker.Exact, Number: 2}, State: tracker.Approved, Sequence: 1}
	b.takeIn(Intake{Weeks: []Change{noted}})
	heads, err := b.Heads(agency, []Place{{monday, "w1"}})
	b.must(err)
	if *heads[0] != noted.Head || len(b.due()) > 0 || b.rows(bucketFormer) > 0 {
		t.Errorf("head = %+v, due %v, %d former; want the new version alone", heads[0], b.due(), b.rows(bucketFormer))
	}
}

func TestUnreadRecordKeepsItsFirstTime(t *testing.T) {
	b := newBook(t)
	first := b.now
	if fresh := b.takeIn(Intake{Unread: []Unread{{ID: "w1", Reason: "500"}, {ID: "w2"}}}); fresh != 2 {
		t.Errorf("fresh = %d, want 2", fresh)
	}
	b.now = b.now.Add(time.Hour)
	if fresh := b.takeIn(Intake{Unread: []Unread{{ID: "w1", Reason: "502"}, {ID: "w3"}}}); fresh != 1 {
		t.Errorf("fresh = %d, want 1", fresh)
	}
	all, err := b.Unread(agency)
	b.must(err)
	if len(all) != 3 || all[0].ID != "w1" || !all[0].First.Equal(first) || all[0].Reason != "500" {
		t.Errorf("Unread = %+v, want w1 as first met, w2 and w3", all)
	}
}

func TestRecordThatCouldBeReadIsNoLongerUnread(t *testing.T) {
	ambiguous := &Item{Subject: WeekSubject(agency, "w1"), Kind: Ambiguous, Status: Undecided, Digest: "1:b"}
	tests := map[string]func(b *book) Intake{
		"stored": func(b *book) Intake { return Intake{Weeks: []Change{b.stored(week("w1", monday, "e2"))}} },
		"gone":   func(*book) Intake { return Intake{Gone: []string{"w1"}} },
		"noted, with a question that is open": func(b *book) Intake {
			c := b.stored(week("w1", monday, "e2"))
			c.Noted, c.Item = true, ambiguous
			return Intake{Weeks: []Change{c}}
		},
	}
	for name, read := range tests {
		b := newBook(t)
		b.store(week("w1", monday, "e1"))
		_, err := b.Conclude(agency.Account, []Conclusion{{Reference: ambiguous.Subject, Item: ambiguous}}, b.now)
		b.must(err)
		subject := UnreadSubject(agency, "w1")
		b.takeIn(Intake{Unread: []Unread{{ID: "w1"}}})
		_, err = b.Conclude(agency.Account, []Conclusion{{Reference: subject, Item: &Item{Subject: subject, Kind: Unreadable, Status: Undecided}}}, b.now)
		b.must(err)
		b.takeIn(read(b))
		all, err := b.Unread(agency)
		b.must(err)
		item, err := b.Item(agency.Account, subject)
		b.must(err)
		if len(all) > 0 || item != nil {
			t.Errorf("%s: Unread = %+v, item %+v, want neither", name, all, item)
		}
	}
}

func TestGoodVersionClosesTheQuestionOfAWeek(t *testing.T) {
	b := newBook(t)
	bad := b.stored(week("w1", monday, "e1"))
	bad.Item = &Item{Subject: WeekSubject(agency, "w1"), Kind: Incomplete, Status: Undecided, Week: "w1"}
	b.takeIn(Intake{Weeks: []Change{bad}})
	if i, err := b.Item(agency.Account, bad.Item.Subject); err != nil || i == nil {
		t.Fatalf("Item = %v, %v, want it open", i, err)
	}
	b.store(week("w1", monday, "e1", "e2"))
	if i, err := b.Item(agency.Account, bad.Item.Subject); err != nil || i != nil {
		t.Errorf("Item = %+v, %v, want it closed", i, err)
	}
}

func TestWeeksOfARangeInOrder(t *testing.T) {
	b := newBook(t)
	var in Intake
	for n := range 2*page + 7 {
		w := week(fmt.Sprintf("w%05d", n), monday.AddDays(n/100))
		in.Weeks = append(in.Weeks, Change{Week: w, Head: Head{Version: w.Version, State: w.State, Sequence: 1}})
	}
	b.takeIn(in)
	other := Channel{agency.Tracker, agency.Account, "tt-"}
	_, err := b.TakeIn(other, Intake{Weeks: in.Weeks[:3]})
	b.must(err)
	tests := []struct {
		name        string
		first, last civil.Date
		from, to    int
	}{
		{"all", civil.Date{}, civil.Date{}, 0, 2*page + 7},
		{"from a day", monday.AddDays(1), civil.Date{}, 100, 2*page + 7},
		{"to a day", civil.Date{}, monday.AddDays(2), 0, 300},
		{"of one day", monday.AddDays(3), monday.AddDays(3), 300, 400},
		{"of two pages", monday.AddDays(1), monday.AddDays(8), 100, 900},
		{"of none", monday.AddDays(-9), monday.AddDays(-1), 0, 0},
	}
	for _, tt := range tests {
		var got []string
		b.must(b.Weeks(agency, civil.Period{First: tt.first, Last: tt.last}, func(w tracker.Week) error {
			got = append(got, w.ID)
			return b.MarkDue(agency.Account, nil) // the visit runs outside of any transaction
		}))
		if len(got) != tt.to-tt.from || !slices.IsSorted(got) || len(got) > 0 && got[0] != fmt.Sprintf("w%05d", tt.from) {
			t.Errorf("%s: %d weeks from %v, want %d from week %d", tt.name, len(got), got[:min(1, len(got))], tt.to-tt.from, tt.from)
		}
	}
}

func TestVisitEndsByItsError(t *testing.T) {
	b := newBook(t)
	b.store(week("w1", monday), week("w2", monday))
	stop, n := errors.New("stop"), 0
	err := b.Weeks(agency, civil.Period{}, func(tracker.Week) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("Weeks = %v after %d visits, want %v after 1", err, n, stop)
	}
}

func TestWatermarkNeverMovesBack(t *testing.T) {
	b := newBook(t)
	for _, step := range []time.Duration{0, time.Nanosecond, -time.Hour, time.Minute, 0} {
		before, err := b.Watermark(agency)
		b.must(err)
		b.must(b.AdvanceWatermark(agency, b.now.Add(step)))
		if after, err := b.Watermark(agency); err != nil || after.Before(before) || after.Before(b.now.Add(step)) {
			t.Errorf("Watermark = %s, %v after %s and then %s", after, err, before, b.now.Add(step))
		}
	}
}

func TestStandingOfAChannel(t *testing.T) {
	b := newBook(t)
	if st, err := b.Standing(agency, b.now); err != nil || st.Mode != FirstRun || !st.Since.Equal(b.now) {
		t.Errorf("Standing = %+v, %v, want a first run since now", st, err)
	}
	b.must(b.ChangeStanding(agency, b.now, func(s *Standing) { s.Mode, s.ReadFrom, s.Rules = Normal, monday, "x" }))
	later := b.now.Add(time.Hour)
	b.must(b.SetRebuild([]Channel{agency, {"o", "o", "o-"}}, later))
	want := Standing{Mode: Rebuild, Since: later, ReadFrom: monday, Rules: "x"}
	if st, err := b.Standing(agency, later); err != nil || st != want {
		t.Errorf("Standing = %+v, %v, want %+v", st, err, want)
	}
}

func TestSlicesOfABackfillAreRemembered(t *testing.T) {
	b := newBook(t)
	b.must(b.FinishSlice(agency, "job", monday, b.now))
	b.must(b.FinishSlice(agency, "job2", monday, b.now))
	done := func(job string, first civil.Date) bool {
		d, err := b.SliceDone(agency, job, first)
		b.must(err)
		return d.Equal(b.now)
	}
	if !done("job", monday) || done("job", monday.AddDays(7)) || !done("job2", monday) {
		t.Error("want the two finished slices done, and no other")
	}
	b.must(b.ForgetSlices(agency, "job"))
	if done("job", monday) || !done("job2", monday) {
		t.Error("want the slices of the one backfill forgotten, and of no other")
	}
}
