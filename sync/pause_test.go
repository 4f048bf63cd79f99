package sync

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/sync/accounting"
)

// pausedError is the error of a system that takes nothing for now.
type pausedError struct{ until time.Time }

func (p pausedError) Error() string          { return "the plan's limit is reached" }
func (p pausedError) Unwrap() error          { return accounting.ErrPaused }
func (p pausedError) ParkedUntil() time.Time { return p.until }

// pausedScene has many weeks to bill and a system that pauses at its first look-up.
func pausedScene(t *testing.T, until time.Time) *scene {
	s := newScene(t, func(r *Settings) { r.Workers = 1 })
	for i := range 30 {
		w := week(fmt.Sprint("w", i), ofProject(entry(fmt.Sprint("e", i), 1), fmt.Sprint("p", i)))
		s.tracker.put(w)
	}
	s.books.finding = pausedError{until}
	return s
}

func TestPausedSystemIsAskedOnceAPass(t *testing.T) {
	s := pausedScene(t, time.Time{})
	report, err := s.engine.Pass(t.Context(), s.now)
	if !errors.Is(err, accounting.ErrPaused) || strings.Count(err.Error(), "limit") != 1 {
		t.Errorf("Pass = %v, want the pause, once", err)
	}
	if s.books.finds > 2 || report.Failed != 1 || len(report.Items) != 0 {
		t.Errorf("%d look-ups, %d failed, %d items; want one look-up, one failure and no item", s.books.finds, report.Failed, len(report.Items))
	}
	s.books.finding = nil
	s.wait(15 * time.Minute)
	s.pass()
	if n := len(s.books.docs); n != 30 {
		t.Errorf("%d invoices once it takes them again, want 30", n)
	}
}

func TestParkedSystemIsLeftAloneAlsoAfterARestart(t *testing.T) {
	until := afterwards.Add(20 * time.Hour)
	s := pausedScene(t, until)
	if _, err := s.engine.Pass(t.Context(), s.now); !errors.Is(err, accounting.ErrPaused) {
		t.Fatalf("Pass = %v, want the pause", err)
	}
	s.restart()
	finds := s.books.finds
	s.wait(time.Hour)
	if _, err := s.engine.Pass(t.Context(), s.now); err == nil || !strings.Contains(err.Error(), "parked until") || s.books.finds != finds {
		t.Errorf("Pass = %v after %d look-ups, want parked and none", err, s.books.finds-finds)
	}
	status, err := s.engine.Status(s.now)
	s.must(err)
	if !status.Paused.Equal(until) {
		t.Errorf("Paused = %s, want %s", status.Paused, until)
	}
	s.books.finding = nil
	s.now = until
	s.pass()
	if n := len(s.books.docs); n != 30 {
		t.Errorf("%d invoices afterwards, want 30", n)
	}
}

func TestPauseOfAWriteLeavesItsOutcomeUnknown(t *testing.T) {
	s := newScene(t)
	s.tracker.put(week("w", entry("e", 1)))
	s.books.faults = []peerFault{pausedAfter}
	if _, err := s.engine.Pass(t.Context(), s.now); !errors.Is(err, accounting.ErrPaused) {
		t.Fatalf("Pass = %v, want the pause", err)
	}
	s.wait(time.Hour)
	report := s.pass()
	if len(s.books.docs) != 1 || report.Count(Adopted) != 1 {
		t.Errorf("%d invoices, %d adopted; want the one that was made, found", len(s.books.docs), report.Count(Adopted))
	}
}
