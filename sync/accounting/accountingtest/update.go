package accountingtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/internal/remote/remotetest"
	"tidemark/sync/accounting"
)

// changed returns an invoice with other lines.
func (s *scene) changed(reference string) accounting.Invoice {
	inv := s.invoice(reference)
	inv.Lines[0].Seconds, inv.Lines[0].Amount = 7200, decimal.NewFromInt(190)
	inv.Lines = append(inv.Lines, accounting.Line{Text: "Cyd", Seconds: 3600, Rate: decimal.NewFromInt(70), Amount: decimal.NewFromInt(70)})
	return inv
}

func updates(s *scene) {
	left := s.must(s.create(s.invoice("ts-u")))
	inv := s.changed("ts-u")
	got, err := s.system.Update(s.Context(), "ts-u.2", s.prepare(inv), left)
	if err != nil || !got.Bills(inv) || got.ID != left.ID {
		s.Fatalf("Update = %+v, %v; want draft %s with the new lines", got, err, left.ID)
	}
	docs := s.live("ts-u")
	if len(docs) != 1 || !docs[0].Net().Equal(inv.Net()) || docs[0].Status != accounting.Draft || len(docs[0].Lines) != 3 {
		s.Errorf("the books hold %+v, want the one draft with three lines", docs)
	}
	s.settled()
	if found := s.find("ts-u"); len(found) != 1 || !found[0].Untouched(got) {
		s.Errorf("Find = %+v, want it as the update left it: %+v", found, got)
	}
}

// updateTouched changes a draft before the update arrives. Nothing of it may be overwritten.
func updateTouched(s *scene) {
	type touch struct {
		name string
		skip bool
		do   func(*Document)
	}
	for i, tt := range []touch{
		{"finalised", s.NoFinal, func(d *Document) { d.Status = accounting.Final }},
		{"voided", s.NoVoid, func(d *Document) { d.Status = accounting.Void }},
		{"an amount changed", false, func(d *Document) { d.Lines[0].Amount = d.Lines[0].Amount.Add(decimal.NewFromInt(1)) }},
		{"a line removed", false, func(d *Document) { d.Lines = d.Lines[:1] }},
		{"given to another customer", false, func(d *Document) { d.Customer = "72" }},
	} {
		if tt.skip {
			continue
		}
		reference := fmt.Sprintf("ts-t%d", i)
		left := s.must(s.create(s.invoice(reference)))
		s.books.Touch(s.live(reference)[0], tt.do)
		before := fmt.Sprintf("%+v", *s.live(reference)[0])
		if _, err := s.system.Update(s.Context(), reference+".2", s.prepare(s.changed(reference)), left); !errors.Is(err, accounting.ErrTouched) {
			s.Errorf("%s: Update = %v, want it refused as touched", tt.name, err)
		}
		if after := fmt.Sprintf("%+v", *s.live(reference)[0]); after != before {
			s.Errorf("%s: the books hold\n%s\nwant\n%s", tt.name, after, before)
		}
	}
}

func updateWithoutAnswer(s *scene) {
	left := s.must(s.create(s.invoice("ts-w")))
	s.fail("after write", slices.Repeat([]remotetest.Fault{remotetest.Reset}, 12)...) // net/http repeats, too.
	inv := s.changed("ts-w")
	_, err := s.system.Update(s.Context(), "ts-w.2", s.prepare(inv), left)
	s.fail("after write")
	if err == nil || is(err, accounting.ErrRejected) || is(err, accounting.ErrNotSent) || is(err, accounting.ErrTouched) {
		s.Errorf("Update without an answer = %v, want an error that leaves the outcome unknown", err)
	}
	if got, err := s.system.Read(s.Context(), left.ID); err != nil || !got.Bills(inv) {
		s.Errorf("Read = %+v, %v; want what the update made", got, err)
	}
}
