package sync

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// scene is an engine between two peers, over a real state file, at a time that the test sets.
type scene struct {
	t       *testing.T
	now     time.Time
	path    string
	store   *state.Store
	tracker *peerTracker
	books   *peerBooks
	rules   Settings
	engine  *Engine
	log     bytes.Buffer
}

// monday is the first day of the week that most tests are about.
var monday = civil.Date{Year: 2026, Month: time.November, Day: 2}

// afterwards is a moment on the Monday after that week.
var afterwards = time.Date(2026, time.November, 9, 9, 0, 0, 0, time.UTC)

func testRules() Settings {
	return Settings{
		Name: "agency", Prefix: "ts-", Location: time.UTC, Overlap: 48 * time.Hour, TTL: 72 * time.Hour,
		Lookback: 70 * 24 * time.Hour, Reread: 35 * 24 * time.Hour, RereadEvery: 24 * time.Hour, Start: monday, Per: PerProject, WaitAtMost: 14 * 24 * time.Hour,
		Lines: LineMember, Dated: PeriodEnd, DueDays: -1, Corrections: Window, Late: LateReview, MaxNew: 200, Workers: 2,
		Customers: []Customer{{Client: "c1", Customer: "cust-1"}, {Client: "Beta Ltd", Customer: "cust-2"}},
	}
}

// newScene starts an engine with a new state file. The rules may be changed by mend functions.
func newScene(t *testing.T, mend ...func(*Settings)) *scene {
	s := &scene{t: t, now: afterwards, tracker: newPeerTracker(), books: newPeerBooks(), rules: testRules()}
	s.path = filepath.Join(t.TempDir(), "tidemark.db")
	for _, m := range mend {
		m(&s.rules)
	}
	store, err := state.Open(s.path, state.Options{NoProbe: true, NoSync: true})
	s.must(err)
	s.store = store
	t.Cleanup(func() { _ = s.store.Close() })
	s.restart()
	return s
}

