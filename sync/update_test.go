package sync

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/accounting"
)

// unknownUpdate is a scene in which an update of a draft ended without an answer.
func unknownUpdate(t *testing.T, f peerFault) *scene {
	s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
	w := week("r1", entry("a", 1))
	s.bill(1, w)
	s.books.faults = []peerFault{f}
	s.tracker.put(again(w, s.now, entry("a", 2)))
	s.failing()
	return s
}

func TestUpdateWithoutAnAnswerIsRead(t *testing.T) {
	tests := []struct {
		name  string
		fault peerFault
		mend  func(b *peerBooks)
		keys  []string
		net   string
		kind  state.Kind
	}{
		{"row 10: as wanted", lostReply, func(*peerBooks) {}, []string{"", ".2"}, "200", ""},
		{"row 10: as wanted, approved since then", lostReply, func(b *peerBooks) {
			b.touch("inv-1", func(r *accounting.Receipt) { r.Status = accounting.Final })
		}, []string{"", ".2"}, "200", ""},
		{"row 10: as we left it", lostRequest, func(*peerBooks) {}, []string{"", ".2"}, "200", ""},
		{"row 10: never sent", refusedNow, func(*peerBooks) {}, []string{"", ".2"}, "200", ""},
		{"row 10: a person changed it before", lostRequest, func(b *peerBooks) {
			b.touch("inv-1", func(r *accounting.Receipt) { r.Net = decimal.NewFromInt(90) })
		}, []string{""}, "90", state.Changed},
		{"row 10: approved before", lostRequest, func(b *peerBooks) {
			b.touch("inv-1", func(r *accounting.Receipt) { r.Status = accounting.Final })
		}, []string{""}, "100", state.Changed},
		{"row 10: gone", lostRequest, func(b *peerBooks) { b.docs = nil }, []string{""}, "0", state.Changed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := unknownUpdate(t, tt.fault)
			tt.mend(s.books)
			s.pass()
			ref := s.only().Reference
			var keys []string
			for _, k := range tt.keys {
				keys = append(keys, ref+k)
			}
			s.wantCalls(keys...)
			s.wantLive(len(s.books.live()), tt.net)
			if tt.kind != "" {
				s.asked(tt.kind)
			} else {
				s.wantItems(0)
			}
			s.quiet()
		})
	}
}

// TestStaleTokenIsReadAgainOnce: a draft whose token moved between our read and our update, with our
// fields as we left them, is updated once more under the next key.
func TestStaleTokenIsReadAgainOnce(t *testing.T) {
	tests := []struct {
		name  string
		mend  func(r *accounting.Receipt)
		stale int
		keys  []string
		net   string
		kind  state.Kind
	}{
		{"our fields as we left them", func(*accounting.Receipt) {}, 1, []string{"", ".3"}, "200", ""},
		{"twice in a row", func(*accounting.Receipt) {}, 2, []string{""}, "100", state.Changed},
		{"another amount", func(r *accounting.Receipt) { r.Net = decimal.NewFromInt(90) }, 1, []string{""}, "90", state.Changed},
		{"approved", func(r *accounting.Receipt) { r.Status = accounting.Final }, 1, []string{""}, "100", state.Changed},
		{"edited", func(r *accounting.Receipt) { r.Status = accounting.Edited }, 1, []string{""}, "100", state.Changed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, func(r *Settings) { r.Corrections = UpdateDrafts })
			w := week("r1", entry("a", 1))
			s.bill(1, w)
			racing := &racingBooks{peerBooks: s.books, mend: tt.mend, left: tt.stale}
			engine := New(s.store, s.tracker, racing, s.rules, func() time.Time { return s.now }, s.engine.log, nil)
			s.tracker.put(again(w, s.now, entry("a", 2)))
			_, err := engine.Pass(context.Background(), s.now)
			s.must(err)
			ref := s.only().Reference
			var keys []string
			for _, k := range tt.keys {
				keys = append(keys, ref+k)
			}
			s.wantCalls(keys...)
			s.wantLive(1, tt.net)
			if tt.kind != "" {
				s.asked(tt.kind)
			} else {
				s.wantItems(0)
			}
			s.quiet()
		})
	}
}

// racingBooks lets somebody change the draft right before an update arrives.
type racingBooks struct {
	*peerBooks
	mend func(r *accounting.Receipt)
	left int
}

func (b *racingBooks) Update(ctx context.Context, key string, req accounting.Request, left accounting.Receipt) (accounting.Receipt, error) {
	if b.left > 0 {
		b.left--
		b.touch(left.ID, b.mend)
	}
	return b.peerBooks.Update(ctx, key, req, left)
}

// TestPassAndBackfillResolveOneAttemptOnce: both meet the same unknown outcome, and the second finds it settled.
func TestPassAndBackfillResolveOneAttemptOnce(t *testing.T) {
	s, w := unknownCreate(t, lostReply, sure)
	done := make(chan error)
	go func() {
		_, err := s.engine.Backfill(context.Background(), s.now, w.Period, func(int, int, Slice) {})
		done <- err
	}()
	_, err := s.engine.Pass(context.Background(), s.now)
	if err = errors.Join(err, <-done); err != nil {
		t.Errorf("pass and backfill: %v, want no error", err)
	}
	s.wantCalls(s.only().Reference)
	s.wantLive(1, "100")
}

func TestUpdateIsNotSentAgainWhereNothingGuardsTheDraft(t *testing.T) {
	s := unknownUpdate(t, lostRequest)
	s.books.traits.GuardsDrafts = false
	s.pass()
	s.asked(state.Changed)
	s.wantCalls(s.only().Reference)
}
