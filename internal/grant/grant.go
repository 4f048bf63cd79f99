// Package grant keeps the sign-ins that a person gives once and that renew themselves: OAuth 2 grants with
// refresh tokens that change with every use.
//
// Its one hard rule: a new refresh token is on the disk before it is used, and the old one is not spent before
// it is known that the new one can be written.
package grant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// Vendor is who gives a grant, and to whom.
type Vendor struct {
	Name     string // begins each error: xero
	Account  string // the organisation that the grant is for, as the config pins it
	AuthURL  string
	TokenURL string
	Client   string // the id of our application
	Secret   string // its secret; empty where the application has none
	Scopes   []string
	Lives    time.Duration // how long a refresh token that is not used stays good; zero: not known
	HTTP     *http.Client
}

// ErrRevoked means that the grant is no longer good: a person has to sign in again.
var ErrRevoked = errors.New("the sign-in has ended: run tidemark connect with the name of the sync")

// ErrNone means that nobody has signed in yet.
var ErrNone = errors.New("nobody has signed in yet: run tidemark connect with the name of the sync")

// soon is how long before its end an access token is no longer used.
const soon = 2 * time.Minute

// Grant is one sign-in. It may be used by several goroutines, and by several processes.
type Grant struct {
	vendor Vendor
	file   *file
	mu     sync.Mutex
	now    token // as last read or renewed here
	bad    string
}

// Open returns the grant that is kept in a file. It does not look whether there is one.
func Open(path string, v Vendor) *Grant { return &Grant{vendor: v, file: &file{path}} }

// Authorize returns the header for one request, with a token that is renewed first if it is about to end.
func (g *Grant) Authorize(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.good(g.now) {
		return "Bearer " + g.now.Access, nil
	}
	if err := g.renew(ctx); err != nil {
		return "", fmt.Errorf("%s: %w", g.vendor.Name, err)
	}
	return "Bearer " + g.now.Access, nil
}

// Refused says that a request with this header was answered with 401: its token is not used again.
func (g *Grant) Refused(authorization string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bad = strings.TrimPrefix(authorization, "Bearer ")
}

func (g *Grant) good(t token) bool {
	return t.Access != "" && t.Access != g.bad && time.Now().Before(t.Expires.Add(-soon))
}

// renew takes the token that another process has renewed meanwhile, or renews it.
func (g *Grant) renew(ctx context.Context) error {
	unlock, err := g.file.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	stored, err := g.file.read()
	if err != nil {
		return err
	}
	if stored.Account != g.vendor.Account {
		return fmt.Errorf("the sign-in is for %q, and the config says %q: run tidemark connect again", stored.Account, g.vendor.Account)
	}
	if g.good(stored) {
		g.now = stored
		return nil
	}
	if err := g.file.writable(); err != nil {
		return fmt.Errorf("the sign-in is not renewed, since it could not be kept: %w", err)
	}
	// The old token is spent as soon as this is asked: whoever gives up must not lose the new one.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	fresh, err := g.refresh(late, stored)
	if err != nil {
		return err
	}
	if err := g.file.write(fresh); err != nil {
		return err
	}
	g.now = fresh
	return nil
}

// refresh spends a refresh token. Only an answer that says so means that the grant has ended.
func (g *Grant) refresh(ctx context.Context, old token) (token, error) {
	source := g.config("").TokenSource(g.context(ctx), &oauth2.Token{RefreshToken: old.Refresh})
	got, err := source.Token()
	if err != nil {
		return token{}, refreshError(err)
	}
	return g.token(got, old.Refresh), nil
}

// refreshError says what a failed refresh means, without what was sent or answered beyond the vendor's code.
func refreshError(err error) error {
	answer, is := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !is:
		return fmt.Errorf("the sign-in cannot be renewed for now: %w", plain(err))
	case answer.ErrorCode == "invalid_grant":
		return fmt.Errorf("%w (%s %s)", ErrRevoked, answer.ErrorCode, answer.ErrorDescription)
	}
	return fmt.Errorf("the sign-in cannot be renewed for now: %s %s", answer.Response.Status, answer.ErrorCode)
}

// token keeps the old refresh token where the answer holds none.
func (g *Grant) token(got *oauth2.Token, refresh string) token {
	t := token{Account: g.vendor.Account, Access: got.AccessToken, Refresh: got.RefreshToken, Expires: got.Expiry, Renewed: time.Now().UTC()}
	if t.Refresh == "" {
		t.Refresh = refresh
	}
	if t.Expires.IsZero() {
		t.Expires = time.Now().Add(10 * time.Minute)
	}
	return t
}

// Ends returns when the grant ends if it is not used any more; zero where that is not known.
func (g *Grant) Ends() (time.Time, error) {
	stored, err := g.file.read()
	if err != nil || g.vendor.Lives == 0 {
		return time.Time{}, err
	}
	return stored.Renewed.Add(g.vendor.Lives), nil
}

func (g *Grant) config(redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: g.vendor.Client, ClientSecret: g.vendor.Secret, RedirectURL: redirect, Scopes: g.vendor.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: g.vendor.AuthURL, TokenURL: g.vendor.TokenURL},
	}
}

func (g *Grant) context(ctx context.Context) context.Context {
	client := g.vendor.HTTP
	if client == nil {
		client = &http.Client{Timeout: time.Minute}
	}
	return context.WithValue(ctx, oauth2.HTTPClient, client)
}
