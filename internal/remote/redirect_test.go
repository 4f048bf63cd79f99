package remote_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tidemark/internal/remote"
)

// redirects answers /api/x with a redirect, and anything else with an object.
func redirects(status int, to string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, n int) {
		if r.URL.Path == "/api/x" {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
			return
		}
		text(`{"id":7}`)(w, r, n)
	}
}

func TestRedirectIsFollowedByReadsWithinTheHostOnly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request remote.Request
		status  int
		to      string
		want    remote.Kind
		arrive  int
	}{
		{"read, same host", readRequest, 302, "/api/y", "no error", 2},
		{"read, same host, for good", readRequest, 301, "http://localhost/api/y", "no error", 2},
		{"read, in a circle", readRequest, 302, "/api/x", remote.Moved, 4},
		{"read, other host", readRequest, 302, "http://evil.example/api/y?token=hunter2hunter2", remote.Moved, 1},
		{"read, other port", readRequest, 302, "http://localhost:8080/api/y", remote.Moved, 1},
		{"read, a host below", readRequest, 302, "http://api.localhost/api/y", remote.Moved, 1},
		{"read, other scheme", readRequest, 302, "https://localhost/api/y", remote.Moved, 1},
		{"read, nowhere", readRequest, 304, "", remote.Moved, 1},
		{"search, same host", searchRequest, 307, "/api/y", remote.Moved, 1},
		{"create, for good", createRequest, 301, "/api/y", remote.Moved, 1},
		{"create, 307", createRequest, 307, "/api/y", remote.Moved, 1},
		{"create, 308, other host", createRequest, 308, "http://evil.example/", remote.Moved, 1},
		{"create, perhaps to what was made", createRequest, 302, "/api/y", remote.Unknown, 1},
		{"create, to what was made", createRequest, 303, "/api/y", remote.Unknown, 1},
		{"keyed, for good", keyedRequest, 308, "/api/y", remote.Moved, 1},
		{"keyed, perhaps to what was made", keyedRequest, 302, "/api/y", remote.Unknown, 1},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, redirects(tt.status, tt.to))
			c := v.client(t, remote.Account{Header: http.Header{"X-Api-Key": {"hunter2hunter2"}, "Authorization": {"Bearer t0ken-t0ken"}}})
			_, err := c.Do(t.Context(), tt.request)
			if kindOf(err) != tt.want || len(v.got()) != tt.arrive {
				t.Errorf("arrived %d times, %v; want %d and %v", len(v.got()), err, tt.arrive, tt.want)
			}
			for _, a := range v.got() {
				if a.header.Get("X-Api-Key") != "hunter2hunter2" || a.header.Get("Authorization") != "Bearer t0ken-t0ken" {
					t.Errorf("%s arrived without credentials: %v", a.uri, a.header)
				}
			}
			if tt.want == remote.Moved && !strings.Contains(err.Error(), "set the right url") || err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %q, want one that names the cure and not the query", err)
			}
		})
	}
}

func TestTLSIsNotGivenUp(t *testing.T) {
	asked := 0
	plain := roundTripper(func(r *http.Request) (*http.Response, error) {
		asked++
		return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://api.example.com/y"}}, Body: http.NoBody, Request: r}, nil
	})
	c := clientOf(t, remote.New(remote.Options{Transport: plain}), remote.Account{Base: "https://api.example.com"})
	if _, err := c.Do(t.Context(), readRequest); !errors.Is(err, remote.Moved) || asked != 1 {
		t.Errorf("asked %d times, %v; want 1 and %v", asked, err, remote.Moved)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPathStaysOnTheHostOfTheAccount(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{ // want: empty where it is refused
		{"https://h.example/api", "/x", "https://h.example/api/x"},
		{"https://h.example/api/", "x", "https://h.example/api/x"},
		{"https://h.example", "/x", "https://h.example/x"},
		{"https://h.example/a%2Fb/", "/x%2Fy", "https://h.example/a%2Fb/x%2Fy"},
		{"https://h.example/api", "https://h.example/other?page=2", "https://h.example/other?page=2"},
		{"https://H.example/api", "https://h.example/api?page=2", "https://h.example/api?page=2"},
		{"https://h.example:443/api", "https://h.example/api?page=2", "https://h.example/api?page=2"},
		{"https://h.example/api", "https://h.example:8443/x", ""},
		{"https://h.example/api", "http://h.example/x", ""},
		{"https://h.example/api", "https://evil.example/x", ""},
		{"https://h.example/api", "https://h.example.evil.example/x", ""},
		{"https://h.example/api", "https://h.example@evil.example/x", ""},
		{"https://h.example/api", "https://u:p@h.example/x", ""},
		{"https://h.example/api", "//evil.example/x", ""},
		{"https://h.example/api", "mailto:x@h.example", ""},
		{"https://h.example/api", "https:///x", ""},
		{"https://h.example/api", "http://[", ""},
	} {
		asked := ""
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		})
		c := clientOf(t, remote.New(remote.Options{Transport: transport, NoLimits: true}), remote.Account{Base: tt.base})
		_, err := c.Do(t.Context(), remote.Request{Path: tt.path})
		if asked != tt.want || errors.Is(err, remote.Moved) != (tt.want == "") {
			t.Errorf("%s of %s asked %q, %v; want %q", tt.path, tt.base, asked, err, tt.want)
		}
	}
}
