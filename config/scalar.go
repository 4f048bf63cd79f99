package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v4"

	"tidemark/sync/civil"
	"tidemark/sync/money"
)

// Duration is a length of time such as 30s, 15m, 1h30m, 14d or 2w. A day has 24 hours. It is never negative.
type Duration time.Duration

// fiftyYears is the most of each unit: the sum of three still fits a time.Duration, which ends at 292 years.
const fiftyYears = 36500 * 24 * time.Hour / 2

var longUnits = regexp.MustCompile(`^(?:(\d+)w)?(?:(\d+)d)?(.*)$`)

// ParseDuration reads a duration.
func ParseDuration(s string) (Duration, error) {
	bad := fmt.Errorf("%q is not a duration (write 30s, 15m, 1h30m, 14d or 2w)", s)
	m := longUnits.FindStringSubmatch(s)
	if s == "" || m == nil {
		return 0, bad
	}
	var sum time.Duration
	for i, day := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		if err != nil || n > int(fiftyYears/day) {
			return 0, bad
		}
		sum += time.Duration(n) * day
	}
	if m[3] != "" {
		rest, err := time.ParseDuration(m[3])
		if err != nil || rest > fiftyYears || rest < 0 && sum > 0 {
			return 0, bad
		}
		sum += rest
	}
	if sum < 0 {
		return 0, fmt.Errorf("%q is negative: a duration is not", s)
	}
	return Duration(sum), nil
}

// UnmarshalYAML reads a duration.
func (d *Duration) UnmarshalYAML(n *yaml.Node) (err error) {
	*d, err = scalar(n, ParseDuration)
	return err
}

// String writes whole days as 14d, and the rest as 1h30m.
func (d Duration) String() string {
	if day := 24 * time.Hour; d > 0 && time.Duration(d)%day == 0 {
		return fmt.Sprintf("%dd", time.Duration(d)/day)
	}
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Date is a day such as 2026-11-02.
type Date civil.Date

// UnmarshalYAML reads a date.
func (d *Date) UnmarshalYAML(n *yaml.Node) error {
	day, err := scalar(n, civil.Parse)
	*d = Date(day)
	return err
}

// Zone is a time zone by its name, such as Europe/Berlin. The zero Zone is UTC.
type Zone struct{ at *time.Location }

// UnmarshalYAML reads the name of a zone.
func (z *Zone) UnmarshalYAML(n *yaml.Node) (err error) {
	z.at, err = scalar(n, func(s string) (*time.Location, error) {
		at, err := time.LoadLocation(s)
		if err != nil || s == "" || s == "Local" {
			return nil, fmt.Errorf("%q is not a time zone (write Europe/Berlin, America/New_York or UTC)", s)
		}
		return at, nil
	})
	return err
}

// Location returns the zone.
func (z Zone) Location() *time.Location {
	if z.at == nil {
		return time.UTC
	}
	return z.at
}

// Decimal is an exact number such as 95.50. It never passes through floating point.
type Decimal struct{ decimal.Decimal }

var plainDecimal = regexp.MustCompile(`^-?\d{1,15}(\.\d{1,10})?$`)

// UnmarshalYAML reads a number.
func (d *Decimal) UnmarshalYAML(n *yaml.Node) (err error) {
	d.Decimal, err = scalar(n, func(s string) (decimal.Decimal, error) {
		if !plainDecimal.MatchString(s) {
			return decimal.Decimal{}, fmt.Errorf("%q is not a number (write 95.50)", s)
		}
		return decimal.NewFromString(s)
	})
	return err
}

// Currency is a code of ISO 4217.
type Currency money.Currency

// UnmarshalYAML reads a code.
func (c *Currency) UnmarshalYAML(n *yaml.Node) error {
	code, err := scalar(n, money.ParseCurrency)
	*c = Currency(code)
	return err
}

// Path is the name of a file or folder. In a config it is relative to the config file; once loaded it is absolute.
type Path string

// scalar reads the text of a node that must hold one value.
func scalar[T any](n *yaml.Node, parse func(string) (T, error)) (v T, err error) {
	if n.Kind != yaml.ScalarNode {
		return v, errors.New("a single value is wanted here")
	}
	if len(n.Value) > longest {
		return v, fmt.Errorf("this value has %d characters: it cannot be meant", len(n.Value))
	}
	return parse(n.Value)
}
