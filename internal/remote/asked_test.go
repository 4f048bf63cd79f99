package remote

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// FuzzRetryAfter holds that no header makes a vendor be left alone in the past, or for longer than a day and
// an hour, and that a plain number of seconds is kept.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "7", "66975", "-1", "1.5", "NaN", "Inf", "1e300", "1796290205", "Fri, 04 Dec 2026 09:30:05 GMT", "Friday, 04-Dec-26 09:30:05 GMT", "soon"} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	now := time.Date(2026, 12, 3, 9, 30, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, after, reset string) {
		until := asked(http.Header{"Retry-After": {after}, "X-Ratelimit-Reset": {reset}}, now)
		if !until.IsZero() && (!until.After(now) || until.Sub(now) > longestPark) {
			t.Errorf("%q and %q: until %s, which is %s from now", after, reset, until, until.Sub(now))
		}
		if n, err := strconv.Atoi(after); err == nil && n > 0 && n <= 90000 && !until.Equal(now.Add(time.Duration(n)*time.Second)) {
			t.Errorf("%q seconds: until %s, which is %s from now", after, until, until.Sub(now))
		}
	})
}
