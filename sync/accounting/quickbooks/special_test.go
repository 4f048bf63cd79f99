package quickbooks_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/accounting/quickbooks"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// before runs a test with a company that a handler serves, in a bubble.
func before(t *testing.T, s quickbooks.Settings, h http.Handler, test func(t *testing.T, q *quickbooks.QuickBooks)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.URL = remotetest.Base
		q, err := quickbooks.New(s, remote.New(remote.Options{Transport: remotetest.Serve(t, h)}), signed(token))
		if err != nil {
			t.Fatal(err)
		}
		test(t, q)
	})
}

// says answers every request alike.
func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func invoice(reference string, currency money.Currency, amount int64) accounting.Invoice {
	day := civil.Date{Year: 2026, Month: 11, Day: 29}
	return accounting.Invoice{
		Reference: reference, Customer: "71", Currency: currency, Date: day, Period: civil.Period{First: day, Last: day},
		Lines: []accounting.Line{{Text: "work", Seconds: 3600, Rate: decimal.NewFromInt(amount), Amount: decimal.NewFromInt(amount)}},
	}
}

func create(t *testing.T, q *quickbooks.QuickBooks, key string, inv accounting.Invoice) (accounting.Receipt, error) {
	t.Helper()
	req, err := q.Prepare(inv)
	if err != nil {
		t.Fatal(err)
	}
	return q.Create(t.Context(), key, req, accounting.Progress{}, nil)
}

func TestTakenNumberIsLookedUpAndCompared(t *testing.T) {
	books := accountingtest.NewBooks()
	before(t, settings(""), handler(false)(books), func(t *testing.T, q *quickbooks.QuickBooks) {
		made, err := create(t, q, "ts-1", invoice("ts-1", "EUR", 90))
		if err != nil {
			t.Fatal(err)
		}
		for _, wanted := range []accounting.Invoice{invoice("ts-1", "EUR", 90), invoice("ts-1", "EUR", 95)} {
			_, err = create(t, q, "ts-1-forgotten", wanted)
			if err == nil || errors.Is(err, accounting.ErrRejected) || errors.Is(err, accounting.ErrNotSent) || errors.Is(err, accounting.ErrTouched) {
				t.Fatalf("Create with a number that is taken = %v, want an unknown outcome: an earlier attempt may bear it", err)
			}
			if text := "DocNumber=ts-1 is assigned to TxnType=Estimate with TxnId=" + made.ID; !strings.Contains(err.Error(), text) {
				t.Errorf("error = %v, want QuickBooks' own words: %s", err, text)
			}
			found, err := q.Find(t.Context(), "ts-1")
			if err != nil || len(found) != 1 || found[0].ID != made.ID || found[0].Bills(wanted) != wanted.Net().Equal(made.Net) {
				t.Errorf("Find = %+v, %v; want %s, told from what is wanted", found, err, made.ID)
			}
		}
	})
	if n := len(books.Documents); n != 1 {
		t.Errorf("%d estimates, want 1", n)
	}
}

func refused(kind, code, detail string) string {
	return fmt.Sprintf(`{"Fault":{"type":%q,"Error":[{"code":%q,"Message":"It was not done","Detail":%q}]},"time":"2026-11-30T09:00:00Z"}`, kind, code, detail)
}

