package tempo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"tidemark/internal/remote"
	"tidemark/sync/tracker"
)

// atOnce is how many issues or users Jira is asked for at once, and most is how many are remembered.
const (
	atOnce = 100
	most   = 20_000
)

// directory is what was looked up during one reading. The next one asks again: names and accounts change.
type directory struct {
	issues   map[remote.ID]issue // without a project: it cannot be read
	members  map[string]string
	accounts map[string]account // by key, and by address; nil: not read yet
	defaults map[remote.ID]string
}

func newDirectory() directory {
	return directory{issues: map[remote.ID]issue{}, members: map[string]string{}, defaults: map[remote.ID]string{}}
}

// learn asks Jira for the members and issues of worklogs that are not known yet.
func (r *reading) learn(ctx context.Context, logs map[string][]worklog) error {
	if len(r.issues) > most {
		clear(r.issues)
	}
	var users []string
	issues := map[string]bool{}
	for user, all := range logs {
		if _, known := r.members[user]; !known {
			users = append(users, user)
		}
		for _, w := range all {
			if _, known := r.issues[w.Issue.ID]; !known && w.Issue.ID != "" {
				issues[string(w.Issue.ID)] = true
			}
		}
	}
	slices.Sort(users)
	if err := r.learnMembers(ctx, users); err != nil {
		return err
	}
	if err := r.learnRoles(ctx, users); err != nil {
		return err
	}
	return r.learnIssues(ctx, slices.Sorted(maps.Keys(issues)))
}

func (r *reading) learnIssues(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, atOnce) {
		var found struct{ Issues []issue }
		asked := map[string][]string{"issueIdsOrKeys": some, "fields": {"summary", "project"}}
		_, err := r.jira.Search(ctx, "/rest/api/3/issue/bulkfetch", nil, asked, &found)
		if err != nil && !errors.Is(err, remote.NotFound) {
			return err
		}
		for _, i := range found.Issues {
			r.issues[i.ID] = i
		}
		for _, id := range some {
			if err := r.learnIssue(ctx, remote.ID(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// learnIssue asks for an issue that was left out of an answer: it may be gone, hidden, or just late.
func (r *reading) learnIssue(ctx context.Context, id remote.ID) error {
	if _, known := r.issues[id]; known {
		return nil
	}
	var one issue
	_, err := r.jira.Get(ctx, "/rest/api/3/issue/"+url.PathEscape(string(id)), url.Values{"fields": {"summary,project"}}, &one)
	if err != nil && !refused(err) {
		return err
	}
	r.issues[id] = one
	return nil
}

// learnMembers asks Jira for names. Whom it does not tell stays an id.
func (r *reading) learnMembers(ctx context.Context, users []string) error {
	for _, id := range users {
		r.members[id] = id
	}
	for some := range slices.Chunk(users, atOnce) {
		if err := r.learnNames(ctx, some); err != nil && !refused(err) {
			return err
		}
	}
	return nil
}

func (r *reading) learnNames(ctx context.Context, users []string) error {
	for told := 0; told < len(users); {
		var page struct {
			Values []struct {
				AccountID   remote.ID
				DisplayName string
			}
			IsLast bool
		}
		query := url.Values{"accountId": users, "startAt": {strconv.Itoa(told)}, "maxResults": {strconv.Itoa(atOnce)}}
		if _, err := r.jira.Get(ctx, "/rest/api/3/user/bulk", query, &page); err != nil {
			return err
		}
		for _, u := range page.Values {
			if u.DisplayName != "" {
				r.members[string(u.AccountID)] = u.DisplayName
			}
		}
		if told += len(page.Values); len(page.Values) == 0 || page.IsLast {
			break
		}
	}
	return nil
}

// client returns for whom a worklog was done: the customer of its account, or the project where there are no
// accounts; and the key of the account. Doubt says what is wrong; nothing where all is well.
func (r *reading) client(ctx context.Context, w worklog, i issue) (client tracker.Ref, key, doubt string, err error) {
	if project := i.Fields.Project; r.settings.attribute() == "" {
		if project.ID == "" {
			return tracker.Ref{}, "", "", nil
		}
		return tracker.Ref{ID: "project:" + string(project.ID), Name: project.Name}, "", "", nil
	}
	a, doubt, err := r.account(ctx, w, i)
	if a == nil {
		return tracker.Ref{}, "", doubt, err
	}
	return a.client(), a.Key, "", nil
}

// account returns the account of a worklog, or the default account of its project; nil where there is none, or
// where the doubt says why.
func (r *reading) account(ctx context.Context, w worklog, i issue) (a *account, doubt string, err error) {
	key := w.attribute(r.settings.attribute())
	if project := i.Fields.Project.ID; key == "" && project != "" {
		if key, err = r.defaultAccount(ctx, project); err != nil {
			return nil, "", err
		}
	}
	if key == "" {
		return nil, "", nil
	}
	if err := r.learnAccounts(ctx); err != nil {
		return nil, "", err
	}
	found, known := r.accounts[key]
	if !known {
		return nil, fmt.Sprintf("worklog %s is on the account %q, which Tempo does not list: restore the account, choose another for the worklog, or look whether account_attribute is right", w.ID, key), nil
	}
	return &found, "", nil
}

// learnAccounts reads all accounts once. Archived ones are among them: their work was approved before.
func (r *reading) learnAccounts(ctx context.Context) error {
	if r.accounts != nil {
		return nil
	}
	asked := map[string][]string{"statuses": {"OPEN", "CLOSED", "ARCHIVED"}}
	all, err := every(ctx, r, "/4/accounts/search", asked, func(a account) string { return string(a.ID) })
	if err != nil {
		return err
	}
	r.accounts = map[string]account{}
	for _, a := range all {
		r.accounts[a.Key], r.accounts[a.Self] = a, a
	}
	return nil
}

// defaultAccount returns the address of the default account of a project; "" where there is none.
func (r *reading) defaultAccount(ctx context.Context, project remote.ID) (string, error) {
	if address, known := r.defaults[project]; known {
		return address, nil
	}
	list, err := ask[link](ctx, r.tempo, "/4/account-links/project/"+url.PathEscape(string(project)), nil, nil)
	if err != nil && !errors.Is(err, remote.NotFound) {
		return "", err
	}
	address := ""
	for _, l := range list.Results {
		if l.Default {
			address = l.Account.Self
		}
	}
	r.defaults[project] = address
	return address, nil
}
