package stripe_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/sync/accounting"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// unknownOutcome reports whether an error leaves the outcome of a write unknown.
func unknownOutcome(err error) bool {
	return err != nil && !errors.Is(err, accounting.ErrRejected) && !errors.Is(err, accounting.ErrNotSent) && !errors.Is(err, accounting.ErrTouched)
}

func TestEachStepHasItsOwnKey(t *testing.T) {
	in(t, "", func(s *scene) {
		s.made(invoice("ts-1", "EUR", "90"))
		var keys []string
		for _, w := range s.writes() {
			keys = append(keys, w.key)
		}
		if !slices.Equal(keys, []string{"ts-1/1", "ts-1/2"}) {
			t.Errorf("keys = %v, want one for each step", keys)
		}
	})
}

func TestLinesAreNotAddedTwiceWhenTheirKeyIsForgotten(t *testing.T) {
	in(t, "", func(s *scene) {
		inv := invoice("ts-1", "EUR", "90", "80.50")
		req := s.prepare(inv)
		s.before = func(_ http.ResponseWriter, r *http.Request, n int) bool {
			if n > 1 && r.Method == http.MethodPost {
				s.lose(r)
			}
			return false
		}
		if _, err := s.create("ts-1", req); !unknownOutcome(err) || s.done.Done != 1 {
			t.Fatalf("Create = %v after %+v, want an unknown outcome after one step", err, s.done)
		}
		s.before = nil
		time.Sleep(48 * time.Hour)
		sent := len(s.writes())
		r, err := s.create("ts-1", req)
		if err != nil || !r.Bills(inv) || len(s.books.Documents) != 1 || len(s.books.Documents[0].Lines) != 2 || len(s.writes()) != sent {
			t.Errorf("two days later: %+v, %v, %d writes; want the finished draft and no write", r, err, len(s.writes())-sent)
		}
	})
}

func TestDraftThatChangedBeforeItWasFinishedGoesToAPerson(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(*scene)
		want string
	}{
		"deleted": {func(s *scene) { s.books.Documents = nil }, "somebody deleted it"},
		"a line":  {func(s *scene) { s.books.Documents[0].Lines = []accountingtest.Line{{Text: "x"}} }, "somebody changed it"},
		"void":    {func(s *scene) { s.books.Documents[0].Status = accounting.Void }, "somebody changed it"},
	} {
		in(t, "", func(s *scene) {
			req := s.prepare(invoice("ts-1", "EUR", "90"))
			s.before = func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n == 2 {
					wrong(w, 401, "", "Expired API Key")
				}
				return n == 2
			}
			if _, err := s.create("ts-1", req); !errors.Is(err, accounting.ErrPaused) || errors.Is(err, accounting.ErrNotSent) {
				t.Fatalf("Create = %v, want it paused, and not unsent: the draft is there", err)
			}
			s.before = nil
			tt.do(s)
			if _, err := s.create("ts-1", req); !errors.Is(err, accounting.ErrRejected) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: Create = %v, want it refused: %s", name, err, tt.want)
			}
		})
	}
}

func TestKeyInUseOrOfOtherBytesLeavesTheOutcomeUnknown(t *testing.T) {
	in(t, "", func(s *scene) {
		req := s.prepare(invoice("ts-1", "EUR", "90"))
		busy := 2
		s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if busy == 0 || r.Method != http.MethodPost {
				return false
			}
			busy--
			problem(w, 409, map[string]any{"type": "idempotency_error", "code": "idempotency_key_in_use", "message": "There is currently another in-progress request using this key."})
			return true
		}
		for range 2 {
			if _, err := s.create("ts-1", req); !unknownOutcome(err) {
				t.Errorf("Create under a key in use = %v, want the outcome unknown", err)
			}
		}
		if _, err := s.create("ts-1", req); err != nil || len(s.books.Documents) != 1 {
			t.Errorf("the third Create = %v, %d documents; want one", err, len(s.books.Documents))
		}
		s.done = accounting.Progress{}
		if _, err := s.create("ts-1", s.prepare(invoice("ts-1", "EUR", "91"))); !unknownOutcome(err) {
			t.Errorf("other lines under the same key = %v, want the outcome unknown", err)
		}
		other := s.prepare(invoice("ts-2", "EUR", "91"))
		s.done = accounting.Progress{}
		if _, err := s.create("ts-1", other); !unknownOutcome(err) || len(s.books.Documents) != 1 {
			t.Errorf("another invoice under the same key = %v, want the outcome unknown", err)
		}
	})
}

func TestReplayedFailureIsNotARefusal(t *testing.T) {
	in(t, "", func(s *scene) {
		s.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.Method == http.MethodPost {
				w.Header().Set("Idempotent-Replayed", "true")
				problem(w, 500, map[string]any{"type": "api_error", "message": "An unknown error occurred"})
			}
			return r.Method == http.MethodPost
		}
		if _, err := s.create("ts-1", s.prepare(invoice("ts-1", "EUR", "90"))); !unknownOutcome(err) {
			t.Errorf("Create with a replayed 500 = %v, want the outcome unknown", err)
		}
	})
}

