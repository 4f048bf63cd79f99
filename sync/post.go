package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"tidemark/state"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// batch is how many operations are claimed, and how many receipts recorded, in one transaction at most.
const batch = 100

// scope limits what is posted. The zero scope is everything that is due.
type scope struct {
	first civil.Period // whose period begins in this range; a zero end is open
}

func (s scope) holds(g state.Group) bool {
	f := s.first
	return !g.Period.First.Before(f.First) && (f.Last.IsZero() || !g.Period.First.After(f.Last))
}

// poster decides and posts the due groups once.
type poster struct {
	*Engine
	log      zerolog.Logger // its lines bear the name of the run
	clock    state.Clock
	scope    scope
	report   *Report
	pins     map[string]string
	vanished []state.Vanished
	items    map[string]state.Item // of weeks
	mode     state.Mode
	standing state.Standing
	created  int  // invoices that this post set out to create
	lost     int  // groups that wait for a person since they were not found
	open     bool // something has to be looked up again before the mode can end
	errs     []error
	pause    context.CancelCauseFunc // ends the post: the accounting system takes nothing for now
	paused   error                   // why
	said     bool                    // among errs
}

// rounds is how often a group is decided in one post at most: what one round finds out decides the next.
const rounds = 4

// post decides every due group and does what was decided. Whole says that the pull before it ended well.
func (e *Engine) post(ctx context.Context, clock state.Clock, within scope, whole bool, report *Report) error {
	ctx, pause := context.WithCancelCause(ctx)
	defer pause(nil)
	p := &poster{Engine: e, log: e.log.With().Ctx(ctx).Logger(), clock: clock, scope: within, report: report, pause: pause}
	if err := p.load(); err != nil {
		return err
	}
	if err := e.mayAsk("accounting", p.standing.Paused, clock.Now); err != nil {
		return err
	}
	if err := p.reopenWeeks(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for range rounds {
		again, err := p.round(ctx, seen)
		if err != nil {
			return errors.Join(append(p.errs, err)...)
		}
		if !again || ctx.Err() != nil {
			break
		}
	}
	if p.paused != nil {
		return errors.Join(append(p.errs, p.park())...)
	}
	if err := errors.Join(p.errs...); err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if whole && within == (scope{}) {
		return errors.Join(p.endLost(), p.endMode())
	}
	return nil
}

// park remembers until when the accounting system takes nothing, also for the next process.
func (p *poster) park() error {
	until := parkedUntil(p.paused)
	if !until.After(p.clock.Now) {
		return nil
	}
	return p.store.ChangeStanding(p.channel, p.clock.Now, func(st *state.Standing) { st.Paused = until })
}

// parkedUntil returns when whoever gave an error may be asked again; zero if it does not say.
func parkedUntil(err error) time.Time {
	var parked interface{ ParkedUntil() time.Time }
	if errors.As(err, &parked) {
		return parked.ParkedUntil()
	}
	return time.Time{}
}

// load reads what is the same for all groups.
func (p *poster) load() (err error) {
	if p.standing, err = p.store.Standing(p.channel, p.clock.Now); err != nil {
		return err
	}
	p.mode = p.standing.Mode
	if p.pins, err = p.store.Pins(p.channel); err != nil {
		return err
	}
	if p.vanished, err = p.store.Vanished(p.channel); err != nil {
		return err
	}
	items, err := p.store.Items(p.channel.Account)
	p.items = map[string]state.Item{}
	for _, i := range items {
		if i.Channel == p.channel {
			p.items[i.Subject] = i
		}
	}
	return err
}

// task is a due group with what was decided of it.
type task struct {
	due      state.Due
	sit      state.Situation
	kase     Case
	decision Decision
	op       state.Operation      // of what is to be sent
	moved    *accounting.Receipt  // the draft with another token, that was updated in vain
	found    []accounting.Receipt // what bore its reference before anything was claimed
	peeked   bool                 // an invoice was found for it, or the look-up failed: it is decided anew
}

func (t task) reference() string { return t.due.Group.Reference }

// round decides all due groups once and acts on it. Again says that something was found out by which
// a group has to be decided anew.
func (p *poster) round(ctx context.Context, seen map[string]bool) (again bool, err error) {
	tasks, err := p.decideAll(ctx)
	if err != nil {
		return false, err
	}
	for _, t := range tasks {
		if !seen[t.reference()] {
			seen[t.reference()] = true
			p.report.Due++
		}
	}
	p.report.Waiting, p.report.Unknown = 0, 0
	// Before anything is concluded: a group that is no longer due is not looked up again.
	peeked, err := p.peekAll(ctx, pick(tasks, Hold, Finish))
	if err != nil {
		return false, err
	}
	tasks = slices.DeleteFunc(tasks, func(t *task) bool { return t.peeked })
	if err := p.concludeAll(tasks); err != nil {
		return false, err
	}
	resolved, err := p.resolveAll(ctx, pick(tasks, Resolve, Verify))
	if err != nil {
		return false, err
	}
	if err := p.mendAll(ctx, pick(tasks, Mend)); err != nil {
		return false, err
	}
	made, err := p.makeAll(ctx, pick(tasks, Make, Further))
	return peeked || resolved || made, err
}

func pick(tasks []*task, dos ...Do) (picked []*task) {
	for _, t := range tasks {
		if slices.Contains(dos, t.decision.Do) {
			picked = append(picked, t)
		}
	}
	return picked
}

// decideAll decides the due groups, period by period, each period's weeks read once.
func (p *poster) decideAll(ctx context.Context) (tasks []*task, err error) {
	due, err := p.store.Due(p.channel)
	if err != nil {
		return nil, err
	}
	return p.decideThese(ctx, slices.DeleteFunc(due, func(d state.Due) bool { return !p.scope.holds(d.Group) }))
}

func (p *poster) decideThese(ctx context.Context, due []state.Due) (tasks []*task, err error) {
	periods := map[civil.Period][]state.Due{}
	var order []civil.Period
	for _, d := range due {
		if periods[d.Group.Period] == nil {
			order = append(order, d.Group.Period)
		}
		periods[d.Group.Period] = append(periods[d.Group.Period], d)
	}
	slices.SortFunc(order, func(a, b civil.Period) int { return a.First.Compare(b.First) })
	for _, period := range order {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some, err := p.decidePeriod(period, periods[period])
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, some...)
	}
	return tasks, nil
}

