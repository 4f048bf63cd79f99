package remote

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// account holds the limits of one account: how often, how many at once, and not before.
type account struct {
	limiter *rate.Limiter
	slots   chan struct{}
	mu      sync.Mutex
	parked  time.Time
}

func newAccount(a Account) *account {
	return &account{limiter: rate.NewLimiter(rate.Limit(a.PerSecond), 1), slots: make(chan struct{}, a.AtOnce)}
}

func (a *account) rate(perSecond float64) {
	if limit := rate.Limit(perSecond); a.limiter.Limit() != limit {
		a.limiter.SetLimit(limit)
	}
}

// enter waits for a free place and a turn, and returns how to leave.
func (a *account) enter(ctx context.Context) (leave func(), err error) {
	select {
	case a.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-a.slots }
	if err := a.turn(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// errNoTime ends a call whose turn would come after its deadline.
var errNoTime = fmt.Errorf("%w before the next turn", context.DeadlineExceeded)

// parkedError ends a call while the account is parked.
type parkedError struct{ until time.Time }

func (p *parkedError) Error() string { return "parked until " + p.until.UTC().Format(time.RFC3339) }

// turn waits until the rate allows one more attempt. The account may have been parked in the meantime.
func (a *account) turn(ctx context.Context) error {
	err := a.limiter.Wait(ctx)
	until := a.parkedUntil()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errNoTime
	case time.Now().Before(until):
		return &parkedError{until}
	}
	return nil
}

// park never shortens: of two answers the one that asks for more time holds.
func (a *account) park(until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if until.After(a.parked) {
		a.parked = until
	}
}

func (a *account) parkedUntil() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.parked
}

// longestPark is the longest time that an account is left alone for one answer: daily quotas end within a
// day. What asks for more than a week is not meant.
const (
	longestPark = 25 * time.Hour
	notMeant    = 7 * 24 * time.Hour
)

// asked returns until when an answer asks to be left alone; zero where it does not say, or says what cannot
// be meant. Retry-After is in seconds or a date; X-RateLimit-Reset counts seconds from now or from 1970.
func asked(header http.Header, now time.Time) time.Time {
	text := strings.TrimSpace(header.Get("Retry-After"))
	until, err := http.ParseTime(text)
	if err != nil {
		until = seconds(text, now)
	}
	if until.IsZero() && text == "" {
		until = seconds(header.Get("X-RateLimit-Reset"), now)
	}
	switch {
	case !until.After(now), until.Sub(now) > notMeant:
		return time.Time{}
	case until.Sub(now) > longestPark:
		return now.Add(longestPark)
	}
	return until
}

// turnedAway reports whether an answer of 503 says in so many words that the request is to come again: then it
// was not executed. A vendor's usual count of its quota does not say so.
func turnedAway(header http.Header) bool {
	return header.Get("Retry-After") != "" && !asked(header, time.Now()).IsZero()
}

func seconds(text string, now time.Time) time.Time {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil || !(n > 0):
		return time.Time{}
	case n > 1e11:
		return time.Time{} // It would overflow.
	case n > 1e9: // From 1970: nobody is asked to wait thirty years.
		return time.Unix(int64(n), 0)
	}
	return now.Add(time.Duration(n * float64(time.Second)))
}
