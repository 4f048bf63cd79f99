// Package civil holds dates without a clock or a zone: the days on which work was done, that
// invoices bear, and that weeks begin and end with.
//
// Its one hard rule: a date never passes through a zone. A moment becomes a date only in [DateOf],
// where the zone is named by the caller.
package civil

import (
	"fmt"
	"time"
)

// Date is a day of the Gregorian calendar. The zero Date means "no date" and comes before every other.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day that t falls on in t's own location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// Parse reads a date in the form 2026-11-02. Days that do not exist, such as 2026-02-30, are errors.
func Parse(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("%q is not a date (write 2026-11-02)", s)
	}
	return DateOf(t), nil
}

// IsZero reports whether d is "no date".
func (d Date) IsZero() bool { return d == Date{} }

// String gives 2026-11-02, and the empty string for the zero Date.
func (d Date) String() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day)
}

// Compare returns -1, 0 or 1 as d is before, the same as, or after e.
func (d Date) Compare(e Date) int { return d.utc().Compare(e.utc()) }

// Before reports whether d is an earlier day than e.
func (d Date) Before(e Date) bool { return d.Compare(e) < 0 }

// After reports whether d is a later day than e.
func (d Date) After(e Date) bool { return d.Compare(e) > 0 }

// AddDays returns the day n days after d; n may be negative.
func (d Date) AddDays(n int) Date { return DateOf(d.utc().AddDate(0, 0, n)) }

// DaysUntil returns how many days after d the day e comes; negative where e is earlier.
func (d Date) DaysUntil(e Date) int { return int(e.utc().Sub(d.utc()).Hours() / 24) }

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday { return d.utc().Weekday() }

// In returns the first moment of d in loc. Where midnight does not exist there, it is the first
// moment that does.
func (d Date) In(loc *time.Location) time.Time {
	t := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, loc)
	if DateOf(t) == d {
		return t
	}
	return time.Date(d.Year, d.Month, d.Day, 1, 0, 0, 0, loc)
}

func (d Date) utc() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// MarshalText writes the date as [Date.String] does.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote; empty text is the zero Date.
func (d *Date) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*d = Date{}
		return nil
	}
	*d, err = Parse(string(text))
	return err
}
