package stripe_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/stripe"
)

// stripeMock returns the URL of Stripe's own stripe-mock, which checks every parameter against Stripe's OpenAPI
// document. It keeps nothing, and answers every list with a draft of somebody else.
func stripeMock(t *testing.T) string {
	base := strings.TrimSuffix(os.Getenv("TIDEMARK_STRIPE_MOCK"), "/")
	switch {
	case base == "" && os.Getenv("TIDEMARK_CI") == "1":
		t.Fatal("TIDEMARK_STRIPE_MOCK is not set: run stripe-mock -http-addr 127.0.0.1:12111 -https-addr 127.0.0.1:12112 and set it to http://127.0.0.1:12111")
	case base == "":
		t.Skip("needs a running stripe-mock: set TIDEMARK_STRIPE_MOCK to its URL, such as http://127.0.0.1:12111")
	}
	return base
}

const mockToken = "sk_test_mock"

// ask sends a request to stripe-mock and returns the status and the answer.
func ask(t *testing.T, base string, r seen) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, base+r.url, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+mockToken)
	if r.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// everything does all that a system can be asked for, and returns the requests.
func everything(t *testing.T, product string) (all []seen) {
	in(t, product, func(s *scene) {
		inv := invoice("ts-26w45-abcdefghij", "EUR", "90", "80.50", "-5")
		inv.Tax = "txr_vat"
		left := s.made(inv)
		for n, amounts := range [][]string{{"91"}, {"91", "92"}} {
			inv := invoice(inv.Reference, "EUR", amounts...)
			var err error
			if left, err = s.Update(s.Context(), inv.Reference+"."+string(rune('2'+n)), s.prepare(inv), left); err != nil {
				s.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		s.books.PageSize = 1
		s.made(invoice("ts-26w45-many777777", "JPY", slices.Repeat([]string{"90"}, 12)...))
		time.Sleep(40 * 24 * time.Hour)
		s.made(invoice("ts-26w45-late777777", "KWD", "90"))
		if found, err := s.Find(s.Context(), inv.Reference); err != nil || len(found) != 1 {
			s.Errorf("Find = %+v, %v; want one", found, err)
		}
		if _, err := s.Access(s.Context()); err != nil {
			s.Error(err)
		}
		if _, err := s.Customers(s.Context()); err != nil {
			s.Error(err)
		}
		all = s.requests
	})
	return all
}

func TestStripeMockTakesEveryRequest(t *testing.T) {
	base := stripeMock(t)
	paths := map[string]bool{}
	for _, r := range append(everything(t, ""), everything(t, product)...) {
		path, _, _ := strings.Cut(r.url, "?")
		parts := strings.Split(path, "/")
		paths[parts[len(parts)-1]] = true
		status, answer := ask(t, base, r)
		if status != http.StatusOK {
			t.Errorf("%s %s %s: %d %s", r.method, r.url, r.body, status, answer)
		}
	}
	for _, path := range []string{"account", "customers", "invoices", "lines", "add_lines", "update_lines", "remove_lines"} {
		if !paths[path] {
			t.Errorf("nothing was asked of %s", path)
		}
	}
}

func TestStripeMockRefusesWhatIsWrong(t *testing.T) {
	base := stripeMock(t)
	for _, r := range everything(t, product) {
		if r.method != http.MethodPost {
			continue
		}
		if status, answer := ask(t, base, seen{r.method, r.url, "", r.body + "&reference=ts-1"}); status != http.StatusBadRequest || !strings.Contains(answer, "additional properties") {
			t.Errorf("%s with an unknown parameter: %d %s; want it refused", r.url, status, answer)
		}
		for good, bad := range map[string]string{"auto_advance=false": "auto_advance=maybe", "collection_method=send_invoice": "collection_method=send", "%5Bbehavior%5D=delete": "%5Bbehavior%5D=drop"} {
			if !strings.Contains(r.body, good) {
				continue
			}
			if status, answer := ask(t, base, seen{r.method, r.url, "", strings.Replace(r.body, good, bad, 1)}); status != http.StatusBadRequest {
				t.Errorf("%s with %s: %d %s; want it refused", r.url, bad, status, answer)
			}
		}
	}
}

// mocked returns a system over stripe-mock, and the statuses of what it asks.
func mocked(t *testing.T, transport http.RoundTripper) (*stripe.Stripe, func() []int) {
	var mu sync.Mutex
	var statuses []int
	net := remote.New(remote.Options{Transport: transport, NoLimits: true, Observe: func(s remote.Sample) {
		mu.Lock()
		defer mu.Unlock()
		statuses = append(statuses, s.Status)
	}})
	s, err := stripe.New(stripe.Settings{Account: account, Token: config.SecretOf(mockToken), URL: stripeMock(t)}, net)
	if err != nil {
		t.Fatal(err)
	}
	return s, func() []int {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(statuses)
	}
}

// oneAccount answers for the account, since stripe-mock is another one whenever it is asked.
type oneAccount struct{}

func (oneAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/v1/account" {
		return http.DefaultTransport.RoundTrip(r)
	}
	w := httptest.NewRecorder()
	reply(w, http.StatusOK, map[string]any{"id": account, "object": "account"})
	return w.Result(), nil
}

func TestForeignDraftIsNotAdopted(t *testing.T) {
	s, statuses := mocked(t, oneAccount{})
	_, answer := ask(t, stripeMock(t), seen{http.MethodGet, "/v1/invoices?limit=100", "", ""})
	var list struct{ Data []struct{ Status string } }
	if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Data) != 1 || list.Data[0].Status != "draft" {
		t.Fatalf("stripe-mock does not list the draft of somebody else: %v: %s", err, answer)
	}
	for _, reference := range []string{"ts-1", "ts-26w45-abcdefghij"} {
		if found, err := s.Find(t.Context(), reference); err != nil || len(found) != 0 {
			t.Errorf("Find(%s) = %+v, %v; want none", reference, found, err)
		}
	}
	if got := statuses(); !slices.Equal(got, []int{200, 200, 200}) {
		t.Errorf("statuses = %v, want the account and two lists, all answered", got)
	}
}

// TestOtherAmountsAreNotTaken creates over stripe-mock, which answers every call with some other invoice.
func TestOtherAmountsAreNotTaken(t *testing.T) {
	s, statuses := mocked(t, oneAccount{})
	inv := invoice("ts-1", "EUR", "90")
	inv.Due = inv.Due.AddDays(3650)
	req, err := s.Prepare(inv)
	if err != nil {
		t.Fatal(err)
	}
	var done accounting.Progress
	_, err = s.Create(t.Context(), "ts-1", req, done, func(p accounting.Progress) error { done = p; return nil })
	if !unknownOutcome(err) || !strings.Contains(err.Error(), "was written") || done.Done != 2 || done.Document == "" {
		t.Errorf("Create = %v after %+v, want the foreign answer told after both steps", err, done)
	}
	if got := statuses(); !slices.Equal(got, []int{200, 200, 200}) {
		t.Errorf("statuses = %v, want the account and two steps, all taken", got)
	}
}

func TestStripeMockOfAnotherAccount(t *testing.T) {
	s, _ := mocked(t, nil)
	if _, err := s.Find(t.Context(), "ts-1"); err == nil || !strings.Contains(err.Error(), "the token is of account") {
		t.Errorf("Find with the key of another account = %v, want it refused", err)
	}
}
