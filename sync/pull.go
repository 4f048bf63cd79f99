package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// longestPeriod is how far before a day the period that holds it may have begun: trackers know
// periods of up to a month.
const longestPeriod = 31

// pull takes in what changed. The watermark moves only when the whole traversal ended well.
func (e *Engine) pull(ctx context.Context, now time.Time, report *Report) error {
	defer e.store.Lock(e.reading())()
	standing, err := e.store.Standing(e.channel, now)
	if err != nil {
		return err
	}
	if err := e.followSettings(standing, report); err != nil {
		return err
	}
	mark, err := e.store.Watermark(e.channel)
	if err != nil {
		return err
	}
	query, err := e.query(standing, mark, now)
	if err != nil {
		return err
	}
	if err := e.mayAsk("tracker", standing.Parked, now); err != nil {
		return err
	}
	t := traversal{Engine: e, log: e.log.With().Ctx(ctx).Logger(), query: query, mark: mark, report: report, announced: map[string]bool{}, emptySince: standing.Empty}
	if t.missing, err = e.store.Missing(e.channel); err != nil {
		return err
	}
	if err := t.run(ctx); err != nil {
		return e.park(err, now)
	}
	newest := t.newest // What the re-read sees is no proof of what the feed has told.
	reread := e.rereads(standing, unconfirmed(t.missing, standing), now)
	if reread && !query.Since.IsZero() {
		if t.query, err = e.rollingQuery(now); err != nil {
			return err
		}
		if err := t.run(ctx); err != nil {
			return e.park(err, now)
		}
	}
	if err := t.readUnread(ctx); err != nil {
		return err
	}
	if report.Partial || report.Empty {
		return e.doubt(standing, report.Empty, now) // Not everything was seen: the next pass asks again from where this one did.
	}
	if err := e.store.AdvanceWatermark(e.channel, newest); err != nil {
		return err
	}
	e.faults.Hit("watermark-moved")
	return e.store.ChangeStanding(e.channel, now, func(st *state.Standing) {
		st.Rules = e.rules.fingerprint()
		st.Parked = time.Time{}
		if !t.suspicious {
			st.Empty = time.Time{}
		}
		if reread {
			st.Reread = now
		}
		st.ReadFrom = e.rules.Start // also forward: what was left out meanwhile is read again when start moves back
	})
}

// mayAsk returns why an end is not asked now: it asked to be left alone until a time that has not come.
func (e *Engine) mayAsk(end string, until, now time.Time) error {
	if !now.Before(until) {
		return nil
	}
	return fmt.Errorf("%s: parked until %s, as it asked", end, until.In(e.rules.Location).Format(time.RFC3339))
}

// park remembers until when a tracker asked to be left alone, also for the next process.
func (e *Engine) park(err error, now time.Time) error {
	until := parkedUntil(err)
	if !until.After(now) {
		return err
	}
	return errors.Join(err, e.store.ChangeStanding(e.channel, now, func(st *state.Standing) { st.Parked = until }))
}

// doubt remembers since when the tracker has been listing suspiciously little.
func (e *Engine) doubt(st state.Standing, empty bool, now time.Time) error {
	if !empty || !st.Empty.IsZero() {
		return nil
	}
	return e.store.ChangeStanding(e.channel, now, func(st *state.Standing) { st.Empty = now })
}

// rereads reports whether the last weeks are to be read whether they have changed or not: as often as the
// settings say, or the tracker needs, and once more when some were not named.
func (e *Engine) rereads(st state.Standing, missing bool, now time.Time) bool {
	traits := e.tracker.Traits()
	return traits.Feed && !traits.Wide && (missing || st.Reread.After(now) || now.Sub(st.Reread) >= e.rereadEvery())
}

func (e *Engine) rereadEvery() time.Duration {
	if least := e.tracker.Traits().Reread; least > 0 {
		return min(e.rules.RereadEvery, least)
	}
	return e.rules.RereadEvery
}

// back is how far the last weeks go that are read whether they have changed or not.
func (e *Engine) back() time.Duration {
	if e.tracker.Traits().Feed {
		return e.rules.Reread
	}
	return e.rules.Lookback
}

