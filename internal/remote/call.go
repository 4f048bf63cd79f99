package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Request is one request. Its bytes are the same at every attempt.
type Request struct {
	Method string // empty: GET
	Path   string // below the base of the account, or a whole URL of the same host, such as a link to the next page
	Query  url.Values
	Header http.Header
	Body   []byte
	// Repeatable: doing it twice is harmless. It reads only, or the other side honours the key that it bears.
	Repeatable bool
	ReadOnly   bool // it has no effect, whatever its method; a GET never has
}

// Answer is what came back, whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Clock  time.Time // the other side's; zero where it does not tell
	// Again: an attempt before this one may have had its effect, so that a refusal within this answer says nothing
	// of that. False for what reads only.
	Again bool
}

// tries is how often a request is sent at most.
const tries = 4

// longestWait is what a call sleeps between two attempts at most. Whoever asks for more gets it: the account
// is parked and the call ends.
const longestWait = time.Minute

var (
	errElsewhere = errors.New("the address redirects to another host, where credentials do not follow: set the right url")
	errTooLarge  = errors.New("the answer is too large")
	// A write follows no redirect, a read three.
	errRedirected = errors.New("the address redirects: set the right url")
)

// call is one request under way.
type call struct {
	Request
	ctx    context.Context
	client *Client
	answer Answer
	sent   bool      // the last attempt may have reached the other side
	done   bool      // an attempt before the last one may have had its effect
	until  time.Time // the answer asked to wait until then

	authorization string            // of this call, where it changes
	hide          *strings.Replacer // of the secrets of the account, and this one
}

// Do sends a request. The error is an [*Error]; an answer outside of 2xx is one.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	return c.call(ctx, r).do()
}

func (c *Client) call(ctx context.Context, r Request) *call {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.ReadOnly = r.ReadOnly || r.Method == http.MethodGet; r.ReadOnly {
		r.Repeatable = true
	}
	return &call{Request: r, ctx: ctx, client: c, hide: c.hide}
}

func (c *call) do() (Answer, error) {
	target, err := c.client.target(c.Request)
	if err != nil {
		return Answer{}, &Error{Kind: Moved, Vendor: c.client.Vendor, Asked: c.Method, Cause: err}
	}
	c.Path = target.Path
	if until := c.client.limits.parkedUntil(); time.Now().Before(until) {
		return Answer{}, c.outcome(&parkedError{until})
	}
	leave, err := c.client.limits.enter(c.ctx)
	if err != nil {
		return Answer{}, c.outcome(err)
	}
	defer leave()
	err = c.outcome(c.send(target))
	c.answer.Again = c.done && !c.ReadOnly
	return c.answer, err
}

// target returns the URL of a request. It is an error if that is not below the host of the account.
func (c *Client) target(r Request) (*url.URL, error) {
	target, err := url.Parse(r.Path)
	if err != nil {
		return nil, errors.New("not an address")
	}
	if !target.IsAbs() && target.Host == "" {
		target = c.base.JoinPath(r.Path)
	}
	if !within(c.base, target) {
		return nil, errElsewhere
	}
	if r.Query != nil {
		target.RawQuery = r.Query.Encode()
	}
	return target, nil
}

func (c *call) send(target *url.URL) error {
	req, err := retryablehttp.NewRequestWithContext(c.ctx, c.Method, target.String(), c.body())
	if err != nil {
		return err
	}
	c.dress(req.Header)
	if err := c.authorize(req.Header); err != nil {
		return err
	}
	req.SetResponseHandler(c.read)
	sender := retryablehttp.Client{
		HTTPClient:   c.http(),
		RetryMax:     tries - 1,
		CheckRetry:   c.again,
		Backoff:      c.pause,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		PrepareRetry: func(*http.Request) error { return c.client.limits.turn(c.ctx) },
	}
	resp, err := sender.Do(req)
	if resp != nil && err == nil && c.answer.Status != resp.StatusCode {
		err = c.read(resp) // Given up on an answer that asked to be tried again.
	}
	if resp != nil {
		err = errors.Join(err, resp.Body.Close())
	}
	return err
}

