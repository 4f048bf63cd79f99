package sync

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// changedScene has one billed group of which a change is with a person.
func changedScene(t *testing.T) (*scene, tracker.Week, string) {
	s := newScene(t)
	w := week("r1", entry("a", 8))
	s.bill(1, w)
	w = again(w, s.now, entry("a", 9))
	s.tracker.put(w)
	s.pass()
	return s, w, s.asked(state.Changed).Subject
}

func TestWhatAPersonDecidedStaysUntilAnotherContentComes(t *testing.T) {
	for _, action := range []Action{Settle, Skip} {
		t.Run(string(action), func(t *testing.T) {
			s, w, ref := changedScene(t)
			s.rule(ref, action)
			want := map[Action]state.Status{Settle: state.Settled, Skip: state.Skipped}[action]
			for range 3 {
				s.wait(50 * time.Hour)
				s.pass()
				i := s.items()
				if len(i) != 1 || i[0].Status != want || i[0].Who != "mira" || i[0].Note != "seen" || i[0].Decided.IsZero() {
					t.Fatalf("items = %+v, want one %s by mira, with when and why", i, want)
				}
			}
			s.wantLive(1, "800")
			s.quiet()
			s.tracker.put(again(w, s.now, entry("a", 9)))
			s.pass()
			if i := s.items(); i[0].Status != want {
				t.Errorf("status after a newer version of the same = %s, want %s", i[0].Status, want)
			}
			s.tracker.put(again(again(w, s.now, nil...), s.now, entry("a", 10)))
			s.pass()
			if i := s.asked(state.Changed); !strings.Contains(i.Text, "mira") {
				t.Errorf("item says %q, want who had decided", i.Text)
			}
			s.wantLive(1, "800")
			s.quiet()
		})
	}
}

func TestSettledBeforeItWasBilledIsNeverBilled(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle = time.Hour })
	w := week("r1", entry("a", 1))
	w.Approved = s.now
	s.bill(0, w)
	ref := s.only().Reference
	s.rule(ref, Settle)
	s.wait(2 * time.Hour)
	s.bill(0)
	s.quiet()
	s.rule(ref, Retry)
	s.bill(1)
	s.wantItems(0)
}

func TestHoldEndsOnItsDay(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, func(r *Settings) { r.Location = zone })
	w := week("r1", entry("a", 8))
	s.bill(1, w)
	s.tracker.put(again(w, s.now, entry("a", 9)))
	s.pass()
	ref := s.asked(state.Changed).Subject
	until := civil.Date{Year: 2026, Month: time.November, Day: 12}
	s.must(s.engine.Rule(Ruling{Subject: ref, Action: Postpone, Who: "mira", Until: until}, s.now))
	s.now = until.In(zone).Add(-time.Nanosecond)
	s.pass()
	if i := s.items(); i[0].Status != state.Held {
		t.Errorf("status before the day = %s, want held", i[0].Status)
	}
	s.quiet()
	s.now = until.In(zone).UTC() // still the day before in UTC
	s.pass()
	s.asked(state.Changed)
	s.wantLive(1, "800")
	s.quiet()
}

func TestHoldOfAWeekEndsOnItsDay(t *testing.T) {
	s := newScene(t)
	torn := week("r1", entry("a", 1))
	torn.Trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: "row 7 has no date"}
	s.bill(0, torn)
	subject := s.asked(state.Incomplete).Subject
	s.rule(subject, Postpone)
	s.wait(48 * time.Hour)
	s.pass()
	if i := s.items(); i[0].Status != state.Held {
		t.Errorf("status before the day = %s, want held", i[0].Status)
	}
	s.quiet()
	s.wait(24 * time.Hour)
	s.pass()
	s.asked(state.Incomplete)
	s.quiet()
}

func TestHeldGroupIsNotWritten(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.Settle, r.Corrections = time.Hour, UpdateDrafts })
	w := week("r1", entry("a", 1))
	w.Approved = s.now
	s.bill(0, w)
	s.rule(s.only().Reference, Postpone)
	s.wait(2 * time.Hour)
	s.bill(0)
	s.quiet()
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.bill(0)
	s.quiet()
}

func TestRetryAsksAnewWhatIsStillSo(t *testing.T) {
	s, _, ref := changedScene(t)
	s.rule(ref, Retry)
	s.wantItems(0)
	s.pass()
	s.asked(state.Changed)
	s.wait(100 * time.Hour)
	s.rule(ref, Retry)
	s.pass() // by now the key has expired
	s.wantItems(0)
	s.wantLive(1, "900")
}

