package remote_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

func TestSilenceEnds(t *testing.T) {
	type answer = func(http.ResponseWriter, *http.Request, int)
	halfway := func(w http.ResponseWriter, r *http.Request, _ int) {
		_, _ = w.Write([]byte(`[{"id":1},`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	second := time.Second
	for _, tt := range []struct {
		name              string
		answer            answer
		timeout, deadline time.Duration
		request           remote.Request
		want              remote.Kind
		arrive            int
		least, most       time.Duration
	}{
		{"as usual", always(remotetest.Silence), 0, 0, createRequest, remote.Unknown, 1, time.Minute, time.Minute},
		{"as set", always(remotetest.Silence), 7 * second, 0, createRequest, remote.Unknown, 1, 7 * second, 7 * second},
		{"a read is repeated", always(remotetest.Silence), 7 * second, 0, readRequest, remote.Unavailable, 4, 31 * second, 36 * second},
		{"in the body", halfway, 7 * second, 0, createRequest, remote.Unknown, 1, 7 * second, 7 * second},
		{"in the body of a read", halfway, 7 * second, 0, readRequest, remote.Unavailable, 4, 31 * second, 36 * second},
		{"deadline of a read", always(remotetest.Silence), 0, 5 * second, readRequest, remote.Stopped, 1, 5 * second, 5 * second},
		{"deadline of a create", always(remotetest.Silence), 0, 5 * second, createRequest, remote.Unknown, 1, 5 * second, 5 * second},
		{"deadline before a repeat", statusWith(500, "Retry-After", "50"), 0, 5 * second, keyedRequest, remote.Unknown, 1, 5 * second, 5 * second},
		{"deadline after a refusal", statusWith(429, "Retry-After", "50"), 0, 5 * second, createRequest, remote.Stopped, 1, 5 * second, 5 * second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, tt.answer)
			ctx := t.Context()
			if tt.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
				defer cancel()
			}
			began := time.Now()
			_, err := v.client(t, remote.Account{Timeout: tt.timeout}).Do(ctx, tt.request)
			took := time.Since(began)
			if kindOf(err) != tt.want || len(v.got()) != tt.arrive || took < tt.least || took > tt.most {
				t.Errorf("arrived %d times in %s, %v; want %d, %v in %s to %s", len(v.got()), took, err, tt.arrive, tt.want, tt.least, tt.most)
			}
		})
	}
}

func TestEndOfTheContextStopsACall(t *testing.T) {
	for _, tt := range []struct {
		name    string
		after   time.Duration
		request remote.Request
		want    remote.Kind
		arrive  int
	}{
		{"before", 0, createRequest, remote.Stopped, 0},
		{"during a read", time.Second, readRequest, remote.Stopped, 1},
		{"during a search", time.Second, searchRequest, remote.Stopped, 1},
		{"during a create", time.Second, createRequest, remote.Unknown, 1},
		{"during a keyed write", time.Second, keyedRequest, remote.Unknown, 1},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, always(remotetest.Silence))
			ctx, cancel := context.WithCancel(t.Context())
			if tt.after == 0 {
				cancel()
			}
			defer time.AfterFunc(tt.after, cancel).Stop()
			_, err := v.client(t, remote.Account{}).Do(ctx, tt.request)
			if kindOf(err) != tt.want || !errors.Is(err, context.Canceled) || len(v.got()) != tt.arrive {
				t.Errorf("arrived %d times, %v; want %d and %v", len(v.got()), err, tt.arrive, tt.want)
			}
		})
	}
}

func TestCallThatWaitsIsStopped(t *testing.T) {
	bubble(t, "for a place", func(t *testing.T) {
		v := serve(t, always(remotetest.Silence))
		c := v.client(t, remote.Account{AtOnce: 1})
		errs := inParallel(2, func(i int) error {
			time.Sleep(time.Duration(i) * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if i == 0 {
				ctx = t.Context()
			}
			_, err := c.Do(ctx, createRequest)
			return err
		})
		if kindOf(errs[1]) != remote.Stopped || !errors.Is(errs[1], context.DeadlineExceeded) || len(v.got()) != 1 {
			t.Errorf("arrived %d times, %v; want 1 and %v", len(v.got()), errs[1], remote.Stopped)
		}
	})
	for _, tt := range []struct {
		request remote.Request
		answer  func(http.ResponseWriter, *http.Request, int)
		want    remote.Kind
		arrive  int
	}{
		{createRequest, text("{}"), remote.Stopped, 1},
		{keyedRequest, always(remotetest.Status(500)), remote.Unknown, 1},
	} {
		bubble(t, "for a turn that comes after the deadline", func(t *testing.T) {
			v := serve(t, tt.answer)
			c := v.client(t, remote.Account{PerSecond: 0.01})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if tt.want == remote.Stopped {
				if _, err := c.Do(ctx, tt.request); err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.Do(ctx, tt.request)
			if kindOf(err) != tt.want || !errors.Is(err, context.DeadlineExceeded) || len(v.got()) != tt.arrive {
				t.Errorf("arrived %d times, %v; want %d and %v", len(v.got()), err, tt.arrive, tt.want)
			}
		})
	}
}
