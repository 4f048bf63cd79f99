package daemon_test

import (
	"slices"
	"testing"
	"time"

	"tidemark/daemon"
)

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestStartsOnBothDaylightSavingNights(t *testing.T) {
	const (
		berlin, angeles = "Europe/Berlin", "America/Los_Angeles"
		santiago, howe  = "America/Santiago", "Australia/Lord_Howe"
		troll           = "Antarctica/Troll"
	)
	tests := []struct {
		name, zone, spec string
		from, to         string // local times
		want             []string
	}{
		{"left out", berlin, "30 2 * * *", "2026-03-28 12:00", "2026-03-30 12:00", []string{"29 03:00 +02", "30 02:30 +02"}},
		{"left out", angeles, "0 2 * * *", "2025-03-08 12:00", "2025-03-10 12:00", []string{"09 03:00 -07", "10 02:00 -07"}},
		{"midnight left out", santiago, "0 0 * * *", "2026-09-05 12:00", "2026-09-07 12:00", []string{"06 01:00 -03", "07 00:00 -03"}},
		{"many left out", berlin, "*/15 2 * * *", "2026-03-28 12:00", "2026-03-29 12:00", []string{"29 03:00 +02"}},
		{"left out beside one that is there", berlin, "0 2,3 * * *", "2026-03-28 12:00", "2026-03-29 12:00", []string{"29 03:00 +02"}},
		{"just before the gap", berlin, "59 1 * * *", "2026-03-28 12:00", "2026-03-30 12:00", []string{"29 01:59 +01", "30 01:59 +02"}},
		{"just after the gap", berlin, "0 3 * * *", "2026-03-28 12:00", "2026-03-30 12:00", []string{"29 03:00 +02", "30 03:00 +02"}},
		{"every day at noon", berlin, "0 12 * * *", "2026-03-27 13:00", "2026-03-29 13:00", []string{"28 12:00 +01", "29 12:00 +02"}},
		{"hourly", berlin, "30 * * * *", "2026-03-29 00:00", "2026-03-29 05:00", []string{"29 00:30 +01", "29 01:30 +01", "29 03:30 +02", "29 04:30 +02"}},
		{"quarters", berlin, "*/15 * * * *", "2026-03-29 01:20", "2026-03-29 03:20", []string{"29 01:30 +01", "29 01:45 +01", "29 03:00 +02", "29 03:15 +02"}},
		{"every ninety minutes", berlin, "@every 90m", "2026-03-29 00:00", "2026-03-29 05:30", []string{"29 01:30 +01", "29 04:00 +02", "29 05:30 +02"}},

		{"twice", berlin, "30 2 * * *", "2026-10-24 12:00", "2026-10-26 12:00", []string{"25 02:30 +02", "26 02:30 +01"}},
		{"twice", angeles, "30 1 * * *", "2025-11-01 12:00", "2025-11-03 12:00", []string{"02 01:30 -07", "03 01:30 -08"}},
		{"eleven at night twice", santiago, "15 23 * * *", "2026-04-04 12:00", "2026-04-05 23:30", []string{"04 23:15 -03", "05 23:15 -04"}},
		{"many twice", berlin, "*/30 2 * * *", "2026-10-24 12:00", "2026-10-25 12:00", []string{"25 02:00 +02", "25 02:30 +02"}},
		{"twice beside one that is once", berlin, "30 2,3 * * *", "2026-10-24 12:00", "2026-10-25 12:00", []string{"25 02:30 +02", "25 03:30 +01"}},
		{"twice beside one at the change", berlin, "0 2,3 * * *", "2026-10-24 12:00", "2026-10-25 12:00", []string{"25 02:00 +02", "25 03:00 +01"}},
		{"at the change", berlin, "0 3 * * *", "2026-10-24 12:00", "2026-10-25 12:00", []string{"25 03:00 +01"}},
		{"every day at noon", berlin, "0 12 * * *", "2026-10-23 13:00", "2026-10-25 13:00", []string{"24 12:00 +02", "25 12:00 +01"}},
		{"hourly", berlin, "30 * * * *", "2026-10-25 01:00", "2026-10-25 04:00", []string{"25 01:30 +02", "25 02:30 +02", "25 02:30 +01", "25 03:30 +01"}},
		{"hourly", angeles, "0 * * * *", "2025-11-02 00:30", "2025-11-02 02:30", []string{"02 01:00 -07", "02 01:00 -08", "02 02:00 -08"}},
		{"half hours", berlin, "*/30 * * * *", "2026-10-25 01:50", "2026-10-25 03:10", []string{"25 02:00 +02", "25 02:30 +02", "25 02:00 +01", "25 02:30 +01", "25 03:00 +01"}},
		{"hourly in some hours", berlin, "0 1-3 * * *", "2026-10-25 00:30", "2026-10-25 12:00", []string{"25 01:00 +02", "25 02:00 +02", "25 02:00 +01", "25 03:00 +01"}},
		{"every ninety minutes", berlin, "@every 90m", "2026-10-25 01:00", "2026-10-25 04:00", []string{"25 02:30 +02", "25 03:00 +01"}},

		{"two hours twice", troll, "0 0-3 * * *", "2026-10-24 12:00", "2026-10-25 12:00", []string{"25 00:00 +02", "25 01:00 +02", "25 02:00 +02", "25 03:00 +00"}},
		{"half an hour left out", howe, "15 2 * * *", "2025-10-04 12:00", "2025-10-06 12:00", []string{"05 02:30 +11", "06 02:15 +11"}},
		{"half an hour twice", howe, "45 1 * * *", "2026-04-04 12:00", "2026-04-06 12:00", []string{"05 01:45 +11", "06 01:45 +10"}},
	}
	for _, tt := range tests {
		t.Run(tt.zone+"/"+tt.spec+" "+tt.name, func(t *testing.T) {
			zone := location(t, tt.zone)
			var d diary
			j := d.job("agency", tt.spec, time.Second)
			j.Location = zone
			inBubble(t, func(b *bubble) {
				b.pass(time.Until(local(t, tt.from, zone)))
				b.start()
				b.pass(time.Until(local(t, tt.to, zone)) + time.Second)
			}, j)
			if got := d.format(zone, "02 15:04 -07"); !slices.Equal(got, tt.want) {
				t.Errorf("starts = %q, want %q", got, tt.want)
			}
		})
	}
}

