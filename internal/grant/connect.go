package grant

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Connect is a sign-in under way: a person opens URL in a browser, and comes back with a code.
type Connect struct {
	URL      string
	grant    *Grant
	config   *oauth2.Config
	state    string
	verifier string
}

// Connect begins a sign-in. Redirect is where the vendor sends the browser afterwards; it must be registered
// there for the application.
func (g *Grant) Connect(redirect string) *Connect {
	c := &Connect{grant: g, config: g.config(redirect), state: rand.Text(), verifier: oauth2.GenerateVerifier()}
	c.URL = c.config.AuthCodeURL(c.state, oauth2.AccessTypeOffline, oauth2.S256ChallengeOption(c.verifier))
	return c
}

// Wait answers on the listener until the browser comes back, and returns the address with which it did.
func (c *Connect) Wait(ctx context.Context, listener net.Listener) (*url.URL, error) {
	back := make(chan *url.URL, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("state") == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "Tidemark has its answer. You can close this page and go back to the terminal.")
		select {
		case back <- r.URL:
		default: // one has come already
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { // The browser gets its page first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}()
	select {
	case address := <-back:
		return address, nil
	case err := <-ended:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Finish exchanges what the browser came back with, an address or the bare code, and keeps the grant.
// Check is told the query of that address, to which some vendors add the organisation, and a client that is
// signed in; it refuses a grant that is not for the organisation of the config.
func (c *Connect) Finish(ctx context.Context, answer string, check func(address url.Values, signedIn *http.Client) error) error {
	q, err := c.parse(answer)
	if err != nil {
		return err
	}
	g := c.grant
	unlock, err := g.file.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := g.file.writable(); err != nil {
		return fmt.Errorf("%s: the sign-in cannot be kept: %w", g.vendor.Name, err)
	}
	got, err := c.config.Exchange(g.context(ctx), q.Get("code"), oauth2.VerifierOption(c.verifier))
	if err != nil {
		return fmt.Errorf("%s: %w", g.vendor.Name, exchangeError(err))
	}
	if got.RefreshToken == "" {
		return fmt.Errorf("%s: the answer holds no refresh token: add the scope offline_access, or allow it for the application", g.vendor.Name)
	}
	if err := check(q, oauth2.NewClient(g.context(ctx), oauth2.StaticTokenSource(got))); err != nil {
		return err
	}
	return g.file.write(g.token(got, ""))
}

// parse reads the answer of the browser. One that belongs to another sign-in is refused.
func (c *Connect) parse(answer string) (url.Values, error) {
	answer = strings.TrimSpace(answer)
	if !strings.Contains(answer, "=") {
		if answer == "" {
			return nil, errors.New("there is no code")
		}
		return url.Values{"code": {answer}}, nil
	}
	address, err := url.Parse(answer)
	if err != nil {
		return nil, errors.New("this is neither an address nor a code")
	}
	q := address.Query()
	switch {
	case q.Get("error") != "":
		return nil, fmt.Errorf("the vendor refused: %s %s", q.Get("error"), q.Get("error_description"))
	case q.Get("state") != c.state:
		return nil, errors.New("the answer belongs to another sign-in: begin again")
	case q.Get("code") == "":
		return nil, errors.New("the address holds no code")
	}
	return q, nil
}

func exchangeError(err error) error {
	if answer, is := errors.AsType[*oauth2.RetrieveError](err); is {
		return fmt.Errorf("the code was refused: %s %s %s", answer.Response.Status, answer.ErrorCode, answer.ErrorDescription)
	}
	return plain(err)
}
