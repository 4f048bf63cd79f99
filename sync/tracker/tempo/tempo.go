// Package tempo reads approved timesheets from Tempo, the time tracker within Jira Cloud: approvals and
// worklogs from Tempo itself, and from Jira what the issue of a worklog is and to which project it belongs.
//
// Its one hard rule: the log of approvals is but a hint at whose timesheets changed. A timesheet is told as
// approved only where its approval is the same before and after its worklogs were read.
package tempo

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
)

// Tempo is the tracker of one Jira site.
type Tempo struct {
	settings    Settings
	tempo, jira *remote.Client
}

// New returns the tracker that the settings describe. It asks for nothing yet.
func New(s Settings, net *remote.Network) (*Tempo, error) {
	t := &Tempo{settings: s}
	var err error
	t.tempo, err = net.Client(remote.Account{
		Vendor: "tempo", ID: t.Account(), Base: s.base(), PerSecond: cmp.Or(s.RequestsPerSecond, defaultPerSecond),
		Header:  http.Header{"Authorization": {"Bearer " + s.Token.Reveal()}},
		Secrets: []string{s.Token.Reveal()},
	})
	if err != nil {
		return nil, fmt.Errorf("tempo: url: %w", err)
	}
	t.jira, err = net.Client(remote.Account{
		Vendor: "tempo: jira", ID: t.Account(), Base: s.jiraBase(),
		Header:  http.Header{"Authorization": {s.Jira.authorization()}},
		Secrets: []string{s.Jira.Token.Reveal()},
	})
	if err != nil {
		return nil, fmt.Errorf("tempo: jira.url: %w", err)
	}
	return t, nil
}

func (j Jira) authorization() string {
	if j.Bearer {
		return "Bearer " + j.Token.Reveal()
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(j.User+":"+j.Token.Reveal()))
}

// Account returns the Jira site.
func (t *Tempo) Account() string { return "tempo:" + t.settings.Site }

// Traits says that Tempo has a log of changes, and that a range is told whole.
func (t *Tempo) Traits() tracker.Traits { return tracker.Traits{Feed: true, Whole: true} }

// Weeks yields a page without weeks, with what is wrong in the log, and then one for the timesheets of each
// period, or several where many members have one.
func (t *Tempo) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		r := t.reading()
		page, sheets, err := r.announced(ctx, q)
		if !yield(page, err) || err != nil {
			return
		}
		for batch := range batches(sheets) {
			page, err := r.page(ctx, batch)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// Week reads one timesheet as it is now.
func (t *Tempo) Week(ctx context.Context, id string) (tracker.Week, error) {
	s, err := parseID(id)
	if err != nil {
		return tracker.Week{}, fmt.Errorf("tempo: week %q: %w", id, err)
	}
	page, err := t.reading().page(ctx, []sheet{s})
	switch {
	case err != nil:
		return tracker.Week{}, err
	case len(page.Unread) > 0:
		return tracker.Week{}, errors.New(page.Unread[0].Reason)
	case len(page.Weeks) == 0:
		return tracker.Week{}, tracker.ErrGone
	}
	return page.Weeks[0], nil
}

// Access signs in to both, and looks whether what is needed can be read.
func (t *Tempo) Access(ctx context.Context) (tracker.Access, error) {
	var me struct{ DisplayName, EmailAddress string }
	var server struct{ BaseURL, ServerTitle string }
	a := tracker.Access{Account: t.Account(), Reads: []string{
		"Tempo: the log of approvals, the approvals, the worklogs, the accounts with their customers",
		"Jira: the issues of the worklogs, their projects, the names of the members",
	}}
	if t.settings.Rates == tables {
		a.Reads = append(a.Reads, "Tempo: the roles of the members in their teams, the billing rates tables of the accounts, the global billing rates")
	}
	if _, err := ask[logRow](ctx, t.tempo, logPath, url.Values{"limit": {"1"}}, map[string]string{}); err != nil {
		return a, err
	}
	note, err := t.missingAttribute(ctx)
	noRates := ""
	if err == nil {
		noRates, err = t.missingRates(ctx)
	}
	if err == nil {
		_, err = t.jira.Get(ctx, "/rest/api/3/myself", nil, &me)
	}
	if err == nil {
		_, err = t.jira.Get(ctx, "/rest/api/3/serverInfo", nil, &server)
	}
	if err != nil {
		return a, err
	}
	for _, missing := range []string{note, noRates} {
		if missing != "" {
			a.Notes = append(a.Notes, missing)
		}
	}
	if at, err := url.Parse(server.BaseURL); err != nil || at.Host != t.settings.Site {
		a.Notes = append(a.Notes, fmt.Sprintf("Jira says that its site is %s, the settings say %s: look whether both tokens are of the same site", server.BaseURL, t.settings.Site))
	}
	a.Notes = append(a.Notes, "Tempo does not tell whose its token is, nor whom it cannot see: its owner has to see the worklogs and approve the timesheets of all teams")
	a.User = cmp.Or(me.DisplayName, me.EmailAddress) + " (in Jira)"
	return a, nil
}

// missingAttribute says what is wrong with the attribute that holds the account; nothing where all is well.
func (t *Tempo) missingAttribute(ctx context.Context) (string, error) {
	key := t.settings.attribute()
	if key == "" {
		return "", nil
	}
	attributes, err := every(ctx, t.reading(), "/4/work-attributes", nil, func(a attribute) string { return a.Key })
	if err != nil {
		return "", err
	}
	var accounts []string
	for _, a := range attributes {
		if a.Key == key {
			return "", nil
		}
		if a.Type == "ACCOUNT" {
			accounts = append(accounts, a.Key)
		}
	}
	return fmt.Sprintf("Tempo has no work attribute %q, so that only the default accounts of projects tell the clients: set account_attribute to the key of the one that holds the account (of type ACCOUNT are %q), or to \"\" if clients are Jira projects", key, accounts), nil
}

// missingRates says what is wrong with the prices; nothing where all is well, or where they are not wanted.
func (t *Tempo) missingRates(ctx context.Context) (string, error) {
	if t.settings.Rates != tables {
		return "", nil
	}
	_, err := t.reading().globalRates(ctx)
	if refused(err) {
		return withCure(err).Error(), nil
	}
	return "", err
}

// refused reports whether an error is about what was asked for, and not about Tempo as a whole.
func refused(err error) bool {
	return errors.Is(err, remote.Forbidden) || errors.Is(err, remote.NotFound) || errors.Is(err, remote.Rejected)
}
