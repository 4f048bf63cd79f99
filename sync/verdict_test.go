package sync

import (
	"testing"

	"tidemark/state"
	"tidemark/sync/tracker"
)

// TestTakingInAWeek holds Judge to the table "Taking in a week", row by row.
func TestTakingInAWeek(t *testing.T) {
	const a, b = state.Digest("1:a"), state.Digest("1:b")
	exact := func(n int64) tracker.Version { return tracker.Version{Kind: tracker.Exact, Number: n} }
	stamp := func(n int64) tracker.Version { return tracker.Version{Kind: tracker.Stamp, Number: n} }
	none := tracker.Version{Kind: tracker.None}
	stored := func(v tracker.Version) *state.Head {
		return &state.Head{Version: v, State: tracker.Approved, Digest: a, Sequence: 3}
	}
	tests := []struct {
		row    string
		stored *state.Head
		v      tracker.Version
		s      tracker.State
		d      state.Digest
		wide   bool
		want   Verdict
	}{
		{"row 1: none stored, exact", nil, exact(1), tracker.Approved, a, false, Stored},
		{"row 1: none stored, pending", nil, none, tracker.Pending, a, false, Stored},
		{"row 2: v < r.v", stored(exact(2)), exact(1), tracker.Approved, b, false, Stale},
		{"row 2: v < r.v, same content", stored(exact(2)), exact(1), tracker.Approved, a, false, Stale},
		{"row 2: v < r.v, another state", stored(exact(2)), exact(1), tracker.Withdrawn, a, false, Stale},
		{"row 2: v < r.v, stamp", stored(stamp(2)), stamp(1), tracker.Approved, b, false, Stale},
		{"row 2: v < r.v, confirmed by a wide re-read", stored(exact(2)), exact(1), tracker.Approved, b, true, Conflict},
		{"row 3: all the same", stored(exact(2)), exact(2), tracker.Approved, a, false, Duplicate},
		{"row 3: all the same, wide", stored(exact(2)), exact(2), tracker.Approved, a, true, Duplicate},
		{"row 3: all the same, stamp", stored(stamp(2)), stamp(2), tracker.Approved, a, false, Duplicate},
		{"row 3: all the same, no versions", stored(none), none, tracker.Approved, a, false, Duplicate},
		{"row 4: v = r.v, s differs, exact", stored(exact(2)), exact(2), tracker.Withdrawn, a, false, Stored},
		{"row 4: v = r.v, s and d differ, exact", stored(exact(2)), exact(2), tracker.Pending, b, false, Stored},
		{"row 4: s differs, no versions", stored(none), none, tracker.Withdrawn, a, false, Stored},
		{"row 5: v = r.v, d differs, exact", stored(exact(2)), exact(2), tracker.Approved, b, false, Conflict},
		{"row 6: v = r.v, d differs, stamp", stored(stamp(2)), stamp(2), tracker.Approved, b, false, Stored},
		{"row 6: no versions, d differs", stored(none), none, tracker.Approved, b, false, Stored},
		{"row 6: no versions any more, d differs", stored(exact(2)), none, tracker.Approved, b, false, Stored},
		{"row 7: v > r.v, same content", stored(exact(2)), exact(3), tracker.Approved, a, false, Noted},
		{"row 7: v > r.v, same content, stamp", stored(stamp(2)), stamp(3), tracker.Approved, a, true, Noted},
		{"row 8: v > r.v, d differs", stored(exact(2)), exact(3), tracker.Approved, b, false, Stored},
		{"row 8: v > r.v, s differs", stored(exact(2)), exact(3), tracker.Withdrawn, a, false, Stored},
		{"row 8: v > r.v, d differs, stamp, wide", stored(stamp(2)), stamp(3), tracker.Approved, b, true, Stored},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) {
			if got := Judge(tt.stored, tt.v, tt.s, tt.d, tt.wide); got != tt.want {
				t.Errorf("Judge = %s, want %s", got, tt.want)
			}
		})
	}
}