// query asks for what changed since the watermark less the overlap; for everything since start where
// that was never read; without a change feed for what the look-back covers.
func (e *Engine) query(st state.Standing, mark, now time.Time) (tracker.Query, error) {
	everything := tracker.Query{Now: now, First: civil.Period{First: e.rules.Start.AddDays(-longestPeriod)}}
	if st.ReadFrom.IsZero() || e.rules.Start.Before(st.ReadFrom) {
		return everything, nil
	}
	if !e.tracker.Traits().Feed {
		return e.rollingQuery(now)
	}
	if mark.IsZero() {
		return everything, nil
	}
	return tracker.Query{Now: now, Since: mark.Add(-e.rules.Overlap)}, nil
}

// rollingQuery covers the look-back before the last pass that ended well, so that nothing falls out of
// it while the program rests.
func (e *Engine) rollingQuery(now time.Time) (tracker.Query, error) {
	heart, err := e.store.Heartbeat(e.channel)
	from := now
	if !heart.Previous.IsZero() && heart.Previous.Before(from) {
		from = heart.Previous
	}
	first := todayOf(from, e.rules.Location).AddDays(-int(e.back().Hours() / 24))
	return tracker.Query{Now: now, First: civil.Period{First: first}}, err
}

// traversal is one reading of the tracker.
type traversal struct {
	*Engine
	log       zerolog.Logger // its lines bear the name of the run
	query     tracker.Query
	mark      time.Time // the watermark before it
	report    *Report
	newest    time.Time       // change that was taken in, never ahead of the tracker's own clock
	announced map[string]bool // records that were announced and could not be read
	fresh     map[string]bool // records of the page in hand that were new, or newer

	missing map[state.Place]time.Time // weeks that earlier readings did not name
	named   map[string]bool           // ids of the reading under way

	emptySince time.Time // since when the tracker has been listing suspiciously little; zero: it has not
	suspicious bool      // it does now
}

// run takes in every page, and then looks for what no page named.
func (t *traversal) run(ctx context.Context) error {
	if err := t.read(ctx); err != nil || t.report.Partial {
		return err
	}
	return t.unnamed()
}

// read takes in every page.
func (t *traversal) read(ctx context.Context) error {
	t.named = map[string]bool{}
	for page, err := range t.tracker.Weeks(ctx, t.query) {
		if err != nil {
			return fmt.Errorf("tracker: %w", err)
		}
		t.faults.Hit("page-fetched")
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.takeIn(page); err != nil {
			return err
		}
		t.faults.Hit("batch-stored")
		t.note(page)
	}
	return ctx.Err()
}

// note remembers the newest change on a page. One that is ahead of the tracker's own clock is said, and
// counts as that clock in the pass that takes it in: later the watermark would run along with the clock.
// Where the tracker tells no clock, the beginning of the pass is the limit.
func (t *traversal) note(page tracker.Page) {
	limit := page.Clock
	if limit.IsZero() {
		limit = t.query.Now
	}
	for _, w := range page.Weeks {
		changed := w.Changed
		if changed.After(limit) {
			t.report.warn("week %s changed at %s, which is in the future", w.ID, changed.UTC().Format(time.RFC3339))
			if changed = limit; !t.fresh[w.ID] {
				continue
			}
		}
		if changed.After(t.newest) {
			t.newest = changed
		}
	}
}

// takeIn judges a page and stores it in one transaction.
func (t *traversal) takeIn(page tracker.Page) error {
	for _, text := range page.Notes {
		t.report.warn("%s", text)
	}
	weeks := t.wanted(page.Weeks)
	places := make([]state.Place, len(weeks))
	for i, w := range weeks {
		places[i] = state.PlaceOf(w)
	}
	heads, err := t.store.Heads(t.channel, places)
	if err != nil {
		return err
	}
	in := state.Intake{Now: t.query.Now}
	t.fresh = map[string]bool{}
	for i, w := range weeks {
		if heads[i] == nil && w.Period.Last.Before(t.rules.Start) {
			t.report.BeforeStart++ // One that is stored may be billed: its changes are a person's.
			continue
		}
		change, err := t.judge(w, heads[i])
		if err != nil {
			return err
		}
		if change != nil {
			in.Weeks = append(in.Weeks, *change)
		}
	}
	in.Named = t.name(page)
	unheard, err := t.unheard(page.Kept)
	if err != nil {
		return err
	}
	for _, u := range append(unheard, page.Unread...) {
		t.announced[u.ID] = true
		in.Unread = append(in.Unread, state.Unread{ID: u.ID, Reason: u.Reason})
	}
	t.report.Unread += len(in.Unread)
	t.report.Partial = t.report.Partial || page.Partial
	asked, err := t.store.TakeIn(t.channel, in)
	t.report.ask(asked)
	return err
}

