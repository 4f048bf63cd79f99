package stripe_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tidemark/config"
	"tidemark/internal/remote"
	"tidemark/sync/accounting"
	"tidemark/sync/accounting/stripe"
)

func TestKeyOfAnotherAccountBillsNothing(t *testing.T) {
	in(t, "", func(s *scene) {
		s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.URL.Path == "/v1/account" {
				reply(w, 200, map[string]any{"id": "acct_1Other", "object": "account"})
			}
			return r.URL.Path == "/v1/account"
		}
		_, found := s.Find(s.Context(), "ts-1")
		_, created := s.create("ts-1", s.prepare(invoice("ts-1", "EUR", "90")))
		_, access := s.Access(s.Context())
		for what, err := range map[string]error{"Find": found, "Create": created, "Access": access} {
			if !errors.Is(err, accounting.ErrPaused) || !strings.Contains(err.Error(), "acct_1Other") {
				t.Errorf("%s with the key of another account = %v, want it paused, and the account named", what, err)
			}
		}
		if len(s.writes()) != 0 {
			t.Errorf("%v was written", s.writes())
		}
	})
}

func TestKeyThatMayNotReadItsAccountIsTakenAtItsWord(t *testing.T) {
	in(t, "", func(s *scene) {
		s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.URL.Path == "/v1/account" {
				wrong(w, 403, "", "The provided key does not have the required permissions")
			}
			return r.URL.Path == "/v1/account"
		}
		s.made(invoice("ts-1", "EUR", "90"))
		if a, err := s.Access(s.Context()); err != nil || len(a.Notes) != 1 || !strings.Contains(a.Notes[0], account) {
			t.Errorf("Access = %+v, %v; want a note that nobody checks the account", a, err)
		}
	})
}

func TestListBeginsBeforeThePeriodOfTheReference(t *testing.T) {
	in(t, "", func(s *scene) {
		for reference, want := range map[string]string{
			"ts-26w45-abcdefghij":   "2026-10-02", // 31 days before Monday of that week, 2 November
			"ts-26w45-abcdefghij-2": "2026-10-02",
			"ts-26w01-abcdefghij":   "2025-11-28", // 29 December 2025
			"ts-26w99-abcdefghij":   "",
			"ts-w881":               "",
			"ts-126w45-abcdefghij":  "",
		} {
			s.requests = nil
			if _, err := s.Find(s.Context(), reference); err != nil {
				s.Fatal(err)
			}
			asked, err := url.Parse(s.requests[len(s.requests)-1].url)
			if err != nil {
				s.Fatal(err)
			}
			wanted := ""
			if day, err := time.Parse(time.DateOnly, want); err == nil {
				wanted = fmt.Sprint(day.Unix())
			}
			if got := asked.Query().Get("created[gte]"); got != wanted {
				t.Errorf("%s: invoices made since %q are listed, want since %q (%s)", reference, got, wanted, want)
			}
		}
	})
}

func TestOnlyAnAnswerOfStripeSaysAbsent(t *testing.T) {
	in(t, "", func(s *scene) {
		if _, err := s.Read(s.Context(), "in_1"); !errors.Is(err, accounting.ErrAbsent) {
			t.Errorf("Read of nothing = %v, want it absent", err)
		}
		s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.NotFound(w, r)
			return true
		}
		if _, err := s.Read(s.Context(), "in_1"); err == nil || errors.Is(err, accounting.ErrAbsent) {
			t.Errorf("Read at something that is not Stripe = %v, want an error that does not say absent", err)
		}
	})
}

func TestSettingsNameEveryFault(t *testing.T) {
	err := stripe.Settings{
		Account: "demo", Token: config.SecretOf("pk_live_1"), Product: "a b", DaysUntilDue: -1, APIVersion: "latest", URL: "http://stripe.example.com",
	}.Validate()
	for _, field := range []string{"account", "token", "product", "days_until_due", "api_version", "url"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("Validate = %v, want %s named", err, field)
		}
	}
	if strings.Contains(err.Error(), "pk_live_1") {
		t.Errorf("the error shows the key: %v", err)
	}
	if _, err := stripe.New(stripe.Settings{Account: account}, remote.New(remote.Options{})); err == nil {
		t.Error("New without a token: no error")
	}
}
