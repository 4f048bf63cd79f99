package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/sync/civil"
)

const (
	manyWeeks = 80
	manyKills = 10
	mostRuns  = 60
)

// office is a real Tryton, and a way to it on which answers get lost.
type office struct {
	*testing.T
	url.Values
	base, database string
	way            *httptest.Server

	said string       // by the last pass
	days civil.Period // of the weeks that are billed

	mu   sync.Mutex
	rnd  *rand.Rand
	bad  bool // the way loses requests and answers
	lost int
	left int    // writes until the program is killed
	kill func() // nil: it is left alone
}

func newOffice(t *testing.T) *office {
	const variable = "TIDEMARK_TRYTON_POSTGRES"
	text := os.Getenv(variable)
	if text == "" && os.Getenv("TIDEMARK_CI") == "1" {
		t.Fatalf("%s is not set: run eval \"$(.ci/tryton/setup)\" before", variable)
	}
	if text == "" {
		t.Skipf("%s is not set, so there is no Tryton to test with: eval \"$(.ci/tryton/setup)\" starts one", variable)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	o := &office{T: t, Values: u.Query(), base: u.Scheme + "://" + u.Host, database: strings.Trim(u.Path, "/"), rnd: rand.New(rand.NewPCG(seed, 1)), bad: true}
	o.way = httptest.NewServer(http.HandlerFunc(o.carry))
	t.Cleanup(o.way.Close)
	return o
}

// below draws a number below n.
func (o *office) below(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rnd.IntN(n)
}

// carry brings a request to Tryton and its answer back. One write in ten is lost on the way there, and one in five
// on the way back.
func (o *office) carry(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The program died while it sent it.
	}
	draw := 100
	if bytes.Contains(body, []byte(".create")) || bytes.Contains(body, []byte(".write")) {
		draw = o.draw()
		o.strike()
	}
	if draw < 10 {
		panic(http.ErrAbortHandler)
	}
	req, err := http.NewRequest(r.Method, o.base+r.URL.RequestURI(), bytes.NewReader(body)) //nolint:noctx // Tryton goes on when the client is gone.
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || draw < 30 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

// strike kills the program around the write that was drawn: before it arrives, before its answer, or after it.
func (o *office) strike() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left--; o.left == 0 && o.kill != nil {
		time.AfterFunc(time.Duration(o.rnd.IntN(100))*time.Millisecond, o.kill)
	}
}

// draw draws a number below 100, or 100 where the way is good. Below 30 something is lost.
func (o *office) draw() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.bad {
		return 100
	}
	n := o.rnd.IntN(100)
	if n < 30 {
		o.lost++
	}
	return n
}

// bills counts the invoices that bear each of our references, by Tryton's own export of a table.
func (o *office) bills() map[string]int {
	o.Helper()
	q := url.Values{"d": {`[["reference","like","ts-%"],["type","=","out"]]`}, "f": {"reference"}, "c": {`{"company":` + o.Get("company") + `}`}}
	req, err := http.NewRequestWithContext(o.Context(), http.MethodGet, o.base+"/"+o.database+"/data/account.invoice?"+q.Encode(), nil)
	if err != nil {
		o.Fatal(err)
	}
	req.SetBasicAuth(o.Get("user"), o.Get("password"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	rows, err := csv.NewReader(resp.Body).ReadAll()
	if err != nil || resp.StatusCode != http.StatusOK || len(rows) == 0 {
		o.Fatalf("the export of invoices: %s, %d rows, %v", resp.Status, len(rows), err)
	}
	count := map[string]int{}
	for _, row := range rows[1:] { // The first one names the columns.
		count[row[0]]++
	}
	return count
}

// set writes a config that bills many weeks to Tryton, and returns where it is.
func (o *office) set() (config string) {
	o.Helper()
	folder, week := o.TempDir(), o.freeWeek()
	var weeks strings.Builder
	weeks.WriteString("id,version,state,first,last,member,client,project,date,hours,billable,rate,currency,entry\n")
	for i := range manyWeeks {
		fmt.Fprintf(&weeks, "w%d,1,approved,%s,%s,Ingrid Solheim,Acme,Project %d,%s,7.5,Yes,95.00,EUR,e%d\n", i, week.First, week.Last, i, week.First, i)
	}
	text := fmt.Sprintf(`state: tidemark.db
syncs:
  agency:
    schedule: "@hourly"
    start: %s
    tracker: {kind: folder, account: "killed-%d", path: exports, quiet: 0s}
    accounting:
      kind: tryton
      account: agency
      url: %q
      database: %s
      user: %s
      password: {file: password}
      company: %s
      journal: %s
      receivable: %s
      revenue: %s
      unit: %s
      currencies: {EUR: %s}
      settle_after: 2s # the server is near and idle
      requests_per_second: 500
    invoice: {per: project, settle: 0s, customers: [{client: Acme, customer: %q}]}
`, week.First, time.Now().UnixNano(), o.way.URL, o.database, o.Get("user"), o.Get("company"), o.Get("journal"), o.Get("receivable"), o.Get("revenue"), o.Get("unit"), o.Get("EUR"), o.Get("customer"))
	if err := os.Mkdir(filepath.Join(folder, "exports"), 0o700); err != nil {
		o.Fatal(err)
	}
	config = filepath.Join(folder, "tidemark.yaml")
	for path, content := range map[string]string{config: text, filepath.Join(folder, "password"): o.Get("password"), filepath.Join(folder, "exports", "weeks.csv"): weeks.String()} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			o.Fatal(err)
		}
	}
	return config
}