// restart starts the engine anew, with the rules and traits as they are now.
func (s *scene) restart() {
	s.engine = New(s.store, s.tracker, s.books, s.rules, func() time.Time { return s.now }, zerolog.New(zerolog.SyncWriter(&s.log)), nil)
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// wait lets time go by, at the tracker too where it has a clock of its own.
func (s *scene) wait(d time.Duration) {
	s.now = s.now.Add(d)
	if !s.tracker.clock.IsZero() {
		s.tracker.clock = s.tracker.clock.Add(d)
	}
}

// pass runs a pass that must end well.
func (s *scene) pass() Report {
	s.t.Helper()
	report, err := s.engine.Pass(context.Background(), s.now)
	s.must(err)
	return report
}

// failing runs a pass that must not end well.
func (s *scene) failing() (Report, error) {
	s.t.Helper()
	report, err := s.engine.Pass(context.Background(), s.now)
	if err == nil {
		s.t.Fatal("Pass: no error, want one")
	}
	return report, err
}

// bill stores weeks at the tracker and runs a pass that must bill them as so many invoices.
func (s *scene) bill(invoices int, weeks ...tracker.Week) Report {
	s.t.Helper()
	for _, w := range weeks {
		s.tracker.put(w)
	}
	report := s.pass()
	if got := report.Count(Created); got != invoices {
		s.t.Fatalf("created = %d, want %d: %s; items %v", got, invoices, report.Summary(), report.Items)
	}
	return report
}

// quiet checks that an immediate second pass writes one heartbeat row and nothing else anywhere.
func (s *scene) quiet() {
	s.t.Helper()
	commits, writes := s.store.Commits(), s.books.writes()
	s.pass()
	if got := s.store.Commits() - commits; got != 1 {
		s.t.Errorf("commits of a second pass = %d, want 1: the heartbeat", got)
	}
	if got := s.books.writes() - writes; got != 0 {
		s.t.Errorf("writes of a second pass = %d, want 0", got)
	}
}

// only returns the one group that is known, or fails.
func (s *scene) only() state.Group {
	s.t.Helper()
	groups := s.groups()
	if len(groups) != 1 {
		s.t.Fatalf("groups = %d, want 1", len(groups))
	}
	return groups[0]
}

func (s *scene) groups() (all []state.Group) {
	s.t.Helper()
	s.must(s.store.Groups(s.engine.channel.Account, func(g state.Group) error {
		all = append(all, g)
		return nil
	}))
	return all
}

func (s *scene) items() []state.Item {
	s.t.Helper()
	items, err := s.store.Items(s.engine.channel.Account)
	s.must(err)
	return items
}

// asked returns the one item that there is, which must be of the kind and undecided.
func (s *scene) asked(kind state.Kind) state.Item {
	s.t.Helper()
	items := s.items()
	if len(items) != 1 || items[0].Kind != kind || items[0].Status != state.Undecided {
		s.t.Fatalf("items = %+v, want one undecided of kind %s", items, kind)
	}
	return items[0]
}

func (s *scene) wantItems(n int) {
	s.t.Helper()
	if items := s.items(); len(items) != n {
		s.t.Fatalf("items = %+v, want %d", items, n)
	}
}

// wantLive checks how many invoices stand in the books, and what they come to together.
func (s *scene) wantLive(n int, net string) {
	s.t.Helper()
	sum := decimal.Zero
	live := s.books.live()
	for _, d := range live {
		sum = sum.Add(d.receipt.Net)
	}
	if len(live) != n || !sum.Equal(decimal.RequireFromString(net)) {
		s.t.Errorf("live invoices = %d of %s together, want %d of %s", len(live), sum, n, net)
	}
}

// wantCalls checks the keys under which writes arrived, in order, and that each key had one body.
func (s *scene) wantCalls(keys ...string) {
	s.t.Helper()
	bodies := map[string]string{}
	var got []string
	for _, c := range s.books.calls {
		got = append(got, c.Key)
		if body, known := bodies[c.Key]; known && body != c.Body {
			s.t.Errorf("key %s was sent with two bodies:\n%s\n%s", c.Key, body, c.Body)
		}
		bodies[c.Key] = c.Body
	}
	if len(got) != len(keys) {
		s.t.Fatalf("writes = %v, want %v", got, keys)
	}
	for i := range keys {
		if got[i] != keys[i] {
			s.t.Fatalf("writes = %v, want %v", got, keys)
		}
	}
}

// rule does what a person decided.
func (s *scene) rule(subject string, action Action) {
	s.t.Helper()
	s.must(s.engine.Rule(Ruling{Subject: subject, Action: action, Who: "mira", Note: "seen", Until: civil.DateOf(s.now).AddDays(3)}, s.now))
}

func (s *scene) watermark() time.Time {
	s.t.Helper()
	mark, err := s.store.Watermark(s.engine.channel)
	s.must(err)
	return mark
}

// week is an approved week of one member, from the monday on, that changed when it was approved.
func week(id string, entries ...tracker.Entry) tracker.Week {
	at := afterwards.Add(-time.Hour)
	return tracker.Week{
		ID: id, Version: tracker.Version{Kind: tracker.Exact, Number: 1}, State: tracker.Approved,
		Period: civil.Period{First: monday, Last: monday.AddDays(6)}, Member: tracker.Ref{ID: "m1", Name: "Ann"},
		Entries: entries, Changed: at, Approved: at,
	}
}

// again is a newer version of a week, with other entries, changed at a moment.
func again(w tracker.Week, at time.Time, entries ...tracker.Entry) tracker.Week {
	w.Version.Number++
	w.Changed, w.Approved, w.Entries = at, at, entries
	return w
}

// entry is work for client c1, at 100 EUR an hour.
func entry(id string, hours float64) tracker.Entry {
	return tracker.Entry{
		ID: id, Date: monday.AddDays(1), Seconds: int64(hours * 3600), Billable: true,
		Client: tracker.Ref{ID: "c1", Name: "Acme GmbH"}, Project: tracker.Ref{ID: "p1", Name: "Relaunch"},
		Rate: price("100"), Currency: "EUR",
	}
}

func price(s string) decimal.NullDecimal {
	return decimal.NewNullDecimal(decimal.RequireFromString(s))
}

// with returns an entry after changes.
func with(e tracker.Entry, mend func(*tracker.Entry)) tracker.Entry {
	mend(&e)
	return e
}

// ofProject returns an entry of another project of the same client.
func ofProject(e tracker.Entry, id string) tracker.Entry {
	e.Project = tracker.Ref{ID: id, Name: "Project " + id}
	return e
}
