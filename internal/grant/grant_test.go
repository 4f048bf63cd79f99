package grant

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// issuer gives grants: each refresh token is good once.
type issuer struct {
	*httptest.Server
	mu        sync.Mutex
	refresh   string // that is good now
	challenge string // of the sign-in under way
	renewals  int
	fail      func(w http.ResponseWriter) bool
	silent    bool // answers hold no refresh token
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{refresh: "refresh-secret-0"}
	i.Server = httptest.NewServer(http.HandlerFunc(i.token))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if i.fail != nil && i.fail(w) {
		return
	}
	switch {
	case r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == i.refresh:
	case r.FormValue("grant_type") == "authorization_code" && r.FormValue("code") == "code-1" && challengeOf(r.FormValue("code_verifier")) == i.challenge:
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"unknown or used"}`)
		return
	}
	i.renewals++
	answer := map[string]any{"access_token": fmt.Sprint("access-secret-", i.renewals), "token_type": "Bearer", "expires_in": 1800}
	if !i.silent {
		i.refresh = fmt.Sprint("refresh-secret-", i.renewals)
		answer["refresh_token"] = i.refresh
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (i *issuer) vendor() Vendor {
	return Vendor{Name: "xero", Account: "tenant-1", AuthURL: i.URL + "/authorize", TokenURL: i.URL + "/token", Client: "app", Scopes: []string{"offline_access"}, Lives: 60 * 24 * time.Hour}
}

// given returns a grant whose access token has ended.
func (i *issuer) given(t *testing.T) (*Grant, string) {
	path := filepath.Join(t.TempDir(), "tokens", "agency.json")
	g := Open(path, i.vendor())
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, g.file.write(token{Account: "tenant-1", Access: "access-secret-old", Refresh: i.refresh, Expires: time.Now().Add(-time.Minute), Renewed: time.Now()}))
	return g, path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantHeader(t *testing.T, g *Grant, want string) {
	t.Helper()
	if got, err := g.Authorize(t.Context()); err != nil || got != "Bearer "+want {
		t.Errorf("Authorize = %q, %v; want %q", got, err, want)
	}
}

// hides reports an error that shows a secret.
func hides(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "-secret-") {
		t.Errorf("the error shows a token: %v", err)
	}
}

func TestNewRefreshTokenIsOnTheDiskBeforeItIsUsed(t *testing.T) {
	i := newIssuer(t)
	g, path := i.given(t)
	wantHeader(t, g, "access-secret-1")
	data, err := os.ReadFile(path)
	must(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(data), i.refresh) {
		t.Errorf("%s holds %s (%v, %v), want the new refresh token, for its owner alone", path, data, info.Mode(), err)
	}
	wantHeader(t, g, "access-secret-1")
	wantHeader(t, Open(path, i.vendor()), "access-secret-1")
	if i.renewals != 1 {
		t.Errorf("%d renewals, want 1", i.renewals)
	}
}

func TestManyAtOnceRenewOnce(t *testing.T) {
	i := newIssuer(t)
	g, path := i.given(t)
	other := Open(path, i.vendor()) // as another process would
	var wait sync.WaitGroup
	for n := range 16 {
		wait.Go(func() {
			who := []*Grant{g, other}[n%2]
			if got, err := who.Authorize(t.Context()); err != nil || got != "Bearer access-secret-1" {
				t.Errorf("Authorize = %q, %v", got, err)
			}
		})
	}
	wait.Wait()
	if i.renewals != 1 {
		t.Errorf("%d renewals, want 1", i.renewals)
	}
}

func TestTransientFailuresAreToldFromARevokedGrant(t *testing.T) {
	i := newIssuer(t)
	g, path := i.given(t)
	for _, status := range []int{500, 429, 503, 401} {
		i.fail = func(w http.ResponseWriter) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":"temporarily_unavailable"}`)
			return true
		}
		_, err := g.Authorize(t.Context())
		if err == nil || errors.Is(err, ErrRevoked) {
			t.Errorf("%d: %v, want an error that passes", status, err)
		}
		hides(t, err)
	}
	i.fail = nil
	wantHeader(t, g, "access-secret-1")
	i.refresh = "another"
	g.Refused("Bearer access-secret-1")
	_, err := g.Authorize(t.Context())
	if !errors.Is(err, ErrRevoked) {
		t.Errorf("Authorize with a revoked grant = %v, want %v", err, ErrRevoked)
	}
	hides(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the grant was thrown away: %v", err)
	}
}

func TestAnswerWithoutARefreshTokenKeepsTheOldOne(t *testing.T) {
	i := newIssuer(t)
	i.silent = true
	g, path := i.given(t)
	wantHeader(t, g, "access-secret-1")
	data, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(data), "refresh-secret-0") {
		t.Errorf("the file holds %s, want the old refresh token", data)
	}
}

