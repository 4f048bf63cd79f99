package state

import (
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

// beat writes the end of a pass at the time that it is.
func (b *book) beat() {
	b.t.Helper()
	b.must(b.Beat(agency, Heartbeat{Sync: "agency", Began: b.now, Ended: b.now}))
}

// observe takes the time and ends a pass at it, as a daemon does again and again.
func (b *book) observe() Clock {
	b.t.Helper()
	clock, err := b.Observe(b.now)
	b.must(err)
	return clock
}

// pass lets time go by, and then takes the time and ends a pass.
func (b *book) pass(later time.Duration) Clock {
	b.t.Helper()
	b.now = b.now.Add(later)
	clock := b.observe()
	b.beat()
	return clock
}

func TestClockSetBackIsNoticedAndExpiresNothing(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	first := b.now
	tests := []struct {
		step time.Duration
		note string
	}{
		{-time.Minute, ""},
		{-time.Minute - 1, "was it set back?"},
		{-365 * day, "was it set back?"},
	}
	for _, tt := range tests {
		clock, err := b.Observe(b.now.Add(tt.step))
		b.must(err)
		if !strings.Contains(clock.Note, tt.note) || (tt.note == "") != (clock.Note == "") {
			t.Errorf("%s: Note = %q, want %q", tt.step, clock.Note, tt.note)
		}
		if clock.Expired(first, ttl) {
			t.Errorf("%s: a key that was just seen has expired", tt.step)
		}
	}
}

func TestFirstSignOfLifeIsNoGap(t *testing.T) {
	b := newBook(t)
	if clock := b.observe(); clock.Note != "" || clock.Expired(b.now, ttl) || !clock.Expired(b.now.Add(-ttl), ttl) {
		t.Errorf("clock of a new file = %+v, want nothing against it", clock)
	}
}

func TestWeekOfDowntimeChangesNothing(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	first := b.now
	b.unchanged("Observe after a week", func() {
		b.now = b.now.Add(7 * day)
		if clock := b.observe(); clock.Note != "" || !clock.Expired(first, ttl) {
			t.Errorf("after a week: Note = %q, expired %t; want none, true", clock.Note, clock.Expired(first, ttl))
		}
	})
}

func TestYearForwardIsNoticedAndExpiresNothingEarly(t *testing.T) {
	tests := []struct {
		name  string
		jumps []time.Duration // before each, an hour goes by
	}{
		{"a year", []time.Duration{365 * day}},
		{"just long", []time.Duration{longGap + 1}},
		{"two jumps", []time.Duration{365 * day, 40 * day}},
		{"three jumps", []time.Duration{31 * day, 365 * day, 31 * day}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBook(t)
			b.pass(0)
			first := b.now
			lived := time.Duration(0)
			for _, jump := range tt.jumps {
				b.pass(time.Hour)
				lived += time.Hour
				if clock := b.pass(jump); clock.Note == "" {
					t.Errorf("a step of %s was not noticed", jump)
				}
			}
			for _, d := range []time.Duration{-1, 0, 1} {
				clock, err := b.Observe(b.now.Add(ttl - lived + d))
				b.must(err)
				if got, want := clock.Expired(first, ttl), d >= 0; got != want {
					t.Errorf("%s around the end of its remaining life: Expired = %t, want %t", d, got, want)
				}
			}
		})
	}
}

func TestKeyThatHadExpiredBeforeTheGapStaysSo(t *testing.T) {
	b := newBook(t)
	first := b.now
	b.pass(ttl)
	if clock := b.pass(365 * day); !clock.Expired(first, ttl) || clock.Expired(first.Add(1), ttl) {
		t.Error("want expired what had lived for its time before the gap, and nothing else")
	}
}

func TestKeyOfAPassThatNeverEndedLivesItsTimeAfterTheGap(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	first := b.now.Add(15 * time.Minute) // the pass died: its end is no sign of life
	b.pass(365 * day)
	if clock := b.pass(ttl - 1); clock.Expired(first, ttl) {
		t.Error("it expired early")
	}
	if clock := b.pass(1); !clock.Expired(first, ttl) {
		t.Error("it did not expire")
	}
}

func TestKeyOfAfterTheGapLivesAsUsual(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	b.pass(365 * day)
	first := b.now
	if clock := b.pass(ttl - 1); clock.Expired(first, ttl) {
		t.Error("it expired early")
	}
	if clock := b.pass(1); !clock.Expired(first, ttl) {
		t.Error("it did not expire")
	}
}

func TestGapThatWasCorrectedBackIsNone(t *testing.T) {
	for _, died := range []bool{false, true} {
		b := newBook(t)
		b.pass(0)
		first := b.now
		b.now = b.now.Add(365 * day)
		if b.observe(); !died {
			b.beat()
		}
		b.now = first.Add(time.Hour)
		if clock := b.observe(); !strings.Contains(clock.Note, "set back") || clock.Expired(first, ttl) {
			t.Errorf("died before the next sign of life %t: Note = %q, want it to say set back", died, clock.Note)
		}
		b.beat()
		if clock := b.pass(ttl - time.Hour - 1); clock.Note != "" || clock.Expired(first, ttl) {
			t.Errorf("died %t: before its end: Note = %q, expired %t", died, clock.Note, clock.Expired(first, ttl))
		}
		if clock := b.pass(1); !clock.Expired(first, ttl) {
			t.Errorf("died %t: it did not expire at the end of its life", died)
		}
	}
}

func TestGapThatWasCorrectedInPartIsStillOne(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	first := b.now
	b.pass(365 * day)
	b.pass(-100 * day)
	if clock := b.pass(ttl - 1); clock.Expired(first, ttl) {
		t.Error("it expired early")
	}
	if clock := b.pass(1); !clock.Expired(first, ttl) {
		t.Error("it did not expire after the rest of its life")
	}
}

func TestSmallStepBackAfterAGapDoesNotForgetIt(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	first := b.now
	b.pass(365 * day)
	if clock := b.pass(-time.Second); clock.Note != "" || clock.Expired(first, ttl) {
		t.Errorf("a second back: Note = %q, expired %t; want none, false", clock.Note, clock.Expired(first, ttl))
	}
}

func TestGapIsTakenOnceEvenIfNoPassEndsAfterIt(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	b.now = b.now.Add(365 * day)
	b.observe()
	first := b.now
	b.unchanged("Observe after the gap was taken", func() {
		b.now = b.now.Add(ttl)
		if clock := b.observe(); clock.Note != "" || !clock.Expired(first, ttl) {
			t.Errorf("Note = %q, expired %t; want none, true", clock.Note, clock.Expired(first, ttl))
		}
	})
}

func TestNewestSignOfLifeOfAnyChannelCounts(t *testing.T) {
	b := newBook(t)
	b.pass(0)
	other := Channel{"other", "other", "ab-"}
	b.must(b.Beat(other, Heartbeat{Ended: b.now.Add(40 * day)}))
	b.now = b.now.Add(41 * day)
	if clock := b.observe(); clock.Note != "" {
		t.Errorf("Note = %q, want none a day after the other channel's pass", clock.Note)
	}
}
