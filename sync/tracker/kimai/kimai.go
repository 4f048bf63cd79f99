// Package kimai reads approved weeks from Kimai, a time tracker that companies run themselves. Kimai knows no
// approvals: the plugin ApprovalBundle does, or else a tag or the export mark of each entry tells.
//
// Its one hard rule: a week is approved only where the plugin said so in words that are known, or each of its
// entries bears the mark. Silence, a missing plugin and a label in a foreign language are never an approval,
// and never the end of one.
package kimai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Kimai is the tracker of one Kimai.
type Kimai struct {
	settings Settings
	client   *remote.Client
}

// New returns the tracker that the settings describe. It asks for nothing yet.
func New(s Settings, net *remote.Network) (*Kimai, error) {
	k := &Kimai{settings: s}
	var err error
	k.client, err = net.Client(remote.Account{
		Vendor: "kimai", ID: k.Account(), Base: s.base(), PerSecond: cmp.Or(s.RequestsPerSecond, defaultPerSecond),
		Header:  http.Header{"Authorization": {"Bearer " + s.Token.Reveal()}},
		Secrets: []string{s.Token.Reveal()},
	})
	if err != nil {
		return nil, fmt.Errorf("kimai: url: %w", err)
	}
	return k, nil
}

// Account returns the name of this Kimai in the settings.
func (k *Kimai) Account() string { return "kimai:" + k.settings.Account }

// Traits says that there is no feed of changes, and that a range is told whole.
func (k *Kimai) Traits() tracker.Traits { return tracker.Traits{Whole: true} }

// Weeks yields a page for each week, whatever Since says, and one more for each approval that was taken back in
// the meantime. Without a first day it begins a year ago.
func (k *Kimai) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		first, last := span(q)
		r := k.reading(first)
		if err := r.meet(ctx); err != nil {
			yield(tracker.Page{}, err)
			return
		}
		for monday := first; !monday.After(last); monday = monday.AddDays(7) {
			page, err := r.week(ctx, monday)
			if err == nil && r.form == weekStatus {
				err = r.confirm(ctx, &page)
			}
			if !yield(page, err) || err != nil {
				return
			}
		}
		clear(r.rows)
		for _, t := range r.told {
			page, changed, err := r.again(ctx, t)
			if (changed || err != nil) && !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// span returns the first Monday that is wanted, and a last day.
func span(q tracker.Query) (first, last civil.Date) {
	today := civil.DateOf(q.Now.UTC()).AddDays(1) // It is there already in the east.
	first, last = q.First.First, q.First.Last
	if first.IsZero() {
		first = today.AddDays(-366)
	}
	if last.IsZero() {
		last = today
	}
	if monday := civil.WeekOf(first).First(); monday.Before(first) {
		return monday.AddDays(7), last
	}
	return first, last
}

// Week reads one week of a user as it is now.
func (k *Kimai) Week(ctx context.Context, id string) (tracker.Week, error) {
	number, monday, err := parseID(id)
	if err != nil {
		return tracker.Week{}, fmt.Errorf("kimai: week %q: %w", id, err)
	}
	r, u := k.reading(monday), user{ID: number}
	if err := r.meet(ctx); err != nil {
		return tracker.Week{}, err
	}
	if at := slices.IndexFunc(r.users, func(u user) bool { return u.ID == number }); at >= 0 {
		u = r.users[at]
	} else if k.settings.plugin() {
		return tracker.Week{}, tracker.ErrGone
	}
	page, err := k.one(ctx, u, monday)
	switch {
	case err != nil:
		return tracker.Week{}, err
	case len(page.Unread) > 0:
		return tracker.Week{}, fmt.Errorf("kimai: week %s: %s", id, page.Unread[0].Reason)
	case len(page.Kept) > 0:
		return tracker.Week{}, errors.New(page.Kept[0].Reason)
	case len(page.Weeks) == 0:
		return tracker.Week{}, tracker.ErrGone
	}
	return page.Weeks[0], nil
}

// Access signs in, and looks what of all that is needed can be seen.
func (k *Kimai) Access(ctx context.Context) (tracker.Access, error) {
	var about struct{ Version string }
	var me user
	a := tracker.Access{Account: k.Account(), Reads: []string{"the users", "the entries of all users with their rates"}}
	answer, err := k.client.Get(ctx, "/version", nil, &about)
	if err == nil {
		_, err = k.client.Get(ctx, "/users/me", nil, &me)
	}
	if err != nil {
		return a, err
	}
	a.User, a.Plan = me.name(), "Kimai "+about.Version
	r := k.reading(civil.WeekOf(civil.DateOf(answer.Clock)).First())
	if err := r.meet(ctx); err != nil {
		return a, err
	}
	if k.settings.plugin() {
		reads, notes, err := r.offered(ctx, me)
		if err != nil {
			return a, err
		}
		a.Reads, a.Notes = append(a.Reads, reads...), append(a.Notes, notes...)
	}
	notes, err := r.visible(ctx, me)
	a.Notes = append(a.Notes, notes...)
	return a, err
}

// offered says in what form the plugin tells approvals, and what is in the way of that.
func (r *reading) offered(ctx context.Context, me user) (reads, notes []string, err error) {
	var plugins []struct{ Name, Version string }
	if _, err := r.client.Get(ctx, "/plugins", nil, &plugins); err != nil {
		return nil, nil, err
	}
	for _, p := range plugins {
		if strings.Contains(p.Name, "ApprovalBundle") {
			reads = append(reads, "approvals of the plugin "+p.Name+" "+p.Version)
		}
	}
	if reads == nil {
		return nil, []string{"the plugin ApprovalBundle is not installed, and Kimai itself has no approvals: install it, or set approval: none and approved_when"}, nil
	}
	if _, err := r.status(ctx, me, r.first); err != nil {
		notes = append(notes, err.Error())
	} else if r.form == weekStatus {
		reads[0] += ", week by week and user by user"
	}
	return reads, notes, nil
}

// visible says what the token's owner does not see of the newest entries.
func (r *reading) visible(ctx context.Context, me user) (notes []string, err error) {
	s, err := r.look(ctx, me)
	if err != nil {
		return nil, err
	}
	if s.others == 0 {
		notes = append(notes, "no entry of anybody else is to be seen: give "+me.name()+" the permission view_other_timesheet, and access to all teams")
	}
	if s.hidden > 0 {
		notes = append(notes, fmt.Sprintf("of the newest %d entries %d show no rate: give %s the permission view_rate_other_timesheet, or prices in the settings", len(s.newest), s.hidden, me.name()))
	}
	return notes, nil
}
