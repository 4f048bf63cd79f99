package sync

import (
	"context"
	"errors"
	"time"

	"tidemark/state"
	"tidemark/sync/tracker"
)

// unreadFor is how long a record may stay unread before it is a person's.
const unreadFor = 24 * time.Hour

// readUnread asks by id for the records that could not be read before, and hands those of a day ago to
// a person. An error here is the record's own: one that concerns the tracker has ended the traversal.
func (t *traversal) readUnread(ctx context.Context) error {
	unread, err := t.store.Unread(t.channel)
	if err != nil || len(unread) == 0 {
		return err
	}
	page, gone := tracker.Page{}, state.Intake{Now: t.query.Now}
	var old []state.Conclusion
	for _, u := range unread {
		w, err := t.tracker.Week(ctx, u.ID)
		switch {
		case err == nil:
			page.Weeks = append(page.Weeks, w)
			gone.Gone = append(gone.Gone, u.ID)
		case errors.Is(err, tracker.ErrGone) && !t.announced[u.ID]:
			gone.Gone = append(gone.Gone, u.ID)
		case ctx.Err() != nil:
			return ctx.Err()
		case !t.query.Now.Before(u.First.Add(unreadFor)):
			old = append(old, t.unreadItem(u))
		}
	}
	if err := t.takeIn(page); err != nil {
		return err
	}
	if _, err := t.store.TakeIn(t.channel, gone); err != nil {
		return err
	}
	asked, err := t.store.Conclude(t.channel.Account, old, t.query.Now)
	t.report.ask(asked)
	return err
}

// unheard returns the kept records of which nothing approved was ever taken in: work may be missed there.
func (t *traversal) unheard(kept []tracker.Kept) (unread []tracker.Unread, err error) {
	for _, k := range kept {
		heads, err := t.store.Heads(t.channel, []state.Place{{First: k.Period.First, ID: k.ID}})
		if err != nil {
			return nil, err
		}
		if h := heads[0]; (h == nil || !h.State.Approves()) && !k.Period.Last.Before(t.rules.Start) {
			unread = append(unread, tracker.Unread{ID: k.ID, Reason: k.Reason})
		}
	}
	return unread, nil
}
