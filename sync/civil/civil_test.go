package civil

import (
	"encoding/json"
	"testing"
	"time"
)

func TestParseAcceptsOnlyDaysThatExist(t *testing.T) {
	tests := []struct {
		text string
		want Date
		ok   bool
	}{
		{"2026-11-02", Date{2026, time.November, 2}, true},
		{"2024-02-29", Date{2024, time.February, 29}, true},
		{"2026-02-29", Date{}, false},
		{"2026-02-30", Date{}, false},
		{"2026-13-01", Date{}, false},
		{"02.11.2026", Date{}, false},
		{"2026-11-2", Date{}, false},
		{"2026-11-02T00:00:00Z", Date{}, false},
		{"", Date{}, false},
	}
	for _, tt := range tests {
		got, err := Parse(tt.text)
		if (err == nil) != tt.ok || got != tt.want {
			t.Errorf("Parse(%q) = %v, %v; want %v, ok %v", tt.text, got, err, tt.want, tt.ok)
		}
		if tt.ok && got.String() != tt.text {
			t.Errorf("String = %q, want %q", got, tt.text)
		}
	}
}

func TestWeeksCarryTheirISOYear(t *testing.T) {
	tests := []struct {
		day  Date
		want string
	}{
		{Date{2020, time.December, 28}, "2020-W53"},
		{Date{2021, time.January, 3}, "2020-W53"},
		{Date{2021, time.January, 4}, "2021-W01"},
		{Date{2024, time.December, 29}, "2024-W52"},
		{Date{2024, time.December, 30}, "2025-W01"},
		{Date{2023, time.January, 1}, "2022-W52"},
		{Date{2026, time.November, 23}, "2026-W48"},
	}
	for _, tt := range tests {
		if got := WeekOf(tt.day).String(); got != tt.want {
			t.Errorf("WeekOf(%s) = %s, want %s", tt.day, got, tt.want)
		}
	}
}

func TestEveryDayIsInTheWeekThatItNames(t *testing.T) {
	for d := (Date{2019, time.December, 1}); d.Year < 2032; d = d.AddDays(1) {
		w := WeekOf(d)
		if w.First().Weekday() != time.Monday || w.First().AddDays(6) != w.Last() {
			t.Fatalf("%s runs from %s to %s, want Monday to Sunday", w, w.First(), w.Last())
		}
		if d.Before(w.First()) || d.After(w.Last()) {
			t.Fatalf("%s is in %s, which runs from %s to %s", d, w, w.First(), w.Last())
		}
	}
}

func TestPeriods(t *testing.T) {
	week := Period{Date{2026, time.November, 2}, Date{2026, time.November, 8}}
	if !week.IsISOWeek() {
		t.Errorf("IsISOWeek(%s) = false, want true", week)
	}
	for _, p := range []Period{
		{Date{2026, time.November, 1}, Date{2026, time.November, 7}},
		{Date{2026, time.November, 2}, Date{2026, time.November, 9}},
		{},
	} {
		if p.IsISOWeek() {
			t.Errorf("IsISOWeek(%s) = true, want false", p)
		}
	}
	for n, want := range map[int]bool{-1: false, 0: true, 6: true, 7: false} {
		if got := week.Contains(week.First.AddDays(n)); got != want {
			t.Errorf("Contains(day %d) = %v, want %v", n, got, want)
		}
	}
	if got := week.String(); got != "2026-11-02..2026-11-08" {
		t.Errorf("String = %s, want 2026-11-02..2026-11-08", got)
	}
}

func TestArithmeticKnowsNoDaylightSaving(t *testing.T) {
	before := Date{2026, time.March, 28}
	if got := before.AddDays(2); got != (Date{2026, time.March, 30}) {
		t.Errorf("AddDays = %s, want 2026-03-30", got)
	}
	if got := before.DaysUntil(Date{2026, time.April, 28}); got != 31 {
		t.Errorf("DaysUntil = %d, want 31", got)
	}
	if got := before.DaysUntil(before.AddDays(-3)); got != -3 {
		t.Errorf("DaysUntil = %d, want -3", got)
	}
	if got := (Date{2026, time.March, 1}).AddDays(-1); got != (Date{2026, time.February, 28}) {
		t.Errorf("AddDays = %s, want 2026-02-28", got)
	}
}

func TestDayBeginsInItsZone(t *testing.T) {
	zone := func(name string) *time.Location {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	berlin, havana := zone("Europe/Berlin"), zone("America/Havana")
	moment := time.Date(2026, time.November, 1, 23, 30, 0, 0, time.UTC)
	if got := DateOf(moment.In(berlin)); got != (Date{2026, time.November, 2}) {
		t.Errorf("DateOf = %s, want 2026-11-02: it is after midnight in Berlin", got)
	}
	if got := (Date{2026, time.November, 2}).In(berlin); !got.Equal(moment.Add(-30 * time.Minute)) {
		t.Errorf("In = %s, want %s", got, moment.Add(-30*time.Minute))
	}
	gap := Date{2026, time.March, 8}
	if got := gap.In(havana); DateOf(got) != gap || got.Hour() != 1 {
		t.Errorf("In = %s, want 01:00 of %s: midnight does not exist there", got, gap)
	}
}

func TestDatesAreTextInJSON(t *testing.T) {
	type row struct {
		Day  Date `json:"day"`
		None Date `json:"none,omitzero"`
	}
	in := row{Day: Date{2026, time.November, 2}}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `{"day":"2026-11-02"}` {
		t.Fatalf("Marshal = %s, %v", b, err)
	}
	var out row
	if err := json.Unmarshal(b, &out); err != nil || out != in {
		t.Errorf("Unmarshal = %v, %v; want %v", out, err, in)
	}
	if err := json.Unmarshal([]byte(`{"day":""}`), &out); err != nil || !out.Day.IsZero() {
		t.Errorf("Unmarshal of empty text = %v, %v; want the zero date", out.Day, err)
	}
	if err := json.Unmarshal([]byte(`{"day":"2026-02-30"}`), &out); err == nil {
		t.Error("Unmarshal of 2026-02-30: no error, want one")
	}
}

func TestOrderOfDates(t *testing.T) {
	days := []Date{{}, {2025, time.December, 31}, {2026, time.January, 1}, {2026, time.January, 2}, {2026, time.February, 1}}
	for i, a := range days {
		for j, b := range days {
			if a.Before(b) != (i < j) || a.After(b) != (i > j) || (a.Compare(b) == 0) != (i == j) {
				t.Errorf("Compare(%s, %s) = %d, want as their places %d and %d", a, b, a.Compare(b), i, j)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("2026-11-02")
	f.Add("2024-02-29")
	f.Add("2026-02-30")
	f.Add("0000-01-01")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err == nil && d.String() != text {
			t.Errorf("Parse(%q) prints as %q", text, d)
		}
	})
}
