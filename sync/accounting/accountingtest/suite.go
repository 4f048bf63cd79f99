package accountingtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// begin is when every test begins.
var begin = time.Date(2026, time.November, 9, 9, 0, 0, 0, time.UTC)

// Test runs the whole suite against a system.
func Test(t *testing.T, d Dialect) {
	for _, part := range parts() {
		t.Run(part.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { part.test(newScene(t, d)) })
		})
	}
	t.Run("RefusesWhatIsForbidden", func(t *testing.T) { refuses(t, d) })
}

// part is one promise.
type part struct {
	name string
	test func(*scene)
}

func parts() []part {
	return []part{
		{"Creates", creates}, {"PrepareIsPure", prepareIsPure}, {"SayableAmounts", sayable}, {"Currencies", currencies}, {"HostileTexts", hostile},
		{"FindsExactly", findsExactly}, {"FindsTwo", findsTwo}, {"FindsEveryState", findsEveryState}, {"FindsAmongMany", findsAmongMany},
		{"ErrorIsNeverAbsent", errorIsNeverAbsent}, {"Lag", lag}, {"EffectWithoutAnswer", effectWithoutAnswer}, {"NoEffect", noEffect},
		{"Refused", refused}, {"Quota", quota}, {"SameKeyTwice", sameKeyTwice}, {"Steps", steps}, {"Updates", updates},
		{"UpdateOfATouchedDraft", updateTouched}, {"UpdateWithoutAnswer", updateWithoutAnswer}, {"Reads", reads}, {"Access", access},
		{"ListsDays", listsDays}, {"ListsEveryState", listsEveryState}, {"ListErrorIsNoEnd", listErrorIsNoEnd},
	}
}

// scene is a system before its books.
type scene struct {
	*testing.T
	Dialect
	books  *Books
	system System
	net    *remote.Network
	log    bytes.Buffer

	mu     sync.Mutex
	before map[string][]remotetest.Fault // "read" or "write": in place of doing what is asked
	writes []string
}

func newScene(t *testing.T, d Dialect) *scene {
	time.Sleep(time.Until(begin)) // The clock of the bubble.
	s := &scene{T: t, Dialect: d, books: NewBooks(), before: map[string][]remotetest.Fault{}}
	transport := remotetest.Serve(t, http.HandlerFunc(s.serve))
	s.net = remote.New(remote.Options{Transport: transport, Log: zerolog.New(zerolog.SyncWriter(&s.log)).Level(zerolog.DebugLevel)})
	s.system = d.New(t, s.net, remotetest.Base, d.Token)
	t.Cleanup(func() {
		if bytes.Contains(s.log.Bytes(), []byte(d.Token)) {
			t.Error("the log shows the token")
		}
	})
	return s
}

// serve lets the vendor answer, with the faults that are due, and watches every write.
func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	kind := "read"
	if s.Writes(r, body) {
		kind = "write"
		s.note(r, body)
	}
	if fault := s.next(kind); fault != "" {
		fault.Answer(w, r)
		return
	}
	late := s.next("after " + kind)
	if late == "" {
		s.Handler(s.books).ServeHTTP(w, r)
		return
	}
	s.Handler(s.books).ServeHTTP(httptest.NewRecorder(), r)
	late.Answer(w, r)
}

func (s *scene) note(r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, r.Method+" "+r.URL.String()+" "+string(body))
	if why := s.Refuse(r, body); why != "" {
		s.Errorf("%s %s: %s", r.Method, r.URL, why)
	}
}

func (s *scene) next(kind string) (fault remotetest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.before[kind]; len(list) > 0 {
		fault, s.before[kind] = list[0], list[1:]
	}
	return fault
}

// fail lets the next requests of a kind ("read", "write", or "after write" for a write that was done) fail.
func (s *scene) fail(kind string, faults ...remotetest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before[kind] = faults
}

func (s *scene) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// invoice returns an invoice of two lines for customer 71.
func (s *scene) invoice(reference string) accounting.Invoice {
	line := func(text string, seconds int64, rate string) accounting.Line {
		l := accounting.Line{Text: text, Seconds: seconds, Rate: decimal.RequireFromString(rate)}
		l.Amount = money.Currency("EUR").Quotient(l.Rate.Mul(decimal.NewFromInt(seconds)), decimal.NewFromInt(3600))
		return l
	}
	return accounting.Invoice{
		Reference: reference, Customer: s.customer("71"), Client: "Acme", Title: "Site, week 45 of 2026", Currency: "EUR",
		Period: civil.Period{First: civil.Date{Year: 2026, Month: 11, Day: 2}, Last: civil.Date{Year: 2026, Month: 11, Day: 8}},
		Date:   civil.Date{Year: 2026, Month: 11, Day: 8}, Due: civil.Date{Year: 2026, Month: 11, Day: 22},
		Lines: []accounting.Line{line("Ada", 5400, "95"), line("Bob", 27000, "80.50")},
	}
}

func (s *scene) customer(id string) string {
	if s.Customer == nil {
		return id
	}
	return s.Customer(id)
}

// create prepares and creates an invoice, each with what it needs.
func (s *scene) create(inv accounting.Invoice) (accounting.Receipt, error) {
	s.Helper()
	return s.resume(inv.Reference, s.prepare(inv), &accounting.Progress{})
}

func (s *scene) prepare(inv accounting.Invoice) accounting.Request {
	s.Helper()
	req, err := s.system.Prepare(inv)
	if err != nil {
		s.Fatal(err)
	}
	return req
}

// resume sends a request from where progress stands on, and keeps that up to date.
func (s *scene) resume(key string, req accounting.Request, progress *accounting.Progress) (accounting.Receipt, error) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
	defer cancel()
	return s.system.Create(ctx, key, req, *progress, func(p accounting.Progress) error {
		*progress = p
		return nil
	})
}

func (s *scene) must(r accounting.Receipt, err error) accounting.Receipt {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// find looks a reference up, which must be good.
func (s *scene) find(reference string) []accounting.Receipt {
	s.Helper()
	found, err := s.system.Find(s.Context(), reference)
	if err != nil {
		s.Fatalf("Find(%s): %v", reference, err)
	}
	return found
}

// settled lets as much time go by as the system needs until every look-up sees everything.
func (s *scene) settled() {
	time.Sleep(max(s.system.Traits().SearchLag, s.system.Traits().SettleAfter))
}

// live returns the documents of the books that bear a reference.
func (s *scene) live(reference string) (live []*Document) {
	defer s.books.Lock()()
	for _, d := range s.books.Documents {
		if d.Reference == reference {
			live = append(live, d)
		}
	}
	return live
}

// hidden reports errors that show the token.
func (s *scene) hidden(err error) {
	s.Helper()
	if err != nil && strings.Contains(err.Error(), s.Token) {
		s.Errorf("the error shows the token: %v", err)
	}
}

func is(err error, kinds ...error) bool {
	for _, kind := range kinds {
		if !errors.Is(err, kind) {
			return false
		}
	}
	return true
}

func refuses(t *testing.T, d Dialect) {
	if len(d.Forbidden) == 0 {
		t.Fatal("the dialect lists no request that is forbidden")
	}
	for _, f := range d.Forbidden {
		method, rest, _ := strings.Cut(f, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		if d.Writes(r, []byte(body)) && d.Refuse(r, []byte(body)) == "" {
			t.Errorf("%s would go unnoticed", f)
		}
	}
}
