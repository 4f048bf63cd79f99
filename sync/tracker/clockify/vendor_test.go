package clockify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

const (
	token     = "clockify-secret-key"
	workspace = "64a687e29ae1f428e7ebe303"
	listPath  = "/v1/workspaces/" + workspace + "/approval-requests"
)

// object is a JSON object.
type object = map[string]any

// growth is how Clockify shows what was added to a period that is approved. Which of them is right is not known.
type growth string

const (
	ownRequest    growth = "a request of its own"
	stillApproved growth = "a part of an approved request"
	stillPending  growth = "a part of a request that waits again"
)

// vendor shows a world as Clockify does.
type vendor struct {
	*trackertest.World
	growth   growth
	headless bool // no header tells of the last page
}

func (v vendor) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request, http.Header) (int, any){
		"GET " + listPath:                 v.requests,
		"GET /v1/user":                    v.user,
		"GET /v1/workspaces/" + workspace: v.workspace,
		"POST /v1/workspaces/" + workspace + "/reports/detailed": v.report,
	} {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			defer v.Lock()()
			status, body := answer(r, rw.Header())
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			_ = json.NewEncoder(rw).Encode(body)
		})
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != token {
			http.Error(rw, `{"message":"Api key does not exist","code":4003}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(rw, r)
	})
}

func refuse(status, code int, format string, args ...any) (int, any) {
	return status, object{"message": fmt.Sprintf(format, args...), "code": code}
}

func (v vendor) user(*http.Request, http.Header) (int, any) {
	return 200, object{"id": "9", "name": "Olga", "email": "olga@example.com", "activeWorkspace": workspace, "defaultWorkspace": workspace}
}

func (v vendor) workspace(*http.Request, http.Header) (int, any) {
	return 200, object{"id": workspace, "name": "Agency"}
}

// requests lists those of one status.
func (v vendor) requests(r *http.Request, header http.Header) (int, any) {
	q := r.URL.Query()
	number, err := strconv.Atoi(q.Get("page"))
	size, err2 := strconv.Atoi(q.Get("page-size"))
	state, column := q.Get("status"), q.Get("sort-column")
	switch {
	case err != nil || err2 != nil || number < 1 || size < 1 || size > largestPage:
		return refuse(400, 501, "page %q of %q", q.Get("page"), q.Get("page-size"))
	case !slices.Contains([]string{pending, approved, withdrawnApproval}, state):
		return refuse(400, 3002, "No enum constant %s", state)
	case q.Get("sort-order") != "DESCENDING" || column != byStart && column != byUpdate:
		return refuse(400, 3002, "No enum constant %s", column)
	}
	var all []object
	for _, s := range v.Sheets {
		for _, one := range v.of(s) {
			if one["approvalRequest"].(object)["status"].(object)["state"] == state {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b object) int { return cmp.Compare(sorted(b, column), sorted(a, column)) })
	page, last := trackertest.Page(all, number, v.Size(size))
	if !v.headless {
		header.Set("Last-Page", strconv.FormatBool(last))
	}
	return 200, append([]object{}, page...)
}

// sorted is what a column sorts by.
func sorted(one object, column string) string {
	a := one["approvalRequest"].(object)
	if column == byUpdate {
		return a["status"].(object)["updatedAt"].(string)
	}
	return a["dateRange"].(object)["start"].(string)
}

// of returns the requests of a sheet: one for each approval that was withdrawn, and that which stands.
func (v vendor) of(s *trackertest.Sheet) (all []object) {
	for i, id := range s.Earlier {
		all = append(all, v.one(s, strconv.FormatInt(id, 10), withdrawnApproval, s.Changed.Add(time.Duration(i-len(s.Earlier))*time.Second), s.Entries))
	}
	id := strconv.FormatInt(s.Approval, 10)
	var done, more []*trackertest.Entry
	for _, e := range s.Entries {
		if e.Open {
			more = append(more, e)
		} else {
			done = append(done, e)
		}
	}
	state := map[tracker.State]string{tracker.Pending: pending, tracker.Approved: approved, tracker.Withdrawn: withdrawnApproval}[s.State]
	switch {
	case len(more) == 0 || s.State != tracker.Approved:
		return append(all, v.one(s, id, state, s.Changed, s.Entries))
	case v.growth == ownRequest:
		return append(all, v.one(s, id, state, s.Changed.Add(-time.Second), done), v.one(s, id+"-more", pending, s.Changed, more))
	case v.growth == stillPending:
		state = pending
	}
	return append(all, v.one(s, id, state, s.Changed, s.Entries))
}

// one returns a request.
func (v vendor) one(s *trackertest.Sheet, id, state string, at time.Time, entries []*trackertest.Entry) object {
	var done, waiting time.Duration
	list := []object{}
	for _, e := range entries {
		length := time.Duration(e.Seconds) * time.Second
		if state == approved && !e.Open || state == pending && v.growth == stillPending && s.State == tracker.Approved && !e.Open {
			done += length
		} else {
			waiting += length
		}
		list = append(list, entryOf(s, id, e))
	}
	zone, err := time.LoadLocation(s.Member.Zone)
	if err != nil {
		panic(err)
	}
	return object{
		"approvalRequest": object{
			"id": id, "workspaceId": workspace,
			"owner":     object{"userId": s.Member.ID, "userName": s.Member.Name, "timeZone": s.Member.Zone, "startOfWeek": strings.ToUpper(s.Member.Begins.String())},
			"creator":   object{"userId": s.Member.ID, "userName": s.Member.Name, "userEmail": "someone@example.com"},
			"dateRange": object{"start": stamp(s.Period.First.In(zone)), "end": stamp(s.Period.Last.AddDays(1).In(zone).Add(-time.Second))},
			"status":    object{"state": state, "updatedAt": stamp(at), "updatedBy": "9", "updatedByUserName": "Olga", "note": ""},
		},
		"approvedTime": iso8601(done), "pendingTime": iso8601(waiting), "trackedTime": iso8601(done + waiting), "billableTime": "PT0S", "breakTime": "PT0S",
		"billableAmount": 0.0, "costAmount": 0.0, "expenseTotal": 0.0, "entries": list, "expenses": []object{},
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func iso8601(d time.Duration) string {
	return fmt.Sprintf("PT%dH%dM%dS", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func entryOf(s *trackertest.Sheet, request string, e *trackertest.Entry) object {
	zone, err := time.LoadLocation(s.Member.Zone)
	if err != nil {
		panic(err)
	}
	begin := time.Date(e.Date.Year, e.Date.Month, e.Date.Day, int(e.Clock.Hours()), int(e.Clock.Minutes())%60, 0, 0, zone)
	if civil.DateOf(begin) != e.Date { // That midnight does not exist.
		begin = e.Date.In(zone)
	}
	length := time.Duration(e.Seconds) * time.Second
	interval := object{"start": stamp(begin), "end": stamp(begin.Add(length)), "duration": iso8601(length), "timeZone": s.Member.Zone}
	if e.Running {
		delete(interval, "end")
		delete(interval, "duration")
	}
	one := object{
		"id": strconv.FormatInt(e.Number, 10), "approvalRequestId": request, "description": e.Note, "billable": e.Billable,
		"isLocked": s.State == tracker.Approved && !e.Open, "type": regular, "timeInterval": interval, "tags": []object{},
		"costRate": object{"amount": 0, "currency": "EUR"},
	}
	if e.Project.ID != "" {
		project := object{"id": e.Project.ID, "name": e.Project.Name, "color": "#000000"}
		if e.Client.ID != "" {
			project["clientId"], project["clientName"] = e.Client.ID, e.Client.Name
		}
		one["project"] = project
	}
	if e.Task.ID != "" {
		one["task"] = object{"id": e.Task.ID, "name": e.Task.Name}
	}
	if e.Rate.Valid {
		one["hourlyRate"] = object{"amount": e.Rate.Decimal.Mul(decimal.NewFromInt(100)).IntPart(), "currency": string(e.Currency)}
	}
	return one
}

// report lists the entries of a time that were invoiced.
func (v vendor) report(r *http.Request, _ http.Header) (int, any) {
	var asked struct {
		DateRangeStart, DateRangeEnd, TimeZone, InvoicingState, ApprovalState string
		DetailedFilter                                                        struct{ Page, PageSize int }
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&asked)
	from, err2 := time.Parse("2006-01-02T15:04:05.000", asked.DateRangeStart)
	to, err3 := time.Parse("2006-01-02T15:04:05.000", asked.DateRangeEnd)
	filter := asked.DetailedFilter
	if err != nil || err2 != nil || err3 != nil || asked.TimeZone != "UTC" || filter.Page < 1 || filter.PageSize < 1 || filter.PageSize > 1000 {
		return refuse(400, 501, "not a report: %v", asked)
	}
	rows := []object{}
	for _, s := range v.Sheets {
		for _, e := range s.Entries {
			begin, _ := time.Parse(time.RFC3339, entryOf(s, "", e)["timeInterval"].(object)["start"].(string))
			if e.Invoiced == (asked.InvoicingState == "INVOICED") && !begin.Before(from) && !begin.After(to) {
				rows = append(rows, object{"_id": strconv.FormatInt(e.Number, 10), "description": e.Note})
			}
		}
	}
	page, _ := trackertest.Page(rows, filter.Page, v.Size(filter.PageSize))
	return 200, object{"timeentries": append([]object{}, page...), "totals": []object{}}
}