func (p *poster) decidePeriod(period civil.Period, due []state.Due) (tasks []*task, err error) {
	contents, err := p.collect(period, due, p.items)
	if err != nil {
		return nil, err
	}
	for _, d := range due {
		t := &task{due: d}
		content := contents[d.Group.Reference]
		if t.sit, err = p.store.Situation(p.channel, d.Group.Reference, content.ids()); err != nil {
			return nil, err
		}
		if t.kase, err = p.caseOf(t.sit, *content); err != nil {
			return nil, err
		}
		t.decision = Decide(t.kase)
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// caseOf gathers what the decision depends on.
func (p *poster) caseOf(sit state.Situation, content Content) (Case, error) {
	own := ownEntries(sit.Documents)
	c := Case{
		Now: p.clock.Now, Rules: p.rules, Guards: p.books.Traits().GuardsDrafts,
		Group: sit.Group, Documents: sit.Documents, Key: sit.Key, Item: sit.Item, Content: content,
		Wanted: groupDigest(content.Entries),
	}
	c.Live = sit.Key != nil && !p.clock.Expired(sit.Key.First, p.rules.TTL)
	_, c.Mapped = p.rules.customer(clientOf(sit.Group, content.Entries), p.pins)
	var err error
	c.Recorded, err = p.recorded(sit, content.Entries, own)
	return c, err
}

func ownEntries(docs []state.Document) map[string]bool {
	own := map[string]bool{}
	for _, d := range docs {
		for _, b := range d.Billed {
			own[b.Entry.ID] = true
		}
	}
	return own
}

// recorded finds out what of the wanted entries is recorded in other places.
func (p *poster) recorded(sit state.Situation, entries []state.Billed, own map[string]bool) (r Recorded, err error) {
	there, free := 0, 0
	under := map[string]bool{}
	for _, b := range entries {
		if slices.Contains(sit.Shared, b.Entry.ID) {
			r.Shared = append(r.Shared, describe(b))
		}
		claim, claimed := sit.Claims[b.Entry.ID]
		switch {
		case own[b.Entry.ID]:
			continue
		case claimed && (claim.Account != p.channel.Account || claim.Reference != sit.Group.Reference):
			under[claim.Reference] = true
			belongs, err := p.belongs(claim, b)
			if err != nil {
				return r, err
			}
			if belongs {
				there++
			}
			r.Moved = append(r.Moved, describe(b)+" under "+claim.Reference)
		default:
			free++
			p.compareVanished(&r, b, sit.Group)
		}
	}
	if free == 0 && there > 0 && there == len(r.Moved) && len(own) == 0 {
		r.Moved = nil
		r.Under = sortedNames(under)
	}
	return r, nil
}

func sortedNames(set map[string]bool) (names []string) {
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *poster) compareVanished(r *Recorded, b state.Billed, g state.Group) {
	if slices.ContainsFunc(p.vanished, func(v state.Vanished) bool { return v.Reference != g.Reference && resembles(v, b, g) }) {
		r.Similar = append(r.Similar, describe(b))
	}
}

// belongs reports whether an entry that is recorded under another reference still is what that group
// is about: then its invoice is the place where it is billed, and a change of it is that group's.
func (p *poster) belongs(claim state.Claim, b state.Billed) (bool, error) {
	g, found, err := p.store.Group(claim.Account, claim.Reference)
	if err != nil || !found {
		return !found, err
	}
	if g.Channel != p.channel {
		return p.standsAt(claim, b)
	}
	w, found, err := p.store.Find(p.channel, b.Week)
	if err != nil || !found {
		return false, err
	}
	return groupOf(p.channel, Per(g.Per), w, b.Entry, g.Currency).Reference == g.Reference, nil
}

// standsAt reports whether an entry that is recorded under a group of another channel, which perhaps no sync
// decides any more, is billed there as it is now, or was decided by a person.
func (p *poster) standsAt(claim state.Claim, b state.Billed) (bool, error) {
	docs, err := p.store.Documents(claim.Account, claim.Reference)
	if err != nil {
		return false, err
	}
	for _, d := range docs {
		if slices.ContainsFunc(d.Billed, func(old state.Billed) bool { return old.Entry.ID == b.Entry.ID && sameEntry(old, b) }) {
			return true, nil
		}
	}
	item, err := p.store.Item(claim.Account, claim.Reference)
	return item != nil && item.Accepted != "", err
}

// concludeAll writes what needs nothing to be sent, in batches.
func (p *poster) concludeAll(tasks []*task) error {
	var cs []state.Conclusion
	for _, t := range tasks {
		if c, any := p.conclusion(t); any {
			cs = append(cs, c)
		}
	}
	for part := range slices.Chunk(cs, batch) {
		if err := p.conclude(part); err != nil {
			return err
		}
	}
	return nil
}

// conclusion returns what is written of a decision before anything is sent.
func (p *poster) conclusion(t *task) (state.Conclusion, bool) {
	c := state.Conclusion{Reference: t.reference(), Mark: t.due.Mark, Close: t.decision.Close}
	switch t.decision.Do {
	case Leave:
		c.Settled = t.kase.Item.Status != state.Held
	case Finish:
		c.Settled, c.Done, c.Waiting = true, &t.decision.Text, new(time.Time)
	case Hold:
		p.report.Waiting++
		since := t.kase.Group.Waiting
		if since.IsZero() || since.After(p.clock.Now) || t.decision.Close != "" {
			since = p.clock.Now
		}
		c.Waiting, c.Done = &since, new(string)
	case Ask:
		c.Settled, c.Item = true, p.ask(t.kase, t.decision.Kind, t.decision.Text)
	case Resolve, Verify, Mend, Make, Further:
		return c, c.Close != ""
	}
	return c, true
}
