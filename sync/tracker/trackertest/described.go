package trackertest

import (
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/described"
	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/tracker"
)

// Described holds the requests of a tracker, and the answers of its fake, against the vendor's own OpenAPI
// document, where it is at hand.
func Described(t *testing.T, d Dialect, document string) {
	doc := described.Open(t, document)
	doc.Strip = d.Strip
	synctest.Test(t, func(t *testing.T) { live(t, d, doc) })
	doc.Done()
}

// live lets a tracker read a world that has a bit of everything.
func live(t *testing.T, d Dialect, doc *described.Document) {
	time.Sleep(time.Until(begin))
	w := &World{PageSize: 2}
	transport := remotetest.Serve(t, doc.Watch(d.Handler(w)))
	from := d.New(t, remote.New(remote.Options{Transport: transport}), remotetest.Base, d.Token)
	s := &scene{T: t, Dialect: d, world: w, tracker: from}
	s.team(5)
	marks(s)
	growing := w.Approve(w.Join("Growing", "Asia/Tokyo"), Monday, w.Work(Monday))
	w.Grow(growing, w.Work(Monday))
	w.Set(w.Sheets[1], tracker.Withdrawn)
	bare := w.Work(Monday)
	bare.Rate.Valid, bare.Task, bare.Note = false, tracker.Ref{}, ""
	w.Submit(w.Join("Pending", "UTC"), Week(Monday), bare)
	weeks := s.all()
	s.changed(now().Add(-time.Hour))
	if _, err := from.Week(t.Context(), weeks[0].ID); err != nil {
		t.Error(err)
	}
	if _, err := from.Access(t.Context()); err != nil {
		t.Error(err)
	}
}
