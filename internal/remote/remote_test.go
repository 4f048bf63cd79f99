package remote_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

func TestQuotaParksTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		transport := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked == 1 {
				w.Header().Set("Retry-After", "66975")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			_, _ = w.Write([]byte(`{"ok":true}`))
		}))
		c, err := remote.New(remote.Options{Transport: transport}).Client(remote.Account{Vendor: "v", ID: "1", Base: remotetest.Base})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 3 {
			var into struct{}
			_, err = c.Get(t.Context(), "/x", nil, &into)
			limited, is := errors.AsType[*remote.Error](err)
			if !is || !errors.Is(err, remote.Limited) || !limited.ParkedUntil().Equal(began.Add(66975*time.Second)) {
				t.Errorf("Get = %v, want too many requests until %s", err, began.Add(66975*time.Second))
			}
		}
		if asked != 1 || time.Since(began) != 0 {
			t.Errorf("%d requests in %s, want 1 and no waiting", asked, time.Since(began))
		}
		time.Sleep(66976 * time.Second)
		var into struct{ OK bool }
		if _, err := c.Get(t.Context(), "/x", nil, &into); err != nil || !into.OK {
			t.Errorf("Get after the quota = %v, %v", into, err)
		}
	})
}

func TestRepeatedWriteIsUnknownWhateverItsLastAttemptCameTo(t *testing.T) {
	for _, last := range []int{400, 404, 409, 429, 500} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			transport := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sent++; sent == 1 {
					remotetest.Status(500).Answer(w, r)
					return
				}
				remotetest.Status(last).Answer(w, r)
			}))
			c, err := remote.New(remote.Options{Transport: transport}).Client(remote.Account{Vendor: "v", ID: "1", Base: remotetest.Base})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Send(t.Context(), remote.Request{Method: "PUT", Path: "/x", Body: []byte("{}"), Repeatable: true}, new(any))
			if !errors.Is(err, remote.Unknown) {
				t.Errorf("500 and then %d: %v, want outcome unknown", last, err)
			}
		})
	}
}
