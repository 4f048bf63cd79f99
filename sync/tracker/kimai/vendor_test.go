package kimai

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

	"github.com/shopspring/decimal"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

const (
	token = "kimai-secret-token"
	tag   = "approved"
	boss  = 900001 // the token's owner, who is no member
)

// object is a JSON object.
type object = map[string]any

// vendor shows a world as Kimai with the plugin ApprovalBundle does.
type vendor struct {
	*trackertest.World
	overtime bool                       // the plugin's overtime is switched on
	zone     *time.Location             // of the token's owner
	key      func(status string) string // how weekly_overtime tells a status
	label    func(status string) string // how week-status does
	rates    bool                       // the token may see them
	holes    bool                       // some weeks were never submitted: weekly_overtime tells an object
	bare     bool                       // the plugin is not installed
	alone    bool                       // the token may see its owner's entries only
	blind    bool                       // the token may not see approvals

	counted int64 // what weekly_overtime counts; 0: what there is

	before  func(r *http.Request) // called before each request; nil: nothing
	edit    func(entry object)    // changes how entries are shown; nil: nothing
	instead map[string]string     // what is answered in place of what a path should
}

// kimai returns a vendor that is as most are. Its owner's clock is far from everybody's.
func kimai(w *trackertest.World) *vendor {
	return &vendor{World: w, overtime: true, zone: time.FixedZone("", -11*3600), rates: true, holes: true, label: english, key: func(status string) string { return status }}
}

func english(status string) string {
	return map[string]string{"approved": "Approved", "submitted": "Submitted", "denied": "Denied", "not_submitted": "Not submitted"}[status]
}

func (v *vendor) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(http.Header, url.Values) (int, any){
		"GET /api/version":                         v.version,
		"GET /api/plugins":                         v.plugins,
		"GET /api/users":                           v.users,
		"GET /api/users/me":                        v.me,
		"GET /api/timesheets":                      v.timesheets,
		"GET /api/approval-bundle/weekly_overtime": v.weeklyOvertime,
		"GET /api/approval-bundle/week-status":     v.weekStatus,
	} {
		if v.bare && strings.Contains(pattern, "approval-bundle") {
			continue
		}
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			defer v.Lock()()
			status, body := answer(rw.Header(), r.URL.Query())
			say(rw, status, body)
		})
	}
	mux.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) {
		say(rw, 404, object{"code": 404, "message": "Not Found"})
	})
	if r.Header.Get("Authorization") != "Bearer "+token {
		say(rw, 401, object{"message": "Invalid credentials"})
		return
	}
	if v.before != nil {
		v.before(r)
	}
	if text, there := v.instead[r.URL.Path]; there {
		say(rw, 200, json.RawMessage(text))
		return
	}
	mux.ServeHTTP(rw, r)
}

func say(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body)
}

func (v *vendor) version(http.Header, url.Values) (int, any) {
	return 200, object{"version": "2.66.0", "versionId": 26600, "copyright": "Kimai 2.66.0"}
}

func (v *vendor) plugins(http.Header, url.Values) (int, any) {
	list := []object{{"name": "CustomCSSBundle", "version": "2.1.0"}}
	if !v.bare {
		list = append(list, object{"name": "ApprovalBundle", "version": "2.3.0"})
	}
	return 200, list
}

func (v *vendor) owner() object {
	return object{"id": boss, "username": "boss", "alias": "Boss", "enabled": true, "timezone": "Pacific/Pago_Pago", "systemAccount": false}
}

func (v *vendor) me(http.Header, url.Values) (int, any) { return 200, v.owner() }

// person shows a member: half of them have an alias.
func person(m *trackertest.Member) object {
	id, _ := strconv.Atoi(m.ID)
	one := object{"id": id, "username": m.Name, "alias": nil, "title": "", "timezone": m.Zone, "enabled": !m.Left, "language": "en", "systemAccount": false}
	if id%2 == 0 {
		one["username"], one["alias"] = "user"+m.ID, m.Name
	}
	return one
}

func (v *vendor) users(_ http.Header, q url.Values) (int, any) {
	list := []object{v.owner()}
	for _, m := range v.Members {
		if !m.Left || q.Get("visible") == "3" {
			list = append(list, person(m))
		}
	}
	return 200, list
}