func TestReplayedSuccessIsReadAnew(t *testing.T) {
	in(t, "", func(s *scene) {
		inv := invoice("ts-1", "EUR", "90")
		req := s.prepare(inv)
		s.made(inv)
		s.books.Documents[0].Status = accounting.Final
		s.done = accounting.Progress{}
		if r, err := s.create("ts-1", req); err != nil || r.Status != accounting.Final {
			t.Errorf("the same keys again = %+v, %v; want the invoice as it is now", r, err)
		}
	})
}

func TestRefusedLinesNameTheDraftThatStays(t *testing.T) {
	in(t, "", func(s *scene) {
		inv := invoice("ts-1", "EUR", "90")
		inv.Tax = "txr_none"
		_, err := s.create("ts-1", s.prepare(inv))
		if !errors.Is(err, accounting.ErrRejected) || !strings.Contains(err.Error(), "No such tax rate") || !strings.Contains(err.Error(), "in_9001 was begun and stays without lines") {
			t.Errorf("Create with an unknown tax rate = %v, want it refused, and the draft named", err)
		}
	})
}

func TestInclusiveTaxIsSeen(t *testing.T) {
	in(t, "", func(s *scene) {
		inv := invoice("ts-1", "EUR", "120")
		inv.Tax = "txr_vat"
		if r := s.made(inv); !r.Bills(inv) {
			t.Errorf("with an exclusive rate: %+v, want 120.00", r)
		}
		inv.Reference, inv.Tax, s.done = "ts-2", "txr_inclusive", accounting.Progress{}
		if _, err := s.create("ts-2", s.prepare(inv)); !unknownOutcome(err) || !strings.Contains(err.Error(), "100.00 EUR") || !strings.Contains(err.Error(), "inclusive") {
			t.Errorf("with an inclusive rate: %v, want it told that 100.00 is billed", err)
		}
		if found, err := s.Find(s.Context(), "ts-2"); err != nil || len(found) != 1 || found[0].Bills(inv) {
			t.Errorf("Find = %+v, %v; want a draft of other amounts", found, err)
		}
	})
}

func TestManyLines(t *testing.T) {
	in(t, product, func(s *scene) {
		amounts := slices.Repeat([]string{"90.25"}, 250)
		inv := invoice("ts-1", "EUR", amounts...)
		if r := s.made(inv); !r.Bills(inv) {
			t.Errorf("250 lines: %d of %s, want all", len(r.Amounts), r.Net)
		}
		if _, err := s.Prepare(invoice("ts-2", "EUR", append(amounts, "1")...)); err == nil || !strings.Contains(err.Error(), "251 lines") {
			t.Errorf("Prepare with 251 lines = %v, want it refused", err)
		}
	})
}

func TestLateInvoiceIsDueAfterAsManyDays(t *testing.T) {
	in(t, "", func(s *scene) {
		req := s.prepare(invoice("ts-1", "EUR", "90"))
		time.Sleep(30 * 24 * time.Hour)
		if _, err := s.create("ts-1", req); err != nil {
			t.Fatal(err)
		}
		if d := s.books.Documents[0]; d.Due.String() != "2026-12-23" || len(s.books.Documents) != 1 {
			t.Errorf("created on 9 December, it is due on %s; want 2026-12-23, 14 days later", d.Due)
		}
		inv := invoice("ts-2", "EUR", "90")
		inv.Due = civil.Date{}
		s.made(inv)
		if d := s.books.Documents[1]; d.Due.String() != "2027-01-08" {
			t.Errorf("without a due date it is due on %s, want 2027-01-08, 30 days later", d.Due)
		}
	})
}

func TestUnitsOfCurrencies(t *testing.T) {
	in(t, "", func(s *scene) {
		for _, tt := range []struct{ currency, amount, want string }{
			{"EUR", "12.34", "amount%5D=1234"}, {"JPY", "1234", "amount%5D=1234"}, {"ISK", "1234", "amount%5D=123400"}, {"UGX", "5", "amount%5D=500"}, {"KWD", "1.230", "amount%5D=1230"},
		} {
			inv := invoice("ts-1", money.Currency(tt.currency), tt.amount)
			if body := string(s.prepare(inv).Steps[1].Body); !strings.Contains(body, tt.want) {
				t.Errorf("%s %s: %s, want %s", tt.amount, tt.currency, body, tt.want)
			}
		}
		for currency, amount := range map[string]string{"KWD": "1.234", "JPY": "0.5", "EUR": "0.001"} {
			if _, err := s.Prepare(invoice("ts-1", money.Currency(currency), amount)); err == nil || !strings.Contains(err.Error(), currency) {
				t.Errorf("Prepare of %s %s = %v, want it refused", amount, currency, err)
			}
		}
	})
}
