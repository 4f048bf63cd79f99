package daemon_test

import (
	"slices"
	"testing"
	"time"

	"tidemark/daemon"
	"tidemark/state"
	"tidemark/sync"
)

func TestNeedsAreWhatSomebodyHasToDo(t *testing.T) {
	now := time.Date(2026, 12, 6, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	of := func(mend func(*daemon.Standing)) daemon.Standing {
		s := daemon.Standing{Status: sync.Status{Sync: "agency", Last: state.Heartbeat{Ended: ago(time.Minute), Good: ago(time.Minute)}}, Zone: "Europe/Berlin", Next: now.Add(14 * time.Minute)}
		mend(&s)
		return s
	}
	tests := []struct {
		what string
		s    daemon.Standing
		want []string
	}{
		{"nothing", of(func(*daemon.Standing) {}), nil},
		{"a failure that is tried again soon", of(func(s *daemon.Standing) { s.Last.Error = "tracker: 503" }), nil},
		{"a failure that is not", of(func(s *daemon.Standing) { s.Last.Error, s.Next = "tracker: 401\nbooks: 401", now.Add(20*time.Hour) }),
			[]string{"failing: the last pass failed: tracker: 401 …"}},
		{"stale", of(func(s *daemon.Standing) {
			s.Last.Error, s.Last.Good, s.Stale = "tracker: 503", ago(time.Hour), ago(15*time.Minute)
		}), []string{"stale: no good pass since 2026-12-06 12:00 CET: tracker: 503"}},
		{"stale, and paused by a person", of(func(s *daemon.Standing) { s.Stale, s.Halted = ago(time.Hour), &state.Halt{Who: "bo"} }), nil},
		{"never a good pass", of(func(s *daemon.Standing) { s.Last, s.Stale = state.Heartbeat{}, ago(time.Hour) }), []string{"stale: no good pass since ever"}},
		{"suspiciously empty", of(func(s *daemon.Standing) { s.Empty = ago(24 * time.Hour) }),
			[]string{"empty: the tracker has been listing suspiciously little since 2026-12-05 13:00 CET: look whether the token still sees everybody"}},
		{"a sign-in that lasts", of(func(s *daemon.Standing) { s.SignIn = &daemon.SignIn{Ends: now.Add(30 * 24 * time.Hour)} }), nil},
		{"one without an end", of(func(s *daemon.Standing) { s.SignIn = &daemon.SignIn{} }), nil},
		{"one that ends soon", of(func(s *daemon.Standing) { s.SignIn = &daemon.SignIn{Ends: now.Add(48 * time.Hour)} }),
			[]string{"sign-in: the sign-in ends on 2026-12-08 13:00 CET unless it is used: run tidemark connect agency"}},
		{"one that has ended", of(func(s *daemon.Standing) { s.SignIn = &daemon.SignIn{Ends: now} }), []string{"sign-in: the sign-in has ended: run tidemark connect agency"}},
		{"one that cannot be read", of(func(s *daemon.Standing) { s.SignIn = &daemon.SignIn{Error: "nobody has signed in"} }), []string{"sign-in: nobody has signed in"}},
		{"items", of(func(s *daemon.Standing) { s.Review, s.Oldest = 2, ago(time.Hour) }),
			[]string{"review: 2 to decide, the oldest since 2026-12-06 12:00 CET: tidemark review list"}},
	}
	for _, tt := range tests {
		var got []string
		for _, n := range tt.s.Needs(now) {
			got = append(got, string(n.Kind)+": "+n.Text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}
