package histories

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/remote/remotetest"
	"tidemark/state"
	"tidemark/sync"
	"tidemark/sync/accounting/accountingtest"
	"tidemark/sync/tracker/trackertest"
)

// Lost holds what an accounting system and the engine promise together: forty invoices are made once each,
// whatever happens to the answers, and found again after the state was lost.
func Lost(t *testing.T, d accountingtest.Dialect) {
	for _, part := range []struct {
		name string
		test func(*agency)
	}{{"StateAndMarkerGone", gone}, {"StateGone", lost}, {"LookUpsFailMeanwhile", lostAndBlind}} {
		t.Run(part.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { part.test(newAgency(t, d, 1)) })
		})
	}
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("FaultsEverywhere", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sick(newAgency(t, d, seed)) })
		})
	}
}

// sick lets a third of all requests fail, before or after their effect.
func sick(a *agency) {
	a.fall(30)
	a.books.Lag = a.system.Traits().SearchLag
	a.between = 10 * time.Second // Soon enough for effects that are still to come.
	for range 40 {
		_, _ = a.pass()
	}
	a.fall(0)
	a.between = 15 * time.Minute
	for range 12 {
		_, _ = a.pass()
	}
	a.once("with faults everywhere")
	items, err := a.store.Items("")
	if err != nil || len(items) > 0 {
		a.Errorf("%d items, %v; want none: %+v", len(items), err, items)
	}
	a.audited()
}

// audited holds that an audit finds nothing off, and a second invoice that somebody makes.
func (a *agency) audited() {
	a.Helper()
	audit := func() sync.Audit {
		got, err := a.engine.Audit(a.Context(), time.Now(), trackertest.Week(start))
		if err != nil {
			a.Fatalf("audit: %v", err)
		}
		return got
	}
	got := audit()
	if len(got.Findings)+len(got.Waiting)+len(got.Notes) > 0 || got.Booked.Count != many || !got.Booked.Net["EUR"].Equal(got.Approved.Net["EUR"]) {
		a.Errorf("audit = %+v, want nothing off, and all %d invoices in the books", got, many)
	}
	unlock := a.books.Lock()
	again := *a.books.Documents[a.pick(len(a.books.Documents))]
	again.ID = "7777777"
	a.books.Documents = append(a.books.Documents, &again)
	unlock()
	time.Sleep(a.system.Traits().SearchLag)
	if got := audit(); len(got.Findings) != 1 || got.Findings[0].Kind != sync.BilledTwice || len(got.Findings[0].Invoices) != 2 {
		a.Errorf("findings = %+v, want the invoice that was made twice", got.Findings)
	}
}

func gone(a *agency) {
	if _, created := a.passes(6); created != many {
		a.Errorf("%d created, want %d", created, many)
	}
	a.lose(true)
	a.open()
	if adopted, created := a.passes(8); adopted != many || created != 0 {
		a.Errorf("after state and marker were removed: %d adopted, %d created; want %d and 0", adopted, created, many)
	}
	a.once("after state and marker were removed")
}

func lost(a *agency) {
	a.passes(6)
	a.lose(false)
	if _, err := state.Open(a.path, state.Options{NoProbe: true, NoSync: true}); !errors.Is(err, state.ErrLost) {
		a.Fatalf("Open without the state = %v, want it refused as lost", err)
	}
	a.rebuild()
	if adopted, created := a.passes(8); adopted != many || created != 0 {
		a.Errorf("after a rebuild: %d adopted, %d created; want %d and 0", adopted, created, many)
	}
	a.once("after a rebuild")
}

func (a *agency) rebuild() {
	a.Helper()
	ch := []state.Channel{{Tracker: "fixed", Account: a.system.Account(), Prefix: "ts-"}}
	if _, err := state.Init(a.path, time.Now(), ch); err != nil {
		a.Fatal(err)
	}
	a.open()
}

// lostAndBlind breaks every look-up while the state is rebuilt. Nothing may be created for that.
func lostAndBlind(a *agency) {
	a.passes(6)
	a.lose(false)
	a.rebuild()
	for _, fault := range []remotetest.Fault{remotetest.Status(500), remotetest.Cut, remotetest.Silence, remotetest.Empty} {
		a.fall(100, fault)
		if r, err := a.pass(); err == nil || len(r.Invoices) != 0 {
			a.Errorf("%s: %v, %d invoices; want an error and none", fault, err, len(r.Invoices))
		}
	}
	a.fall(0)
	if adopted, created := a.passes(8); adopted != many || created != 0 {
		a.Errorf("once look-ups work: %d adopted, %d created; want %d and 0", adopted, created, many)
	}
	a.once("after look-ups that failed")
}
