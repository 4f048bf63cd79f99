package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v4"
)

// Schedule says when something runs: five cron fields, or @hourly, @daily, @weekly, @monthly, @yearly,
// or @every 15m. Sunday is 0 or 7. The zero Schedule never comes.
type Schedule struct {
	spec string
	next cron.Schedule
}

// ParseSchedule reads a schedule. One that could never come is an error.
func ParseSchedule(spec string) (s Schedule, err error) {
	defer func() {
		if caught := recover(); caught != nil { // The parser panics on some texts.
			s, err = Schedule{}, badSpec(spec, "it cannot be read")
		}
	}()
	if err := checkSpec(spec); err != nil {
		return s, err
	}
	next, err := cron.ParseStandard(sundays(spec))
	if err != nil {
		return s, badSpec(spec, err.Error())
	}
	if next.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return s, badSpec(spec, "it never comes")
	}
	return Schedule{spec, next}, nil
}

func badSpec(spec, why string) error {
	return fmt.Errorf("%q is not a schedule: %s (write \"*/15 * * * *\", \"0 6 * * 1-5\", @daily or @every 15m)", spec, why)
}

// steps finds a step in a field.
var steps = regexp.MustCompile(`/(\d+)$`)

// letters are what a field of a schedule may consist of.
var letters = regexp.MustCompile(`^[0-9A-Za-z*/,?-]+$`)

// most are the largest sensible steps of the five fields.
var most = [5]int{59, 23, 31, 12, 7}

// checkSpec refuses what the parser would accept and misread.
func checkSpec(spec string) error {
	switch {
	case strings.Contains(spec, "TZ="):
		return badSpec(spec, "the time zone is the setting timezone, not a part of it")
	case strings.HasPrefix(spec, "@every "):
		every, err := time.ParseDuration(strings.TrimPrefix(spec, "@every "))
		if err != nil || every < 10*time.Second || every%time.Second != 0 {
			return badSpec(spec, "@every wants whole seconds, and at least ten")
		}
		return nil
	case strings.HasPrefix(spec, "@"):
		return nil
	}
	fields := strings.Fields(spec)
	if len(fields) != 5 {
		return badSpec(spec, fmt.Sprintf("it has %d fields, and five are wanted: minute, hour, day, month, weekday", len(fields)))
	}
	for i, field := range fields {
		for part := range strings.SplitSeq(field, ",") {
			if err := checkPart(spec, part, most[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPart(spec, part string, most int) error {
	if !letters.MatchString(part) || strings.HasPrefix(part, "-") || strings.HasPrefix(part, "*-") || strings.HasSuffix(part, "-") {
		return badSpec(spec, fmt.Sprintf("%q says nothing", part))
	}
	if m := steps.FindStringSubmatch(part); m != nil {
		if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > most {
			return badSpec(spec, fmt.Sprintf("a step of %s is not possible there", m[1]))
		}
	}
	return nil
}

// sundays writes 7 as 0 in the field of weekdays: the parser knows only that one.
func sundays(spec string) string {
	fields := strings.Fields(spec)
	if strings.HasPrefix(spec, "@") || len(fields) != 5 {
		return spec
	}
	var parts []string
	for part := range strings.SplitSeq(fields[4], ",") {
		from, step, stepped := strings.Cut(part, "/")
		first, last, ranged := strings.Cut(from, "-")
		switch {
		case from == "7":
			part = "0"
		case ranged && last == "7" && first == "7":
			part = "0"
		case ranged && last == "7" && !stepped:
			part = first + "-6,0"
		case ranged && last == "7":
			part = listDays(first, step)
		}
		parts = append(parts, part)
	}
	fields[4] = strings.Join(parts, ",")
	return strings.Join(fields, " ")
}

var weekdays = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// listDays lists the days from first to Sunday by a step.
func listDays(first, step string) string {
	from, err1 := strconv.Atoi(first)
	if at := slices.Index(weekdays[:], strings.ToLower(first)); at >= 0 {
		from, err1 = at, nil
	}
	by, err2 := strconv.Atoi(step)
	if err1 != nil || err2 != nil || by < 1 || from > 7 {
		return first + "-7/" + step // which the parser refuses
	}
	var days []string
	for day := from; day <= 7; day += by {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// UnmarshalYAML reads a schedule.
func (s *Schedule) UnmarshalYAML(n *yaml.Node) (err error) {
	*s, err = scalar(n, ParseSchedule)
	return err
}

// Next returns the first moment after t at which the schedule comes, in the zone of t.
func (s Schedule) Next(t time.Time) time.Time {
	if s.next == nil {
		return time.Time{}
	}
	return s.next.Next(t)
}

// String returns the schedule as it was written.
func (s Schedule) String() string { return s.spec }
