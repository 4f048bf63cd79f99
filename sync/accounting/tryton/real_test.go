package tryton_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"tidemark/config"
	"tidemark/sync/accounting"
)

// onBoth runs a test against a real Tryton on either database.
func onBoth(t *testing.T, test func(*server)) {
	for name, variable := range map[string]string{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) { test(serverOn(t, variable)) })
	}
}

func TestRealDraftIsMadeFoundAndChanged(t *testing.T) {
	onBoth(t, func(s *server) {
		books, reference := s.plain(), references()+"1"
		inv := s.invoice(reference)
		got := s.create(books, inv)
		if !got.Bills(inv) || got.Status != accounting.Draft || got.Reference != reference || got.Number != "" {
			s.Fatalf("Create = %+v, want a draft that bills %s", got, inv.Net())
		}
		found, err := books.Find(s.Context(), reference)
		if err != nil || len(found) != 1 || !found[0].Untouched(got) {
			s.Fatalf("Find = %+v, %v; want %+v", found, err, got)
		}
		if found, err := books.Find(s.Context(), strings.ToUpper(reference)); err != nil || len(found) != 0 {
			s.Errorf("Find in capitals = %+v, %v; want none", found, err)
		}
		s.total(got.ID, "491.50")

		inv.Lines = append(inv.Lines[:1], accounting.Line{Text: "Cyd", Seconds: 3600, Rate: decimal.NewFromInt(70), Amount: decimal.NewFromInt(70)})
		changed, err := books.Update(s.Context(), reference+".2", s.prepare(books, inv), got)
		if err != nil || !changed.Bills(inv) || changed.ID != got.ID {
			s.Fatalf("Update = %+v, %v; want it to bill %s", changed, err, inv.Net())
		}
		s.total(got.ID, "255.00")
		if again, err := books.Read(s.Context(), got.ID); err != nil || !again.Untouched(changed) {
			s.Errorf("Read = %+v, %v; want %+v", again, err, changed)
		}
		s.once(reference, 1)
	})
}

// total holds what a person sees: the total with tax.
func (s *server) total(id, want string) {
	s.Helper()
	n, _ := strconv.Atoi(id)
	rows := s.person("model.account.invoice.read", []int{n}, []string{"total_amount"})
	total := rows.([]any)[0].(map[string]any)["total_amount"].(map[string]any)["decimal"].(string)
	if !decimal.RequireFromString(total).Equal(decimal.RequireFromString(want)) {
		s.Errorf("the total with tax of invoice %s = %s, want %s", id, total, want)
	}
}

func TestRealCurrencies(t *testing.T) {
	onBoth(t, func(s *server) {
		books, prefix := s.plain(), references()
		for currency, amount := range map[string]string{"JPY": "143", "KWD": "142.505"} {
			inv := s.invoice(prefix + strings.ToLower(currency))
			inv.Currency, inv.Tax = "JPY", ""
			if currency == "KWD" {
				inv.Currency = "KWD"
			}
			inv.Lines = inv.Lines[:1]
			inv.Lines[0].Stated, inv.Lines[0].Amount = true, decimal.RequireFromString(amount)
			if got := s.create(books, inv); !got.Bills(inv) {
				s.Errorf("%s: Create = %+v, want %s", currency, got, amount)
			}
		}
	})
}

func TestRealDraftThatAPersonTouchedIsLeftAlone(t *testing.T) {
	onBoth(t, func(s *server) {
		books, prefix := s.plain(), references()
		for name, touch := range map[string]func(id int){
			"a": func(id int) { // A price is changed.
				line := s.person("model.account.invoice.line.search", []any{[]any{"invoice", "=", id}, []any{"type", "=", "line"}}, 0, 1, nil).([]any)[0]
				s.person("model.account.invoice.line.write", []any{line}, map[string]any{"unit_price": map[string]any{"__class__": "Decimal", "decimal": "1"}})
			},
			"b": func(id int) { s.person("model.account.invoice.post", []int{id}) },
			"c": func(id int) { s.person("model.account.invoice.cancel", []int{id}) },
			"d": func(id int) { s.person("model.account.invoice.delete", []int{id}) },
		} {
			left := s.create(books, s.invoice(prefix+name))
			id, _ := strconv.Atoi(left.ID)
			touch(id)
			before := s.bills(prefix + name)
			inv := s.invoice(prefix + name)
			inv.Lines = inv.Lines[:1]
			if _, err := books.Update(s.Context(), "k", s.prepare(books, inv), left); !errors.Is(err, accounting.ErrTouched) {
				s.Errorf("%s: Update = %v, want it refused as touched", name, err)
			}
			if after := s.bills(prefix + name); len(after) != len(before) {
				s.Errorf("%s: %v invoices, before the update %v", name, after, before)
			}
		}
		for name, want := range map[string]accounting.Status{"a": accounting.Draft, "b": accounting.Final, "c": accounting.Void} {
			if found, err := books.Find(s.Context(), prefix+name); err != nil || len(found) != 1 || found[0].Status != want {
				s.Errorf("%s: Find = %+v, %v; want it, %s", name, found, err, want)
			}
		}
	})
}