// program returns a copy of the test binary that is the program: it looks at its name.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tidemark")
	if err := copyTo(self, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // It is run.
		t.Fatal(err)
	}
	return path
}

// pass runs one pass, and kills it around its write of this number, whatever time the machine takes for it; zero lets
// it end.
func (o *office) pass(binary, config string, write int) (killed bool) {
	o.Helper()
	cmd := exec.CommandContext(o.Context(), binary, "--once", "--config", config) //nolint:gosec // It is this test.
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		o.Fatal(err)
	}
	o.aim(write, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o.aim(0, nil)
	o.said = log.String()
	if bytes.Contains(log.Bytes(), []byte(o.Get("password"))) {
		o.Error("the log shows the password")
	}
	return err != nil && cmd.ProcessState.ExitCode() == -1
}

func (o *office) aim(write int, kill func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left, o.kill = write, kill
}

// billed reports whether a pass went well and nothing is due any more; nothing may be with a person.
func (o *office) billed(binary, config string) bool {
	o.Helper()
	out, err := exec.CommandContext(o.Context(), binary, "status", "--json", "--config", config).Output() //nolint:gosec // It is this test.
	if err != nil {
		o.Fatalf("status: %v", err)
	}
	var all struct {
		Syncs []struct {
			Last        struct{ Good time.Time }
			Due, Review int
		}
	}
	if err := json.Unmarshal(out, &all); err != nil || len(all.Syncs) != 1 {
		o.Fatalf("status: %v\n%s", err, out)
	}
	one := all.Syncs[0]
	if one.Review != 0 {
		o.Errorf("%d items are with a person, want none", one.Review)
	}
	return !one.Last.Good.IsZero() && one.Due == 0
}

// TestRealInvoicesAreMadeOnceHoweverOftenTheProgramDies bills many weeks to a real Tryton, over a way on which
// requests and answers get lost, with a program that is killed again and again.
func TestRealInvoicesAreMadeOnceHoweverOftenTheProgramDies(t *testing.T) {
	o := newOffice(t)
	binary, config, before := program(t), o.set(), o.bills()
	kills := 0
	for runs := 0; kills < manyKills && runs < mostRuns; runs++ {
		if o.pass(binary, config, 1+o.below(20)) {
			kills++
		}
	}
	o.mu.Lock()
	o.bad = false
	lost := o.lost
	o.mu.Unlock()
	for runs := 0; !o.billed(binary, config); runs++ {
		if runs == mostRuns {
			t.Fatalf("after %d passes in peace not everything is billed; the last one said:\n%s", runs, o.said)
		}
		o.pass(binary, config, 0)
		time.Sleep(200 * time.Millisecond) // Real programs, and a real time within which an effect may appear.
	}
	made := 0
	for reference, times := range o.bills() {
		if before[reference] > 0 {
			continue
		}
		made++
		if times != 1 {
			t.Errorf("%d invoices bear %s, want 1", times, reference)
		}
	}
	if made != manyWeeks {
		t.Errorf("%d references stand on invoices, want %d", made, manyWeeks)
	}
	if kills < manyKills/2 || lost < 10 {
		t.Errorf("killed %d times, %d requests or answers lost: too few to show anything", kills, lost)
	}
	t.Logf("killed %d times, %d requests or answers lost", kills, lost)
	o.audited(binary, config)
}