func TestDecidingTwiceIsDecidingOnce(t *testing.T) {
	for _, action := range []Action{Settle, Skip, Postpone} {
		t.Run(string(action), func(t *testing.T) {
			s, _, ref := changedScene(t)
			s.rule(ref, action)
			s.pass()
			once := s.items()[0]
			s.rule(ref, action)
			s.pass()
			twice := s.items()
			if len(twice) != 1 || twice[0].Status != once.Status || twice[0].Accepted != once.Accepted || twice[0].Until != once.Until {
				t.Errorf("items = %+v, want as after the first time, %+v", twice, once)
			}
			s.wantLive(1, "800")
			s.quiet()
		})
	}
	t.Run(string(Retry), func(t *testing.T) {
		s, _, ref := changedScene(t)
		s.rule(ref, Retry)
		if err := s.engine.Rule(Ruling{Subject: ref, Action: Retry, Who: "mira"}, s.now); !errors.Is(err, state.ErrNoItem) {
			t.Errorf("Rule = %v, want that there is nothing to review", err)
		}
	})
}

func TestRulingsThatAreRefusedChangeNothing(t *testing.T) {
	s, _, ref := changedScene(t)
	today := civil.DateOf(s.now)
	tests := []struct {
		name string
		r    Ruling
		want string
	}{
		{"nobody decides", Ruling{Subject: ref, Action: Settle, Note: "x"}, "who decides"},
		{"settled without a note", Ruling{Subject: ref, Action: Settle, Who: "mira"}, "note"},
		{"skipped without a note", Ruling{Subject: ref, Action: Skip, Who: "mira"}, "note"},
		{"held until today", Ruling{Subject: ref, Action: Postpone, Who: "mira", Until: today}, "not after today"},
		{"a group released", Ruling{Subject: ref, Action: Release, Who: "mira"}, "list"},
		{"an unknown subject", Ruling{Subject: "ts-nothing", Action: Skip, Who: "mira", Note: "x"}, "nothing to review"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			commits := s.store.Commits()
			err := s.engine.Rule(tt.r, s.now)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Rule = %v, want an error with %q", err, tt.want)
			}
			if s.store.Commits() != commits {
				t.Error("a refused ruling was written")
			}
		})
	}
	s.asked(state.Changed)
}

func TestListIsReleasedOrHeldAndNothingElse(t *testing.T) {
	s := newScene(t, func(r *Settings) { r.MaxNew = 1 })
	s.some(2)
	s.bill(0)
	list := s.asked(state.Limit).Subject
	for _, action := range []Action{Settle, Skip, Retry} {
		if err := s.engine.Rule(Ruling{Subject: list, Action: action, Who: "mira", Note: "x"}, s.now); !errors.Is(err, ErrRefused) {
			t.Errorf("%s of a list = %v, want it refused", action, err)
		}
	}
	s.rule(list, Release)
	s.bill(2)
	if err := s.engine.Rule(Ruling{Subject: list, Action: Release, Who: "mira"}, s.now); !errors.Is(err, state.ErrNoItem) {
		t.Errorf("a second release = %v, want that there is nothing to review", err)
	}
}

func TestSettledWeekIsNeverBilled(t *testing.T) {
	s := newScene(t)
	torn := week("r1", entry("a", 1))
	torn.Trouble = &tracker.Trouble{Kind: tracker.Ambiguous, Text: "two files hold it"}
	s.bill(0, torn)
	subject := s.asked(state.Ambiguous).Subject
	if err := s.engine.Rule(Ruling{Subject: subject, Action: Retry, Who: "mira"}, s.now); !errors.Is(err, ErrRefused) {
		t.Errorf("retry of a week in trouble = %v, want it refused", err)
	}
	s.rule(subject, Settle)
	s.bill(0)
	s.wait(100 * time.Hour)
	s.bill(0)
	s.quiet()
	same := again(torn, s.now, entry("a", 1))
	s.bill(0, same)
	if i := s.items(); len(i) != 1 || i[0].Status != state.Settled {
		t.Errorf("items = %+v, want the settled one: the content is what was accepted", i)
	}
	mended := again(same, s.now, entry("a", 5))
	mended.Trouble = nil
	s.bill(0, mended)
	if i := s.asked(state.Changed); !strings.Contains(i.Text, "mira") {
		t.Errorf("item says %q, want who had decided", i.Text)
	}
	s.quiet()
	s.rule(subject, Retry)
	s.bill(1)
	s.wantLive(1, "500")
	s.wantItems(0)
	s.quiet()
}