func TestWhatARefusedWriteMeans(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   []error
	}{
		{"validation", 400, refused("ValidationFault", "6000", "No."), []error{accounting.ErrRejected}},
		{"validation that is called a success", 200, refused("ValidationFault", "6000", "No."), []error{accounting.ErrRejected}},
		{"closed books", 400, refused("ValidationFault", "6210", "The account period has closed."), []error{accounting.ErrRejected}},
		{"amounts", 400, refused("ValidationFault", "6070", "Amount calculation incorrect in the request."), []error{accounting.ErrRejected}},
		{"a number of another kind of transaction", 400, refused("ValidationFault", "6140", "DocNumber=ts-1 is assigned to TxnType=Invoice with TxnId=42"), []error{accounting.ErrRejected}},
		{"a number of nobody knows what", 400, refused("ValidationFault", "6140", "This number has already been used."), nil},
		{"the service itself", 400, refused("SystemFault", "10000", "An application error has occurred."), nil},
		{"the service itself, called a success", 200, refused("SystemFault", "10000", "An application error has occurred."), nil},
		{"another version", 400, refused("ValidationFault", "5010", "Stale Object Error"), []error{accounting.ErrTouched}},
		{"subscription", 400, refused("ValidationFault", "6190", "Subscription period has ended."), []error{accounting.ErrPaused, accounting.ErrNotSent}},
		{"sign-in", 400, refused("AuthorizationFault", "3100", "ApplicationAuthorizationFailed"), []error{accounting.ErrPaused, accounting.ErrNotSent}},
		{"sign-in, forbidden", 403, refused("AuthorizationFault", "3100", "ApplicationAuthorizationFailed"), []error{accounting.ErrPaused}},
		{"sign-in, unauthorised", 401, refused("AUTHENTICATION", "3200", "AuthenticationFailed"), []error{accounting.ErrPaused}},
		{"rate", 400, refused("ValidationFault", "3001", "ThrottleExceeded"), []error{accounting.ErrPaused, accounting.ErrNotSent}},
		{"rate, as HTTP has it", 429, refused("", "3001", "ThrottleExceeded"), []error{accounting.ErrPaused, accounting.ErrNotSent}},
		{"no estimate", 200, `{"time":"2026-11-30T09:00:00Z"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before(t, settings(""), says(tt.status, tt.body), func(t *testing.T, q *quickbooks.QuickBooks) {
				_, err := create(t, q, "ts-1", invoice("ts-1", "EUR", 90))
				if err == nil {
					t.Fatal("no error")
				}
				for _, kind := range []error{accounting.ErrRejected, accounting.ErrPaused, accounting.ErrNotSent, accounting.ErrTouched} {
					if errors.Is(err, kind) != slices.Contains(tt.want, kind) {
						t.Errorf("%v: is %q %v, want %v", err, kind, errors.Is(err, kind), tt.want)
					}
				}
				if strings.Contains(tt.body, "It was not done") && !strings.Contains(err.Error(), "It was not done: ") {
					t.Errorf("%v: does not show what QuickBooks said", err)
				}
			})
		})
	}
}

func TestFaultOfALookUpIsNeverAbsent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		paused bool
		absent bool // of a look-up by id
	}{
		{"called a success", 200, refused("ValidationFault", "4000", "Error parsing query"), false, false},
		{"subscription", 400, refused("ValidationFault", "6190", "Subscription period has ended."), true, false},
		{"rate", 200, refused("ValidationFault", "3001", "ThrottleExceeded"), true, false},
		{"not there", 400, refused("ValidationFault", "610", "Object Not Found"), false, true},
		{"no such address", 404, `{}`, false, false},
		{"nothing", 200, `{}`, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before(t, settings(""), says(tt.status, tt.body), func(t *testing.T, q *quickbooks.QuickBooks) {
				if found, err := q.Find(t.Context(), "ts-1"); err == nil || errors.Is(err, accounting.ErrPaused) != tt.paused {
					t.Errorf("Find = %v, %v; want an error, paused %v", found, err, tt.paused)
				}
				if _, err := q.Read(t.Context(), "1"); err == nil || errors.Is(err, accounting.ErrAbsent) != tt.absent || errors.Is(err, accounting.ErrPaused) != tt.paused {
					t.Errorf("Read = %v, want absent %v, paused %v", err, tt.absent, tt.paused)
				}
			})
		})
	}
}

func TestQuotesInAReferenceStayWithinTheQuery(t *testing.T) {
	books := accountingtest.NewBooks()
	h := handler(false)(books)
	var asked string
	watched := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("query")
		h.ServeHTTP(w, r)
	})
	before(t, settings(""), watched, func(t *testing.T, q *quickbooks.QuickBooks) {
		strange := `o'keefe\`
		for _, reference := range []string{"ts-1", strange, `o'keefe`} {
			books.Add(&accountingtest.Document{Reference: reference, Customer: "71", Currency: "EUR", Status: accounting.Draft})
		}
		if found, err := q.Find(t.Context(), strange); err != nil || len(found) != 1 || found[0].Reference != strange {
			t.Errorf("Find = %+v, %v; want the one of %s", found, err, strange)
		}
	})
	if want := `where DocNumber = 'o\'keefe\\' ORDERBY`; !strings.Contains(asked, want) {
		t.Errorf("asked %s, want %s", asked, want)
	}
}

