package remote_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"testing"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

func TestRequestIsRepeatedOnlyWhereThatIsHarmless(t *testing.T) {
	type end struct {
		times int
		kind  remote.Kind
	}
	type answer = func(http.ResponseWriter, *http.Request, int)
	sorts := []struct {
		name    string
		request remote.Request
	}{{"read", readRequest}, {"search", searchRequest}, {"create", createRequest}, {"keyed", keyedRequest}}
	lost := [4]end{{4, remote.Unavailable}, {4, remote.Unavailable}, {1, remote.Unknown}, {4, remote.Unknown}}
	refused := func(kind remote.Kind) [4]end { return [4]end{{1, kind}, {1, kind}, {1, kind}, {1, kind}} }
	busy := [4]end{{4, remote.Limited}, {4, remote.Limited}, {4, remote.Limited}, {4, remote.Limited}}
	misread := [4]end{{1, remote.Malformed}, {1, remote.Malformed}, {1, remote.Unknown}, {1, remote.Unknown}}
	for _, tt := range []struct {
		name   string
		answer answer
		want   [4]end
	}{
		{"500", always(remotetest.Status(500)), lost},
		{"502", always(remotetest.Status(502)), lost},
		{"503", always(remotetest.Status(503)), lost},
		{"504", always(remotetest.Status(504)), lost},
		{"408", always(remotetest.Status(408)), lost},
		{"425", always(remotetest.Status(425)), lost},
		{"501", always(remotetest.Status(501)), [4]end{{1, remote.Unavailable}, {1, remote.Unavailable}, {1, remote.Unknown}, {1, remote.Unknown}}},
		{"503 that asks to wait", statusWith(503, "Retry-After", "2"), [4]end{{4, remote.Limited}, {4, remote.Limited}, {1, remote.Unknown}, {4, remote.Unknown}}},
		{"503 of a vendor that always tells its quota", statusWith(503, "X-RateLimit-Reset", "2"), lost},
		{"429", always(remotetest.Status(429)), busy},
		{"429 that asks to wait", statusWith(429, "Retry-After", "2"), busy},
		{"reset", always(remotetest.Reset), lost},
		{"silence", always(remotetest.Silence), lost},
		{"cut body", always(remotetest.Short), lost},
		{"cut JSON", always(remotetest.Cut), misread},
		{"page", always(remotetest.HTML), misread},
		{"empty", always(remotetest.Empty), misread},
		{"400", always(remotetest.Status(400)), refused(remote.Rejected)},
		{"401", always(remotetest.Status(401)), refused(remote.Unauthorised)},
		{"403", always(remotetest.Status(403)), refused(remote.Forbidden)},
		{"404", always(remotetest.Status(404)), refused(remote.NotFound)},
		{"409", always(remotetest.Status(409)), refused(remote.Rejected)},
	} {
		for i, sort := range sorts {
			bubble(t, tt.name+" of a "+sort.name, func(t *testing.T) {
				v := serve(t, tt.answer)
				_, err := v.client(t, remote.Account{}).Send(t.Context(), sort.request, &struct{}{})
				if got := (end{len(v.got()), kindOf(err)}); got != tt.want[i] {
					t.Errorf("sent and came to %v, want %v: %v", got, tt.want[i], err)
				}
			})
		}
	}
}

func TestRepeatedRequestIsTheSameEachTime(t *testing.T) {
	for name, request := range map[string]remote.Request{"read": readRequest, "search": searchRequest, "keyed": keyedRequest} {
		bubble(t, name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				faults := []remotetest.Fault{remotetest.Status(500), remotetest.Short, remotetest.Reset}
				if n <= len(faults) {
					faults[n-1].Answer(w, r)
					return
				}
				text(`{"id":7}`)(w, r, n)
			})
			answer, err := v.client(t, remote.Account{Header: http.Header{"x-tenant": {"t1"}}}).Do(t.Context(), request)
			if err != nil || string(answer.Body) != `{"id":7}` {
				t.Fatalf("Do = %q, %v", answer.Body, err)
			}
			got := v.got()
			if len(got) != 4 || got[0].body != string(request.Body) || got[0].header.Get("X-Tenant") != "t1" {
				t.Fatalf("arrived: %+v", got)
			}
			for n, a := range got {
				if a.body != got[0].body || a.uri != got[0].uri || a.method != got[0].method || !reflect.DeepEqual(a.header, got[0].header) {
					t.Errorf("attempt %d was %+v, want %+v", n+1, a, got[0])
				}
			}
		})
	}
}

