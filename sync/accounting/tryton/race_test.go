package tryton_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/tryton"
)

const makes = "model.account.invoice.create"

// staged stages an invoice and goes no further, as a process that dies then.
func (s *server) staged(inv accounting.Invoice) (accounting.Request, accounting.Progress) {
	s.Helper()
	books := s.system(s.settings(), &wire{Before: func(method string, _ *http.Request) error {
		if method == makes {
			return errCut
		}
		return nil
	}})
	req, progress := s.prepare(books, inv), accounting.Progress{}
	_, err := books.Create(s.Context(), "k", req, progress, func(p accounting.Progress) error {
		progress = p
		return nil
	})
	if err == nil || progress.Document == "" {
		s.Fatalf("Create whose commit was cut = %v, progress %+v; want an error and a staged line", err, progress)
	}
	return req, progress
}

// race lets eight processes create the same at once, and returns how each fared.
func (s *server) race(req accounting.Request, progress accounting.Progress) (won int, errs []error) {
	begin, done := make(chan struct{}), make(chan error)
	for range 8 {
		books := s.plain()
		if _, err := books.Find(s.Context(), "r-none"); err != nil { // Signed in before the race.
			s.Fatal(err)
		}
		go func() {
			<-begin
			_, err := books.Create(s.Context(), "k", req, progress, forget)
			done <- err
		}()
	}
	close(begin)
	for range 8 {
		if err := <-done; err == nil {
			won++
		} else {
			errs = append(errs, err)
		}
	}
	return won, errs
}

// TestRealRaceMakesOneInvoice sends the same frozen request eight times at once: with the progress that its claim
// has kept, and without it, where the answer to the staging was lost.
func TestRealRaceMakesOneInvoice(t *testing.T) {
	s := serverOn(t, onPostgres)
	for round := range 6 {
		reference := references()
		req, progress := s.staged(s.invoice(reference))
		if round%2 == 1 {
			progress = accounting.Progress{}
		}
		won, errs := s.race(req, progress)
		if won != 1 {
			t.Errorf("round %d: %d of 8 were told that they made the invoice, want 1", round, won)
		}
		for _, err := range errs {
			if errors.Is(err, accounting.ErrRejected) || errors.Is(err, accounting.ErrNotSent) {
				t.Errorf("round %d: %v; want that it has to be looked up", round, err)
			}
		}
		s.once(reference, 1)
	}
}

func TestRealInvoiceThatAPersonDeletedDoesNotComeBack(t *testing.T) {
	s := serverOn(t, onPostgres)
	reference := references()
	req, progress := s.staged(s.invoice(reference))
	books := s.plain()
	got, err := books.Create(s.Context(), "k", req, progress, forget)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := books.Create(s.Context(), "k", req, progress, forget); err == nil || errors.Is(err, accounting.ErrRejected) || errors.Is(err, accounting.ErrNotSent) {
		t.Errorf("the same Create again = %v, want that it has to be looked up", err)
	}
	s.once(reference, 1)
	var id int
	_, _ = fmt.Sscan(got.ID, &id)
	s.person("model.account.invoice.delete", []int{id})
	if _, err := books.Create(s.Context(), "k", req, progress, forget); !errors.Is(err, accounting.ErrRejected) {
		t.Errorf("Create once a person has deleted the invoice = %v, want it rejected", err)
	}
	s.once(reference, 0)
}

// TestRealTaxesAreWorkedOutByPosting holds what the draft may lack where the answer to its creation was lost.
func TestRealTaxesAreWorkedOutByPosting(t *testing.T) {
	onBoth(t, func(s *server) {
		books := s.system(s.settings(), &wire{After: func(method string) error {
			if method == makes {
				return errCut
			}
			return nil
		}})
		inv := s.invoice(references())
		if _, err := books.Create(s.Context(), "k", s.prepare(books, inv), accounting.Progress{}, forget); err == nil {
			s.Fatal("Create whose answer was cut: no error")
		}
		found, err := s.plain().Find(s.Context(), inv.Reference)
		if err != nil || len(found) != 1 || !found[0].Bills(inv) {
			s.Fatalf("Find = %+v, %v; want the draft", found, err)
		}
		var id int
		_, _ = fmt.Sscan(found[0].ID, &id)
		s.person("model.account.invoice.post", []int{id})
		s.total(found[0].ID, "491.50")
	})
}

// cuts loses calls that write at random: before they are sent, after they were answered, or with the client
// hanging up while Tryton still works.
type cuts struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	late sync.WaitGroup
	lost atomic.Int64
	wire
}

func newCuts(seed uint64) *cuts {
	c := &cuts{rnd: rand.New(rand.NewPCG(seed, 1))}
	c.Before = c.before
	c.After = func(method string) error {
		if writing(method) && c.draw() < 20 {
			c.lost.Add(1)
			return errCut
		}
		return nil
	}
	return c
}

func writing(method string) bool {
	return method == makes || method == "model.account.invoice.write" || method == "model.account.invoice.line.create"
}

func (c *cuts) draw() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(100)
}

func (c *cuts) before(method string, req *http.Request) error {
	if !writing(method) {
		return nil
	}
	switch n := c.draw(); {
	case n < 10:
		c.lost.Add(1)
		return errCut
	case n < 30: // Tryton goes on with a request whose client has hung up.
		c.lost.Add(1)
		late := req.Clone(context.WithoutCancel(req.Context()))
		c.late.Go(func() {
			if resp, err := http.DefaultTransport.RoundTrip(late); err == nil {
				_ = resp.Body.Close()
			}
		})
		return errCut
	}
	return nil
}

// TestRealTwoHundredInvoicesAreMadeOnce loses every other call, and tries each again at once through the same
// frozen request, while the first may still be under way.
func TestRealTwoHundredInvoicesAreMadeOnce(t *testing.T) {
	s := serverOn(t, onPostgres)
	prefix, c := references(), newCuts(7)
	books := s.system(s.settings(), c)
	work := make(chan accounting.Invoice)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for inv := range work {
				s.insist(books, inv)
			}
		})
	}
	for i := range 200 {
		work <- s.invoice(fmt.Sprintf("%s%d", prefix, i))
	}
	close(work)
	all.Wait()
	c.late.Wait()
	s.once(prefix, 200)
	if n := c.lost.Load(); n < 200 {
		t.Errorf("%d calls were lost, want 200 at least", n)
	}
	t.Logf("%d calls were lost", c.lost.Load())
}

// insist does what the engine does: it looks the reference up, and sends the same request from where its progress
// stands on, until the invoice is there. It does not wait until an effect can no longer appear.
func (s *server) insist(books *tryton.Tryton, inv accounting.Invoice) {
	req, err := books.Prepare(inv)
	if err != nil {
		s.Error(err)
		return
	}
	progress := accounting.Progress{}
	save := func(p accounting.Progress) error {
		progress = p
		return nil
	}
	for range 40 {
		if progress.Done == 0 {
			found, err := books.Find(s.Context(), inv.Reference)
			if err != nil {
				s.Errorf("Find(%s): %v", inv.Reference, err)
				return
			}
			if len(found) > 0 {
				if !found[0].Bills(inv) {
					s.Errorf("Find(%s) = %+v, want it to bill %s", inv.Reference, found, inv.Net())
				}
				return
			}
		}
		_, err := books.Create(s.Context(), inv.Reference, req, progress, save)
		if err == nil {
			return
		}
		if errors.Is(err, accounting.ErrRejected) {
			s.Errorf("Create(%s) = %v", inv.Reference, err)
			return
		}
	}
	s.Errorf("%s was not made in forty attempts", inv.Reference)
}