func local(t *testing.T, text string, zone *time.Location) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

var zones = []string{
	"UTC", "Europe/Berlin", "America/Los_Angeles", "America/Santiago", "America/Havana", "Australia/Lord_Howe",
	"Africa/Casablanca", "Asia/Kathmandu", "Antarctica/Troll",
}

// Whatever the zone does with its clock, a job at one time of day runs once on each day of the year.
func TestFixedTimeStartsOnceEachDay(t *testing.T) {
	specs := []string{"0 0 * * *", "30 0 * * *", "0 1 * * *", "45 1 * * *", "0 2 * * *", "30 2 * * *", "0 3 * * *", "30 3 * * *", "59 23 * * *"}
	for _, zone := range zones {
		for _, spec := range specs {
			j := daemon.Job{Schedule: schedule(spec), Location: location(t, zone)}
			at := time.Date(2026, 1, 1, 23, 59, 30, 0, j.Location)
			for day := range 400 {
				next := j.Next(at)
				want := time.Date(2026, 1, 2+day, 12, 0, 0, 0, j.Location)
				if y, d := next.Year(), next.YearDay(); y != want.Year() || d != want.YearDay() {
					t.Fatalf("%s %s: Next(%s) = %s, want one on %s", zone, spec, at, next, want.Format(time.DateOnly))
				}
				at = next
			}
		}
	}
}

// A beat is a beat on every night of the year.
func TestBeatIsKeptAllYear(t *testing.T) {
	beats := map[string]time.Duration{"17 * * * *": time.Hour, "*/15 * * * *": 15 * time.Minute, "@every 50m": 50 * time.Minute}
	for _, zone := range zones {
		for spec, beat := range beats {
			j := daemon.Job{Schedule: schedule(spec), Location: location(t, zone)}
			at := j.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			for at.Year() < 2027 {
				next := j.Next(at)
				// Half an hour is no whole number of hours.
				if step := next.Sub(at); step != beat && (zone != "Australia/Lord_Howe" || beat < time.Hour) {
					t.Fatalf("%s %s: Next(%s) = %s, want %s later", zone, spec, at, next, beat)
				}
				at = next
			}
		}
	}
}

type never struct{}

func (never) Next(time.Time) time.Time { return time.Time{} }

func TestScheduleThatNeverComes(t *testing.T) {
	var d diary
	j := d.job("agency", "@daily", 0)
	j.Schedule = never{}
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(3 * 24 * time.Hour)
		wantStarts(t, &d, minute)
		if n := len(b.lines("never due")); n != 1 {
			t.Errorf("%d lines say that it is never due, want 1", n)
		}
	}, j)
}
