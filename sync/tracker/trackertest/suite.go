package trackertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/remote"
	"tidemark/internal/remote/remotetest"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// Monday is the first day of the week that most tests are about.
var Monday = civil.Date{Year: 2026, Month: time.October, Day: 5}

// begin is when every test begins.
var begin = time.Date(2026, time.October, 12, 9, 0, 0, 0, time.UTC)

// Test runs the whole suite against a tracker.
func Test(t *testing.T, d Dialect) {
	for _, part := range parts() {
		t.Run(part.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { part.test(newScene(t, d)) })
		})
	}
}

// part is one promise.
type part struct {
	name string
	test func(*scene)
}

func parts() []part {
	return []part{
		{"Pages", pages}, {"ItemsShift", itemsShift}, {"ItemsAppear", itemsAppear}, {"FaultHeals", faultHeals}, {"Faults", faults},
		{"EqualStamps", equalStamps}, {"LateCommit", lateCommit}, {"FutureStamp", futureStamp}, {"FeedNamesChanges", feedNamesChanges},
		{"Range", oneWeek}, {"Stops", stops}, {"Cancelled", cancelled}, {"AtOnce", atOnce},
		{"Zones", zones}, {"DaylightSaving", daylightSaving}, {"Week53", week53}, {"Sundays", sundays},
		{"Nothing", nothing}, {"Hostile", hostile}, {"IDs", ids}, {"NewMembers", newMembers}, {"NoApproval", noApproval},
		{"Life", life}, {"Growth", growth}, {"Leaver", leaver}, {"Vanished", vanished}, {"ByID", byID}, {"Marks", marks}, {"Access", access},
	}
}

// scene is a tracker before a world, at a time of its own.
type scene struct {
	*testing.T
	Dialect
	world   *World
	tracker Tracker
	log     bytes.Buffer

	mu     sync.Mutex
	faults []remotetest.Fault           // of the next requests to the list, in order
	before func(n int, r *http.Request) // called before each request to the list, from 1
	lists  int
	writes []string
	mend   func(body any) any // changes every answer that is JSON; nil: none
}

func newScene(t *testing.T, d Dialect) *scene {
	time.Sleep(time.Until(begin)) // The clock of the bubble.
	s := &scene{T: t, Dialect: d, world: &World{}}
	transport := remotetest.Serve(t, http.HandlerFunc(s.serve))
	net := remote.New(remote.Options{Transport: transport, Log: zerolog.New(zerolog.SyncWriter(&s.log)).Level(zerolog.DebugLevel)})
	s.tracker = d.New(t, net, remotetest.Base, d.Token)
	t.Cleanup(func() {
		if len(s.writes) > 0 {
			t.Errorf("the tracker was written to: %v", s.writes)
		}
		if bytes.Contains(s.log.Bytes(), []byte(d.Token)) {
			t.Error("the log shows the token")
		}
	})
	return s
}

// serve lets the vendor answer, unless a fault is due.
func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	if fault := s.note(r); fault != "" {
		fault.Answer(w, r)
		return
	}
	if s.mend == nil {
		s.Handler(s.world).ServeHTTP(w, r)
		return
	}
	s.mended(w, r)
}

func (s *scene) note(r *http.Request) remotetest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet && (s.Reads == nil || !s.Reads(r)) {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	}
	if !strings.HasPrefix(r.URL.Path, s.Lists) {
		return ""
	}
	s.lists++
	if s.before != nil {
		s.before(s.lists, r)
	}
	if len(s.faults) == 0 {
		return ""
	}
	fault := s.faults[0]
	s.faults = s.faults[1:]
	return fault
}

// fail lets the next requests to the list fail, in this order; an empty fault is none.
func (s *scene) fail(faults ...remotetest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
}

// onList calls a function before each request to the list; nil ends that.
func (s *scene) onList(before func(n int, r *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// requests returns how often the list was asked for.
func (s *scene) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// everything is the query for all weeks from a month before [Monday].
func everything() tracker.Query {
	return tracker.Query{Now: time.Now(), First: civil.Period{First: Monday.AddDays(-31)}}
}

// read makes one traversal.
func (s *scene) read(q tracker.Query) (weeks []tracker.Week, partial bool, err error) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
	defer cancel()
	for page, err := range s.tracker.Weeks(ctx, q) {
		if err != nil {
			return weeks, partial, err
		}
		weeks, partial = append(weeks, page.Weeks...), partial || page.Partial
	}
	return weeks, partial, nil
}

// all reads everything, which must be good.
func (s *scene) all() []tracker.Week {
	s.Helper()
	weeks, _, err := s.read(everything())
	if err != nil {
		s.Fatal(err)
	}
	return weeks
}

// holds compares everything that the tracker tells with the world.
func (s *scene) holds(what string) {
	s.Helper()
	compare(s.T, what, s.expected(s.world), told(s.all()))
}

// wants reports whether an error is of a kind.
func (s *scene) wants(what string, err error, kind error) {
	s.Helper()
	if !errors.Is(err, kind) {
		s.Errorf("%s: error %v, want %v", what, err, kind)
	}
	if err != nil && strings.Contains(fmt.Sprint(err), s.Token) {
		s.Errorf("%s: the error shows the token: %v", what, err)
	}
}
