package sync

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// simpleID is what an id must look like to stand in a reference as it is. Other ids are hashed, never
// changed to fit: two of them could become one.
var simpleID = regexp.MustCompile(`^[a-z0-9]{1,16}$`)

// groupOf returns the group of an entry: what makes one invoice, under the reference that follows
// from ids that never change.
func groupOf(ch state.Channel, per Per, w tracker.Week, e tracker.Entry, currency money.Currency) state.Group {
	g := state.Group{Channel: ch, Per: string(per), Period: w.Period, Client: e.Client, Currency: currency}
	switch per {
	case PerProject:
		g.Project = e.Project
	case PerWeek:
		g.Record, g.Member = w.ID, w.Member
	case PerClient:
	}
	g.Reference = reference(g, w.Simple)
	return g
}

// reference is a pure function of the tracker account, the way of splitting, the exact period, client,
// project or record, and currency. It has at most 19 characters.
func reference(g state.Group, simple bool) string {
	if simple && g.Per == string(PerWeek) && simpleID.MatchString(g.Record) {
		return g.Channel.Prefix + g.Record
	}
	h := hasher{}
	h.text(g.Channel.Tracker, g.Per, g.Period.First.String(), g.Period.Last.String(), g.Client.ID, g.Project.ID, g.Record, string(g.Currency))
	sum := sha256.Sum256(h.buf)
	week := civil.WeekOf(g.Period.First)
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:10])
	return fmt.Sprintf("%s%02dw%02d-%s", g.Channel.Prefix, week.Year%100, week.Number, hash)
}

// What follows the prefix in a reference of ours; the second is that of a record whose id stands in it.
var (
	hashedReference = regexp.MustCompile(`^(\d\d)w(\d\d)-[a-z2-7]{10}(-[2-9])?$`)
	simpleReference = regexp.MustCompile(`^[a-z0-9]{1,16}(-[2-9])?$`)
)

// ours reports whether a reference is of the form that this channel makes, and the week that it names; the zero week
// where it names none.
func ours(prefix, reference string) (w civil.Week, is bool) {
	rest, is := strings.CutPrefix(reference, prefix)
	if !is {
		return w, false
	}
	parts := hashedReference.FindStringSubmatch(rest)
	if parts == nil {
		return w, simpleReference.MatchString(rest)
	}
	year, _ := strconv.Atoi(parts[1])
	number, _ := strconv.Atoi(parts[2])
	return civil.Week{Year: 2000 + year, Number: number}, true
}

// documentReference returns the reference of the n-th document of a group.
func documentReference(group string, n int) string {
	if n == 1 {
		return group
	}
	return fmt.Sprintf("%s-%d", group, n)
}

// groupsOf returns the groups that a week touches under the rules as they are now.
func (e *Engine) groupsOf(w tracker.Week) (groups []state.Group) {
	seen := map[string]bool{}
	for _, entry := range w.Entries {
		if !entry.Billable {
			continue
		}
		_, currency := e.rules.effective(w.Member, entry)
		g := groupOf(e.channel, e.rules.Per, w, entry, currency)
		if !seen[g.Reference] {
			seen[g.Reference] = true
			groups = append(groups, g)
		}
	}
	return groups
}
