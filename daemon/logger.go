package daemon

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

var levels = []string{"debug", "info", "warn", "error"}

// NewLogger returns a logger of one line an event, with the time in UTC to the millisecond.
//
// The level is debug, info, warn (or warning) or error; empty is info. The format is json, console, or
// auto: console on a terminal, JSON elsewhere; empty is auto. What a remote system said belongs in
// fields, where it is quoted, and not in a message.
func NewLogger(w io.Writer, terminal bool, level, format string) (zerolog.Logger, error) {
	least, err := parseLevel(level)
	if err != nil {
		return zerolog.Nop(), err
	}
	switch format {
	case "auto", "":
		if terminal {
			w = console(w, terminal)
		}
	case "console":
		w = console(w, terminal)
	case "json":
	default:
		return zerolog.Nop(), fmt.Errorf("log format %q: not one of auto, json, console", format)
	}
	return zerolog.New(w).Level(least).Hook(zerolog.HookFunc(stampTime), zerolog.HookFunc(stampRun)), nil
}

// parseLevel knows fewer names than zerolog, in which some numbers silence everything.
func parseLevel(name string) (zerolog.Level, error) {
	known := strings.ToLower(name)
	switch known {
	case "":
		return zerolog.InfoLevel, nil
	case "warning":
		known = "warn"
	}
	if !slices.Contains(levels, known) {
		return zerolog.NoLevel, fmt.Errorf("log level %q: not one of %s", name, strings.Join(levels, ", "))
	}
	return zerolog.ParseLevel(known)
}

// stampTime is a hook, since zerolog's own time stamp obeys package variables.
func stampTime(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str("time", stamp(time.Now()))
}

func console(w io.Writer, color bool) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out: w, NoColor: !color,
		TimeFormat: stampLayout, TimeLocation: time.UTC,
		FormatPrepare: quoteMessage,
	}
}

// quoteMessage keeps control characters away from the terminal: a console writes messages raw.
func quoteMessage(event map[string]any) error {
	text, ok := event[zerolog.MessageFieldName].(string)
	if ok && strings.ContainsFunc(text, unicode.IsControl) {
		event[zerolog.MessageFieldName] = strconv.Quote(text)
	}
	return nil
}
