package accountingtest

import (
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/described"
	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

// Described holds the requests of a system, and the answers of its fake, against the vendor's own OpenAPI
// document, where it is at hand. Members that the document does not name are faults, too.
func Described(t *testing.T, d Dialect, document string) {
	doc := described.Open(t, document)
	doc.Strip, doc.Strict = d.Strip, true
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(begin))
		s := &scene{T: t, Dialect: d, books: NewBooks()}
		transport := remotetest.Serve(t, doc.Watch(d.Handler(s.books)))
		s.net = remote.New(remote.Options{Transport: transport})
		s.system = d.New(t, s.net, remotetest.Base, d.Token)
		s.exchange()
	})
	doc.Done()
}

// exchange does a bit of everything.
func (s *scene) exchange() {
	left := s.must(s.create(s.invoice("ts-881")))
	refusedInvoice := s.invoice("ts-882")
	refusedInvoice.Customer = s.customer("99")
	if _, err := s.create(refusedInvoice); err == nil {
		s.Error("an unknown customer was billed")
	}
	s.settled()
	s.find("ts-881")
	s.find("ts-0")
	s.list(s.invoice("ts-881").Period)
	if _, err := s.system.Read(s.Context(), left.ID); err != nil {
		s.Error(err)
	}
	if _, err := s.system.Update(s.Context(), "ts-881.2", s.prepare(s.changed("ts-881")), left); err != nil {
		s.Error(err)
	}
	if _, err := s.system.Access(s.Context()); err != nil {
		s.Error(err)
	}
	if _, err := s.system.Customers(s.Context()); err != nil {
		s.Error(err)
	}
}
