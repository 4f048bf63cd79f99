package sync

import (
	"fmt"
	"time"

	"tidemark/state"
	"tidemark/sync/tracker"
)

// Story is all that is known of a group or a week: seen, decided, sent, answered, why.
type Story struct {
	Sync      string           `json:"sync"`
	Subject   string           `json:"subject"`
	Group     *state.Group     `json:"group,omitempty"`
	Decision  string           `json:"decision,omitempty"` // what the next pass would do
	Why       string           `json:"why,omitempty"`
	Entries   []state.Billed   `json:"entries,omitempty"` // what the group holds now
	Wanted    state.Totals     `json:"wanted,omitzero"`
	Documents []state.Document `json:"documents,omitempty"`
	Key       *state.Key       `json:"key,omitempty"`
	Expires   time.Time        `json:"expires,omitzero"` // when the key's life ends
	Week      *tracker.Week    `json:"week,omitempty"`
	Former    []tracker.Week   `json:"former,omitempty"`
	Groups    []string         `json:"groups,omitempty"` // of a week: the references that it touches
	Item      *state.Item      `json:"item,omitempty"`
	History   []state.Event    `json:"history,omitempty"`
}

// Explain tells the story of a reference, of a subject of the review, or of a week by its id. It is
// false where the sync knows nothing of it.
func (e *Engine) Explain(subject string, now time.Time) (Story, bool, error) {
	s := Story{Sync: e.rules.Name, Subject: subject}
	g, found, err := e.store.Group(e.channel.Account, subject)
	if err != nil {
		return s, false, err
	}
	if found && g.Channel == e.channel {
		return e.explainGroup(s, g, now)
	}
	item, err := e.store.Item(e.channel.Account, subject)
	if err != nil {
		return s, false, err
	}
	id := subject
	if item != nil && item.Channel == e.channel && item.Week != "" {
		id = item.Week
	}
	w, found, err := e.store.Find(e.channel, id)
	switch {
	case err != nil:
		return s, false, err
	case found:
		return e.explainWeek(s, w)
	case item != nil && item.Channel == e.channel:
		s.Item = item
		s.History, err = e.store.History(e.channel.Account, subject)
		return s, true, err
	case subject == e.rules.Name:
		s.History, err = e.store.History(e.channel.Account, subject)
		return s, true, err
	}
	return s, false, nil
}

func (e *Engine) explainGroup(s Story, g state.Group, now time.Time) (Story, bool, error) {
	t, err := e.look(g, now)
	if err != nil {
		return s, false, err
	}
	s.Group, s.Decision, s.Why = &g, string(t.decision.Do), t.decision.Text
	s.Entries, s.Documents, s.Key, s.Item = t.kase.Content.Entries, t.sit.Documents, t.sit.Key, t.sit.Item
	s.Wanted = e.rules.totals(s.Entries, g.Currency)
	if s.Key != nil {
		s.Expires = s.Key.First.Add(e.rules.TTL)
	}
	s.History, err = e.store.History(e.channel.Account, s.Subject)
	return s, true, err
}

func (e *Engine) explainWeek(s Story, w tracker.Week) (Story, bool, error) {
	s.Week = &w
	for _, g := range e.groupsOf(w) {
		s.Groups = append(s.Groups, g.Reference)
	}
	var err error
	if s.Former, err = e.store.Former(e.channel, state.PlaceOf(w)); err != nil {
		return s, false, err
	}
	subject := state.WeekSubject(e.channel, w.ID)
	if s.Item, err = e.store.Item(e.channel.Account, subject); err != nil {
		return s, false, err
	}
	s.History, err = e.store.History(e.channel.Account, subject)
	return s, true, err
}

// Status is where a sync stands.
type Status struct {
	Sync      string          `json:"sync"`
	Mode      state.Mode      `json:"mode"`
	Last      state.Heartbeat `json:"last"`
	Watermark time.Time       `json:"watermark,omitzero"`
	Due       int             `json:"due"`
	Review    int             `json:"review"`
	Oldest    time.Time       `json:"oldestReview,omitzero"`
	Unread    int             `json:"unread"`
	Empty     time.Time       `json:"suspiciouslyEmpty,omitzero"` // since when the tracker has been listing suspiciously little
	Parked    time.Time       `json:"parkedUntil,omitzero"`       // until when the tracker asked to be left alone
	Paused    time.Time       `json:"pausedUntil,omitzero"`       // until when the accounting system did
	Halted    *state.Halt     `json:"halted,omitempty"`           // a person wants no pass; nil: passes run
	Horizon   string          `json:"horizon,omitempty"`          // how far back is read what no change feed names
}

// Status returns where the sync stands.
func (e *Engine) Status(now time.Time) (s Status, err error) {
	s.Sync = e.rules.Name
	standing, err := e.store.Standing(e.channel, now)
	if err != nil {
		return s, err
	}
	s.Mode, s.Empty, s.Halted = standing.Mode, standing.Empty, standing.Halted
	if standing.Parked.After(now) {
		s.Parked = standing.Parked
	}
	if standing.Paused.After(now) {
		s.Paused = standing.Paused
	}
	if s.Last, err = e.store.Heartbeat(e.channel); err != nil {
		return s, err
	}
	if s.Watermark, err = e.store.Watermark(e.channel); err != nil {
		return s, err
	}
	due, err := e.store.Due(e.channel)
	if err != nil {
		return s, err
	}
	unread, err := e.store.Unread(e.channel)
	if err != nil {
		return s, err
	}
	s.Due, s.Unread = len(due), len(unread)
	s.Horizon = e.horizon()
	return s, e.countReview(&s)
}

// horizon says how far back is read what no change feed names.
func (e *Engine) horizon() string {
	traits := e.tracker.Traits()
	days := func(d time.Duration) string { return fmt.Sprintf("%d days", int(d.Hours()/24)) }
	switch {
	case traits.Wide:
		return ""
	case !traits.Feed, traits.Reread == tracker.EachPass:
		return days(e.back()) + ", in each pass"
	}
	return fmt.Sprintf("%s, every %s", days(e.back()), days(e.rereadEvery()))
}

func (e *Engine) countReview(s *Status) error {
	items, err := e.store.Items(e.channel.Account)
	for _, i := range items {
		if i.Channel != e.channel || i.Status != state.Undecided {
			continue
		}
		s.Review++
		if s.Oldest.IsZero() || i.Opened.Before(s.Oldest) {
			s.Oldest = i.Opened
		}
	}
	return err
}
