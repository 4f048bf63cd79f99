package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"tidemark/sync"
	"tidemark/sync/accounting"
	"tidemark/sync/civil"
)

// freeWeek returns a week of which no invoice was ever made there: what other runs have left is none of this one.
func (o *office) freeWeek() civil.Period {
	o.Helper()
	known := o.bills()
	for range 1000 {
		week := civil.WeekOf(civil.Date{Year: 2001, Month: 1, Day: 1}.AddDays(7 * o.below(1200)))
		taken := false
		for reference := range known {
			taken = taken || strings.HasPrefix(reference, fmt.Sprintf("ts-%02dw%02d-", week.Year%100, week.Number))
		}
		if o.days = (civil.Period{First: week.First(), Last: week.Last()}); !taken {
			return o.days
		}
	}
	o.Fatal("no week is left: build the database anew")
	return civil.Period{}
}

// call calls a method of Tryton as a clerk does, past the program.
func (o *office) call(into any, header, method string, params ...any) {
	o.Helper()
	body, err := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
	if err != nil {
		o.Fatal(err)
	}
	req, err := http.NewRequestWithContext(o.Context(), http.MethodPost, o.base+"/"+o.database+"/", bytes.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var said struct{ Result, Error json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || said.Error != nil {
		o.Fatalf("%s: %v: %s", method, err, said.Error)
	}
	if into != nil {
		if err := json.Unmarshal(said.Result, into); err != nil {
			o.Fatalf("%s: %v", method, err)
		}
	}
}

// clerk signs in, and returns what calls a method of a model on records.
func (o *office) clerk() func(into any, method string, params ...any) {
	o.Helper()
	var pair [2]any
	o.call(&pair, "", "common.db.login", o.Get("user"), map[string]string{"password": o.Get("password")}, "en")
	header := "Session " + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s:%v:%v", o.Get("user"), pair[0], pair[1]))
	var company float64
	if _, err := fmt.Sscan(o.Get("company"), &company); err != nil {
		o.Fatal(err)
	}
	return func(into any, method string, params ...any) {
		o.Helper()
		o.call(into, header, "model.account.invoice"+method, append(params, map[string]any{"company": company})...)
	}
}

// audit runs the command over the week and returns what it says. It must exit with 3 where it finds something.
func (o *office) audit(binary, config string) (a sync.Audit) {
	o.Helper()
	cmd := exec.CommandContext(o.Context(), binary, "audit", "--from", o.days.First.String(), "--to", o.days.Last.String(), "--json", "--config", config) //nolint:gosec // It is this test.
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitFound) {
		o.Fatalf("audit: %v: %s", err, exit.Stderr)
	}
	var all []sync.Audit
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
		o.Fatalf("audit: %v\n%s", err, out)
	}
	if found := len(all[0].Findings) > 0; found != (err != nil) {
		o.Errorf("audit exits with %v, and has %d findings", err, len(all[0].Findings))
	}
	return all[0]
}

// audited holds that an audit finds nothing off in what was billed, and then what a clerk has done to it.
func (o *office) audited(binary, config string) {
	o.Helper()
	a := o.audit(binary, config)
	if len(a.Findings)+len(a.Waiting) > 0 || a.Booked.Count != manyWeeks || !a.Booked.Net["EUR"].Equal(a.Approved.Net["EUR"]) || !a.Recorded.Net["EUR"].Equal(a.Approved.Net["EUR"]) {
		o.Errorf("audit = %+v, want nothing off and %d invoices", a, manyWeeks)
	}
	call := o.clerk()
	var ids []int
	call(&ids, ".search", []any{[]any{"reference", "like", fmt.Sprintf("ts-%02dw%02d-%%", civil.WeekOf(o.days.First).Year%100, civil.WeekOf(o.days.First).Number)}}, 0, nil, nil)
	if len(ids) != manyWeeks {
		o.Fatalf("a clerk sees %d invoices, want %d", len(ids), manyWeeks)
	}
	refs := map[int]string{}
	var rows []struct {
		ID        int
		Reference string
	}
	call(&rows, ".read", ids, []string{"reference"})
	for _, r := range rows {
		refs[r.ID] = r.Reference
	}
	var copies []int
	call(&copies, ".copy", ids[:1], map[string]any{})
	call(nil, ".write", copies, map[string]any{"reference": refs[ids[0]]})
	call(nil, ".delete", ids[1:2])
	call(nil, ".cancel", ids[2:3])
	var lines []int
	call(&lines, ".line.search", []any{[]any{"invoice", "=", ids[3]}}, 0, nil, nil)
	call(nil, ".line.write", lines, map[string]any{"quantity": 1})
	o.wantFound(o.audit(binary, config), map[string]sync.Defect{refs[ids[0]]: sync.BilledTwice, refs[ids[1]]: sync.Gone, refs[ids[2]]: sync.Voided, refs[ids[3]]: sync.Differs})
}

// wantFound checks that each reference has its one finding, and no other has any.
func (o *office) wantFound(a sync.Audit, want map[string]sync.Defect) {
	o.Helper()
	for _, f := range a.Findings {
		if want[f.Reference] != f.Kind || slices.ContainsFunc(f.Invoices, func(r accounting.Receipt) bool { return r.Reference != f.Reference }) {
			o.Errorf("finding = %+v, want %s", f, want[f.Reference])
		}
		delete(want, f.Reference)
	}
	if len(want) > 0 {
		o.Errorf("not found: %v", want)
	}
}