// watch notes the requestid of every write, and loses the first so many answers.
func watch(h http.Handler, lost int, ids *[]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			*ids = append(*ids, r.URL.Query().Get("requestid"))
			if len(*ids) <= lost {
				h.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
		}
		h.ServeHTTP(w, r)
	})
}

func TestRequestIDIsTheSameOnEachRetry(t *testing.T) {
	seen := map[string]bool{}
	long := "ts-26w48-abcdefghij-" + strings.Repeat("x", 60)
	for _, key := range []string{"ts-26w48-abcdefghij", "ts-26w48-abcdefghij-2.3", long, long + "y"} {
		books := accountingtest.NewBooks()
		var ids []string
		before(t, settings(""), watch(handler(false)(books), 2, &ids), func(t *testing.T, q *quickbooks.QuickBooks) {
			if _, err := create(t, q, key, invoice("ts-26w48-abcdefghij", "EUR", 90)); err != nil {
				t.Error(err)
			}
		})
		if len(ids) < 3 || len(slices.Compact(slices.Clone(ids))) != 1 || len(ids[0]) > 50 || ids[0] == "" || seen[ids[0]] {
			t.Errorf("%s: requestids %q, want one of at most 50 characters, sent three times, of no other key", key, ids)
		}
		seen[ids[0]] = true
		if n := len(books.Documents); n != 1 {
			t.Errorf("%s: %d estimates, want 1", key, n)
		}
	}
}

func TestEditBetweenLookAndWriteIsRefused(t *testing.T) {
	books := accountingtest.NewBooks()
	h := handler(false)(books)
	edit := false
	between := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		if edit && r.Method == http.MethodGet {
			defer books.Lock()()
			books.Documents[0].Edition++
		}
	})
	before(t, settings(""), between, func(t *testing.T, q *quickbooks.QuickBooks) {
		left, err := create(t, q, "ts-1", invoice("ts-1", "EUR", 90))
		if err != nil {
			t.Fatal(err)
		}
		edit = true
		req, err := q.Prepare(invoice("ts-1", "EUR", 95))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = q.Update(t.Context(), "ts-1.2", req, left); !errors.Is(err, accounting.ErrTouched) {
			t.Errorf("Update of a draft that was saved meanwhile = %v, want it touched", err)
		}
	})
	if net := books.Documents[0].Net(); !net.Equal(decimal.NewFromInt(90)) {
		t.Errorf("the books hold %s, want the 90 that were left", net)
	}
}