// TestAPersonIsHeededWhoIsQuickerThanThePass: what is decided between the decision and the claim counts.
func TestAPersonIsHeededWhoIsQuickerThanThePass(t *testing.T) {
	for _, action := range []Action{Settle, Skip, Postpone} {
		t.Run(string(action), func(t *testing.T) {
			s := newScene(t)
			s.tracker.put(week("r1", entry("a", 1)))
			quick := quickPerson{s.books, func(ref string) { s.rule(ref, action) }}
			s.engine = New(s.store, s.tracker, quick, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
			s.bill(0)
			s.restart()
			s.bill(0)
			s.wantCalls()
		})
	}
}

// quickPerson decides about every invoice while its request is being prepared.
type quickPerson struct {
	*peerBooks
	decide func(reference string)
}

func (q quickPerson) Prepare(inv accounting.Invoice) (accounting.Request, error) {
	q.decide(inv.Reference)
	return q.peerBooks.Prepare(inv)
}

func TestSettlingAnUnknownOutcomeEndsIt(t *testing.T) {
	s, _ := unknownCreate(t, lostRequest, sure)
	s.rule(s.only().Reference, Settle)
	s.pass()
	s.wantCalls()
	s.wait(1000 * time.Hour)
	s.pass()
	s.wantCalls()
	s.quiet()
}

func TestElsewhereOfWhatWeBilledIsNoChange(t *testing.T) {
	s := newScene(t)
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.tracker.put(again(w, s.now, with(entry("a", 1), func(e *tracker.Entry) { e.Elsewhere = true })))
	s.bill(0)
	s.wantItems(0)
	s.quiet()
}

func TestExplainTellsTheWholeStory(t *testing.T) {
	s, _, ref := changedScene(t)
	s.rule(ref, Settle)
	story, found, err := s.engine.Explain(ref, s.now)
	if err != nil || !found {
		t.Fatalf("Explain = %v, %v; want a story", found, err)
	}
	if story.Decision != string(Leave) || len(story.Documents) != 1 || story.Wanted.Seconds != 9*3600 || story.Key == nil || story.Key.Name != ref {
		t.Errorf("story = %+v, want the decision, the invoice, what is wanted and the key", story)
	}
	if want := s.now.Add(s.rules.TTL); !story.Expires.Equal(want) {
		t.Errorf("expires = %s, want %s", story.Expires, want)
	}
	var told []string
	for _, e := range story.History {
		told = append(told, e.What)
	}
	for _, want := range []string{"claimed under key " + ref, "created: draft inv-1, 800.00 EUR", "review: changed", "review: settle"} {
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("history = %q, want %q in it", told, want)
		}
	}
}

func TestExplainOfAWeekNamesItsGroups(t *testing.T) {
	s, _, ref := changedScene(t)
	story, found, err := s.engine.Explain("r1", s.now)
	if err != nil || !found || len(story.Groups) != 1 || story.Groups[0] != ref || len(story.Former) != 1 || story.Week.Version.Number != 2 {
		t.Errorf("Explain = %+v, %v, %v; want version 2 of r1, one former version and the group %s", story, found, err, ref)
	}
	if _, found, err := s.engine.Explain("nothing", s.now); found || err != nil {
		t.Errorf("Explain of nothing = %v, %v; want no story", found, err)
	}
}

func TestStatusTellsTheTruth(t *testing.T) {
	s, _, _ := changedScene(t)
	s.tracker.unread["r9"] = "500"
	s.pass()
	status, err := s.engine.Status(s.now)
	s.must(err)
	if status.Mode != state.Normal || status.Review != 1 || status.Unread != 1 || status.Due != 0 || !status.Oldest.Equal(s.now) || status.Last.Error != "" || !status.Watermark.Equal(s.watermark()) {
		t.Errorf("status = %+v, want one to review since now, one unread, nothing due", status)
	}
	s.tracker.broken[0] = errors.New("401 unauthorized")
	good := status.Last.Good
	s.wait(24 * time.Hour)
	s.failing()
	status, err = s.engine.Status(s.now)
	s.must(err)
	if !strings.Contains(status.Last.Error, "401") || !status.Last.Good.Equal(good) {
		t.Errorf("last = %+v, want the error, and the last good pass at %s", status.Last, good)
	}
}
