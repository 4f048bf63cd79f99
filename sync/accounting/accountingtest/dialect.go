// Package accountingtest is what every accounting system has to hold, whatever its API is like. A system's own
// test gives it a [Dialect]: a handler that keeps [Books] as the vendor would, and how to make the system.
//
// Its one hard rule: it judges by what stands in the books and by what passed over the wire, and never by what
// the system says of itself.
package accountingtest

import (
	"context"
	"iter"
	"net/http"
	"testing"

	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// System is what is tested.
type System interface {
	Account() string
	Traits() accounting.Traits
	Find(ctx context.Context, reference string) ([]accounting.Receipt, error)
	Read(ctx context.Context, id string) (accounting.Receipt, error)
	Prepare(inv accounting.Invoice) (accounting.Request, error)
	Create(ctx context.Context, key string, req accounting.Request, progress accounting.Progress, save func(accounting.Progress) error) (accounting.Receipt, error)
	Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error)
	Access(ctx context.Context) (accounting.Access, error)
	Customers(ctx context.Context) ([]accounting.Party, error)
	List(ctx context.Context, days civil.Period) iter.Seq2[accounting.Receipt, error]
}

// Dialect is what the suite has to know of a system.
type Dialect struct {
	// Handler keeps books as the vendor's API does. It answers 401 to any wrong token, or whatever the vendor
	// answers then, and refuses what the vendor refuses: an unknown customer, an unknown field.
	Handler func(b *Books) http.Handler
	Token   string
	// New returns the system that signs in with a token at a base URL.
	New func(t testing.TB, net *remote.Network, base, token string) System
	// Customer turns the id of a customer of the books into the one that the vendor shows; nil: as it is.
	Customer func(id string) string
	// Writes reports whether a request writes. Each such request is watched.
	Writes func(r *http.Request, body []byte) bool
	// Refuse says what is wrong with a request that writes: it sends, approves, posts, pays, voids or deletes.
	// It is empty for one that makes or changes a draft. The suite also asks it about requests that do so, which
	// Forbidden lists, to see that it can fail.
	Refuse    func(r *http.Request, body []byte) string
	Forbidden []string // METHOD path body
	// Currencies are those to try; nil: EUR, JPY and KWD.
	Currencies []money.Currency
	// Strip is what paths begin with and the vendor's OpenAPI document leaves out.
	Strip string
	// NoVoid: nothing can be voided; NoDelete: what is deleted leaves no trace.
	NoVoid, NoDelete bool
	// NoFinal: there is no state between a draft and a voided document.
	NoFinal bool
	// Blind: a search does not see what is voided or deleted, which Traits must then not call authoritative.
	Blind bool
}
