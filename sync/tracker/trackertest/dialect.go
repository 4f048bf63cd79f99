// Package trackertest is what every tracker has to hold, whatever its API is like. A tracker's own test gives
// it a [Dialect]: a handler that shows a [World] as the vendor would, and how to make the tracker.
//
// Its one hard rule: all of it runs in a synctest bubble over real requests, so that time-outs, quotas and
// nights of daylight saving cost nothing and no test sleeps.
package trackertest

import (
	"context"
	"iter"
	"net/http"
	"testing"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
)

// Tracker is what is tested.
type Tracker interface {
	Account() string
	Traits() tracker.Traits
	Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error]
	Week(ctx context.Context, id string) (tracker.Week, error)
	Access(ctx context.Context) (tracker.Access, error)
}

// Dialect is what the suite has to know of a tracker.
type Dialect struct {
	// Handler shows a world as the vendor's API, and everything that the tracker may ask besides. It answers
	// any request that the API does not know with 404 or 400, and any wrong token with 401. It locks the world
	// for each request.
	Handler func(w *World) http.Handler
	// Token is the one that the handler accepts. It must turn up in no error and no log.
	Token string
	// New returns the tracker that signs in with a token at a base URL. Its requests a second are as many as
	// it is told, its pages as large as the vendor's are by default.
	New func(t testing.TB, net *remote.Network, base, token string) Tracker
	// See returns an entry as the tracker can see it: ids as they become, what the API leaves out left out.
	// Nil: as it is, with its number as id.
	See func(e tracker.Entry) tracker.Entry
	// State returns how the tracker tells of a sheet; nil: as it is, and growing where it has open entries.
	// Of a sheet that is not in the list at all it returns "".
	State func(s *Sheet) tracker.State
	// Reads reports whether a request that is no GET reads only; nil: none does.
	Reads func(r *http.Request) bool
	// Mondays: the vendor's weeks begin on Monday, always.
	Mondays bool
	// Zoneless: the vendor's dates are civil, and no member's zone can move an entry to another day.
	Zoneless bool
	// Mute: of a member who left nothing is told any more.
	Mute bool
	// Approval are the members of the vendor's JSON that say whether something is approved.
	Approval []string
	// Strip is what paths begin with and the vendor's OpenAPI document leaves out.
	Strip string
	// Wire returns what an answer to a path is decoded into, for the benchmark; nil: anything.
	Wire func(path string) any
	// Lists is the path of the list that a traversal pages through, as a prefix of the request's path.
	Lists string
}
