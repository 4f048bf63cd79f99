package daemon

import "time"

// A wall clock that moved by stepLimit more or less than time did was put forward or back, or the machine slept.
const stepLimit = time.Minute

// clock reads the wall clock and holds it against the monotonic one, which nobody can set and which
// stands still while the machine sleeps.
type clock struct {
	source     func() time.Time
	wall, mono time.Time // of the newest read
}

func newClock(source func() time.Time) *clock {
	if source == nil {
		source = time.Now
	}
	c := &clock{source: source, mono: time.Now()}
	c.wall = c.now()
	return c
}

// now returns what the wall clock says, and nothing that a step of it could not change.
func (c *clock) now() time.Time {
	return c.source().Round(0)
}

// read returns what the wall clock says, and how far it was moved since the last read; zero if it went
// as time did.
func (c *clock) read() (now time.Time, step time.Duration) {
	now, mono := c.now(), time.Now()
	step = now.Sub(c.wall) - mono.Sub(c.mono)
	c.wall, c.mono = now, mono
	if step.Abs() < stepLimit {
		step = 0
	}
	return now, step
}

// stamp writes a time as log lines have it.
func stamp(t time.Time) string {
	return t.UTC().Format(stampLayout)
}

const stampLayout = "2006-01-02T15:04:05.000Z"
