package harvest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// week puts a week together. A fault says why that cannot be done.
func (r *reading) week(ctx context.Context, id week, all []timeEntry) (w tracker.Week, fault, err error) {
	state, told, fault := r.settings.state(all)
	if fault != nil {
		return w, fault, nil
	}
	w = tracker.Week{
		ID: id.id(), Version: tracker.Version{Kind: tracker.None}, State: state, Period: weekOf(id.first),
		Member: all[0].User.ref(),
	}
	// There is no version: the newest change of the entries goes back when that entry is deleted.
	for _, t := range all {
		if t.UpdatedAt.After(w.Changed) {
			w.Changed = t.UpdatedAt.Time
		}
	}
	w.Entries, w.Trouble, err = r.entries(ctx, told)
	return w, nil, err
}

// entries returns what is billed of entries, and what is wrong with them.
func (r *reading) entries(ctx context.Context, rows []timeEntry) (all []tracker.Entry, trouble *tracker.Trouble, err error) {
	var faults []string
	for _, t := range rows {
		e, fault := t.entry(cmp.Or(r.settings.Hours, rounded))
		code, err := r.currency(ctx, t.Client.ID)
		if err != nil {
			return nil, nil, err
		}
		if code != "" {
			var odd error
			e.Currency, odd = money.ParseCurrency(code)
			fault = errors.Join(fault, odd)
		}
		if fault != nil {
			faults = append(faults, fmt.Sprintf("entry %s: %s", t.ID, strings.ReplaceAll(fault.Error(), "\n", "; ")))
		}
		all = append(all, e)
	}
	if len(faults) > 0 {
		trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: strings.Join(faults, "; ") + ": mend it in Harvest"}
	}
	return all, trouble, nil
}

// state returns how far a week is approved, and the entries that it holds: those that are approved, where some are.
// With partial: wait the week is growing until all are, so that a first invoice waits while those that exist are
// kept right; with take it is as good as approved, and what follows comes late.
func (s Settings) state(all []timeEntry) (tracker.State, []timeEntry, error) {
	var good []timeEntry
	for _, t := range all {
		is, err := t.approved()
		switch {
		case err != nil:
			return "", nil, err
		case is:
			good = append(good, t)
		}
	}
	switch {
	case len(good) == 0:
		return tracker.Pending, all, nil
	case len(good) < len(all) && s.Partial != take:
		return tracker.Growing, good, nil
	}
	return tracker.Approved, good, nil
}

// currency returns the currency of a client, which is not on its entries; nothing where it may not be seen.
func (r *reading) currency(ctx context.Context, id remote.ID) (string, error) {
	if r.currencies == nil {
		r.currencies = map[remote.ID]string{}
		all, err := clients().every(ctx, r, r.query())
		if r.forbidden = errors.Is(err, remote.Forbidden); err != nil && !r.forbidden && !errors.Is(err, errShifted) {
			return "", err
		}
		for _, c := range all {
			r.currencies[c.ID] = c.Currency
		}
	}
	if code, known := r.currencies[id]; known || id == "" || r.forbidden {
		return code, nil
	}
	var c client // It is newer than the list.
	_, err := r.client.Get(ctx, "/clients/"+url.PathEscape(string(id)), nil, &c)
	if err != nil && !errors.Is(err, remote.NotFound) && !errors.Is(err, remote.Forbidden) {
		return "", err
	}
	r.currencies[id] = c.Currency
	return c.Currency, nil
}
