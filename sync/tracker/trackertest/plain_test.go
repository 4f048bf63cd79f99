package trackertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/histories"
	"tidemark/internal/remote"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
	"tidemark/sync/tracker/trackertest"
)

// plain is a tracker for a vendor of our own making, as simple as one can be that passes the suite.
type plain struct {
	client *remote.Client
}

// plainSheet is a record of that vendor's list.
type plainSheet struct {
	Member  remote.ID    `json:"memberId"`
	Name    string       `json:"name"`
	Period  civil.Period `json:"period"`
	State   string       `json:"state"`
	Changed time.Time    `json:"changed"`
	Entries []plainEntry `json:"entries"`
}

type plainEntry struct {
	tracker.Entry
	ID      remote.ID `json:"id"`
	Client  plainRef  `json:"client"`
	Project plainRef  `json:"project"`
	Task    plainRef  `json:"task"`
	Open    bool      `json:"open"`
}

type plainRef struct {
	ID   remote.ID `json:"id"`
	Name string    `json:"name"`
}

func (r plainRef) ref() tracker.Ref { return tracker.Ref{ID: string(r.ID), Name: r.Name} }

// broken is the way in which the tracker is broken on purpose.
var broken = os.Getenv("TRACKERTEST_BROKEN")

type plainList struct {
	Sheets []plainSheet `json:"sheets"`
	More   bool         `json:"more"`
}

const plainToken = "plain-secret-token"

func plainDialect() trackertest.Dialect {
	return trackertest.Dialect{
		Handler: plainHandler, Token: plainToken, Approval: []string{"state"}, Lists: "/sheets",
		New: func(t testing.TB, net *remote.Network, base, token string) trackertest.Tracker {
			header := http.Header{"X-Api-Key": {token}}
			c, err := net.Client(remote.Account{Vendor: "plain", ID: "plain:1", Base: base, Header: header})
			if err != nil {
				t.Fatal(err)
			}
			return plain{c}
		},
	}
}

func plainHandler(w *trackertest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /me", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, `{"name":"Boss"}`) })
	mux.HandleFunc("GET /sheets", func(rw http.ResponseWriter, r *http.Request) { plainPage(rw, r.URL.Query(), w) })
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != plainToken {
			http.Error(rw, `{"message":"bad key"}`, http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(rw, r)
	})
}

func plainPage(rw http.ResponseWriter, q url.Values, w *trackertest.World) {
	defer w.Lock()()
	since, _ := time.Parse(time.RFC3339, q.Get("since"))
	var all []plainSheet
	for _, s := range w.Sheets {
		one := plainSheet{Member: remote.ID(s.Member.ID), Name: s.Member.Name, Period: s.Period, State: string(s.State), Changed: s.Changed}
		for _, e := range s.Entries {
			ref := func(r tracker.Ref) plainRef { return plainRef{remote.ID(r.ID), r.Name} }
			id := remote.ID(strconv.FormatInt(e.Number, 10))
			one.Entries = append(one.Entries, plainEntry{plainSee(e), id, ref(e.Client), ref(e.Project), ref(e.Task), e.Open})
			one.Changed = later(one.Changed, e.Updated)
		}
		if !one.Changed.Before(since) {
			all = append(all, one)
		}
	}
	number, _ := strconv.Atoi(q.Get("page"))
	page, last := trackertest.Page(all, number, w.Size(50))
	_ = json.NewEncoder(rw).Encode(plainList{page, !last})
}

func plainSee(e *trackertest.Entry) tracker.Entry {
	return tracker.Entry{
		Date: e.Date, Seconds: e.Seconds, Billable: e.Billable, Running: e.Running, Elsewhere: e.Invoiced, Note: e.Note, Rate: e.Rate, Currency: e.Currency,
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (p plain) Account() string        { return "plain:1" }
func (p plain) Traits() tracker.Traits { return tracker.Traits{Feed: true, Whole: true} }

func (p plain) Access(ctx context.Context) (tracker.Access, error) {
	var me struct{ Name string }
	_, err := p.client.Get(ctx, "/me", nil, &me)
	return tracker.Access{User: me.Name, Account: "plain:1", Reads: []string{"sheets"}}, err
}

func (p plain) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		for number, more := 1, true; more; number++ {
			var list plainList
			query := url.Values{"page": {strconv.Itoa(number)}, "since": {q.Since.UTC().Format(time.RFC3339)}}
			answer, err := p.client.Get(ctx, "/sheets", query, &list)
			switch {
			case err != nil && broken == "errors are the end":
				return
			case err != nil:
				yield(tracker.Page{}, err)
				return
			}
			page := tracker.Page{Clock: answer.Clock}
			for _, s := range list.Sheets {
				week, err := s.week()
				if err != nil {
					page.Unread = append(page.Unread, tracker.Unread{ID: week.ID, Reason: err.Error()})
					continue
				}
				page.Weeks = append(page.Weeks, week)
			}
			if !yield(page, nil) {
				return
			}
			more = list.More && broken != "one page"
		}
	}
}

func (s plainSheet) week() (tracker.Week, error) {
	w := tracker.Week{ID: string(s.Member) + ":" + s.Period.First.String(), Period: s.Period, Member: tracker.Ref{ID: string(s.Member), Name: s.Name}, Changed: s.Changed}
	w.Version = tracker.Version{Kind: tracker.Stamp, Number: s.Changed.UnixNano()}
	w.State = tracker.State(s.State)
	if broken == "approved by default" && w.State == "" {
		w.State = tracker.Approved
	}
	if !slices.Contains([]tracker.State{tracker.Approved, tracker.Pending, tracker.Withdrawn}, w.State) {
		return w, errors.New("no state")
	}
	for _, e := range s.Entries {
		e.Entry.ID, e.Entry.Client, e.Entry.Project, e.Entry.Task = string(e.ID), e.Client.ref(), e.Project.ref(), e.Task.ref()
		if w.State == tracker.Approved && e.Open {
			continue
		}
		w.Entries = append(w.Entries, e.Entry)
	}
	if w.State == tracker.Approved && len(w.Entries) < len(s.Entries) {
		w.State = tracker.Growing
	}
	return w, nil
}

func (p plain) Week(ctx context.Context, id string) (tracker.Week, error) {
	if strings.Count(id, ":") != 1 {
		return tracker.Week{}, tracker.ErrGone
	}
	for page, err := range p.Weeks(ctx, tracker.Query{}) {
		if err != nil {
			return tracker.Week{}, err
		}
		for _, w := range page.Weeks {
			if w.ID == id {
				return w, nil
			}
		}
	}
	return tracker.Week{}, tracker.ErrGone
}

func TestSuiteFailsForABrokenTracker(t *testing.T) {
	if broken != "" {
		t.SkipNow() // This is the process in which the suite is expected to fail.
	}
	for how, where := range map[string]string{"one page": "Pages", "errors are the end": "Faults", "approved by default": "NoApproval"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestSuitePassesForAGoodTracker")
			cmd.Env = append(os.Environ(), "TRACKERTEST_BROKEN="+how)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestSuitePassesForAGoodTracker/"+where) {
				t.Errorf("the suite did not notice in %s: %v\n%s", where, err, out)
			}
		})
	}
}

func TestSuitePassesForAGoodTracker(t *testing.T) { trackertest.Test(t, plainDialect()) }

func TestEngineLivesThroughHistoriesOfAGoodTracker(t *testing.T) { histories.Run(t, plainDialect()) }
