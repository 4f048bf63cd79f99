package tempo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

const (
	token    = "tempo-secret-token"
	jiraUser = "ada@example.com"
	site     = "acme.atlassian.net"
	self     = "https://api.tempo.io/4"
)

// object is a JSON object.
type object = map[string]any

// vendor shows a world as Tempo and Jira do.
type vendor struct{ *trackertest.World }

func handler(w *trackertest.World) http.Handler {
	v, mux := vendor{w}, http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (int, any){
		"POST /4/timesheet-approvals/logs/search":     v.logs,
		"GET /4/timesheet-approvals/user/{accountId}": v.approval,
		"POST /4/worklogs/search":                     v.worklogs,
		"GET /4/work-attributes":                      v.attributes,
		"POST /4/accounts/search":                     v.accounts,
		"GET /4/account-links/project/{id}":           v.links,
		"POST /4/team-memberships/search":             v.memberships,
		"GET /4/billing-rates-tables":                 v.rateTables,
		"GET /4/billing-rates-tables/{id}":            v.rateTable,
		"GET /4/global-rates/by-role":                 v.globalRates,
		"POST /rest/api/3/issue/bulkfetch":            v.issues,
		"GET /rest/api/3/issue/{id}":                  v.issue,
		"GET /rest/api/3/user/bulk":                   v.users,
		"GET /rest/api/3/myself":                      v.myself,
		"GET /rest/api/3/serverInfo":                  v.serverInfo,
	} {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			defer w.Lock()()
			status, body := answer(r)
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			_ = json.NewEncoder(rw).Encode(body)
		})
	}
	return signedIn(mux, token)
}

