package accountingtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
)

// put puts a document of a person into the books.
func (s *scene) put(reference string, change func(*Document)) *Document {
	defer s.books.Lock()()
	d := &Document{Reference: reference, Customer: "71", Currency: "EUR", Status: accounting.Draft, Lines: []Line{{Text: "by hand", Quantity: decimal.NewFromInt(1), Price: decimal.NewFromInt(5), Amount: decimal.NewFromInt(5)}}}
	if change != nil {
		change(d)
	}
	return s.books.Add(d)
}

// findsExactly looks for a reference among others that hold it, or are held by it.
func findsExactly(s *scene) {
	for _, other := range []string{"ts-8812", "ts-88", "xts-881", "TS-881", "ts-881-2", "", " ts-881", "ts-881 " + strings.Repeat("x", 240)} {
		s.put(other, nil)
	}
	s.settled()
	if found := s.find("ts-881"); len(found) != 0 {
		s.Errorf("Find = %+v, want nothing among references that are only alike", found)
	}
	want := s.put("ts-881", nil)
	s.settled()
	if found := s.find("ts-881"); len(found) != 1 || !found[0].Net.Equal(want.Net()) {
		s.Errorf("Find = %+v, want the one document", found)
	}
}

func findsTwo(s *scene) {
	s.put("ts-2", nil)
	s.put("ts-2", func(d *Document) { d.Customer = "72" })
	s.settled()
	if found := s.find("ts-2"); len(found) != 2 {
		s.Errorf("Find = %d documents, want both", len(found))
	}
}

func findsEveryState(s *scene) {
	type state struct {
		name string
		skip bool
		want accounting.Status
		put  func(*Document)
	}
	for i, tt := range []state{
		{"final", s.NoFinal, accounting.Final, func(d *Document) { d.Status = accounting.Final }},
		{"voided", s.NoVoid || s.Blind, accounting.Void, func(d *Document) { d.Status = accounting.Void }},
		{"deleted", s.NoDelete || s.Blind, accounting.Void, func(d *Document) { d.Status, d.Deleted = accounting.Void, true }},
	} {
		if tt.skip {
			continue
		}
		reference := fmt.Sprintf("ts-st%d", i)
		s.put(reference, tt.put)
		s.settled()
		if found := s.find(reference); len(found) != 1 || found[0].Status != tt.want {
			s.Errorf("%s: Find = %+v, want it, as %s", tt.name, found, tt.want)
		}
	}
	if s.Blind && s.system.Traits().Authoritative {
		s.Error("look-ups are called authoritative, and do not see what is voided or deleted")
	}
}

func findsAmongMany(s *scene) {
	s.books.PageSize = 3
	for i := range 11 {
		s.put(fmt.Sprintf("ts-many%d", i), nil)
	}
	s.settled()
	for _, i := range []int{0, 2, 3, 5, 10} {
		if found := s.find(fmt.Sprintf("ts-many%d", i)); len(found) != 1 {
			s.Errorf("ts-many%d: %d found, want 1", i, len(found))
		}
	}
}

// errorIsNeverAbsent breaks look-ups. None of them may say that there is nothing.
func errorIsNeverAbsent(s *scene) {
	d := s.put("ts-a", nil)
	s.settled()
	id := s.idOf(d)
	for _, tt := range []struct {
		fault  remotetest.Fault
		paused bool
	}{
		{remotetest.Status(401), true}, {remotetest.Status(403), true}, {remotetest.Status(402), true}, {remotetest.Status(429), true},
		{remotetest.Status(500), false}, {remotetest.HTML, false}, {remotetest.Empty, false}, {remotetest.Cut, false},
		{remotetest.Short, false}, {remotetest.Reset, false}, {remotetest.Silence, false}, {remotetest.Status(400), false},
	} {
		all := slices.Repeat([]remotetest.Fault{tt.fault}, 20)
		s.fail("read", all...)
		found, err := s.system.Find(s.Context(), "ts-a")
		if err == nil || is(err, accounting.ErrPaused) != tt.paused {
			s.Errorf("%s: Find = %d, %v; want an error, paused %v", tt.fault, len(found), err, tt.paused)
		}
		s.hidden(err)
		s.fail("read", all...)
		if _, err := s.system.Read(s.Context(), id); err == nil || errors.Is(err, accounting.ErrAbsent) {
			s.Errorf("%s: Read = %v, want an error that does not say absent", tt.fault, err)
		}
		s.fail("read")
		time.Sleep(time.Hour)
	}
	if found := s.find("ts-a"); len(found) != 1 {
		s.Errorf("Find = %d once all is well, want 1", len(found))
	}
}

// idOf returns the id of a document as the system shows it.
func (s *scene) idOf(d *Document) string {
	s.Helper()
	found := s.find(d.Reference)
	if len(found) != 1 {
		s.Fatalf("Find(%s) = %d documents, want 1", d.Reference, len(found))
	}
	return found[0].ID
}

// lag lets searches see nothing new for as long as the traits say that it may last.
func lag(s *scene) {
	s.books.Lag = s.system.Traits().SearchLag
	s.must(s.create(s.invoice("ts-l")))
	time.Sleep(s.system.Traits().SearchLag)
	if found := s.find("ts-l"); len(found) != 1 {
		s.Errorf("Find after the lag = %d, want 1", len(found))
	}
}

func reads(s *scene) {
	inv := s.invoice("ts-read")
	got := s.must(s.create(inv))
	again, err := s.system.Read(s.Context(), got.ID)
	if err != nil || !again.Bills(inv) || !again.Untouched(got) {
		s.Errorf("Read = %+v, %v; want what was created: %+v", again, err, got)
	}
	docs := s.live("ts-read")
	s.books.Touch(docs[0], func(d *Document) { d.Lines[0].Amount = d.Lines[0].Amount.Add(decimal.New(1, -2)) })
	if again, err = s.system.Read(s.Context(), got.ID); err != nil || again.Bills(inv) || again.Untouched(got) {
		s.Errorf("Read after a cent was added = %+v, %v; want it told from what was left", again, err)
	}
}

func access(s *scene) {
	a, err := s.system.Access(s.Context())
	if err != nil || a.Account == "" || a.Makes == "" {
		s.Errorf("Access = %+v, %v; want an account and what is made there", a, err)
	}
	customers, err := s.system.Customers(s.Context())
	if err != nil || len(customers) != 2 || customers[0].ID != s.customer("71") || customers[1].Name != "O'Keefe & Fleur’s" {
		s.Errorf("Customers = %+v, %v; want the two of the books", customers, err)
	}
	if n := len(s.sent()); n != 0 {
		s.Errorf("Access and Customers wrote: %v", s.sent())
	}
	other := s.New(s.T, s.net, remotetest.Base, "wrong-token-"+s.Token)
	if _, err := other.Access(s.Context()); !is(err, accounting.ErrPaused) {
		s.Errorf("Access with a wrong token = %v, want it paused", err)
	}
}
