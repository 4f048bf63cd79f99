package clockify

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT0S": 0, "PT1H30M": 90 * time.Minute, "PT37H30M": 37*time.Hour + 30*time.Minute, "P1DT2H": 26 * time.Hour, "P2D": 48 * time.Hour,
		"PT0.5S": 500 * time.Millisecond, "PT59S": 59 * time.Second, "-PT1H": -time.Hour, "PT90M": 90 * time.Minute,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("parseDuration(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "PTH", "1H", "PT1", "PT1X", "PT1M1H", "P1Y", "P1M", "PT1.5H", "PT+1H", "PT-1H", "PT1H1H", "PT99999999999999999999H", "PT2562048H", "P1DT", "PT1e3S", "PT.S", "PT1..2S"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("parseDuration(%q) = %s, want an error", text, got)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, text := range []string{"PT1H30M", "P1DT0.25S", "-PT5S", "PT", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err != nil {
			return
		}
		whole := d.Round(time.Second)
		if again, err := parseDuration(iso8601(whole.Abs())); err != nil || again != whole.Abs() {
			t.Errorf("%q is %s; written as %s it is %s, %v", text, d, iso8601(whole.Abs()), again, err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`[{"approvalRequest":{"id":"1"},"approvedTime":"PT1H","entries":[{"id":1,"timeInterval":{"start":"x"}}]},null,7,"x"]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var list []request
		if json.Unmarshal(data, &list) != nil {
			return
		}
		for _, q := range list {
			if _, err := q.place(time.UTC); err == nil && q.Approval.ID == "" {
				t.Errorf("a request without an id has a place: %s", data)
			}
			if q.fault() == nil && q.Approval.Status.State == "" {
				t.Errorf("a request without a state is good: %s", data)
			}
		}
	})
}