func TestVersionThatIsStaleByOurOwnUpdateIsNoTouch(t *testing.T) {
	books := accountingtest.NewBooks()
	h := handler(false)(books)
	var writes int
	forgetful := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			writes++
		}
		if r.Method == http.MethodPost && writes == 2 {
			h.ServeHTTP(httptest.NewRecorder(), r)
			clear(books.Keys)
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	})
	before(t, settings(""), forgetful, func(t *testing.T, q *quickbooks.QuickBooks) {
		left, err := create(t, q, "ts-1", invoice("ts-1", "EUR", 90))
		if err != nil {
			t.Fatal(err)
		}
		req, err := q.Prepare(invoice("ts-1", "EUR", 95))
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Update(t.Context(), "ts-1.2", req, left)
		if err == nil || errors.Is(err, accounting.ErrTouched) || errors.Is(err, accounting.ErrRejected) || errors.Is(err, accounting.ErrNotSent) {
			t.Errorf("Update whose first attempt was done = %v, want an unknown outcome", err)
		}
		if now, err := q.Read(t.Context(), left.ID); err != nil || !now.Bills(invoice("ts-1", "EUR", 95)) {
			t.Errorf("Read = %+v, %v; want what the update made", now, err)
		}
	})
}

func TestListThatChangesWhileItIsReadIsAskedForAgain(t *testing.T) {
	books := accountingtest.NewBooks()
	books.PageSize = 3
	h := serve(vendor{books, true})
	queries := 0
	losing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if queries++; queries == 2 {
			books.Documents = books.Documents[1:] // a person deletes an estimate of the first page
		}
		h.ServeHTTP(w, r)
	})
	before(t, settings("private_note"), losing, func(t *testing.T, q *quickbooks.QuickBooks) {
		for i := range 7 {
			books.Add(&accountingtest.Document{Reference: fmt.Sprintf("ts-%d", i), Customer: "71", Currency: "EUR", Status: accounting.Draft})
		}
		if found, err := q.Find(t.Context(), "ts-3"); err == nil {
			t.Errorf("Find while an estimate is deleted = %+v, want an error: one may have been missed", found)
		}
		if found, err := q.Find(t.Context(), "ts-3"); err != nil || len(found) != 1 {
			t.Errorf("Find afterwards = %+v, %v; want one", found, err)
		}
	})
}

func TestNotesAreListedSinceTheWeekOfTheReference(t *testing.T) {
	for reference, want := range map[string]string{
		"ts-26w48-abcdefghij":   "select * from Estimate where MetaData.CreateTime >= '2026-08-23T00:00:00Z' ORDERBY Id",
		"a926w01-abcdefghij-12": "select * from Estimate where MetaData.CreateTime >= '2025-09-28T00:00:00Z' ORDERBY Id",
		"ts-881":                "select * from Estimate ORDERBY Id",
	} {
		var asked url.Values
		nothing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Query()
			reply(w, 200, map[string]any{"QueryResponse": map[string]any{}})
		})
		before(t, settings("private_note"), nothing, func(t *testing.T, q *quickbooks.QuickBooks) {
			if found, err := q.Find(t.Context(), reference); err != nil || len(found) != 0 {
				t.Errorf("Find = %v, %v", found, err)
			}
		})
		if !strings.HasPrefix(asked.Get("query"), want) {
			t.Errorf("%s: asked %s, want %s", reference, asked.Get("query"), want)
		}
	}
}

// The first attempt may have been executed: a refusal of the second says nothing of it.
func TestRefusalOfARepeatedWriteIsNoRefusal(t *testing.T) {
	for _, kind := range []string{"3001", "6000", "6190", "5010"} {
		writes := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				writes++
			}
			if writes == 1 {
				remotetest.Status(500).Answer(w, r)
				return
			}
			says(200, refused("ValidationFault", kind, "No.")).ServeHTTP(w, r)
		})
		before(t, settings("doc_number"), h, func(t *testing.T, q *quickbooks.QuickBooks) {
			_, err := create(t, q, "ts-1", invoice("ts-1", "EUR", 90))
			if err == nil || errors.Is(err, accounting.ErrRejected) || errors.Is(err, accounting.ErrNotSent) || errors.Is(err, accounting.ErrTouched) {
				t.Errorf("fault %s after an attempt without an answer = %v, want an unknown outcome", kind, err)
			}
		})
		if writes != 2 {
			t.Errorf("fault %s: %d writes, want 2", kind, writes)
		}
	}
}
