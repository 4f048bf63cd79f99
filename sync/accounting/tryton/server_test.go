package tryton_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/tryton"
	"tidemark/sync/civil"
)

// The variables of the environment that say where real servers are; .ci/tryton/setup prints them.
const (
	onSQLite   = "TIDEMARK_TRYTON_SQLITE"
	onPostgres = "TIDEMARK_TRYTON_POSTGRES"
)

// server is a real Tryton.
type server struct {
	*testing.T
	url.Values        // ids, by name
	base, name string // of the database
}

// serverOn returns the server that a variable of the environment names.
func serverOn(t *testing.T, variable string) *server {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" && os.Getenv("TIDEMARK_CI") == "1" {
		t.Fatalf("%s is not set: run eval \"$(.ci/tryton/setup)\" before", variable)
	}
	if text == "" {
		t.Skipf("%s is not set, so there is no Tryton to test with: eval \"$(.ci/tryton/setup)\" starts one", variable)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &server{T: t, Values: u.Query(), base: u.Scheme + "://" + u.Host, name: strings.Trim(u.Path, "/")}
}

func (s *server) id(name string) int64 {
	s.Helper()
	n, err := strconv.ParseInt(s.Get(name), 10, 64)
	if err != nil {
		s.Fatalf("the server's URL names no %s", name)
	}
	return n
}

func (s *server) settings() tryton.Settings {
	return tryton.Settings{
		Account: "real", URL: s.base, Database: s.name, User: s.Get("user"), Password: config.SecretOf(s.Get("password")), Company: s.id("company"),
		Journal: s.id("journal"), Receivable: s.id("receivable"), Revenue: s.id("revenue"), Unit: s.id("unit"),
		Currencies: map[string]int64{"EUR": s.id("EUR"), "JPY": s.id("JPY"), "KWD": s.id("KWD")}, Taxes: map[string][]int64{"VAT20": {s.id("tax")}},
	}
}

// system returns a client of the server, as another process would have it.
func (s *server) system(set tryton.Settings, transport http.RoundTripper) *tryton.Tryton {
	s.Helper()
	one, err := tryton.New(set, remote.New(remote.Options{Transport: transport, NoLimits: true}))
	if err != nil {
		s.Fatal(err)
	}
	return one
}

func (s *server) plain() *tryton.Tryton {
	return s.system(s.settings(), http.DefaultTransport)
}

// references returns a prefix that no earlier run has used.
func references() string { return "r" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-" }

func (s *server) invoice(reference string) accounting.Invoice {
	date := civil.Date{Year: 2026, Month: 11, Day: 8}
	line := func(text string, seconds int64, rate, amount string) accounting.Line {
		return accounting.Line{Text: text, Seconds: seconds, Rate: decimal.RequireFromString(rate), Amount: decimal.RequireFromString(amount)}
	}
	return accounting.Invoice{
		Reference: reference, Customer: s.Get("customer"), Tax: "VAT20", Client: "Acme", Title: "Site, week 45 of 2026", Currency: "EUR",
		Period: civil.Period{First: date.AddDays(-6), Last: date}, Date: date, Due: civil.Date{Year: 2029, Month: 1, Day: 2},
		Lines: []accounting.Line{line("Ada 😀", 5400, "95", "142.50"), line("Bob", 12000, "80.1234", "267.08")},
	}
}

func (s *server) prepare(t *tryton.Tryton, inv accounting.Invoice) accounting.Request {
	s.Helper()
	req, err := t.Prepare(inv)
	if err != nil {
		s.Fatal(err)
	}
	return req
}

func forget(accounting.Progress) error { return nil }

// create makes an invoice, which must go well.
func (s *server) create(t *tryton.Tryton, inv accounting.Invoice) accounting.Receipt {
	s.Helper()
	r, err := t.Create(s.Context(), inv.Reference, s.prepare(t, inv), accounting.Progress{}, forget)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// bills counts the invoices whose reference begins so, and says of each reference how many bear it. It asks for
// Tryton's own export of a table, not through our client.
func (s *server) bills(prefix string) map[string]int {
	s.Helper()
	q := url.Values{"d": {`[["reference","like","` + prefix + `%"],["type","=","out"]]`}, "f": {"reference", "state"}, "c": {`{"company":` + s.Get("company") + `}`}}
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+"/"+s.name+"/data/account.invoice?"+q.Encode(), nil)
	if err != nil {
		s.Fatal(err)
	}
	req.SetBasicAuth(s.Get("user"), s.Get("password"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	rows, err := csv.NewReader(resp.Body).ReadAll()
	if err != nil || resp.StatusCode != http.StatusOK || len(rows) == 0 {
		s.Fatalf("the export of invoices: %s, %d rows, %v", resp.Status, len(rows), err)
	}
	count := map[string]int{}
	for _, row := range rows[1:] { // The first one names the columns.
		count[row[0]]++
	}
	return count
}

// once holds that of n references each stands on one invoice.
func (s *server) once(prefix string, n int) {
	s.Helper()
	count := s.bills(prefix)
	for reference, times := range count {
		if times != 1 {
			s.Errorf("%d invoices bear %s, want 1", times, reference)
		}
	}
	if len(count) != n {
		s.Errorf("%d references stand on invoices, want %d", len(count), n)
	}
}

// person does something as a person would, and returns the result.
func (s *server) person(method string, params ...any) any {
	s.Helper()
	if params == nil {
		params = []any{}
	}
	params = append(params, map[string]any{"company": s.id("company"), "language": "en"})
	body, err := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
	if err != nil {
		s.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.base+"/"+s.name+"/", bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth(s.Get("user"), s.Get("password"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var said struct{ Result, Error any }
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || said.Error != nil {
		s.Fatalf("%s: %s, %v, %v", method, resp.Status, said.Error, err)
	}
	return said.Result
}

// wire is a connection that may fail: Before and After are asked about the method of each call.
type wire struct {
	Before func(method string, req *http.Request) error // nil: sent
	After  func(method string) error                    // of what was done; nil: answered
	mu     sync.Mutex
	calls  map[string]int
}

// errCut is what becomes of a connection.
var errCut = errors.New("the connection was cut")

// RoundTrip sends a request.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var in struct{ Method string }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	w.mu.Lock()
	if w.calls == nil {
		w.calls = map[string]int{}
	}
	w.calls[in.Method]++
	w.mu.Unlock()
	if w.Before != nil {
		if err := w.Before(in.Method, req); err != nil {
			return nil, err
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && w.After != nil {
		if err := w.After(in.Method); err != nil {
			return nil, errors.Join(err, resp.Body.Close())
		}
	}
	return resp, err
}

func (w *wire) count(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[method]
}