// A connection that was used before makes net/http send again what bears an Idempotency-Key, and say nothing of it.
func TestNothingIsRepeatedUnseen(t *testing.T) {
	keyedOnly := createRequest
	keyedOnly.Header = keyedRequest.Header
	bare := keyedRequest
	bare.Body = nil
	for _, tt := range []struct {
		name    string
		request remote.Request
		sent    int
	}{{"with a key, once", keyedOnly, 1}, {"with a key, repeatable", keyedRequest, 2}, {"without a body", bare, 2}} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				switch n {
				case 1:
					text(`{}`)(w, r, n)
				case 2:
					remotetest.Reset.Answer(w, r)
				default:
					remotetest.Status(400).Answer(w, r)
				}
			})
			told := 0
			net := remote.New(remote.Options{Transport: v.transport, Observe: func(remote.Sample) { told++ }})
			c := clientOf(t, net, remote.Account{})
			if _, err := c.Do(t.Context(), readRequest); err != nil {
				t.Fatal(err)
			}
			_, err := c.Do(t.Context(), tt.request)
			if len(v.got()) != 1+tt.sent || told != 1+tt.sent || !errors.Is(err, remote.Unknown) {
				t.Errorf("arrived %d times, told of %d, %v; want both %d and outcome unknown", len(v.got())-1, told-1, err, tt.sent)
			}
			if key := v.got()[1].header.Get("Idempotency-Key"); key != "inv-2026-49.1" {
				t.Errorf("the key arrived as %q", key)
			}
		})
	}
}

func TestRefusalAfterALostAttemptLeavesTheOutcomeOpen(t *testing.T) {
	for _, first := range []remotetest.Fault{remotetest.Status(408), remotetest.Status(425), remotetest.Status(500), remotetest.Reset, remotetest.Short, remotetest.Silence} {
		for _, last := range []int{400, 401, 403, 404, 409, 422, 429, 500} {
			bubble(t, fmt.Sprint(first, ", then ", last), func(t *testing.T) {
				v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
					if n == 1 {
						first.Answer(w, r)
						return
					}
					remotetest.Status(last).Answer(w, r)
				})
				if _, err := v.client(t, remote.Account{}).Do(t.Context(), keyedRequest); kindOf(err) != remote.Unknown {
					t.Errorf("Do = %v, want outcome unknown", err)
				}
			})
		}
	}
}

func TestRefusalAfterRefusalsIsOne(t *testing.T) {
	for name, request := range map[string]remote.Request{"create": createRequest, "keyed": keyedRequest} {
		bubble(t, name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				remotetest.Status([]int{429, 429, 422}[n-1]).Answer(w, r)
			})
			_, err := v.client(t, remote.Account{}).Do(t.Context(), request)
			if e, is := errors.AsType[*remote.Error](err); !is || e.Kind != remote.Rejected || !e.ParkedUntil().IsZero() {
				t.Errorf("Do = %v, want refused, and not parked", err)
			}
		})
	}
}

// unreachable fails before anything is sent.
type unreachable struct {
	err   error
	tried *int
}

func (u unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	*u.tried++
	return nil, u.err
}

func TestWhatNeverLeftIsNotUnknown(t *testing.T) {
	for _, op := range []string{"dial", "proxyconnect"} {
		for name, request := range map[string]remote.Request{"read": readRequest, "create": createRequest, "keyed": keyedRequest} {
			bubble(t, op+" of a "+name, func(t *testing.T) {
				tried := 0
				transport := unreachable{&net.OpError{Op: op, Net: "tcp", Err: errors.New("connection refused")}, &tried}
				_, err := clientOf(t, remote.New(remote.Options{Transport: transport}), remote.Account{}).Do(t.Context(), request)
				if kindOf(err) != remote.Unavailable || tried != 4 {
					t.Errorf("tried %d times, %v; want 4 and not available", tried, err)
				}
			})
		}
	}
}

func TestLostThenUnreachableIsUnknown(t *testing.T) {
	bubble(t, "keyed", func(t *testing.T) {
		v := serve(t, always(remotetest.Status(502)))
		net := remote.New(remote.Options{Transport: &failing{v.transport, 1}})
		if _, err := clientOf(t, net, remote.Account{}).Do(t.Context(), keyedRequest); kindOf(err) != remote.Unknown {
			t.Errorf("Do = %v, want outcome unknown", err)
		}
	})
}

// failing lets some requests through and has no connection for the others.
type failing struct {
	http.RoundTripper
	through int
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.through--; f.through < 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	return f.RoundTripper.RoundTrip(r)
}
