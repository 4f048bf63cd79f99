package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
)

// ask opens an item, or lets a change join it, and returns it as it stands and whether it was news.
func (b *book) ask(i Item) (now *Item, news bool) {
	b.t.Helper()
	asked, err := b.Conclude(agency.Account, []Conclusion{{Reference: i.Subject, Item: &i}}, b.now)
	b.must(err)
	now, err = b.Item(agency.Account, i.Subject)
	b.must(err)
	return now, len(asked) == 1
}

func question(digest Digest) Item {
	return Item{Subject: "ts-1", Kind: Changed, Status: Undecided, Channel: agency, Digest: digest, Text: "contents " + string(digest)}
}

func TestChangeJoinsTheOpenItem(t *testing.T) {
	b := newBook(t)
	first := b.now
	if i, news := b.ask(question("1:a")); !news || !i.Opened.Equal(first) || i.Status != Undecided {
		t.Errorf("item = %+v, news %t, want it opened at %s", i, news, first)
	}
	b.now = b.now.Add(day)
	b.unchanged("the same question", func() {
		if _, news := b.ask(question("1:a")); news {
			t.Error("the same question is news, want it not to be")
		}
	})
	if i, news := b.ask(question("1:b")); !news || i.Digest != "1:b" || !i.Opened.Equal(first) {
		t.Errorf("item = %+v, news %t, want the new contents under the first opening", i, news)
	}
	items, err := b.Items(agency.Account)
	b.must(err)
	if len(items) != 1 {
		t.Errorf("%d items, want 1 a subject", len(items))
	}
}

func TestDecidedItemReopensOnlyForOtherContents(t *testing.T) {
	for _, status := range []Status{Settled, Skipped} {
		for next, reopens := range map[Digest]bool{"1:a": false, "1:b": true} {
			b := newBook(t)
			b.ask(question("1:a"))
			ruled := question("1:a")
			ruled.Status, ruled.Accepted, ruled.Who, ruled.Note = status, "1:a", "ada", "by hand"
			b.must(b.Rule(agency, Ruling{Subject: "ts-1", Item: &ruled, What: "settle", Who: "ada", Note: "by hand"}, b.now))
			want := status
			if reopens {
				want = Undecided
			}
			if i, news := b.ask(question(next)); news != reopens || i.Status != want {
				t.Errorf("%s for 1:a, then %s: %s, news %t; want %s", status, next, i.Status, news, want)
			}
		}
	}
}

func TestHeldItemStaysHeldUntilItsDay(t *testing.T) {
	until := civil.Date{Year: 2026, Month: time.November, Day: 20}
	tests := []struct {
		now  time.Time
		want Status
	}{
		{time.Date(2026, time.November, 19, 23, 59, 59, 0, time.UTC), Held},
		{time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC), Undecided},
		{time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC), Undecided},
	}
	for _, tt := range tests {
		b := newBook(t)
		b.ask(question("1:a"))
		held := question("1:a")
		held.Status, held.Until, held.Decided, held.Who, held.Note = Held, until, b.now, "ada", "client is away"
		b.must(b.Rule(agency, Ruling{Subject: "ts-1", Item: &held, What: "hold", Who: "ada"}, b.now))
		b.now = tt.now
		i, _ := b.ask(question("1:b"))
		if i.Status != tt.want || i.Digest != "1:b" {
			t.Errorf("at %s: %s about %s, want %s about 1:b", tt.now, i.Status, i.Digest, tt.want)
		}
		if kept := i.Who == "ada" && i.Note == "client is away" && i.Until == until; kept != (tt.want == Held) {
			t.Errorf("at %s: %+v, want who held it and why kept only while it is held", tt.now, i)
		}
	}
}

func TestClosedItemIsGone(t *testing.T) {
	b := newBook(t)
	b.ask(question("1:a"))
	end := []Conclusion{{Reference: "ts-1", Close: "it is as billed again"}}
	_, err := b.Conclude(agency.Account, end, b.now)
	b.must(err)
	if i, err := b.Item(agency.Account, "ts-1"); i != nil || err != nil {
		t.Errorf("Item = %+v, %v, want none", i, err)
	}
	b.unchanged("closing it again", func() {
		_, err := b.Conclude(agency.Account, end, b.now)
		b.must(err)
	})
}

func TestSubjectsDifferByWhatTheyAreAbout(t *testing.T) {
	other := Channel{"other", agency.Account, "ab-"}
	subjects := []string{
		WeekSubject(agency, "w1"), WeekSubject(agency, "w2"), WeekSubject(other, "w1"), UnreadSubject(agency, "w1"),
		ListSubject(agency, Limit), ListSubject(agency, Lost), ListSubject(other, Limit),
	}
	slices.Sort(subjects)
	if got := len(slices.Compact(subjects)); got != 7 {
		t.Errorf("%d different subjects of 7: %q", got, subjects)
	}
}

func TestItemsOfOneAccountOrAll(t *testing.T) {
	b := newBook(t)
	for _, account := range []string{"a", "a\x00", "b"} {
		for _, subject := range []string{"ts-2", "ts-1"} {
			_, err := b.Conclude(account, []Conclusion{{Reference: subject, Item: &Item{Subject: subject, Sync: account}}}, b.now)
			b.must(err)
		}
	}
	for account, want := range map[string]string{"a": "a ts-1, a ts-2", "": "a ts-1, a ts-2, a\x00 ts-1, a\x00 ts-2, b ts-1, b ts-2"} {
		items, err := b.Items(account)
		b.must(err)
		var got []string
		for _, i := range items {
			got = append(got, i.Sync+" "+i.Subject)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("Items(%q) = %q, want %q", account, s, want)
		}
	}
}

