package sync

import (
	"slices"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// followSettings makes the groups that were not billed due again when a setting that decides which
// groups there are has changed.
func (e *Engine) followSettings(st state.Standing, report *Report) error {
	if st.Rules == e.rules.fingerprint() || st.Rules == "" {
		return nil
	}
	report.warn("the settings that make groups have changed: everything that was not billed is decided again")
	return e.regroup()
}

// regroupBatch is how many groups are made due in one transaction at most.
const regroupBatch = 1000

func (e *Engine) regroup() error {
	var groups []state.Group
	err := e.store.Weeks(e.channel, civil.Period{}, func(w tracker.Week) error {
		groups = append(groups, e.groupsOf(w)...)
		return nil
	})
	if err != nil {
		return err
	}
	err = e.store.Groups(e.channel.Account, func(g state.Group) error {
		if g.Channel == e.channel {
			groups = append(groups, g)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(groups, regroupBatch) {
		if err := e.store.MarkDue(e.channel.Account, part); err != nil {
			return err
		}
	}
	return nil
}
