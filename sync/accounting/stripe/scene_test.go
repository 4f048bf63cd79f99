package stripe_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// seen is a request as it passed over the wire.
type seen struct{ method, url, key, body string }

// scene is a system before books, with what passed between them.
type scene struct {
	*testing.T
	accountingtest.System
	books    *accountingtest.Books
	vendor   http.Handler
	requests []seen
	// before answers in place of the vendor, if it says so.
	before func(w http.ResponseWriter, r *http.Request, n int) bool
	save   func(accounting.Progress) error
	done   accounting.Progress
}

// in runs a test in a bubble, on 9 November 2026.
func in(t *testing.T, product string, test func(*scene)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.November, 9, 9, 0, 0, 0, time.UTC)))
		s := &scene{T: t, books: accountingtest.NewBooks()}
		d := dialect(product)
		s.vendor = d.Handler(s.books)
		s.save = func(p accounting.Progress) error { s.done = p; return nil }
		net := remote.New(remote.Options{Transport: remotetest.Serve(t, http.HandlerFunc(s.serve)), NoLimits: true})
		s.System = d.New(t, net, remotetest.Base, token)
		test(s)
	})
}

func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.requests = append(s.requests, seen{r.Method, r.URL.String(), r.Header.Get("Idempotency-Key"), string(body)})
	if r.Method == http.MethodPost {
		if why := refuse(r, body); why != "" {
			s.Errorf("%s %s: %s", r.Method, r.URL, why)
		}
	}
	if s.before == nil || !s.before(w, r, len(s.writes())) {
		s.vendor.ServeHTTP(w, r)
	}
}

func (s *scene) writes() (writes []seen) {
	for _, r := range s.requests {
		if r.method == http.MethodPost {
			writes = append(writes, r)
		}
	}
	return writes
}

// lose lets a request have its effect and answers with a broken connection.
func (s *scene) lose(r *http.Request) {
	s.vendor.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// invoice is of one hour at each of the amounts.
func invoice(reference string, currency money.Currency, amounts ...string) accounting.Invoice {
	day := civil.Date{Year: 2026, Month: 11, Day: 8}
	inv := accounting.Invoice{
		Reference: reference, Customer: "cus_71", Client: "Acme", Title: "Site", Currency: currency, Date: day, Due: day.AddDays(14),
		Period: civil.Period{First: day.AddDays(-6), Last: day},
	}
	for _, a := range amounts {
		d := decimal.RequireFromString(a)
		inv.Lines = append(inv.Lines, accounting.Line{Text: "work", Seconds: 3600, Rate: d, Amount: d})
	}
	return inv
}

func (s *scene) prepare(inv accounting.Invoice) accounting.Request {
	s.Helper()
	req, err := s.Prepare(inv)
	if err != nil {
		s.Fatal(err)
	}
	return req
}

// create goes on from where the last create of the scene stands.
func (s *scene) create(key string, req accounting.Request) (accounting.Receipt, error) {
	return s.Create(s.Context(), key, req, s.done, s.save)
}

func (s *scene) made(inv accounting.Invoice) accounting.Receipt {
	s.Helper()
	s.done = accounting.Progress{}
	r, err := s.create(inv.Reference, s.prepare(inv))
	if err != nil {
		s.Fatal(err)
	}
	return r
}