func TestNothingIsSpentThatCouldNotBeKept(t *testing.T) {
	i := newIssuer(t)
	g, path := i.given(t)
	must(t, os.Mkdir(path+".probe", 0o700)) // Also for root, who may write everywhere.
	_, err := g.Authorize(t.Context())
	if err == nil || i.renewals != 0 {
		t.Errorf("Authorize = %v after %d renewals, want an error and none", err, i.renewals)
	}
}

func TestRefusedTokenIsRenewedBeforeItsEnd(t *testing.T) {
	i := newIssuer(t)
	g, _ := i.given(t)
	wantHeader(t, g, "access-secret-1")
	g.Refused("Bearer access-secret-1")
	wantHeader(t, g, "access-secret-2")
}

func TestFilesThatAreNoGrantSayWhatToDo(t *testing.T) {
	i := newIssuer(t)
	g, path := i.given(t)
	for name, mend := range map[string]func(){
		"cut":          func() { must(t, os.WriteFile(path, []byte(`{"account":"ten`), 0o600)) },
		"empty":        func() { must(t, os.WriteFile(path, nil, 0o600)) },
		"none":         func() { must(t, os.Remove(path)) },
		"of another":   func() { must(t, g.file.write(token{Account: "tenant-2", Refresh: "refresh-secret-x"})) },
		"no grant yet": func() { must(t, os.RemoveAll(filepath.Dir(path))) },
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, g.file.write(token{Account: "tenant-1", Refresh: "refresh-secret-0"}))
			mend()
			_, err := Open(path, i.vendor()).Authorize(t.Context())
			if err == nil || !strings.Contains(err.Error(), "tidemark connect") {
				t.Errorf("Authorize = %v, want the cure", err)
			}
			hides(t, err)
		})
	}
}

// visit opens the address of a sign-in as a browser would, and returns where it is sent.
func (i *issuer) visit(t *testing.T, c *Connect, more string) string {
	address, err := url.Parse(c.URL)
	must(t, err)
	q := address.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" {
		t.Errorf("the address asks for %v, want a code with PKCE", q)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.challenge = q.Get("code_challenge")
	return q.Get("redirect_uri") + "?code=code-1&state=" + q.Get("state") + more
}

func signedInAnyway(url.Values, *http.Client) error { return nil }

func TestConnectThroughABrowser(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "tokens", "agency.json")
	g := Open(path, i.vendor())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := g.Connect("http://" + listener.Addr().String() + "/callback")
	back := i.visit(t, c, "&realmId=4711")
	go func() {
		for _, address := range []string{strings.Split(back, "?")[0], back} { // A stray visit ends nothing.
			if resp, err := http.Get(address); err == nil {
				_ = resp.Body.Close()
			}
		}
	}()
	answer, err := c.Wait(t.Context(), listener)
	must(t, err)
	realm := ""
	must(t, c.Finish(t.Context(), answer.String(), func(q url.Values, _ *http.Client) error { realm = q.Get("realmId"); return nil }))
	if realm != "4711" {
		t.Errorf("realm = %q, want 4711", realm)
	}
	wantHeader(t, Open(path, i.vendor()), "access-secret-1")
	ends, err := g.Ends()
	if left := time.Until(ends); err != nil || left < 59*24*time.Hour || left > 60*24*time.Hour {
		t.Errorf("Ends = %s, %v; want in sixty days", ends, err)
	}
}

func TestConnectWithAPastedCode(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "agency.json")
	c := Open(path, i.vendor()).Connect("https://example.com/callback")
	i.visit(t, c, "")
	must(t, c.Finish(t.Context(), " code-1\n", signedInAnyway))
	wantHeader(t, Open(path, i.vendor()), "access-secret-1")
}

func TestConnectRefusesWhatIsNotItsAnswer(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "agency.json")
	c := Open(path, i.vendor()).Connect("https://example.com/callback")
	good := i.visit(t, c, "")
	for name, answer := range map[string]string{
		"state of another": strings.Replace(good, "state=", "state=x", 1),
		"refused":          "https://example.com/callback?error=access_denied&state=x",
		"empty":            "  ",
		"no code":          strings.Replace(good, "code=code-1&", "", 1),
		"wrong code":       "code-2",
	} {
		if err := c.Finish(t.Context(), answer, signedInAnyway); err == nil {
			t.Errorf("%s: Finish = nil, want an error", name)
		}
	}
	wrong := errors.New("not this organisation")
	if err := c.Finish(t.Context(), good, func(url.Values, *http.Client) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("Finish = %v, want %v", err, wrong)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a grant was kept: %v", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	i := newIssuer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open("x", i.vendor()).Connect("http://localhost/").Wait(ctx, listener); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want %v", err, context.Canceled)
	}
}