// signedIn lets through who has the token. Tempo refuses others with a page, Jira with JSON.
func signedIn(next http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch jira := strings.HasPrefix(r.URL.Path, "/rest/"); {
		case jira && (user != jiraUser || password != token):
			rw.Header().Set("Content-Type", "application/json")
			http.Error(rw, `{"message":"Client must be authenticated to access this resource."}`, http.StatusUnauthorized)
		case !jira && r.Header.Get("Authorization") != "Bearer "+token:
			rw.Header().Set("Content-Type", "text/html")
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = rw.Write([]byte("<html><body>Unauthorized</body></html>"))
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

func refuse(status int, format string, args ...any) (int, any) {
	return status, object{"errors": []object{{"message": fmt.Sprintf(format, args...)}}}
}

// count reads a number of the query.
func count(q url.Values, name string, usual int) int {
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return usual
	}
	return n
}

// logs lists what happened to timesheets: an approval after its submission.
func (v vendor) logs(r *http.Request) (int, any) {
	var asked struct {
		UpdatedFrom    string
		UserAccountIDs []string `json:"userAccountIds"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return refuse(400, "no body")
	}
	from, err := time.Parse(time.RFC3339, cmp.Or(asked.UpdatedFrom, "1970-01-01T00:00:00Z"))
	limit := count(r.URL.Query(), "limit", 50)
	if err != nil || limit < 1 || limit > 5000 {
		return refuse(400, "Non valid date '%s' or limit '%d'", asked.UpdatedFrom, limit)
	}
	rows := []object{}
	for _, s := range v.Sheets {
		if submitted := s.Changed.Add(-time.Second); s.State == tracker.Approved && !submitted.Before(from) {
			rows = append(rows, record(s, "IN_REVIEW", submitted))
		}
		if !s.Changed.Before(from) {
			rows = append(rows, record(s, key(s), s.Changed))
		}
	}
	offset := count(r.URL.Query(), "nextPageToken", 0)
	if offset > len(rows) {
		return refuse(400, "Non valid nextPageToken")
	}
	size := v.Size(limit)
	end := min(offset+size, len(rows))
	metadata := object{"limit": size}
	if end < len(rows) {
		metadata["nextPageToken"] = strconv.Itoa(end)
	}
	return 200, object{"self": self + "/timesheet-approvals/logs/search", "metadata": metadata, "results": rows[offset:end]}
}

func key(s *trackertest.Sheet) string {
	switch s.State {
	case tracker.Approved:
		return "APPROVED"
	case tracker.Pending:
		return "IN_REVIEW"
	}
	return "OPEN"
}

// record is what a log row and an approval have in common.
func record(s *trackertest.Sheet, key string, at time.Time) object {
	person := object{"accountId": s.Member.ID, "self": "https://" + site + "/rest/api/2/user?accountId=" + s.Member.ID}
	return object{
		"user": person, "reviewer": person, "period": object{"from": s.Period.First, "to": s.Period.Last},
		"status": object{"key": key, "comment": "please", "actor": person, "updatedAt": at.Format(time.RFC3339), "requiredSecondsAtSubmit": 144000, "timeSpentSecondsAtSubmit": 3600},
	}
}

func (v vendor) approval(r *http.Request) (int, any) {
	from, err := civil.Parse(r.URL.Query().Get("from"))
	if err != nil {
		return refuse(400, "Non valid date '%s': format must be yyyy-MM-dd", r.URL.Query().Get("from"))
	}
	s := v.Sheet(r.PathValue("accountId"), from)
	if s == nil {
		return refuse(404, "User is invalid")
	}
	link := object{"self": self + r.URL.Path}
	one := record(s, key(s), s.Changed)
	one["self"], one["worklogs"], one["actions"] = link["self"], link, object{"reopen": link}
	var spent int64
	for _, e := range s.Entries {
		spent += e.Seconds
	}
	one["requiredSeconds"], one["timeSpentSeconds"] = 144000, spent
	return 200, one
}

// paged cuts a page of a list out by offset and limit.
func (v vendor) paged(r *http.Request, rows []object) (int, any) {
	offset, size := count(r.URL.Query(), "offset", 0), v.Size(count(r.URL.Query(), "limit", 50))
	from, to := min(offset, len(rows)), min(offset+size, len(rows))
	metadata := object{"count": to - from, "limit": size, "offset": offset}
	if to < len(rows) {
		metadata["next"] = fmt.Sprintf("https://api.tempo.io%s?offset=%d&limit=%d", r.URL.Path, to, size)
	}
	return 200, object{"self": "https://api.tempo.io" + r.URL.Path, "metadata": metadata, "results": rows[from:to]}
}

func (v vendor) worklogs(r *http.Request) (int, any) {
	var asked struct {
		AuthorIDs []string `json:"authorIds"`
		From, To  civil.Date
		OrderBy   []struct{ Field, Order string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.OrderBy) != 1 || asked.OrderBy[0].Field != "ID" || asked.OrderBy[0].Order != "ASC" {
		return refuse(400, "this fake knows worklogs by ascending id only")
	}
	var entries []*trackertest.Entry
	authors := map[*trackertest.Entry]string{}
	for _, author := range asked.AuthorIDs {
		s := v.Sheet(author, asked.From)
		if s == nil {
			continue
		}
		for _, e := range s.Entries {
			if !e.Date.Before(asked.From) && !e.Date.After(asked.To) {
				entries, authors[e] = append(entries, e), author
			}
		}
	}
	slices.SortFunc(entries, func(a, b *trackertest.Entry) int { return cmp.Compare(a.Number, b.Number) })
	rows := make([]object, len(entries))
	for i, e := range entries {
		rows[i] = worklogOf(e, authors[e])
	}
	return v.paged(r, rows)
}

func worklogOf(e *trackertest.Entry, author string) object {
	issue := object{"self": "https://" + site + "/rest/api/2/issue/" + issueID(e.Project.ID, e.Task.ID)}
	if id, err := strconv.ParseInt(issueID(e.Project.ID, e.Task.ID), 10, 64); err == nil {
		issue["id"] = id
	}
	values := []object{{"key": "_Colour_", "value": "green"}}
	if e.Client.ID != "" {
		values = append(values, object{"key": "_Account_", "value": "ACC-" + e.Client.ID})
	}
	billable := e.Seconds
	if !e.Billable {
		billable = 0
	}
	began := time.Date(e.Date.Year, e.Date.Month, e.Date.Day, 0, 0, 0, 0, time.UTC).Add(e.Clock)
	link := fmt.Sprintf("%s/worklogs/%d", self, e.Number)
	return object{
		"self": link, "tempoWorklogId": e.Number, "issue": issue, "author": object{"accountId": author, "self": "https://" + site},
		"startDate": e.Date, "startTime": began.Format(time.TimeOnly), "startDateTimeUtc": began.Add(-9 * time.Hour).Format(time.RFC3339),
		"timeSpentSeconds": e.Seconds, "billableSeconds": billable, "description": e.Note,
		"createdAt": e.Updated.Format(time.RFC3339), "updatedAt": e.Updated.Format("2006-01-02T15:04:05.000Z"),
		"attributes": object{"self": link + "/work-attribute-values", "values": values},
	}
}

func (v vendor) attributes(r *http.Request) (int, any) {
	one := func(key, name, kind string) object {
		return object{"key": key, "name": name, "type": kind, "required": false, "self": self + "/work-attributes/" + key}
	}
	return v.paged(r, []object{one("_Colour_", "Colour", "INPUT_FIELD"), one("_Account_", "Account", "ACCOUNT")})
}

// accounts are one for each client. Every other one is archived.
func (v vendor) accounts(r *http.Request) (int, any) {
	var asked struct{ Statuses []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return refuse(400, "no body")
	}
	clients := map[string]string{}
	for _, s := range v.Sheets {
		for _, e := range s.Entries {
			clients[e.Client.ID] = e.Client.Name
		}
	}
	delete(clients, "")
	rows := []object{}
	for id, name := range clients {
		number, _ := strconv.Atoi(id)
		if one := accountOf(number, name); slices.Contains(asked.Statuses, one["status"].(string)) {
			rows = append(rows, one)
		}
	}
	slices.SortFunc(rows, func(a, b object) int { return cmp.Compare(a["id"].(int), b["id"].(int)) })
	return v.paged(r, rows)
}

func accountOf(client int, name string) object {
	address, status := accountAddress(client+100_000), []string{"OPEN", "ARCHIVED"}[client%2]
	return object{
		"id": client + 100_000, "key": fmt.Sprintf("ACC-%d", client), "name": name + " account", "self": address, "status": status, "global": false,
		"lead": object{"accountId": "1", "self": "https://" + site}, "links": object{"self": address + "/links"},
		"customer": object{"id": client, "key": fmt.Sprintf("C%d", client), "name": name, "self": fmt.Sprintf("%s/customers/%d", self, client)},
	}
}

func accountAddress(id int) string { return fmt.Sprintf("%s/accounts/%d", self, id) }

func (v vendor) links(r *http.Request) (int, any) {
	return 200, object{"self": self + "/account-links/project/" + r.PathValue("id"), "metadata": object{"count": 0}, "results": []object{}}
}

func (v vendor) issues(r *http.Request) (int, any) {
	var asked struct {
		IssueIDsOrKeys []string `json:"issueIdsOrKeys"`
		Fields         []string
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.IssueIDsOrKeys) == 0 || len(asked.IssueIDsOrKeys) > 100 {
		return 400, object{"errorMessages": []string{"between 1 and 100 issues"}, "errors": object{}}
	}
	found := []object{}
	for _, id := range asked.IssueIDsOrKeys {
		if one := v.issueOf(id); one != nil {
			found = append(found, one)
		}
	}
	return 200, object{"expand": "schema,names", "issues": found, "issueErrors": []object{}}
}

func (v vendor) issue(r *http.Request) (int, any) {
	if one := v.issueOf(r.PathValue("id")); one != nil {
		return 200, one
	}
	return 404, object{"errorMessages": []string{"Issue does not exist or you do not have permission to see it."}, "errors": object{}}
}

func (v vendor) issueOf(id string) object {
	for _, s := range v.Sheets {
		for _, e := range s.Entries {
			if issueID(e.Project.ID, e.Task.ID) == id {
				project := object{"id": e.Project.ID, "key": "P" + e.Project.ID, "name": e.Project.Name}
				return object{"id": id, "key": issueKey(e.Project.ID, e.Task.ID), "fields": object{"summary": e.Task.Name, "project": project}}
			}
		}
	}
	return nil
}

// issueID is the id of the issue for a task of a project; "" without a task: Tempo's worklog then has no issue.
// An issue is of one project in Jira, a task may be of several elsewhere.
func issueID(project, task string) string {
	if task == "" {
		return ""
	}
	return project + task
}

func issueKey(project, id string) string { return "P" + project + "-" + id }

func (v vendor) users(r *http.Request) (int, any) {
	ids := r.URL.Query()["accountId"]
	found := []object{}
	for _, m := range v.Members {
		if slices.Contains(ids, m.ID) {
			found = append(found, object{"accountId": m.ID, "accountType": "atlassian", "active": !m.Left, "displayName": m.Name})
		}
	}
	start, size := count(r.URL.Query(), "startAt", 0), v.Size(count(r.URL.Query(), "maxResults", 10))
	from, to := min(start, len(found)), min(start+size, len(found))
	return 200, object{"values": found[from:to], "startAt": start, "maxResults": size, "total": len(found), "isLast": to == len(found)}
}

func (v vendor) myself(*http.Request) (int, any) {
	return 200, object{"accountId": "1", "displayName": "Ada", "emailAddress": jiraUser, "active": true}
}

func (v vendor) serverInfo(*http.Request) (int, any) {
	return 200, object{"baseUrl": "https://" + site, "deploymentType": "Cloud", "serverTitle": "Acme"}
}
