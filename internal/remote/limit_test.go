package remote_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

// inParallel calls f n times at once, and returns what each call came to.
func inParallel(n int, f func(i int) error) []error {
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	return errs
}

func TestRateIsKept(t *testing.T) {
	for _, tt := range []struct {
		name      string
		perSecond float64
		noLimits  bool
		answer    func(http.ResponseWriter, *http.Request, int)
		want      time.Duration // of 21 requests
	}{
		{"as usual", 0, false, text("{}"), 4 * time.Second},
		{"as set", 2, false, text("{}"), 10 * time.Second},
		{"slow", 0.1, false, text("{}"), 200 * time.Second},
		{"without limits", 2, true, text("{}"), 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, tt.answer)
			net := remote.New(remote.Options{Transport: v.transport, NoLimits: tt.noLimits})
			clients := []*remote.Client{clientOf(t, net, remote.Account{PerSecond: tt.perSecond}), clientOf(t, net, remote.Account{PerSecond: tt.perSecond})}
			began := time.Now()
			for i, err := range inParallel(21, func(i int) error { _, err := clients[i%2].Do(t.Context(), readRequest); return err }) {
				if err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
			if took := time.Since(began).Round(time.Millisecond); took != tt.want {
				t.Errorf("21 requests took %s, want %s", took, tt.want)
			}
		})
	}
}

func TestRateHoldsForRepeats(t *testing.T) {
	bubble(t, "every answer is 500", func(t *testing.T) {
		v := serve(t, always(remotetest.Status(500)))
		c := v.client(t, remote.Account{PerSecond: 0.01, AtOnce: 4})
		inParallel(2, func(int) error { _, err := c.Do(t.Context(), readRequest); return err })
		got := v.got()
		for i := 1; i < len(got); i++ {
			if gap := got[i].at.Sub(got[i-1].at).Round(time.Second); gap < 100*time.Second {
				t.Errorf("request %d came %s after the one before, want 1m40s or more", i+1, gap)
			}
		}
		if len(got) != 8 {
			t.Errorf("%d requests, want 8", len(got))
		}
	})
}

func TestChangedRateHoldsFromThenOn(t *testing.T) {
	bubble(t, "from one to four a second", func(t *testing.T) {
		v := serve(t, text("{}"))
		net := remote.New(remote.Options{Transport: v.transport})
		old := clientOf(t, net, remote.Account{PerSecond: 1})
		clientOf(t, net, remote.Account{PerSecond: 4})
		began := time.Now()
		for range 5 {
			if _, err := old.Do(t.Context(), readRequest); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("5 requests took %s, want 1s", took)
		}
	})
}

func TestNoMoreAreUnderWayThanAllowed(t *testing.T) {
	for _, tt := range []struct {
		atOnce int
		want   int32
	}{{0, 4}, {1, 1}, {3, 3}} {
		bubble(t, "at once", func(t *testing.T) {
			var now, most atomic.Int32
			v := serve(t, func(http.ResponseWriter, *http.Request, int) {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(10 * time.Second)
				now.Add(-1)
			})
			net := remote.New(remote.Options{Transport: v.transport, NoLimits: true})
			c := clientOf(t, net, remote.Account{AtOnce: tt.atOnce})
			began := time.Now()
			inParallel(12, func(int) error { _, err := c.Do(t.Context(), readRequest); return err })
			if took := time.Since(began); most.Load() != tt.want || took != time.Duration(12/tt.want)*10*time.Second {
				t.Errorf("at most %d were under way, all took %s; want %d", most.Load(), took, tt.want)
			}
		})
	}
}
