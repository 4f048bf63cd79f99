package remote_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tidemark/internal/remote"
)

func TestIDIsKeptDigitForDigit(t *testing.T) {
	for _, tt := range []struct {
		text string
		want remote.ID
		ok   bool
	}{
		{`"abc-1"`, "abc-1", true},
		{`""`, "", true},
		{`"007"`, "007", true},
		{`" 7"`, " 7", true},
		{`"a\u0041"`, "aA", true},
		{`null`, "", true},
		{`0`, "0", true},
		{`7`, "7", true},
		{`9007199254740993`, "9007199254740993", true}, // 2^53 + 1
		{`18446744073709551616`, "18446744073709551616", true},
		{`123456789012345678901234567890123456789`, "123456789012345678901234567890123456789", true},
		{`-1`, "", false},
		{`1.0`, "", false},
		{`9.007199254740993e15`, "", false},
		{`true`, "", false},
		{`{}`, "", false},
		{`["7"]`, "", false},
	} {
		before := invoice{ID: "before"}
		err := json.Unmarshal([]byte(`{"id":`+tt.text+`}`), &before)
		if (err == nil) != tt.ok || tt.ok && before.ID != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.text, before.ID, err, tt.want)
		}
	}
}

func TestTimeIsReadInTheFormsOfVendors(t *testing.T) {
	at := time.Date(2026, 12, 3, 9, 30, 5, 0, time.UTC)
	for _, tt := range []struct {
		text string
		want time.Time
		day  bool
		ok   bool
	}{
		{`"2026-12-03T09:30:05Z"`, at, false, true},
		{`"2026-12-03T10:30:05+01:00"`, at, false, true},
		{`"2026-12-03T10:30:05+0100"`, at, false, true},
		{`"2026-12-03T09:30:05.25Z"`, at.Add(250 * time.Millisecond), false, true},
		{`"2026-12-03T10:30:05.000+0100"`, at, false, true},
		{`"2026-12-03T09:30Z"`, at.Add(-5 * time.Second), false, true},
		{`"2026-12-03 04:30:05 -0500"`, at, false, true},
		{`"2026-12-03"`, at.Truncate(day), true, true},
		{`null`, time.Time{}, false, true},
		{`"2026-12-03T09:30:05"`, time.Time{}, false, false}, // whose clock?
		{`"2026-02-30"`, time.Time{}, false, false},
		{`"2026-12-03T25:00:00Z"`, time.Time{}, false, false},
		{`"03/12/2026"`, time.Time{}, false, false},
		{`""`, time.Time{}, false, false},
		{`1796290205`, time.Time{}, false, false},
		{`{}`, time.Time{}, false, false},
	} {
		before := invoice{Made: remote.Time{Time: at, Day: true}}
		err := json.Unmarshal([]byte(`{"made":`+tt.text+`}`), &before)
		if (err == nil) != tt.ok || tt.ok && (!before.Made.Equal(tt.want) || before.Made.Day != tt.day) {
			t.Errorf("%s: %v, %v; want %v, a day: %v", tt.text, before.Made, err, tt.want, tt.day)
		}
	}
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{`"a"`, `7`, `null`, `9007199254740993`, `-1`, `"\ud800"`, `1e5`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var id remote.ID
		if json.Unmarshal(data, &id) != nil {
			return
		}
		written, err := json.Marshal(string(id))
		var again remote.ID
		if err != nil || json.Unmarshal(written, &again) != nil || again != id {
			t.Errorf("%q was read as %q, and that as %q", data, id, again)
		}
		if number := json.Number(""); json.Unmarshal(data, &number) == nil && data[0] != '"' && number.String() != string(id) {
			t.Errorf("%s lost digits: %s", data, id)
		}
	})
}

func FuzzTime(f *testing.F) {
	for _, seed := range []string{"2026-12-03T09:30:05Z", "2026-12-03", "2026-12-03 04:30:05 -0500", "0000-01-01T00:00:00+2359", "9999-12-31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		written, _ := json.Marshal(text)
		var at, again remote.Time
		if json.Unmarshal(written, &at) != nil {
			return
		}
		if at.Day != (len(text) == len(time.DateOnly)) || at.Day && at.Format(time.DateOnly) != text {
			t.Errorf("%q is %v, a day: %v", text, at, at.Day)
		}
		if y := at.UTC().Year(); y < 0 || y > 9999 {
			return // RFC 3339 cannot write it.
		}
		said := fmt.Sprintf("%q", at.UTC().Format(time.RFC3339Nano))
		if err := json.Unmarshal([]byte(said), &again); err != nil || !again.Equal(at.Time) {
			t.Errorf("%q is %v, written %s and read %v, %v", text, at, said, again, err)
		}
	})
}
