package sync

import (
	"tidemark/state"
	"tidemark/sync/tracker"
)

// Verdict is what is done with a week that comes in.
type Verdict string

// The verdicts.
const (
	Stored    Verdict = "stored"    // new, or newer: its groups are due
	Noted     Verdict = "noted"     // a newer version of the same content: nothing is due
	Duplicate Verdict = "duplicate" // known already: nothing is written
	Stale     Verdict = "stale"     // older than what is stored: nothing is written
	Conflict  Verdict = "conflict"  // the stored one stays, a person decides
)

// Judge decides what is done with a week by the table "Taking in a week". Stored is nil for a week that
// is not stored. Wide says that the traversal yields everything, so that what it says is confirmed.
func Judge(stored *state.Head, version tracker.Version, s tracker.State, d state.Digest, wide bool) Verdict {
	if stored == nil {
		return Stored
	}
	same := d == stored.Digest && s == stored.State
	switch ordered(version, stored.Version) {
	case -1:
		if wide {
			return Conflict
		}
		return Stale
	case 1:
		if same {
			return Noted
		}
		return Stored
	}
	switch {
	case same:
		return Duplicate
	case s != stored.State, version.Kind != tracker.Exact:
		return Stored
	default:
		return Conflict
	}
}

// ordered compares two versions. Versions of different kinds, and no versions, tell nothing: 0.
func ordered(v, r tracker.Version) int {
	switch {
	case v.Kind == tracker.None, v.Kind != r.Kind, v.Number == r.Number:
		return 0
	case v.Number < r.Number:
		return -1
	default:
		return 1
	}
}
