package harvest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
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
	token     = "harvest-secret-token"
	accountID = "1234567"
	contact   = "ops@agency.example"
)

// object is a JSON object.
type object = map[string]any

// vendor shows a world as Harvest does.
type vendor struct {
	*trackertest.World
	roles    []string // of the token's owner
	rates    bool     // the token may see them
	clients  bool     // the token may see them
	approval bool     // the module is switched on
	closed   bool     // is_closed alone tells what is approved
	linkless bool     // pages bear no links
	cursors  bool     // pages have no numbers: links alone tell where the next is
	origin   string   // where links lead; empty: to whom the request was for

	before func(r *http.Request)            // called before each request, with the world unlocked; nil: nothing
	edit   func(entry object)               // changes how entries are shown; nil: nothing
	mend   func(path string, answer object) // changes an answer; nil: nothing
}

// harvest returns a vendor that is as most are.
func harvest(w *trackertest.World) *vendor {
	return &vendor{World: w, roles: []string{"administrator"}, rates: true, clients: true, approval: true}
}

func (v *vendor) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if status, why := refusal(r.Header); status != 0 {
		say(rw, status, why)
		return
	}
	if v.before != nil {
		v.before(r)
	}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (int, object){
		"GET /v2/time_entries": v.timeEntries,
		"GET /v2/clients":      v.clientList,
		"GET /v2/clients/{id}": v.oneClient,
		"GET /v2/company":      v.company,
		"GET /v2/users/me":     v.me,
	} {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			defer v.Lock()()
			status, body := answer(r)
			if v.mend != nil && status == 200 {
				v.mend(r.URL.Path, body)
			}
			say(rw, status, body)
		})
	}
	mux.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) { say(rw, 404, object{"message": "Not Found"}) })
	mux.ServeHTTP(rw, r)
}

// refusal says why Harvest lets nobody in with such headers.
func refusal(header http.Header) (int, object) {
	switch {
	case !strings.Contains(header.Get("User-Agent"), "("+contact+")"):
		return 400, object{"message": "Please include a User-Agent header that identifies your application"}
	case header.Get("Authorization") != "Bearer "+token:
		return 401, object{"error": "invalid_token", "error_description": "The access token provided is expired, revoked, malformed or invalid for other reasons."}
	case header.Get("Harvest-Account-Id") != accountID:
		return 401, object{"error": "invalid_account", "error_description": "The account is missing or not this token's."}
	}
	return 0, nil
}

func say(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body)
}

func (v *vendor) company(*http.Request) (int, object) {
	begins := time.Monday
	if len(v.Members) > 0 {
		begins = v.Members[0].Begins
	}
	return 200, object{
		"base_uri": "https://agency.harvestapp.com", "full_domain": "agency.harvestapp.com", "name": "Agency", "is_active": true,
		"week_start_day": begins.String(), "wants_timestamp_timers": false, "time_format": "hours_minutes", "plan_type": "simple-v4",
		"expense_feature": true, "invoice_feature": true, "estimate_feature": true, "approval_feature": v.approval, "weekly_capacity": 126000,
	}
}

func (v *vendor) me(*http.Request) (int, object) {
	return 200, object{
		"id": 900001, "first_name": "Bea", "last_name": "Boss", "email": "bea@agency.example", "timezone": "Eastern Time (US & Canada)",
		"is_active": true, "is_contractor": false, "roles": []string{"Founder"}, "access_roles": v.roles,
	}
}

// listed is an entry that a list shows.
type listed struct {
	sheet *trackertest.Sheet
	entry *trackertest.Entry
}

// timeEntries lists entries, the newest days first.
func (v *vendor) timeEntries(r *http.Request) (int, object) {
	q := r.URL.Query()
	from, to, since, err := bounds(q)
	if err != nil {
		return 422, object{"message": err.Error()}
	}
	var found []listed
	for _, s := range v.Sheets {
		if user := q.Get("user_id"); user != "" && user != s.Member.ID {
			continue
		}
		for _, e := range s.Entries {
			if !e.Date.Before(from) && !e.Date.After(to) && !e.Updated.Before(since) {
				found = append(found, listed{s, e})
			}
		}
	}
	slices.SortFunc(found, func(a, b listed) int {
		return cmp.Or(b.entry.Date.Compare(a.entry.Date), cmp.Compare(b.entry.Number, a.entry.Number))
	})
	return page(v, r, "time_entries", found, v.timeEntry)
}

func bounds(q url.Values) (from, to civil.Date, since time.Time, err error) {
	to = civil.Date{Year: 9999, Month: time.December, Day: 31}
	for name, day := range map[string]*civil.Date{"from": &from, "to": &to} {
		if text := q.Get(name); text != "" && err == nil {
			*day, err = civil.Parse(text)
		}
	}
	if text := q.Get("updated_since"); text != "" && err == nil {
		since, err = time.Parse(time.RFC3339, text)
	}
	return from, to, since, err
}

