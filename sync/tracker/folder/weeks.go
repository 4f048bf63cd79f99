package folder

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// share is what one file says of one member. It speaks for every day from its first row to its last,
// also for those on which it has none.
type share struct {
	src  *source
	span civil.Period
	days map[civil.Date][]row
}

func (s *share) add(r row) {
	day := r.entry.Date
	if s.span.First.IsZero() || day.Before(s.span.First) {
		s.span.First = day
	}
	if day.After(s.span.Last) {
		s.span.Last = day
	}
	s.days[day] = append(s.days[day], r)
}

// newest sorts files by what they say of their age, the newest first.
func newest(a, b *share) int {
	return cmp.Or(b.src.declared.Compare(a.src.declared), b.src.written.Compare(a.src.written), cmp.Compare(b.src.name, a.src.name))
}

// weeksOf makes the weeks of all exports.
func weeksOf(rows []row) []tracker.Week {
	members := map[string]map[*source]*share{}
	for _, r := range rows {
		files := members[r.member]
		if files == nil {
			files = map[*source]*share{}
			members[r.member] = files
		}
		if files[r.src] == nil {
			files[r.src] = &share{src: r.src, days: map[civil.Date][]row{}}
		}
		files[r.src].add(r)
	}
	var weeks []tracker.Week
	for member, files := range members {
		for week, d := range drafts(slices.SortedFunc(maps.Values(files), newest)) {
			weeks = append(weeks, d.week(member, week))
		}
	}
	return weeks
}

// drafts decides for each day which file speaks: the newest that spans it.
func drafts(shares []*share) map[civil.Week]*draft {
	days := map[civil.Date]bool{}
	for _, s := range shares {
		for day := range s.days {
			days[day] = true
		}
	}
	weeks := map[civil.Week]*draft{}
	for _, day := range slices.SortedFunc(maps.Keys(days), civil.Date.Compare) {
		week := civil.WeekOf(day)
		if weeks[week] == nil {
			weeks[week] = &draft{}
		}
		first := slices.IndexFunc(shares, func(s *share) bool { return s.span.Contains(day) })
		weeks[week].add(day, shares[first], shares[first+1:])
	}
	return weeks
}

// draft is a week in the making.
type draft struct {
	rows      []row
	stated    time.Time
	files     []string
	pending   bool
	ambiguous []string
	faults    []string
}

// add takes the rows of one day from the file that won it. A client that only an older file has is a
// contradiction: an export of one client must not take away what another said.
func (d *draft) add(day civil.Date, winner *share, older []*share) {
	if name := printable(winner.src.name); !slices.Contains(d.files, name) {
		d.files = append(d.files, name)
	}
	if s := winner.src.stated(); s.After(d.stated) {
		d.stated = s
	}
	clients := map[string]bool{}
	for _, r := range winner.days[day] {
		clients[r.entry.Client.ID] = true
		d.pending = d.pending || r.pending
		if r.fault != nil {
			d.faults = append(d.faults, r.fault.Error())
			continue
		}
		d.rows = append(d.rows, r)
	}
	for _, s := range older {
		for _, r := range s.days[day] {
			if client := r.entry.Client; !clients[client.ID] {
				clients[client.ID] = true
				d.ambiguous = append(d.ambiguous, fmt.Sprintf("%s of %s: client %q is in %s and not in %s, which is newer: export the day again with all clients, or take the wrong file out of the folder",
					day, shown(r.member), shown(client.Name), printable(s.src.name), printable(winner.src.name)))
			}
		}
	}
}

// week finishes the draft.
func (d *draft) week(member string, week civil.Week) tracker.Week {
	w := tracker.Week{
		ID:       member + "/" + week.String(),
		Version:  tracker.Version{Kind: tracker.None},
		State:    tracker.Approved,
		Period:   civil.Period{First: week.First(), Last: week.Last()},
		Member:   tracker.Ref{ID: member, Name: member},
		Entries:  identified(d.rows),
		Changed:  d.stated,
		Approved: d.stated,
		Derived:  true,
		Origin:   strings.Join(d.files, ", "),
	}
	if d.pending {
		w.State, w.Approved = tracker.Pending, time.Time{}
	}
	if texts := slices.Concat(d.ambiguous, d.faults); len(texts) > 0 {
		w.Trouble = &tracker.Trouble{Kind: tracker.Incomplete, Text: some(texts)}
		if len(d.ambiguous) > 0 {
			w.Trouble.Kind = tracker.Ambiguous
		}
	}
	return w
}

// some joins the first few of many texts.
func some(texts []string) string {
	const few = 5
	if len(texts) <= few {
		return strings.Join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(texts[:few], "; "), len(texts)-few)
}

// identified gives the rows of a week their ids. Rows that are alike but for their hours are numbered
// in an order that does not depend on that of the file.
func identified(rows []row) []tracker.Entry {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(
			slices.Compare(a.likeness(), b.likeness()),
			cmp.Compare(a.entry.Client.ID, b.entry.Client.ID),
			cmp.Compare(a.entry.Seconds, b.entry.Seconds),
			a.entry.Amount.Decimal.Cmp(b.entry.Amount.Decimal),
			a.entry.Rate.Decimal.Cmp(b.entry.Rate.Decimal),
		)
	})
	entries := make([]tracker.Entry, len(rows))
	ordinal := 0
	for i, r := range rows {
		if ordinal++; i == 0 || !slices.Equal(r.likeness(), rows[i-1].likeness()) {
			ordinal = 1
		}
		entries[i] = r.entry
		entries[i].ID = entryID(append(r.likeness(), fmt.Sprint(ordinal)))
	}
	return entries
}

// likeness is what rows have in common that only their ordinal tells apart.
func (r row) likeness() []string {
	e := r.entry
	return []string{r.member, e.Date.String(), r.start, e.Project.ID, e.Task.ID, e.Note}
}

// entryID hashes the parts, each preceded by its length, so that no two lists give the same bytes.
func entryID(parts []string) string {
	var b []byte
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:20]
}
