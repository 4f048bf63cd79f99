package config

import (
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"30s", 30 * time.Second, true},
		{"1h30m", 90 * time.Minute, true},
		{"14d", 14 * 24 * time.Hour, true},
		{"2w", 14 * 24 * time.Hour, true},
		{"1w2d3h", 9*24*time.Hour + 3*time.Hour, true},
		{"0", 0, true},
		{"0s", 0, true},
		{"", 0, false},
		{"5", 0, false},
		{"5 minutes", 0, false},
		{"1.5d", 0, false},
		{"1d1w", 0, false},
		{"-5m", 0, false},
		{"-1d", 0, false},
		{" 5m", 0, false},
		{"36501d", 0, false},
		{"999999999h", 0, false},
	}
	for _, tt := range tests {
		got, err := ParseDuration(tt.text)
		if time.Duration(got) != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseDuration(%q) = %s, %v; want %s, ok %v", tt.text, got, err, tt.want, tt.ok)
		}
	}
}

func TestDurationIsWrittenAsItCanBeRead(t *testing.T) {
	for _, text := range []string{"14d", "1h30m", "36h", "10m", "10m5s", "1h0m5s", "100ms", "0s", "1d"} {
		d, err := ParseDuration(text)
		if err != nil || d.String() != text {
			t.Errorf("ParseDuration(%q) = %s, %v; want the same text", text, d, err)
		}
	}
}

func TestScalarsSayWhatToWriteInstead(t *testing.T) {
	rate := "    invoice: {rates: [{rate: %, currency: EUR}]}\n"
	tests := []struct{ name, more, want string }{
		{"a duration without a unit", "    jitter: 5\n", `"5" is not a duration (write 30s,`},
		{"a list for a duration", "    jitter: [5m]\n", "a single value is wanted here"},
		{"a zone by its offset", "    timezone: UTC+1\n", "is not a time zone (write Europe/Berlin"},
		{"the machine's zone", "    timezone: Local\n", "is not a time zone"},
		{"a path for a zone", "    timezone: ../etc/passwd\n", "is not a time zone"},
		{"a decimal comma", strings.Replace(rate, "%", `"95,50"`, 1), "is not a number (write 95.50)"},
		{"an exponent", strings.Replace(rate, "%", "1e5", 1), "is not a number"},
		{"a digit separator", strings.Replace(rate, "%", "1_000", 1), "is not a number"},
		{"not a number", strings.Replace(rate, "%", ".nan", 1), "is not a number"},
		{"a small currency", "    invoice: {rates: [{rate: 95, currency: eur}]}\n", "is not a currency code of ISO 4217"},
		{"a day that is none", "  other: {start: 2026-02-30}\n", `"2026-02-30" is not a date (write 2026-11-02)`},
		{"a fraction of workers", "    workers: 3.7\n", "a whole number is wanted here"},
		{"text for a list", "    invoice: {customers: hello}\n", "a list is wanted here, and this is text"},
		{"a list for a mapping", "    invoice: {ignore: [a]}\n", "a mapping is wanted here, and this is a list"},
	}
	for _, tt := range tests {
		_, err := Load(write(t, smallest+tt.more), nil)
		if f := faultsOf(t, err); f[0].Line < 8 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q at its line", tt.name, err, tt.want)
		}
	}
}
