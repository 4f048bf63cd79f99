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

// letters are what a field of a schedule may consist of.
var letters = regexp.MustCompile(`^[0-9A-Za-z*/,?-]+$`)

// field is the range of one of the five fields, and the names of its values.
type field struct {
	first, last int
	names       []string
}

var (
	weekdays   = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	months     = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	cronFields = [5]field{{0, 59, nil}, {0, 23, nil}, {1, 31, nil}, {1, 12, months}, {0, 7, weekdays}}
)

// value reads a number or name; it is -1 for what is neither.
func (f field) value(text string) int {
	if at := slices.Index(f.names, strings.ToLower(text)); at >= 0 && text != "" {
		return at
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

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
	texts := strings.Fields(spec)
	if len(texts) != len(cronFields) {
		return badSpec(spec, fmt.Sprintf("it has %d fields, and five are wanted: minute, hour, day, month, weekday", len(texts)))
	}
	for i, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if why := cronFields[i].check(part); why != "" {
				return badSpec(spec, why)
			}
		}
	}
	return nil
}

// check says why a part of a field would be misread. What it does not mind, the parser may.
func (f field) check(part string) string {
	if !letters.MatchString(part) || strings.HasPrefix(part, "-") || strings.HasPrefix(part, "*-") || strings.HasPrefix(part, "?-") || strings.HasSuffix(part, "-") {
		return fmt.Sprintf("%q says nothing", part)
	}
	of, step, stepped := strings.Cut(part, "/")
	if !stepped || strings.Contains(step, "/") {
		return ""
	}
	if n, err := strconv.Atoi(step); err != nil || n < 1 || n > f.width(of) {
		return fmt.Sprintf("a step of %s is not possible there", step)
	}
	return ""
}

// width returns the largest step that is not beyond a range such as *, 10 (and what follows) or 10-20.
func (f field) width(of string) int {
	from, to, ranged := strings.Cut(of, "-")
	first, last := f.value(from), f.value(to)
	switch {
	case first < 0 || ranged && last < 0:
		return f.last // of *, and of what the parser refuses
	case !ranged && f.last == 7:
		last = 6 // to the parser, the week ends on Saturday
	case !ranged:
		last = f.last
	}
	return last - first
}

// sundays writes 7 as 0 in the field of weekdays: the parser knows only that one.
func sundays(spec string) string {
	texts := strings.Fields(spec)
	if strings.HasPrefix(spec, "@") || len(texts) != 5 {
		return spec
	}
	var parts []string
	for part := range strings.SplitSeq(texts[4], ",") {
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
	texts[4] = strings.Join(parts, ",")
	return strings.Join(texts, " ")
}

// listDays lists the days from first to Sunday by a step.
func listDays(first, step string) string {
	from := cronFields[4].value(first)
	by, err := strconv.Atoi(step)
	if from < 0 || err != nil || by < 1 || from > 7 {
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