func TestDifferenceIsWantedLessBilled(t *testing.T) {
	i := Item{Billed: Totals{Amount: decimal.New(1000, -2)}, Wanted: Totals{Amount: decimal.New(750, -2)}}
	if got := i.Difference(); !got.Equal(decimal.New(-250, -2)) {
		t.Errorf("Difference = %s, want -2.50", got)
	}
}

// claims returns under which references entries are recorded; an empty text stands for none.
func (b *book) claims(entries ...string) (refs []string) {
	b.t.Helper()
	sit, err := b.Situation(agency, "ts-1", entries)
	b.must(err)
	for _, e := range entries {
		refs = append(refs, sit.Claims[e].Reference)
	}
	return refs
}

func TestRulingMovesTheRecordsOfEntries(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.group("ts-2")
	settled := question("1:a")
	settled.Status, settled.Accepted = Settled, "1:a"
	b.must(b.Rule(agency, Ruling{Subject: "ts-1", Item: &settled, Claim: billed("e1", "e2")}, b.now))
	if got := b.claims("e1", "e2", "e3"); !slices.Equal(got, []string{"ts-1", "ts-1", ""}) {
		t.Errorf("claims = %q, want e1 and e2 under ts-1", got)
	}
	b.unchanged("a ruling on entries under another reference", func() {
		r := Ruling{Subject: "ts-2", Item: &settled, Claim: billed("e3", "e2"), Due: []Group{{Reference: "ts-7", Channel: agency}}}
		if err := b.Rule(agency, r, b.now); !errors.Is(err, ErrTaken) {
			t.Errorf("Rule = %v, want %v", err, ErrTaken)
		}
	})
	b.must(b.Rule(agency, Ruling{Subject: "ts-2", Release: billed("e1")}, b.now))
	if got := b.claims("e1"); got[0] != "ts-1" {
		t.Errorf("claim of e1 = %q after a release by another reference, want ts-1", got)
	}
	b.must(b.Rule(agency, Ruling{Subject: "ts-1", Release: billed("e1")}, b.now))
	b.must(b.Rule(agency, Ruling{Subject: "ts-2", Claim: billed("e1")}, b.now))
	if got := b.claims("e1", "e2"); !slices.Equal(got, []string{"ts-2", "ts-1"}) {
		t.Errorf("claims = %q, want ts-2, ts-1", got)
	}
}

func TestRulingGivesUpAnOperation(t *testing.T) {
	b := newBook(t)
	b.group("ts-1")
	b.must(b.claim(create("ts-1", 0, "e1")))
	b.must(b.Rule(agency, Ruling{Subject: "ts-1", Drop: true, What: "retry", Note: "never arrived"}, b.now))
	if k := b.key("ts-1"); k.Outcome != Refused {
		t.Errorf("outcome = %q, want %q", k.Outcome, Refused)
	}
	if got := b.claims("e1"); got[0] != "" {
		t.Errorf("e1 is recorded under %q, want it free", got[0])
	}
	b.keysAreWhole()
	b.unchanged("giving it up again", func() {
		if err := b.Rule(agency, Ruling{Subject: "ts-1", Drop: true}, b.now); !errors.Is(err, ErrDamaged) {
			t.Errorf("Rule = %v, want %v", err, ErrDamaged)
		}
	})
}

func TestRulingReleasesExactlyTheListedGroups(t *testing.T) {
	b := newBook(t)
	b.must(b.MarkDue(agency.Account, []Group{{Reference: "ts-1", Channel: agency, Lost: true}, {Reference: "ts-2", Channel: agency, Lost: true}}))
	before := b.due()
	b.must(b.Rule(agency, Ruling{Subject: ListSubject(agency, Lost), Free: []Listed{{Reference: "ts-1", Digest: "1:a"}}, Who: "ada"}, b.now))
	one, _, err := b.Group(agency.Account, "ts-1")
	b.must(err)
	two, _, err := b.Group(agency.Account, "ts-2")
	b.must(err)
	if one.Released != "1:a" || !one.Lost || two.Released != "" || !two.Lost {
		t.Errorf("groups = %+v, %+v, want the first released for its contents, and both lost until created", one, two)
	}
	if after := b.due(); after["ts-1"] == before["ts-1"] || after["ts-2"] != before["ts-2"] {
		t.Errorf("marks went from %v to %v, want the first alone due anew", before, after)
	}
	if events, err := b.History(agency.Account, "ts-1"); err != nil || len(events) != 1 || events[0].Who != "ada" {
		t.Errorf("History = %+v, %v, want who released it", events, err)
	}
}

func TestHistoryIsInOrderAndOnlyGrows(t *testing.T) {
	b := newBook(t)
	subjects := []string{"ts-1", "ts-1\x00", "ts-11"}
	var grown []Event
	for n := range 300 {
		subject := subjects[n%3]
		b.now = b.now.Add(time.Duration(n%7-3) * time.Hour) // a clock that is set back changes no order
		b.must(b.Rule(agency, Ruling{Subject: subject, What: fmt.Sprint(n), Who: "ada"}, b.now))
		if subject != "ts-1" {
			continue
		}
		events, err := b.History(agency.Account, "ts-1")
		b.must(err)
		if len(events) != len(grown)+1 || !slices.Equal(events[:len(grown)], grown) || events[len(grown)].What != fmt.Sprintf("review: %d", n) {
			t.Fatalf("History = %+v, want %d more than %+v", events, n, grown)
		}
		grown = events
	}
}
