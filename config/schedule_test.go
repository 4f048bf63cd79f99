package config

import (
	"strings"
	"testing"
	"time"
)

// tuesday is when the schedules of these tests are asked.
var tuesday = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func TestScheduleComesWhenItSays(t *testing.T) {
	tests := []struct{ spec, want string }{
		{"*/15 * * * *", "01 00:15, 01 00:30, 01 00:45"},
		{"5/20 * * * *", "01 00:05, 01 00:25, 01 00:45"},
		{"0 6 * * 1-5", "01 06:00, 02 06:00, 03 06:00"},
		{"0 0 * * 7", "06 00:00, 13 00:00, 20 00:00"},
		{"0 0 * * 0", "06 00:00, 13 00:00, 20 00:00"},
		{"0 0 * * 5-7", "04 00:00, 05 00:00, 06 00:00"},
		{"0 0 * * mon-7", "02 00:00, 03 00:00, 04 00:00"},
		{"0 0 * * 1-7/2", "02 00:00, 04 00:00, 06 00:00"},
		{"0 0 * * 5-7/2", "04 00:00, 06 00:00, 11 00:00"},
		{"0 0 * * 1/2", "02 00:00, 04 00:00, 07 00:00"},
		{"0 0 * * 3,7", "02 00:00, 06 00:00, 09 00:00"},
		{"0 0 * * 7-7", "06 00:00, 13 00:00, 20 00:00"},
		{"0 0 * * */7", "06 00:00, 13 00:00, 20 00:00"},
		{"@daily", "02 00:00, 03 00:00, 04 00:00"},
		{"@every 15m", "01 00:15, 01 00:30, 01 00:45"},
	}
	for _, tt := range tests {
		s, err := ParseSchedule(tt.spec)
		if err != nil {
			t.Errorf("ParseSchedule(%q): %v", tt.spec, err)
			continue
		}
		var got []string
		for at := s.Next(tuesday); len(got) < 3; at = s.Next(at) {
			got = append(got, at.Format("02 15:04"))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%q comes at %s, want %s", tt.spec, text, tt.want)
		}
		if s.String() != tt.spec {
			t.Errorf("String = %q, want %q as it was written", s, tt.spec)
		}
	}
}

func TestScheduleIsAskedInAZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSchedule("0 6 * * *")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Next(tuesday.In(berlin)).UTC(), time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Next = %s, want %s", got, want)
	}
}

func TestLeapDayIsPossible(t *testing.T) {
	s, err := ParseSchedule("0 0 29 2 *")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Next(tuesday), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Next = %s, want %s", got, want)
	}
}

func TestBadScheduleIsAnErrorAndNeverAPanic(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"30 February", "0 0 30 2 *", "it never comes"},
		{"31 of short months", "0 0 31 2,4,6,9,11 *", "it never comes"},
		{"a lone comma", ", * * * *", "says nothing"},
		{"a comma at the end", "0 0 * * mon,", "says nothing"},
		{"a step beyond the minutes", "*/100 * * * *", "a step of 100"},
		{"a step beyond the days", "0 0 1/40 * *", "a step of 40"},
		{"a step beyond a range", "10-20/30 * * * *", "a step of 30"},
		{"a step beyond what follows", "50/20 * * * *", "a step of 20"},
		{"a step beyond the weekend", "0 0 * * 6-7/2", "a step of 2"},
		{"a step beyond named days", "0 0 * * mon-fri/5", "a step of 5"},
		{"a step beyond named months", "0 0 1 jan-mar/4 *", "a step of 4"},
		{"a step beyond Saturday", "0 0 * * 1/6", "a step of 6"},
		{"a step from Sunday on", "0 0 * * 7/2", "a step of 2"},
		{"any day to a day", "0 0 ?-5 * *", "says nothing"},
		{"a step of none", "*/0 * * * *", "a step of 0"},
		{"a step without a number", "*/ * * * *", "is not a schedule"},
		{"a star range", "*-5 * * * *", "says nothing"},
		{"a sign", "+1 * * * *", "says nothing"},
		{"two slashes", "1/2/3 * * * *", "too many slashes"},
		{"backwards", "10-5 * * * *", "beyond end of range"},
		{"minute 60", "60 * * * *", "above maximum"},
		{"hour 24", "0 24 * * *", "above maximum"},
		{"day 0", "0 0 0 * *", "below minimum"},
		{"weekday 8", "0 0 * * 8", "above maximum"},
		{"seconds", "0 * * * * *", "it has 6 fields"},
		{"nothing", "", "it has 0 fields"},
		{"a zone that panics", "TZ=", "the setting timezone"},
		{"a zone that panics, with a name", "CRON_TZ=Europe/Berlin", "the setting timezone"},
		{"a zone", "CRON_TZ=UTC * * * * *", "the setting timezone"},
		{"at each start", "@reboot", "is not a schedule"},
		{"a capital", "@Daily", "is not a schedule"},
		{"every 0s", "@every 0s", "at least ten"},
		{"every 9s", "@every 9s", "at least ten"},
		{"every while back", "@every -5m", "at least ten"},
		{"a fraction of a second", "@every 10.5s", "whole seconds"},
		{"too long", "@every 87600000h", "@every"},
	}
	for _, tt := range tests {
		s, err := ParseSchedule(tt.spec)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: ParseSchedule(%q) = %q, %v; want %q", tt.name, tt.spec, s, err, tt.want)
		}
	}
}

func TestTheZeroScheduleNeverComes(t *testing.T) {
	if got := (Schedule{}).Next(tuesday); !got.IsZero() {
		t.Errorf("Next = %s, want never", got)
	}
}

// FuzzSchedule holds that no text makes the parser panic, and that what is accepted comes, and goes forward.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{"*/15 * * * *", "0 0 29 2 *", "0 0 * * 1-7/2", "@daily", "@every 15m", "TZ=", "CRON_TZ=x", ", * * * *", "0 0 30 2 *", "*/100 * * * *", "?/5 * * * *", "@every 2562047h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := ParseSchedule(spec)
		if err != nil {
			return
		}
		first := s.Next(tuesday)
		if !first.After(tuesday) || !s.Next(first).After(first) {
			t.Errorf("%q comes at %s and then at %s, want later each time", spec, first, s.Next(first))
		}
	})
}
