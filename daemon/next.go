package daemon

import "time"

// Next returns the first time after a moment at which the job is due, without jitter; zero if there is
// none. The schedule is read off the clock on the wall, and where that clock is put forward or back:
//
//   - a local time that comes twice counts once, at its first coming;
//   - local times that are left out count once together, at the moment after the gap;
//   - a schedule that keeps its beat does not notice: "17 * * * *" runs every real hour, "*/15 * * * *"
//     every real quarter, "@every 90m" every ninety real minutes.
//
// A schedule keeps its beat if the clock before and the clock after the change read the same starts out
// of it, for as long before the change and after it as the clock jumps. So "0 * * * *" and
// "*/15 1-4 * * *" do at two in the morning; "30 2 * * *", "*/15 2 * * *" and "0 2,3 * * *" are fixed times.
func (j Job) Next(after time.Time) time.Time {
	location := j.location()
	at := after.Round(0).In(location)
	start, end := at.ZoneBounds()
	clock := offsetOf(at)
	for {
		if c := changeAt(start); c.back() > 0 && at.Before(start.Add(c.back())) && !c.keepsBeat(j.Schedule) {
			at = start.Add(c.back() - 1)
		}
		next := read(j.Schedule, at, clock)
		if next.IsZero() || end.IsZero() || next.Before(end) {
			return in(next, location)
		}
		c := changeAt(end)
		switch {
		case read(j.Schedule, at, c.after).Equal(next) && c.keepsBeat(j.Schedule):
			return in(next, location)
		case next.Before(end.Add(-c.back())):
			return end
		}
		at, clock, start = end.Add(-1), c.after, end
		_, end = end.ZoneBounds()
	}
}

func (j Job) location() *time.Location {
	if j.Location == nil {
		return time.UTC
	}
	return j.Location
}

// change is a moment at which the clock of a location is put forward or back. Both clocks are seconds
// east of UTC.
type change struct {
	at            time.Time
	before, after int
}

// changeAt returns the change at a bound of a zone; a zero bound gives a change that changes nothing.
func changeAt(bound time.Time) change {
	if bound.IsZero() {
		return change{}
	}
	return change{at: bound, before: offsetOf(bound.Add(-1)), after: offsetOf(bound)}
}

// back returns how far the clock is put back; less than zero if it is put forward.
func (c change) back() time.Duration {
	return time.Duration(c.before-c.after) * time.Second
}

// keepsBeat reports whether both clocks read the same starts out of a schedule around the change.
func (c change) keepsBeat(s Schedule) bool {
	around := c.back().Abs()
	limit := c.at.Add(around)
	a := c.at.Add(-around - 1)
	b := a
	for {
		a, b = read(s, a, c.before), read(s, b, c.after)
		switch over := a.IsZero() || !a.Before(limit); {
		case over && (b.IsZero() || !b.Before(limit)):
			return true
		case !a.Equal(b):
			return false
		}
	}
}

// read returns the next time of a schedule as a clock reads it that is never put forward or back.
func read(s Schedule, after time.Time, clock int) time.Time {
	return s.Next(after.In(time.FixedZone("", clock)))
}

func offsetOf(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}

func in(t time.Time, location *time.Location) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(location)
}