// page cuts a page out of a list. A page beyond the last is empty.
func page[T any](v *vendor, r *http.Request, name string, all []T, show func(T) object) (int, object) {
	q := r.URL.Query()
	asked, _ := strconv.Atoi(cmp.Or(q.Get("per_page"), "2000"))
	number, err := strconv.Atoi(cmp.Or(q.Get("cursor"), q.Get("page"), "1"))
	if err != nil || number < 1 || asked < 1 || asked > 2000 {
		return 422, object{"message": "page or per_page is invalid"}
	}
	size := v.Size(asked)
	some, _ := trackertest.Page(all, number, size)
	rows, last := make([]object, len(some)), max(1, (len(all)+size-1)/size)
	for i, one := range some {
		rows[i] = show(one)
	}
	at := func(n int) any {
		if n < 1 || n > last {
			return nil
		}
		if q.Del("page"); v.cursors {
			q.Set("cursor", strconv.Itoa(n))
		} else {
			q.Set("page", strconv.Itoa(n))
		}
		return cmp.Or(v.origin, "http://"+r.Host) + r.URL.Path + "?" + q.Encode()
	}
	answer := object{
		name: rows, "per_page": size, "total_pages": last, "total_entries": len(all), "page": number, "next_page": nil, "previous_page": nil,
		"links": object{"first": at(1), "next": at(number + 1), "previous": at(number - 1), "last": at(last)},
	}
	switch {
	case v.linkless:
		delete(answer, "links")
	case v.cursors:
		answer["page"], answer["total_pages"], answer["total_entries"] = nil, nil, nil
	case number < last:
		answer["next_page"] = number + 1
	}
	return 200, answer
}

func (v *vendor) timeEntry(l listed) object {
	e, status := l.entry, statusOf(l.sheet, l.entry)
	one := object{
		"id": e.Number, "spent_date": e.Date, "hours": hours(e.Seconds), "hours_without_timer": hours(e.Seconds), "rounded_hours": hours(e.Seconds),
		"notes": e.Note, "is_locked": status == approved || e.Invoiced, "locked_reason": nil, "is_closed": status == approved, "approval_status": status,
		"is_billed": e.Invoiced, "is_running": e.Running, "timer_started_at": nil, "started_time": nil, "ended_time": nil,
		"billable": e.Billable, "budgeted": false, "billable_rate": nil, "cost_rate": nil, "invoice": nil, "external_reference": nil,
		"created_at": e.Updated.UTC(), "updated_at": e.Updated.UTC(),
		"user": shown(l.sheet.Member.ID, l.sheet.Member.Name), "client": shown(e.Client.ID, e.Client.Name),
		"project": shown(e.Project.ID, e.Project.Name), "task": shown(e.Task.ID, e.Task.Name),
	}
	if e.Note == "" {
		one["notes"] = nil
	}
	if e.Running {
		one["timer_started_at"] = e.Updated.UTC()
	}
	if e.Rate.Valid && e.Billable && v.rates {
		one["billable_rate"], one["cost_rate"] = json.Number(e.Rate.Decimal.String()), 50.5
	}
	if v.closed {
		delete(one, "approval_status")
	}
	if v.edit != nil {
		v.edit(one)
	}
	return one
}

// statusOf is how far an entry is approved. What was withdrawn is not submitted.
func statusOf(s *trackertest.Sheet, e *trackertest.Entry) string {
	switch {
	case s.State == tracker.Approved && !e.Open:
		return approved
	case s.State == tracker.Pending:
		return submitted
	}
	return unsubmitted
}

// hours are written with two decimals.
func hours(seconds int64) json.Number {
	return json.Number(decimal.NewFromInt(seconds).DivRound(decimal.NewFromInt(3600), 2).String())
}

func shown(id, name string) any {
	if id == "" {
		return nil
	}
	return object{"id": json.Number(id), "name": name}
}

// clientList lists the clients of all work.
func (v *vendor) clientList(r *http.Request) (int, object) {
	if !v.clients {
		return 403, object{"message": "You are not authorized to view clients"}
	}
	return page(v, r, "clients", v.allClients(), func(c object) object { return c })
}

func (v *vendor) allClients() (all []object) {
	met := map[string]bool{"": true}
	for _, s := range v.Sheets {
		for _, e := range s.Entries {
			if !met[e.Client.ID] {
				met[e.Client.ID] = true
				all = append(all, object{"id": json.Number(e.Client.ID), "name": e.Client.Name, "is_active": true, "address": nil, "statement_key": "0a", "currency": cmp.Or(e.Currency, "EUR")})
			}
		}
	}
	return all
}

func (v *vendor) oneClient(r *http.Request) (int, object) {
	for _, c := range v.allClients() {
		if c["id"] == json.Number(r.PathValue("id")) {
			return 200, c
		}
	}
	return 404, object{"status": 404, "error": "Not Found"}
}
