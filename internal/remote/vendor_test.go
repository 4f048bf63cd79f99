package remote_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

// arrival is a request as the vendor got it.
type arrival struct {
	method, uri, body string
	header            http.Header
	at                time.Time
}

// vendor keeps what it was asked, and answers as its test says.
type vendor struct {
	transport http.RoundTripper
	answer    func(w http.ResponseWriter, r *http.Request, n int) // n counts from 1
	mu        sync.Mutex
	arrivals  []arrival
}

func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *vendor {
	t.Helper()
	v := &vendor{answer: answer}
	v.transport = remotetest.Serve(t, v)
	return v
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	v.mu.Lock()
	v.arrivals = append(v.arrivals, arrival{r.Method, r.URL.RequestURI(), string(body), r.Header.Clone(), time.Now()})
	n := len(v.arrivals)
	v.mu.Unlock()
	v.answer(w, r, n)
}

func (v *vendor) got() []arrival {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]arrival(nil), v.arrivals...)
}

// client returns a client of this vendor alone.
func (v *vendor) client(t *testing.T, a remote.Account) *remote.Client {
	t.Helper()
	return clientOf(t, remote.New(remote.Options{Transport: v.transport}), a)
}

// clientOf fills in what most tests do not care for.
func clientOf(t *testing.T, net *remote.Network, a remote.Account) *remote.Client {
	t.Helper()
	if a.Vendor == "" {
		a.Vendor = "v"
	}
	if a.Base == "" {
		a.Base = remotetest.Base + "/api"
	}
	c, err := net.Client(a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// always answers every request with the same fault.
func always(f remotetest.Fault) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, _ int) { f.Answer(w, r) }
}

// text answers every request with 200 and this text.
func text(s string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { _, _ = io.WriteString(w, s) }
}

// statusWith answers with a status and one header.
func statusWith(status int, name, value string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set(name, value)
		w.WriteHeader(status)
	}
}

// bubble runs a case in a bubble of its own.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// kindOf returns the kind of an error of a client, or says what else it is.
func kindOf(err error) remote.Kind {
	if err == nil {
		return "no error"
	}
	if e, is := errors.AsType[*remote.Error](err); is {
		return e.Kind
	}
	return remote.Kind(fmt.Sprintf("%T: %v", err, err))
}

// The four sorts of request, by what repeating one does.
var (
	readRequest   = remote.Request{Path: "/x"}
	searchRequest = remote.Request{Method: "POST", Path: "/x", Body: []byte(`{"q":1}`), ReadOnly: true}
	createRequest = remote.Request{Method: "POST", Path: "/x", Body: []byte(`{"total":"1140.00"}`)}
	keyedRequest  = remote.Request{
		Method: "PUT", Path: "/x", Body: []byte(`{"total":"1140.00"}`), Repeatable: true,
		Header: http.Header{"Idempotency-Key": {"inv-2026-49.1"}},
	}
)

// bodyWith answers every request with a status and a body.
func bodyWith(status int, body string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
