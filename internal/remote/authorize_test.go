package remote_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

// purse hands out credentials that change with each call, and keeps which were refused.
type purse struct {
	mu      sync.Mutex
	given   int
	refused []string
	err     error
}

func (p *purse) account() remote.Account {
	return remote.Account{Authorize: p.authorize, Refused: p.refuse}
}

func (p *purse) authorize(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given++
	return "Bearer token-" + string(rune('a'+p.given-1)), errors.Join(p.err, ctx.Err())
}

func (p *purse) refuse(authorization string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = append(p.refused, authorization)
}

func headers(v *vendor) (all []string) {
	for _, a := range v.got() {
		all = append(all, a.header.Get("Authorization"))
	}
	return all
}

// Some systems tell repeated keys apart by the credentials: they stay the same within a call.
func TestCredentialsAreAskedForOncePerCall(t *testing.T) {
	bubble(t, "repeated, then another", func(t *testing.T) {
		v, p := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n < 4 {
				remotetest.Status(500).Answer(w, r)
			}
		}), &purse{}
		c := v.client(t, p.account())
		for range 2 {
			if _, err := c.Do(t.Context(), keyedRequest); err != nil {
				t.Error(err)
			}
		}
		want := []string{"Bearer token-a", "Bearer token-a", "Bearer token-a", "Bearer token-a", "Bearer token-b"}
		if got := headers(v); !reflect.DeepEqual(got, want) || p.given != 2 || len(p.refused) != 0 {
			t.Errorf("sent %q, asked %d times, refused %q; want %q, 2 times, none", got, p.given, p.refused, want)
		}
	})
}

func TestCredentialsThatCannotBeHadSendNothing(t *testing.T) {
	cause := errors.New("sign in again with token-a-of-old")
	for name, request := range map[string]remote.Request{"read": readRequest, "create": createRequest, "keyed": keyedRequest} {
		bubble(t, name, func(t *testing.T) {
			v, p := serve(t, text("{}")), &purse{err: cause}
			a := p.account()
			a.Secrets = []string{"token-a-of-old"}
			_, err := v.client(t, a).Do(t.Context(), request)
			e, is := errors.AsType[*remote.Error](err)
			if !is || e.Kind != remote.Unauthorised || e.Status != 0 || !errors.Is(err, cause) || len(v.got()) != 0 || len(p.refused) != 0 {
				t.Errorf("arrived %d times, refused %q, error %v; want nothing and %v", len(v.got()), p.refused, err, remote.Unauthorised)
			}
			if want := "v: " + e.Asked + ": not signed in: sign in again with (secret)"; err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
}

func TestRefusedCredentialsAreToldOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request remote.Request
		answers []int
		kind    remote.Kind
		refused []string
	}{
		{"read", readRequest, []int{401}, remote.Unauthorised, []string{"Bearer token-a"}},
		{"create", createRequest, []int{401}, remote.Unauthorised, []string{"Bearer token-a"}},
		{"read, after a bad day", readRequest, []int{500, 503, 401}, remote.Unauthorised, []string{"Bearer token-a"}},
		{"keyed, after a bad day", keyedRequest, []int{500, 401}, remote.Unknown, []string{"Bearer token-a"}},
		{"not allowed is another matter", readRequest, []int{403}, remote.Forbidden, nil},
		{"done", readRequest, []int{200}, "no error", nil},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v, p := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) { w.WriteHeader(tt.answers[n-1]) }), &purse{}
			_, err := v.client(t, p.account()).Do(t.Context(), tt.request)
			if kindOf(err) != tt.kind || !reflect.DeepEqual(p.refused, tt.refused) || len(v.got()) != len(tt.answers) {
				t.Errorf("arrived %d times, refused %q, %v; want %d, %q, %v", len(v.got()), p.refused, err, len(tt.answers), tt.refused, tt.kind)
			}
		})
	}
}

func TestFixedCredentialsNeedNobodyToTell(t *testing.T) {
	bubble(t, "401", func(t *testing.T) {
		v := serve(t, always(remotetest.Status(401)))
		c := v.client(t, remote.Account{Header: http.Header{"authorization": {"Basic abcdef"}}})
		if _, err := c.Do(t.Context(), readRequest); kindOf(err) != remote.Unauthorised || headers(v)[0] != "Basic abcdef" {
			t.Errorf("sent %q, %v; want the header and %v", headers(v), err, remote.Unauthorised)
		}
	})
}

func TestContextEndsWhileCredentialsAreFetched(t *testing.T) {
	bubble(t, "deadline", func(t *testing.T) {
		v := serve(t, text("{}"))
		c := v.client(t, remote.Account{Authorize: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Do(ctx, createRequest); kindOf(err) != remote.Stopped || len(v.got()) != 0 {
			t.Errorf("arrived %d times, %v; want nothing and %v", len(v.got()), err, remote.Stopped)
		}
	})
}