func TestRealChangeBetweenLookAndWriteIsNotOverwritten(t *testing.T) {
	s := serverOn(t, onPostgres) // Timestamps on SQLite have whole seconds.
	reference := references() + "1"
	left := s.create(s.plain(), s.invoice(reference))
	id, _ := strconv.Atoi(left.ID)
	for name, change := range map[string]func(){
		"the invoice": func() { s.person("model.account.invoice.write", []int{id}, map[string]any{"comment": "please call"}) },
		"a line": func() {
			line := s.person("model.account.invoice.line.search", []any{[]any{"invoice", "=", id}, []any{"type", "=", "line"}}, 0, 1, nil).([]any)[0]
			s.person("model.account.invoice.line.write", []any{line}, map[string]any{"description": "by hand"})
		},
	} {
		var err error
		if left, err = s.plain().Read(s.Context(), left.ID); err != nil {
			t.Fatal(err)
		}
		books := s.system(s.settings(), &wire{Before: func(method string, _ *http.Request) error {
			if method == "model.account.invoice.write" {
				change()
			}
			return nil
		}})
		inv := s.invoice(reference)
		inv.Lines = inv.Lines[:1]
		if _, err := books.Update(s.Context(), "k", s.prepare(books, inv), left); !errors.Is(err, accounting.ErrTouched) {
			t.Errorf("%s was changed after the look: Update = %v, want it refused as touched", name, err)
		}
		if now, err := s.plain().Read(s.Context(), left.ID); err != nil || !now.Net.Equal(left.Net) || now.Token == left.Token {
			t.Errorf("%s was changed: Read = %+v, %v; want the person's change and nothing else", name, now, err)
		}
	}
}

func TestRealRefusals(t *testing.T) {
	onBoth(t, func(s *server) {
		prefix := references()
		wrong := s.settings()
		wrong.Revenue = wrong.Receivable // Not an account of revenue.
		books := s.system(wrong, http.DefaultTransport)
		_, err := books.Create(s.Context(), "k", s.prepare(books, s.invoice(prefix+"1")), accounting.Progress{}, forget)
		if !errors.Is(err, accounting.ErrRejected) || !strings.Contains(err.Error(), "Account") {
			s.Errorf("Create with a wrong account = %v, want Tryton's sentence and it rejected", err)
		}
		nobody := s.invoice(prefix + "2")
		nobody.Customer = "999999"
		if _, err := books.Create(s.Context(), "k", s.prepare(books, nobody), accounting.Progress{}, forget); !errors.Is(err, accounting.ErrRejected) {
			s.Errorf("Create for nobody = %v, want it rejected", err)
		}
		s.once(prefix, 0)

		guest := s.settings()
		guest.User = s.Get("guest")
		books = s.system(guest, http.DefaultTransport)
		if found, err := books.Find(s.Context(), prefix+"1"); !errors.Is(err, accounting.ErrPaused) {
			s.Errorf("Find without rights = %+v, %v; want it paused", found, err)
		}
		if a, err := books.Access(s.Context()); err != nil || len(a.Notes) == 0 || !strings.Contains(a.Notes[0], "group Account") {
			s.Errorf("Access without rights = %+v, %v; want a note with the cure", a, err)
		}
	})
}

func TestRealAccessAndCustomers(t *testing.T) {
	onBoth(t, func(s *server) {
		if a, err := s.plain().Access(s.Context()); err != nil || a.Account != "Tidemark Test Agency (EUR)" || len(a.Notes) != 0 {
			s.Errorf("Access = %+v, %v; want the company and no notes", a, err)
		}
		all, err := s.plain().Customers(s.Context())
		want := accounting.Party{ID: s.Get("other"), Name: "O'Keefe & Fleur’s"}
		for _, p := range all {
			if p == want {
				return
			}
		}
		s.Errorf("Customers = %+v, %v; want %+v among them", all, err, want)
	})
}

func TestRealSessionThatEndedIsOpenedOnce(t *testing.T) {
	onBoth(t, func(s *server) {
		header := ""
		w := &wire{Before: func(_ string, req *http.Request) error {
			header = req.Header.Get("Authorization")
			return nil
		}}
		books := s.system(s.settings(), w)
		for range 3 {
			if _, err := books.Find(s.Context(), "r-none"); err != nil {
				s.Fatal(err)
			}
		}
		if n := w.count("common.db.login"); n != 1 {
			s.Errorf("%d logins for three look-ups, want 1", n)
		}
		s.logout(header)
		if _, err := books.Find(s.Context(), "r-none"); err != nil {
			s.Errorf("Find after the session has ended = %v, want it to sign in again", err)
		}
		if n := w.count("common.db.login"); n != 2 {
			s.Errorf("%d logins after the session has ended, want 2", n)
		}
	})
}

// logout ends a session.
func (s *server) logout(header string) {
	s.Helper()
	body := strings.NewReader(`{"id":1,"method":"common.db.logout","params":[]}`)
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.base+"/"+s.name+"/", body)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", header)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.Fatalf("logout: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

func TestRealWrongPasswordIsNotTriedAgain(t *testing.T) {
	s := serverOn(t, onSQLite)
	set := s.settings()
	set.User, set.Password = s.Get("guest"), config.SecretOf("not-the-password-1")
	w := &wire{}
	books := s.system(set, w)
	for range 9 {
		if _, err := books.Find(s.Context(), "r-none"); !errors.Is(err, accounting.ErrPaused) {
			t.Fatalf("Find with a wrong password = %v, want it paused", err)
		}
	}
	if n := w.count("common.db.login"); n != 1 {
		t.Errorf("%d logins with a wrong password, want 1: Tryton locks the user out after five", n)
	}
	set.Password = config.SecretOf(s.Get("password"))
	if a, err := s.system(set, w).Access(s.Context()); err != nil {
		t.Errorf("Access with the right password = %+v, %v", a, err)
	}
}
