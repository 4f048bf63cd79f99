package daemon

import "time"

// Grace is how many starts may pass without a good run before a job is stale: one can be skipped and one can fail.
const Grace = 3

// Stale returns when a job becomes stale, or became it, whose last good run ended then: at the third start of its
// schedule since, as a clock on the wall sees it. It is zero for a job that is never due. A job that never had a good run is
// stale by what its caller takes instead, such as when the daemon began.
func (j Job) Stale(good time.Time) time.Time {
	at := good
	for range Grace {
		if at = j.Next(at); at.IsZero() {
			return at
		}
	}
	return at
}