// timesheets lists entries as Kimai does: by their begin, which is compared by the clock of the token's owner.
func (v *vendor) timesheets(header http.Header, q url.Values) (int, any) {
	begin, end, err := v.moments(q)
	if err != nil || !slices.Contains([]string{"", "id", "begin"}, q.Get("orderBy")) || !slices.Contains([]string{"", "ASC", "DESC"}, q.Get("order")) {
		return 400, object{"code": 400, "message": fmt.Sprintf("Parameter invalid: %v", err)}
	}
	who := q.Get("user")
	if who != "all" && !slices.ContainsFunc(v.Members, func(m *trackertest.Member) bool { return m.ID == who }) || v.alone {
		who = strconv.Itoa(boss)
	}
	var found []listed
	for _, s := range v.Sheets {
		if who != "all" && who != s.Member.ID || s.Period.Last.AddDays(3).In(time.UTC).Before(begin) || s.Period.First.AddDays(-3).In(time.UTC).After(end) {
			continue
		}
		for _, e := range s.Entries {
			if at := beginOf(s, e); !at.Before(begin) && !at.After(end) {
				found = append(found, listed{s, e, at})
			}
		}
	}
	slices.SortFunc(found, func(a, b listed) int { return a.compare(b, q) })
	return v.page(header, q, found)
}

// listed is an entry that a list shows.
type listed struct {
	sheet *trackertest.Sheet
	entry *trackertest.Entry
	at    time.Time
}

func (l listed) compare(m listed, q url.Values) int {
	by := cmp.Compare(l.entry.Number, m.entry.Number)
	if q.Get("orderBy") != "id" {
		by = cmp.Or(l.at.Compare(m.at), by)
	}
	if q.Get("order") != "ASC" {
		return -by
	}
	return by
}

// page cuts a page out. There is none beyond the last.
func (v *vendor) page(header http.Header, q url.Values, all []listed) (int, any) {
	asked, _ := strconv.Atoi(q.Get("size"))
	number, _ := strconv.Atoi(cmp.Or(q.Get("page"), "1"))
	size := v.Size(min(asked, 500))
	pages := max(1, (len(all)+size-1)/size)
	if number < 1 || number > pages {
		return 404, object{"code": 404, "message": "Not Found"}
	}
	for name, n := range map[string]int{"X-Page": number, "X-Total-Count": len(all), "X-Total-Pages": pages, "X-Per-Page": size} {
		header.Set(name, strconv.Itoa(n))
	}
	some, _ := trackertest.Page(all, number, size)
	list := make([]object, len(some))
	for i, one := range some {
		list[i] = v.timesheet(one)
		if v.edit != nil {
			v.edit(list[i])
		}
	}
	if q.Get("full") != "1" {
		for _, one := range list {
			one["user"], one["activity"], one["project"] = 1, 1, 1
		}
	}
	return 200, list
}

func (v *vendor) moments(q url.Values) (begin, end time.Time, err error) {
	end = time.Now().AddDate(100, 0, 0)
	for name, at := range map[string]*time.Time{"begin": &begin, "end": &end} {
		if text := q.Get(name); text != "" && err == nil {
			*at, err = time.ParseInLocation("2006-01-02T15:04:05", text, v.zone)
		}
	}
	return begin, end, err
}

// beginOf is when the work of an entry began, in the zone of its member.
func beginOf(s *trackertest.Sheet, e *trackertest.Entry) time.Time {
	loc, err := time.LoadLocation(s.Member.Zone)
	if err != nil {
		panic(err)
	}
	at := time.Date(e.Date.Year, e.Date.Month, e.Date.Day, int(e.Clock.Hours()), int(e.Clock.Minutes())%60, 0, 0, loc)
	if civil.DateOf(at) != e.Date { // Midnight does not exist on this day.
		at = e.Date.In(loc)
	}
	return at
}

