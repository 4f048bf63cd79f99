package clockify

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/remote"
)

// span is a duration as ISO 8601 writes it, such as PT37H30M, or what is wrong with it: that is the fault of one
// record, and not of its whole list. It is not there where Clockify writes none, as for a running timer.
type span struct {
	time.Duration
	there bool
	wrong error
}

// UnmarshalJSON reads text or null, and never fails.
func (s *span) UnmarshalJSON(data []byte) error {
	*s = span{}
	if string(data) == "null" {
		return nil
	}
	if text, err := strconv.Unquote(string(data)); err != nil {
		s.wrong = fmt.Errorf("%s is not a duration", remote.Short(string(data)))
	} else {
		s.Duration, s.wrong = parseDuration(text)
	}
	s.there = s.wrong == nil
	return nil
}

// parseDuration reads a duration of days, hours, minutes and seconds. Years and months have no length.
func parseDuration(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not a duration such as PT1H30M", remote.Short(text))
	rest, negative := strings.CutPrefix(text, "-")
	rest, marked := strings.CutPrefix(rest, "P")
	days, clock, timed := strings.Cut(rest, "T")
	if !marked || timed && clock == "" || !timed && days == "" {
		return 0, wrong
	}
	long, err := sum(days, "D", 24*time.Hour)
	short, err2 := sum(clock, "HMS", time.Hour, time.Minute, time.Second)
	if errors.Join(err, err2) != nil || short > math.MaxInt64-long {
		return 0, wrong
	}
	if negative {
		return -(long + short), nil
	}
	return long + short, nil
}

// sum adds numbers that each bear one of the letters, in their order and each at most once. Only seconds have
// fractions.
func sum(text, letters string, units ...time.Duration) (total time.Duration, err error) {
	for i, unit := range units {
		number, rest, found := strings.Cut(text, letters[i:i+1])
		if !found {
			continue
		}
		n, err := amount(number, unit)
		if err != nil || n > math.MaxInt64-total {
			return 0, errors.New("too much, or not a number")
		}
		total, text = total+n, rest
	}
	if text != "" {
		return 0, errors.New("something is left over")
	}
	return total, nil
}

func amount(number string, unit time.Duration) (time.Duration, error) {
	if strings.Trim(number, "0123456789") == "" {
		n, err := strconv.ParseInt(number, 10, 64)
		if n > int64(math.MaxInt64/unit) {
			return 0, strconv.ErrRange
		}
		return time.Duration(n) * unit, err
	}
	if unit != time.Second || strings.Trim(number, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	return time.ParseDuration(number + "s")
}