func (c *call) body() any {
	if c.Body == nil {
		return nil
	}
	return c.Body
}

// dress adds the headers of the account, then those of the request.
func (c *call) dress(header http.Header) {
	header.Set("User-Agent", c.client.network.options.Agent)
	header.Set("Accept", "application/json")
	if c.Body != nil {
		header.Set("Content-Type", "application/json")
	}
	for _, more := range []http.Header{c.client.Header, c.Header} {
		for name, values := range more {
			header[spelled(name)] = values
		}
	}
}

// spelled returns how the name of a header is written. Where net/http finds an Idempotency-Key by that very
// spelling it sends the request again on its own, and tells nobody.
func spelled(name string) string {
	name = http.CanonicalHeaderKey(name)
	if name == "Idempotency-Key" || name == "X-Idempotency-Key" {
		return strings.ToLower(name)
	}
	return name
}

// authorize adds credentials that change, the same to every attempt of a call: some systems tell repeated keys
// apart by them.
func (c *call) authorize(header http.Header) error {
	if c.client.Authorize == nil {
		return nil
	}
	value, err := c.client.Authorize(c.ctx)
	if err != nil {
		return &signInError{err}
	}
	header.Set("Authorization", value)
	c.authorization = value
	c.hide = hiding(append(credentials(value), c.client.secrets...))
	return nil
}

// signInError is an error of the credentials themselves. Nothing was sent.
type signInError struct{ error }

func (e *signInError) Unwrap() error { return e.error }

// http returns what makes one attempt. A read follows redirects within its host, a write none.
func (c *call) http() *http.Client {
	return &http.Client{
		Timeout:   c.client.Timeout,
		Transport: attempts{c},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			switch {
			case c.Method != http.MethodGet || len(via) > 3:
				return http.ErrUseLastResponse
			case !within(c.client.base, next.URL):
				return errElsewhere
			}
			return nil
		},
	}
}

// read takes an answer in, whole or not at all.
func (c *call) read(resp *http.Response) error {
	limit := c.client.MaxBody
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("the answer was cut short: %w", err)
	case int64(len(body)) > limit:
		return fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	clock, _ := http.ParseTime(resp.Header.Get("Date"))
	c.answer = Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, Clock: clock}
	return nil
}

// again says whether the request is sent once more. A write is, where it was surely not executed.
func (c *call) again(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return c.againAfter(ctx, err)
	}
	c.until = time.Time{}
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests:
		return c.later(resp, time.Minute), nil
	case status == http.StatusServiceUnavailable && turnedAway(resp.Header):
		return c.later(resp, 0) && c.Repeatable, nil // A proxy may say so of a write that the system behind it has done.
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500 && status != http.StatusNotImplemented:
		return c.Repeatable, nil
	}
	return false, nil
}

func (c *call) againAfter(ctx context.Context, err error) (bool, error) {
	if errors.Is(err, errElsewhere) || errors.Is(err, errTooLarge) || c.sent && !c.Repeatable {
		return false, err
	}
	// It knows the errors that no repetition mends, such as a certificate that is not trusted.
	again, permanent := retryablehttp.DefaultRetryPolicy(ctx, nil, err)
	return again, permanent
}

// later notes how long the other side wants to be left alone: by its answer, or by default where it does not
// say. A long time parks the account.
func (c *call) later(resp *http.Response, usual time.Duration) (again bool) {
	now := time.Now()
	c.until = asked(resp.Header, now)
	if c.until.IsZero() {
		c.until = now.Add(usual)
		return true
	}
	if c.until.Sub(now) > longestWait {
		c.client.limits.park(c.until)
		return false
	}
	return true
}

// pause is how long to wait before the next attempt: as long as was asked for, else a random part of a time
// that doubles.
func (c *call) pause(_, _ time.Duration, attempt int, resp *http.Response) time.Duration {
	if resp != nil {
		if until := asked(resp.Header, time.Now()); !until.IsZero() {
			return min(time.Until(until), longestWait)
		}
	}
	longest := min(time.Second<<attempt, 30*time.Second)
	return longest/2 + rand.N(longest/2)
}