// wanted sorts weeks as the state does. Of two records with one id on a page, the later one is what the
// tracker says now.
func (t *traversal) wanted(weeks []tracker.Week) []tracker.Week {
	last := map[string]int{}
	for i, w := range weeks {
		last[w.ID] = i
	}
	var kept []tracker.Week
	for i, w := range weeks {
		t.report.Weeks++
		if last[w.ID] == i {
			kept = append(kept, t.examine(w))
		}
	}
	slices.SortFunc(kept, func(a, b tracker.Week) int { return state.PlaceOf(a).Compare(state.PlaceOf(b)) })
	return kept
}

// examine finds what makes a week as a whole impossible to bill.
func (e *Engine) examine(w tracker.Week) tracker.Week {
	if w.Trouble == nil {
		if text := e.contradiction(w); text != "" {
			w.Trouble = &tracker.Trouble{Kind: tracker.Ambiguous, Text: text + ": mend it at the tracker"}
		}
	}
	return w
}

// contradiction returns what in a week cannot be true; empty if nothing.
func (e *Engine) contradiction(w tracker.Week) string {
	type what struct {
		client, project string
		currency        money.Currency
	}
	var one what
	seen := make(map[string]bool, len(w.Entries))
	for i, entry := range w.Entries {
		_, currency := e.rules.effective(w.Member, entry)
		now := what{entry.Client.ID, entry.Project.ID, currency}
		switch {
		case !w.Period.Contains(entry.Date):
			return fmt.Sprintf("entry %s is of %s, which is outside of the week's period %s", entry.ID, entry.Date, w.Period)
		case seen[entry.ID]:
			return fmt.Sprintf("the week holds two entries with the id %s", entry.ID)
		case w.Simple && i > 0 && one != now:
			return "the week holds more than one client, project or currency, and is of a kind that has one"
		}
		seen[entry.ID], one = true, now
	}
	return ""
}

// judge decides what is done with one week and prepares what has to be stored; nil for nothing.
func (t *traversal) judge(w tracker.Week, head *state.Head) (*state.Change, error) {
	digest := weekDigest(w)
	var old *tracker.Week
	if head != nil && head.Digest.Recipe() != recipe {
		stored, err := t.store.Content(t.channel, state.Place{First: head.First, ID: w.ID})
		if err != nil {
			return nil, err
		}
		old, head.Digest = &stored, weekDigest(stored)
	}
	// A traversal of everything confirms what it says, whatever the tracker is.
	wide := t.tracker.Traits().Wide || t.query.Since.IsZero()
	verdict := Judge(head, w.Version, w.State, digest, wide)
	t.report.count(verdict)
	next := state.Head{First: w.Period.First, Version: w.Version, State: w.State, Digest: digest, Sequence: 1}
	switch verdict {
	case Stored:
		t.fresh[w.ID] = true
		t.sayLate(w)
		for _, text := range w.Remarks {
			t.report.warn("%s of %s: %s", w.Member.Label(), w.Period, text)
		}
		return t.replace(w, head, old, next)
	case Noted:
		next.Sequence = head.Sequence
		return &state.Change{Week: w, Head: next, Noted: true}, nil
	case Conflict:
		item, err := t.askedAgain(w, t.conflictItem(w, *head))
		return &state.Change{Week: w, Noted: true, Item: item}, err
	case Duplicate, Stale:
	}
	return nil, nil
}

// sayLate logs that a change became visible only after the watermark had passed it: an overlap that is
// shorter than this happens to be would have missed it.
func (t *traversal) sayLate(w tracker.Week) {
	if !w.Changed.IsZero() && w.Changed.Before(t.mark) {
		t.log.Info().Str("week", w.ID).Stringer("behind", t.mark.Sub(w.Changed)).Msg("a change came late")
	}
}

func (e *Engine) replace(w tracker.Week, head *state.Head, old *tracker.Week, next state.Head) (*state.Change, error) {
	item, err := e.askedAgain(w, e.troubleItem(w))
	if err != nil {
		return nil, err
	}
	change := state.Change{Week: w, Groups: e.groupsOf(w), Item: item}
	if head != nil {
		next.Sequence = head.Sequence + 1
		if old == nil {
			stored, err := e.store.Content(e.channel, state.Place{First: head.First, ID: w.ID})
			if err != nil {
				return nil, err
			}
			old = &stored
		}
		change.Old = old
		change.Groups = append(change.Groups, e.groupsOf(*old)...)
	}
	change.Head = next
	return &change, nil
}
