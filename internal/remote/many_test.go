package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

// A book takes each key once, however often it comes, and loses two of three answers.
func TestManyAtOnceGetTheirOwnAnswers(t *testing.T) {
	bubble(t, "fifty", func(t *testing.T) {
		faults := []remotetest.Fault{remotetest.Status(500), remotetest.Reset, remotetest.Short, remotetest.Status(429), remotetest.Status(503)}
		var turn, most, now atomic.Int32
		var books sync.Map
		v := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
			defer now.Add(-1)
			for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			n := turn.Add(1)
			fault := faults[int(n)%len(faults)]
			key := r.Header.Get("Idempotency-Key")
			if (fault != remotetest.Status(429) || n%3 == 0) && key != "" {
				books.LoadOrStore(key, n)
			}
			if n%3 != 0 {
				fault.Answer(w, r)
				return
			}
			_, _ = fmt.Fprintf(w, `{"id":%q}`, key+r.URL.Query().Get("id"))
		})
		var told atomic.Int32
		net := remote.New(remote.Options{Transport: v.transport, Log: zerolog.New(io.Discard), Observe: func(s remote.Sample) {
			if s.Method == http.MethodPut {
				told.Add(1)
			}
		}})
		var tokens atomic.Int32
		clients := make([]*remote.Client, 3)
		for i := range clients {
			clients[i] = clientOf(t, net, remote.Account{ID: "1", AtOnce: 8, PerSecond: 20, Authorize: func(context.Context) (string, error) {
				return fmt.Sprintf("Bearer token-%d", tokens.Add(1)), nil
			}})
		}
		inParallel(50, func(i int) error {
			id := fmt.Sprintf("inv-%d", i)
			request := remote.Request{Path: "/x", Query: map[string][]string{"id": {id}}}
			if i%2 == 0 {
				request = keyedRequest
				request.Header = http.Header{"Idempotency-Key": {id}}
			}
			var got invoice
			_, err := clients[i%3].Send(t.Context(), request, &got)
			_, written := books.Load(id)
			switch {
			case err == nil && (string(got.ID) != id || i%2 == 0 && !written):
				t.Errorf("%s was answered with %q; written: %v", id, got.ID, written)
			case err != nil && i%2 == 0 && written && kindOf(err) != remote.Unknown:
				t.Errorf("%s is written, and its error %v", id, err)
			case err != nil && i%2 == 1 && kindOf(err) != remote.Unavailable && kindOf(err) != remote.Limited:
				t.Errorf("the read of %s: %v", id, err)
			}
			return err
		})
		writes := wantSameBytes(t, v.got())
		if most.Load() > 8 || told.Load() != writes || tokens.Load() != 50 {
			t.Errorf("%d at once, told of %d of %d writes, %d tokens; want 8, all, 50", most.Load(), told.Load(), writes, tokens.Load())
		}
	})
}

// wantSameBytes fails if two attempts under one key differ, and returns how many attempts bore one.
func wantSameBytes(t *testing.T, got []arrival) (writes int32) {
	t.Helper()
	first := map[string]string{}
	for _, a := range got {
		key := a.header.Get("Idempotency-Key")
		if key == "" {
			continue
		}
		this := a.method + a.uri + a.body + a.header.Get("Authorization")
		if before, again := first[key]; again && before != this {
			t.Errorf("%s came as %q and as %q", key, before, this)
		}
		first[key] = this
		writes++
	}
	if int(writes) == len(first) {
		t.Error("nothing was repeated")
	}
	return writes
}

func TestLogMayChangeWhileRequestsAreUnderWay(t *testing.T) {
	bubble(t, "two logs", func(t *testing.T) {
		v := serve(t, text("{}"))
		net := remote.New(remote.Options{Transport: v.transport, NoLimits: true})
		var old, young bytes.Buffer
		logs := []zerolog.Logger{zerolog.New(zerolog.SyncWriter(&old)), zerolog.New(zerolog.SyncWriter(&young))}
		net.LogTo(logs[0])
		c := clientOf(t, net, remote.Account{})
		inParallel(20, func(i int) error {
			net.LogTo(logs[i%2])
			_, err := c.Do(t.Context(), readRequest)
			return err
		})
		if n := bytes.Count(old.Bytes(), []byte("\n")) + bytes.Count(young.Bytes(), []byte("\n")); n != 20 {
			t.Errorf("%d lines were logged, want 20", n)
		}
	})
}
