package sync

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tidemark/state"
	"tidemark/sync/accounting"
)

// sighting is what the accounting system has of one document of a group.
type sighting struct {
	document *state.Document      // nil: none is recorded
	here     *accounting.Receipt  // the recorded invoice as it is now; nil: it is gone
	others   []accounting.Receipt // live ones that bear the same reference
}

// stands reports whether the recorded invoice is there, and not void.
func (s sighting) stands() bool { return s.here != nil && s.here.Status != accounting.Void }

// live returns the invoices that a client may pay, the recorded one first.
func (s sighting) live() (all []accounting.Receipt) {
	if s.stands() {
		all = append(all, *s.here)
	}
	return append(all, s.others...)
}

// lookAll looks for the invoices of each group, by their references and ids.
func (a *auditor) lookAll(ctx context.Context, tasks []*task) ([]*audited, error) {
	all := make([]*audited, len(tasks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(a.rules.Workers, 1))
	for i, t := range tasks {
		all[i] = &audited{task: t}
		group.Go(func() (err error) {
			if all[i].seen, err = a.lookFor(ctx, t); err != nil {
				err = fmt.Errorf("accounting: %s: %w", t.reference(), err)
			}
			return err
		})
	}
	return all, group.Wait()
}

// lookFor looks for the invoices of a group. Of one that is not to be billed, the list has told.
func (a *auditor) lookFor(ctx context.Context, t *task) (all []sighting, err error) {
	docs := t.sit.Documents
	switch {
	case len(docs) == 0 && t.decision.Do == Finish:
		return []sighting{{others: a.listedUnder(t.reference())}}, nil
	case len(docs) == 0:
		s, err := a.sight(ctx, t.reference(), nil)
		return []sighting{s}, err
	}
	for i := range docs {
		s, err := a.sight(ctx, documentReference(t.reference(), docs[i].Number), &docs[i])
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (a *auditor) listedUnder(reference string) (live []accounting.Receipt) {
	for _, r := range a.listed {
		if r.Reference == reference && r.Status != accounting.Void {
			live = append(live, r)
		}
	}
	return live
}

// sight looks a document up. Where two invoices have one id, that one is the recorded that says the same.
func (a *auditor) sight(ctx context.Context, reference string, doc *state.Document) (s sighting, err error) {
	found, err := a.books.Find(ctx, reference)
	if err != nil {
		return s, err
	}
	if s.document = doc; doc != nil {
		s.here, err = a.recordedAmong(ctx, found, doc.Receipt)
	}
	for i := range found {
		if &found[i] != s.here && found[i].Status != accounting.Void {
			s.others = append(s.others, found[i])
		}
	}
	return s, err
}

// recordedAmong returns the invoice that was recorded, which may no longer bear its reference; nil if it is gone.
func (a *auditor) recordedAmong(ctx context.Context, found []accounting.Receipt, recorded accounting.Receipt) (here *accounting.Receipt, err error) {
	for i := range found {
		if r := &found[i]; r.ID == recorded.ID && (here == nil || !here.Agrees(recorded) && r.Agrees(recorded)) {
			here = r
		}
	}
	if here != nil {
		return here, nil
	}
	r, err := a.books.Read(ctx, recorded.ID)
	if errors.Is(err, accounting.ErrAbsent) {
		return nil, nil
	}
	return &r, err
}
