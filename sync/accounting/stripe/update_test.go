package stripe_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tidemark/sync/accounting"
)

func TestUpdateTakesLinesAway(t *testing.T) {
	in(t, "", func(s *scene) {
		left := s.made(invoice("ts-1", "EUR", "90", "80", "70"))
		inv := invoice("ts-1", "EUR", "95")
		got, err := s.Update(s.Context(), "ts-1.2", s.prepare(inv), left)
		if err != nil || !got.Bills(inv) || len(s.books.Documents) != 1 || len(s.books.Documents[0].Lines) != 1 {
			t.Errorf("Update = %+v, %v; want one line of 95.00", got, err)
		}
		var keys []string
		for _, w := range s.writes()[2:] {
			keys = append(keys, w.key)
		}
		if strings.Join(keys, " ") != "ts-1.2/1 ts-1.2/2" {
			t.Errorf("keys = %v, want one for each call", keys)
		}
	})
}

func TestUpdateOfAsManyLinesIsOneCall(t *testing.T) {
	in(t, product, func(s *scene) {
		left := s.made(invoice("ts-1", "EUR", "90", "80"))
		inv := invoice("ts-1", "EUR", "95", "80")
		if got, err := s.Update(s.Context(), "ts-1.2", s.prepare(inv), left); err != nil || !got.Bills(inv) || len(s.writes()) != 3 {
			t.Errorf("Update = %+v, %v after %d writes; want it after the third", got, err, len(s.writes()))
		}
	})
}

func TestSecondCallOfAnUpdateThatFailsIsNeitherRefusedNorUnsent(t *testing.T) {
	for _, status := range []int{400, 401, 429} {
		in(t, "", func(s *scene) {
			left := s.made(invoice("ts-1", "EUR", "90"))
			s.before = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n < 4 || r.Method != http.MethodPost {
					return false
				}
				wrong(w, status, "", "no")
				return true
			}
			_, err := s.Update(s.Context(), "ts-1.2", s.prepare(invoice("ts-1", "EUR", "95", "80")), left)
			if !unknownOutcome(err) || errors.Is(err, accounting.ErrPaused) != (status != 400) {
				t.Errorf("%d: Update = %v, want the outcome unknown", status, err)
			}
		})
	}
}

func TestDraftThatIsFinalisedMeanwhileIsTouched(t *testing.T) {
	in(t, "", func(s *scene) {
		left := s.made(invoice("ts-1", "EUR", "90"))
		s.before = func(_ http.ResponseWriter, r *http.Request, n int) bool {
			if n == 3 && r.Method == http.MethodPost {
				s.books.Documents[0].Status = accounting.Final
			}
			return false
		}
		if _, err := s.Update(s.Context(), "ts-1.2", s.prepare(invoice("ts-1", "EUR", "95")), left); !errors.Is(err, accounting.ErrTouched) {
			t.Errorf("Update of a draft that was finalised after the look = %v, want it touched", err)
		}
	})
}
