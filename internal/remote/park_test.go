package remote_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
)

const day = 24 * time.Hour

func TestVendorIsLeftAloneAsLongAsItAsks(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the clock of every bubble
	usual := [2]time.Duration{500 * time.Millisecond, 2500 * time.Millisecond}
	exactly := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	for _, tt := range []struct {
		name, header, value string
		wait                [2]time.Duration // at least and at most, when the same call sends again
		parked              time.Duration    // zero: it sends again
	}{
		{"seconds", "Retry-After", "7", exactly(7 * time.Second), 0},
		{"parts of seconds", "Retry-After", " 1.5 ", exactly(1500 * time.Millisecond), 0},
		{"a minute", "Retry-After", "60", exactly(time.Minute), 0},
		{"a date", "Retry-After", start.Add(9 * time.Second).Format(http.TimeFormat), exactly(9 * time.Second), 0},
		{"a date of long ago", "Retry-After", "Fri, 31 Dec 1999 23:59:00 GMT", usual, 0},
		{"now", "Retry-After", "0", usual, 0},
		{"negative", "Retry-After", "-30", usual, 0},
		{"garbage", "Retry-After", "soon", usual, 0},
		{"not a number", "Retry-After", "NaN", usual, 0},
		{"without end", "Retry-After", "Inf", usual, 0},
		{"a week and more", "Retry-After", "604801", usual, 0},
		{"more than a clock holds", "Retry-After", "99999999999999999999", usual, 0},
		{"nothing", "Date", start.Format(http.TimeFormat), usual, 0},
		{"seconds to the reset", "X-RateLimit-Reset", "5", exactly(5 * time.Second), 0},
		{"over a minute", "Retry-After", "61", exactly(0), 61 * time.Second},
		{"a day's quota", "Retry-After", "66975", exactly(0), 66975 * time.Second},
		{"a date of tomorrow", "Retry-After", start.Add(20 * time.Hour).Format(http.TimeFormat), exactly(0), 20 * time.Hour},
		{"days", "Retry-After", "300000", exactly(0), 25 * time.Hour},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n == 1 {
					statusWith(429, tt.header, tt.value)(w, r, n)
				}
			})
			_, err := v.client(t, remote.Account{}).Do(t.Context(), createRequest)
			got := v.got()
			if tt.parked > 0 {
				wantParked(t, err, start.Add(tt.parked))
				if len(got) != 1 {
					t.Errorf("arrived %d times, want 1", len(got))
				}
				return
			}
			if err != nil || len(got) != 2 {
				t.Fatalf("arrived %d times, %v; want 2", len(got), err)
			}
			if wait := got[1].at.Sub(got[0].at); wait < tt.wait[0] || wait > tt.wait[1] {
				t.Errorf("waited %s, want %s", wait, tt.wait)
			}
		})
	}
}

func wantParked(t *testing.T, err error, until time.Time) {
	t.Helper()
	e, is := errors.AsType[*remote.Error](err)
	if !is || e.Kind != remote.Limited || !e.ParkedUntil().Equal(until) {
		t.Errorf("error %v, want %v until %s", err, remote.Limited, until)
	}
}

func TestParkIsOfTheAccountAlone(t *testing.T) {
	bubble(t, "two clients of one account, one of another", func(t *testing.T) {
		v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				remotetest.Quota.Answer(w, r)
			}
		})
		net := remote.New(remote.Options{Transport: v.transport})
		one, same := clientOf(t, net, remote.Account{ID: "1"}), clientOf(t, net, remote.Account{ID: "1"})
		others := []*remote.Client{clientOf(t, net, remote.Account{ID: "2"}), clientOf(t, net, remote.Account{Vendor: "w", ID: "1"})}
		until := time.Now().Add(66975 * time.Second)
		for _, c := range []*remote.Client{one, same, one} {
			_, err := c.Do(t.Context(), createRequest)
			wantParked(t, err, until)
		}
		if n := len(v.got()); n != 1 || time.Now().Add(66975*time.Second) != until {
			t.Errorf("%d requests, %s waited, want 1 and none", n, time.Until(until))
		}
		for _, c := range others {
			if _, err := c.Do(t.Context(), createRequest); err != nil {
				t.Errorf("another account: %v", err)
			}
		}
		time.Sleep(time.Until(until) - time.Nanosecond)
		_, err := same.Do(t.Context(), readRequest)
		wantParked(t, err, until)
		time.Sleep(time.Nanosecond)
		if _, err := same.Do(t.Context(), readRequest); err != nil || len(v.got()) != 4 {
			t.Errorf("after the park: %v, %d requests", err, len(v.got()))
		}
	})
}

// Calls that wait for their turn, or to be repeated, when the account is parked are not sent either.
func TestParkHoldsBackWhatIsUnderWay(t *testing.T) {
	bubble(t, "many waiting", func(t *testing.T) {
		v := serve(t, always(remotetest.Quota))
		c := v.client(t, remote.Account{AtOnce: 2, PerSecond: 1})
		until := time.Now().Add(66975 * time.Second)
		for _, err := range inParallel(10, func(int) error { _, err := c.Do(t.Context(), createRequest); return err }) {
			wantParked(t, err, until)
		}
		if n := len(v.got()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
	for _, tt := range []struct {
		request remote.Request
		want    remote.Kind
	}{{readRequest, remote.Limited}, {keyedRequest, remote.Unknown}} {
		bubble(t, "about to repeat "+tt.request.Method, func(t *testing.T) {
			v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if r.URL.Path == "/api/quota" {
					remotetest.Quota.Answer(w, r)
					return
				}
				statusWith(500, "Retry-After", "30")(w, r, n)
			})
			c := v.client(t, remote.Account{})
			errs := inParallel(2, func(i int) error {
				request := tt.request
				if i == 1 {
					time.Sleep(10 * time.Second)
					request = remote.Request{Path: "/quota"}
				}
				_, err := c.Do(t.Context(), request)
				return err
			})
			e, is := errors.AsType[*remote.Error](errs[0])
			if !is || e.Kind != tt.want || e.ParkedUntil().IsZero() || len(v.got()) != 2 {
				t.Errorf("%v after %d requests, want %v, parked, and 2", errs[0], len(v.got()), tt.want)
			}
		})
	}
}

func TestParkIsNeverShortened(t *testing.T) {
	bubble(t, "a long and a short one at once", func(t *testing.T) {
		v := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
			time.Sleep(time.Duration(n) * time.Second)
			statusWith(429, "Retry-After", []string{"66975", "120"}[n-1])(w, r, n)
		})
		c := v.client(t, remote.Account{PerSecond: 1000})
		inParallel(2, func(int) error { _, err := c.Do(t.Context(), readRequest); return err })
		time.Sleep(time.Hour)
		if _, err := c.Do(t.Context(), readRequest); kindOf(err) != remote.Limited || len(v.got()) != 2 {
			t.Errorf("an hour later: %v, %d requests, want %v and 2", err, len(v.got()), remote.Limited)
		}
	})
}
