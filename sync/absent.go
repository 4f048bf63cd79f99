package sync

import (
	"fmt"
	"slices"
	"time"

	"tidemark/state"
	"tidemark/sync/tracker"
)

// A tracker that names every week of a range says something by not naming one. Shifting pages, a lost
// permission and a member who left all look alike, so it is believed at the second reading, and what was
// approved is a person's then.

// name notes the records that a page speaks of, and returns those that earlier readings did not name.
func (t *traversal) name(page tracker.Page) (again []state.Place) {
	for _, w := range page.Weeks {
		t.named[w.ID] = true
	}
	for _, u := range page.Unread {
		t.named[u.ID] = true
	}
	for _, k := range page.Kept {
		t.named[k.ID] = true
	}
	for p := range t.missing {
		if t.named[p.ID] {
			again = append(again, p)
			delete(t.missing, p)
		}
	}
	return again
}

// unnamed looks for the stored weeks that a reading did not name.
func (t *traversal) unnamed() error {
	if !t.tracker.Traits().Whole {
		return nil
	}
	if !t.query.Since.IsZero() {
		t.doubtFeed()
		return nil
	}
	known, missing, err := t.unlisted()
	if err != nil {
		return err
	}
	if 2*len(missing) > len(known) && t.doubt("the tracker no longer lists %d of the %d weeks since %s that it listed before", len(missing), len(known), t.query.First.First) {
		return nil
	}
	return t.miss(missing)
}

// unlisted returns the stored weeks of the range that are not withdrawn, and those of them that the reading did not name.
func (t *traversal) unlisted() (known, missing []state.Known, err error) {
	known, err = t.store.Known(t.channel, t.query.First)
	known = slices.DeleteFunc(known, func(k state.Known) bool { return k.State == tracker.Withdrawn })
	missing = slices.DeleteFunc(slices.Clone(known), func(k state.Known) bool { return t.named[k.ID] })
	return known, missing, err
}

// doubtFor is how long a suspiciously empty tracker is doubted. After that its weeks are absent like any other:
// nothing is lost by it, since a person decides about each.
const doubtFor = 72 * time.Hour

// doubt notes a suspicion, and reports whether it still holds everything back.
func (t *traversal) doubt(format string, args ...any) bool {
	t.suspicious = true
	if !t.emptySince.IsZero() && !t.query.Now.Before(t.emptySince.Add(doubtFor)) {
		return false
	}
	t.report.Empty = true
	t.report.warn(format+": look whether the token still sees everybody", args...)
	return true
}

// unconfirmed reports whether a week was not named by the last reading of everything for the first time.
func unconfirmed(missing map[state.Place]time.Time, st state.Standing) bool {
	for _, since := range missing {
		if !since.Before(st.Reread) {
			return true
		}
	}
	return false
}

// doubtFeed notices an answer that cannot be: the record that set the watermark is after Since, unless it is
// gone.
func (t *traversal) doubtFeed() {
	if len(t.named) == 0 && !t.mark.IsZero() {
		t.doubt("the tracker lists no change since %s, though one was at %s", t.query.Since.UTC().Format(time.RFC3339), t.mark.UTC().Format(time.RFC3339))
	}
}

// miss notes weeks that were not named, and ends those that were not named before either.
func (t *traversal) miss(weeks []state.Known) error {
	in := state.Intake{Now: t.query.Now}
	for _, k := range weeks {
		since, before := t.missing[k.Place]
		if !before || !since.Before(t.query.Now) {
			in.Missing = append(in.Missing, k.Place)
			continue
		}
		w, err := t.store.Content(t.channel, k.Place)
		if err != nil {
			return err
		}
		if w.Trouble != nil {
			continue // It is with a person already.
		}
		change, err := t.vanish(w, since)
		if err != nil {
			return err
		}
		in.Weeks = append(in.Weeks, change)
	}
	asked, err := t.store.TakeIn(t.channel, in)
	t.report.ask(asked)
	return err
}

// vanish is what follows for a week that the tracker no longer names. One of which nothing can have been
// billed counts as withdrawn; about any other a person decides.
func (t *traversal) vanish(w tracker.Week, since time.Time) (state.Change, error) {
	heads, err := t.store.Heads(t.channel, []state.Place{state.PlaceOf(w)})
	if err != nil {
		return state.Change{}, err
	}
	head := *heads[0]
	if w.State.Approves() && slices.ContainsFunc(w.Entries, func(e tracker.Entry) bool { return e.Billable }) {
		text := fmt.Sprintf("the tracker no longer lists this week since %s: it was deleted there, its member left, or the token no longer sees it; settle it once what was billed is right, or retry when the tracker lists it again",
			since.In(t.rules.Location).Format(time.DateOnly))
		return state.Change{Week: w, Head: head, Noted: true, Item: t.weekItem(w, state.Withdrawn, text)}, nil
	}
	old := w
	w.State = tracker.Withdrawn
	head.State, head.Sequence, head.Digest = w.State, head.Sequence+1, weekDigest(w)
	groups := append(t.groupsOf(w), t.groupsOf(old)...)
	return state.Change{Week: w, Head: head, Old: &old, Groups: groups}, nil
}
