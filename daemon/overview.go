package daemon

import (
	"fmt"
	"strings"
	"time"

	"tidemark/state"
	"tidemark/sync"
)

// Overview is where everything stands at one moment: what status shows, what metrics count, and what people are
// told of.
type Overview struct {
	At     time.Time  `json:"at"`
	Daemon *Process   `json:"daemon"` // nil: none is running
	State  StateFile  `json:"state"`
	Syncs  []Standing `json:"syncs"`
}

// Process is a running daemon.
type Process struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// StateFile is the state as a file.
type StateFile struct {
	Path string `json:"path"`
	state.Space
	Compact bool `json:"compact"` // compaction is worth its while
}

// Standing is where one sync stands.
type Standing struct {
	sync.Status
	Zone     string    `json:"zone"`
	Schedule string    `json:"schedule"`
	Next     time.Time `json:"next,omitzero"`  // the next start by the schedule; zero: never, or paused
	Stale    time.Time `json:"stale,omitzero"` // since when too many starts have passed without a good pass; zero: it is fresh
	SignIn   *SignIn   `json:"signIn,omitempty"`
}

// SignIn is the sign-in that a person gave for an accounting system.
type SignIn struct {
	Ends  time.Time `json:"ends,omitzero"` // unless it is used before; zero: it does not end by itself
	Error string    `json:"error,omitempty"`
}

// soon is how long before its end a sign-in is a matter for somebody: a weekend and some days.
const soon = 7 * 24 * time.Hour

// NeedKind says what kind of thing somebody has to do.
type NeedKind string

// What somebody may have to do something about.
const (
	NeedStale   NeedKind = "stale"   // no good pass for too long
	NeedFailing NeedKind = "failing" // the last pass failed, and the next one is not soon
	NeedEmpty   NeedKind = "empty"   // the tracker lists suspiciously little
	NeedSignIn  NeedKind = "sign-in" // the sign-in has ended, or ends soon
	NeedReview  NeedKind = "review"  // items wait for a person
)

// Need is something that somebody has to do.
type Need struct {
	Kind NeedKind  `json:"kind"`
	Text string    `json:"text"`
	From time.Time `json:"from,omitzero"` // since when; zero: not known
}

// Needs returns what somebody has to do about a sync, by what is known at a moment. A sync that a person has paused
// needs no passes.
func (s Standing) Needs(now time.Time) (needs []Need) {
	add := func(kind NeedKind, from time.Time, format string, args ...any) {
		needs = append(needs, Need{kind, fmt.Sprintf(format, args...), from})
	}
	failed := ""
	if s.Last.Error != "" {
		failed = ": " + oneLine(s.Last.Error)
	}
	switch {
	case s.Halted != nil:
	case !s.Stale.IsZero():
		add(NeedStale, s.Stale, "no good pass since %s%s", s.since(s.Last.Good), failed)
	case failed != "" && s.Next.Sub(now) > time.Hour:
		add(NeedFailing, s.Last.Ended, "the last pass failed%s", failed)
	}
	if !s.Empty.IsZero() {
		add(NeedEmpty, s.Empty, "the tracker has been listing suspiciously little since %s: look whether the token still sees everybody", s.since(s.Empty))
	}
	if in := s.SignIn; in != nil {
		switch {
		case in.Error != "":
			add(NeedSignIn, time.Time{}, "%s", in.Error)
		case !in.Ends.IsZero() && !in.Ends.After(now):
			add(NeedSignIn, in.Ends, "the sign-in has ended: run tidemark connect %s", s.Sync)
		case !in.Ends.IsZero() && in.Ends.Sub(now) < soon:
			add(NeedSignIn, in.Ends.Add(-soon), "the sign-in ends on %s unless it is used: run tidemark connect %s", s.since(in.Ends), s.Sync)
		}
	}
	if s.Review > 0 {
		add(NeedReview, s.Oldest, "%d to decide, the oldest since %s: tidemark review list", s.Review, s.since(s.Oldest))
	}
	return needs
}

// since writes a moment as the people of the sync read it.
func (s Standing) since(t time.Time) string {
	if t.IsZero() {
		return "ever"
	}
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// oneLine is the first line of an error that may have several.
func oneLine(text string) string {
	first, more, _ := strings.Cut(text, "\n")
	if more != "" {
		first += " …"
	}
	return first
}
