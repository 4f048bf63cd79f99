// Package clockify reads approved timesheets from Clockify: approval requests with their entries, and the report
// of what was invoiced there.
//
// Its one hard rule: a record is a member's period, and never an approval. Clockify keeps several approval requests
// for one period, those that were withdrawn among them, and all of them together say how the period stands.
package clockify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Clockify is the tracker of one workspace.
type Clockify struct {
	settings      Settings
	core, reports *remote.Client
}

// New returns the tracker that the settings describe. It asks for nothing yet.
func New(s Settings, net *remote.Network) (*Clockify, error) {
	c := &Clockify{settings: s}
	account := remote.Account{
		Vendor: "clockify", ID: c.Account(), Base: s.base(), PerSecond: cmp.Or(s.RequestsPerSecond, defaultPerSecond),
		Header:  http.Header{"X-Api-Key": {s.Token.Reveal()}},
		Secrets: []string{s.Token.Reveal()},
	}
	var err error
	if c.core, err = net.Client(account); err != nil {
		return nil, fmt.Errorf("clockify: url: %w", err)
	}
	account.Vendor, account.Base = "clockify: reports", s.reports()
	if c.reports, err = net.Client(account); err != nil {
		return nil, fmt.Errorf("clockify: reports_url: %w", err)
	}
	return c, nil
}

// Account returns the workspace.
func (c *Clockify) Account() string { return "clockify:" + c.settings.Workspace }

// Traits says that Clockify tells what changed, except for edits under one approval, and that a range is told
// whole.
func (c *Clockify) Traits() tracker.Traits {
	return tracker.Traits{Feed: true, Whole: true, Reread: 24 * time.Hour}
}

// Weeks yields the records of one or several weeks on each page, the latest first. Where a list changed while it
// was read, a last page says that something may have been missed.
func (c *Clockify) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		r := c.reading()
		before, err := r.newest(ctx)
		if err != nil {
			yield(tracker.Page{}, err)
			return
		}
		s, err := r.scope(ctx, q)
		if err != nil {
			yield(tracker.Page{}, err)
			return
		}
		for page, err := range r.pages(ctx, s) {
			if !yield(page, err) || err != nil {
				return
			}
		}
		after, err := r.newest(ctx)
		if err != nil || after != before {
			yield(tracker.Page{Clock: r.clock, Partial: err == nil}, err)
		}
	}
}

// Week reads one record as it is now.
func (c *Clockify) Week(ctx context.Context, id string) (tracker.Week, error) {
	p, err := parseID(id)
	if err != nil {
		return tracker.Week{}, fmt.Errorf("clockify: week %q: %w", id, err)
	}
	r := c.reading()
	before, err := r.newest(ctx)
	if err != nil {
		return tracker.Week{}, err
	}
	start := p.period.First.In(time.UTC)
	var all tracker.Page
	for page, err := range r.pages(ctx, scope{from: start.Add(-margin), to: start.Add(margin), ids: map[string]bool{id: true}}) {
		if err != nil {
			return tracker.Week{}, err
		}
		all.Weeks, all.Unread = append(all.Weeks, page.Weeks...), append(all.Unread, page.Unread...)
	}
	after, err := r.newest(ctx)
	switch {
	case err != nil:
		return tracker.Week{}, err
	case after != before:
		return tracker.Week{}, fmt.Errorf("clockify: week %s: the approval requests changed while they were read: ask again", id)
	case len(all.Unread) > 0:
		return tracker.Week{}, errors.New(all.Unread[0].Reason)
	case len(all.Weeks) == 0:
		return tracker.Week{}, tracker.ErrGone
	}
	return all.Weeks[0], nil
}

// Access signs in, and looks whether what is needed can be read.
func (c *Clockify) Access(ctx context.Context) (tracker.Access, error) {
	var user struct{ Name, Email string }
	var workspace struct {
		Name     string
		Plan     any `json:"featureSubscriptionType"`
		Features any
	}
	a := tracker.Access{Reads: []string{
		"the approval requests of all members whom the owner of the key may approve, with their entries and rates: that has to be an owner or admin of the workspace",
	}}
	answer, err := c.core.Get(ctx, "/v1/user", nil, &user)
	if err == nil {
		_, err = c.core.Get(ctx, "/v1/workspaces/"+c.settings.Workspace, nil, &workspace)
	}
	if err == nil {
		_, err = c.reading().newest(ctx)
	}
	if err != nil {
		return a, err
	}
	a.User, a.Account = cmp.Or(user.Name, user.Email), cmp.Or(workspace.Name, c.settings.Workspace)
	a.Plan, _ = workspace.Plan.(string)
	if features, told := workspace.Features.([]any); told && !slices.Contains(features, any("APPROVAL")) {
		a.Notes = append(a.Notes, "the workspace's plan has no approval: Clockify needs the Standard plan or a higher one for it")
	}
	if c.settings.Invoiced == ignore {
		return a, nil
	}
	a.Reads = append(a.Reads, "the detailed report of entries that were invoiced in Clockify")
	today := civil.DateOf(answer.Clock.UTC())
	if _, err = c.reading().invoiced(ctx, civil.Period{First: today, Last: today}); errors.Is(err, remote.Forbidden) {
		a.Notes, err = append(a.Notes, err.Error()), nil
	}
	return a, err
}
