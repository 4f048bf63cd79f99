package remote_test

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

func TestEveryAttemptIsTold(t *testing.T) {
	second := time.Second
	sample := func(method string, status int, took time.Duration) remote.Sample {
		return remote.Sample{Account: "acme", Host: "localhost", Method: method, Status: status, Took: took}
	}
	for _, tt := range []struct {
		name    string
		request remote.Request
		answer  func(http.ResponseWriter, *http.Request, int)
		want    []remote.Sample
	}{
		{"one", createRequest, text("{}"), []remote.Sample{sample("POST", 200, 2*second)}},
		{"refused", createRequest, always(remotetest.Status(422)), []remote.Sample{sample("POST", 422, 2*second)}},
		{"lost", createRequest, always(remotetest.Reset), []remote.Sample{sample("POST", 0, 2*second)}},
		{"silent", createRequest, always(remotetest.Silence), []remote.Sample{sample("POST", 0, 10*second)}},
		{"redirected", readRequest, redirects(302, "/api/y"), []remote.Sample{sample("GET", 302, 2*second), sample("GET", 200, 2*second)}},
		{"repeated", keyedRequest, func(w http.ResponseWriter, r *http.Request, n int) {
			remotetest.Status([]int{500, 429, 200}[n-1]).Answer(w, r)
		}, []remote.Sample{sample("PUT", 500, 2*second), sample("PUT", 429, 2*second), sample("PUT", 200, 2*second)}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				time.Sleep(2 * second)
				tt.answer(w, r, n)
			})
			var told []remote.Sample
			net := remote.New(remote.Options{Transport: v.transport, Observe: func(s remote.Sample) { told = append(told, s) }})
			c := clientOf(t, net, remote.Account{ID: "acme", Timeout: 10 * second, PerSecond: 1000})
			request := tt.request
			request.Query = url.Values{"page": {"1"}}
			_, _ = c.Do(t.Context(), request)
			if !reflect.DeepEqual(told, tt.want) {
				t.Errorf("told of %+v, want %+v", told, tt.want)
			}
		})
	}
}

func TestWhatIsNotSentIsNotTold(t *testing.T) {
	bubble(t, "parked, and elsewhere", func(t *testing.T) {
		told := 0
		net := remote.New(remote.Options{Transport: serve(t, always(remotetest.Quota)).transport, Observe: func(remote.Sample) { told++ }})
		c := clientOf(t, net, remote.Account{})
		for _, path := range []string{"http://evil.example/x", "/x", "/x"} {
			if _, err := c.Do(t.Context(), remote.Request{Path: path}); err == nil {
				t.Errorf("%s was answered", path)
			}
		}
		if told != 1 {
			t.Errorf("told %d times, want 1", told)
		}
	})
}

func TestAgentIsNamed(t *testing.T) {
	for agent, want := range map[string]string{"": "tidemark", "tidemark/1.2 (linux)": "tidemark/1.2 (linux)"} {
		bubble(t, want, func(t *testing.T) {
			v := serve(t, text("{}"))
			c := clientOf(t, remote.New(remote.Options{Transport: v.transport, Agent: agent}), remote.Account{})
			if _, err := c.Do(t.Context(), createRequest); err != nil {
				t.Fatal(err)
			}
			got := v.got()[0].header
			if got.Get("User-Agent") != want || got.Get("Accept") != "application/json" || got.Get("Content-Type") != "application/json" {
				t.Errorf("arrived with %v, want the agent %q and JSON", got, want)
			}
		})
	}
}