func (v *vendor) timesheet(l listed) object {
	const layout = "2006-01-02T15:04:05-0700"
	e := l.entry
	one := object{
		"id": e.Number, "begin": l.at.Format(layout), "end": l.at.Add(time.Duration(e.Seconds) * time.Second).Format(layout), "duration": e.Seconds, "break": 0,
		"description": e.Note, "exported": e.Invoiced, "billable": e.Billable, "tags": []string{"x"}, "metaFields": []object{},
		"user": person(l.sheet.Member), "activity": nil, "project": nil,
	}
	if e.Note == "" {
		one["description"] = nil
	}
	if e.Running {
		one["end"], one["duration"] = nil, nil
	}
	if l.sheet.State == tracker.Approved && !e.Open {
		one["tags"] = []string{"x", tag}
	}
	if e.Rate.Valid && v.rates {
		one["rate"], one["internalRate"] = json.Number(total(e.Rate.Decimal, e.Seconds).String()), 1.5
	}
	if e.Task.ID != "" {
		one["activity"] = object{"id": number(e.Task.ID), "name": e.Task.Name, "visible": true}
	}
	if e.Project.ID != "" {
		project := object{"id": number(e.Project.ID), "name": e.Project.Name, "number": nil, "orderNumber": nil, "customer": nil}
		if e.Client.ID != "" {
			project["customer"] = object{"id": number(e.Client.ID), "name": e.Client.Name, "number": "0001", "currency": e.Currency}
		}
		one["project"] = project
	}
	return one
}

// total is what Kimai charges for a whole entry.
func total(rate decimal.Decimal, seconds int64) decimal.Decimal {
	return rate.Mul(decimal.NewFromInt(seconds)).DivRound(decimal.NewFromInt(3600), 4)
}

func number(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		panic(err)
	}
	return n
}

// statusOf is what the plugin stores as the status of a sheet: withdrawn is not submitted.
func statusOf(s *trackertest.Sheet) string {
	switch {
	case s == nil, s.State == tracker.Withdrawn:
		return "not_submitted"
	case s.State == tracker.Pending:
		return "submitted"
	}
	return "approved"
}

// refused says why the plugin tells nothing of a user.
func (v *vendor) refused(q url.Values) (int, any) {
	if v.blind {
		return 400, "Access denied"
	}
	at := slices.IndexFunc(v.Members, func(m *trackertest.Member) bool { return m.ID == q.Get("user") })
	if q.Get("user") != strconv.Itoa(boss) && (at < 0 || v.Members[at].Left) {
		return 404, "User does not exist"
	}
	return 0, nil
}

func (v *vendor) weekStatus(_ http.Header, q url.Values) (int, any) {
	if status, why := v.refused(q); status != 0 {
		return status, why
	}
	day, err := civil.Parse(q.Get("date"))
	if err != nil {
		return 500, object{"code": 500, "message": "Internal Server Error"}
	}
	return 200, v.label(statusOf(v.Sheet(q.Get("user"), civil.WeekOf(day).First())))
}

func (v *vendor) weeklyOvertime(_ http.Header, q url.Values) (int, any) {
	if !v.overtime {
		return 200, "Overtime is deactivated in the settings"
	}
	if status, why := v.refused(q); status != 0 {
		return status, why
	}
	from, err := civil.Parse(q.Get("date"))
	if err != nil {
		return 500, object{"code": 500, "message": "Internal Server Error"}
	}
	list := v.submitted(q.Get("user"), from)
	switch {
	case len(list) == 0:
		return 404, "No data for this user"
	case !v.holes:
		return 200, list
	}
	rows := object{"0": object{"overtimeYearly": 0, "manualAdoption": nil}}
	for i, one := range list {
		rows[strconv.Itoa(i+1)] = one
	}
	return 200, rows
}

// submitted lists the weeks of a user that are submitted or approved.
func (v *vendor) submitted(user string, from civil.Date) (list []object) {
	for monday := from; !monday.After(civil.DateOf(time.Now()).AddDays(7)); monday = monday.AddDays(7) {
		if s := v.Sheet(user, monday); statusOf(s) != "not_submitted" {
			list = append(list, object{
				"userId": number(user), "startDate": monday, "endDate": monday.AddDays(6), "expectedDuration": 144000, "actualDuration": cmp.Or(v.counted, worked(s)),
				"user": s.Member.Name, "week": object{"label": "5. October", "value": monday}, "status": v.key(statusOf(s)), "overtimeYearly": 0,
			})
		}
	}
	return list
}

// worked is what the plugin counts of a sheet.
func worked(s *trackertest.Sheet) (seconds int64) {
	for _, e := range s.Entries {
		if !e.Running {
			seconds += e.Seconds
		}
	}
	return seconds
}
