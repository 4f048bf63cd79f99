package civil

import "fmt"

// Week is an ISO 8601 week. It runs from Monday to Sunday and carries its own year, which around
// New Year is not that of its days: 2020-12-28 is in 2020-W53, 2024-12-30 in 2025-W01.
type Week struct {
	Year   int
	Number int
}

// WeekOf returns the ISO week that holds d.
func WeekOf(d Date) Week {
	y, n := d.utc().ISOWeek()
	return Week{y, n}
}

// First returns the Monday of w.
func (w Week) First() Date {
	// The fourth of January is in week 1 of its year, whatever day it is.
	fourth := Date{w.Year, 1, 4}
	monday := fourth.AddDays(-(int(fourth.Weekday()) + 6) % 7)
	return monday.AddDays(7 * (w.Number - 1))
}

// Last returns the Sunday of w.
func (w Week) Last() Date { return w.First().AddDays(6) }

// String gives 2026-W48.
func (w Week) String() string { return fmt.Sprintf("%04d-W%02d", w.Year, w.Number) }

// Period is a run of days with both ends included. The zero Period is none.
type Period struct {
	First Date `json:"first"`
	Last  Date `json:"last"`
}

// Contains reports whether d is one of the days of p.
func (p Period) Contains(d Date) bool { return !d.Before(p.First) && !d.After(p.Last) }

// IsISOWeek reports whether p is exactly one week from Monday to Sunday.
func (p Period) IsISOWeek() bool {
	w := WeekOf(p.First)
	return p.First == w.First() && p.Last == w.Last()
}

// String gives 2026-11-02..2026-11-08.
func (p Period) String() string { return p.First.String() + ".." + p.Last.String() }
