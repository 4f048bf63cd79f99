package sync

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/shopspring/decimal"

	"tidemark/state"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// recipe is the number of the way in which digests are made. A release that changes it computes both
// sides again before it compares them.
const recipe = "2"

// hasher gathers the parts of a digest. Each part is preceded by its length, so that no two lists of
// parts give the same bytes.
type hasher struct{ buf []byte }

func (h *hasher) text(parts ...string) {
	for _, s := range parts {
		h.buf = binary.AppendUvarint(h.buf, uint64(len(s)))
		h.buf = append(h.buf, s...)
	}
}

func (h *hasher) number(n int64) { h.buf = binary.AppendVarint(h.buf, n) }

func (h *hasher) date(d civil.Date) {
	h.number(int64(d.Year)*10000 + int64(d.Month)*100 + int64(d.Day))
}

func (h *hasher) flags(flags ...bool) {
	for _, f := range flags {
		b := byte(0)
		if f {
			b = 1
		}
		h.buf = append(h.buf, b)
	}
}

// decimal writes a value so that 1.5 and 1.50 are the same, and none differs from zero.
func (h *hasher) decimal(d decimal.NullDecimal) {
	if !d.Valid {
		h.text("")
		return
	}
	h.text(d.Decimal.String())
}

func (h *hasher) entry(member string, e tracker.Entry, elsewhere bool) {
	h.text(e.ID, member, e.Client.ID, e.Project.ID, e.Task.ID, e.Note, string(e.Currency))
	h.date(e.Date)
	h.number(e.Seconds)
	h.flags(e.Billable, e.Running, elsewhere)
	h.decimal(e.Rate)
	h.decimal(e.Amount)
}

// waiting adds what decides which groups wait for entries.
func (h *hasher) waiting(entries []tracker.Entry) {
	var kept []string
	for _, e := range entries {
		if e.Billable {
			one := hasher{}
			one.text(e.Client.ID, e.Project.ID, string(e.Currency))
			kept = append(kept, string(one.buf))
		}
	}
	slices.Sort(kept)
	h.text(slices.Compact(kept)...)
}

func (h *hasher) sum() state.Digest {
	sum := sha256.Sum256(h.buf)
	return state.Digest(recipe + ":" + base64.RawURLEncoding.EncodeToString(sum[:]))
}

// weekDigest is the fingerprint of what is billed of a week, and of its trouble. Names, versions and
// the state are no part of it. Of a week that is still pending, nothing is billed: only the groups count
// that it keeps waiting, so that work under way is not a change every few minutes.
func weekDigest(w tracker.Week) state.Digest {
	h := hasher{buf: make([]byte, 0, 64+128*len(w.Entries))}
	h.date(w.Period.First)
	h.date(w.Period.Last)
	h.text(w.Member.ID)
	if w.Trouble != nil {
		h.text(string(w.Trouble.Kind), w.Trouble.Text)
	}
	if w.State == tracker.Pending {
		h.waiting(w.Entries)
		return h.sum()
	}
	entries := w.Entries
	byID := func(a, b tracker.Entry) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(entries, byID) {
		entries = slices.SortedStableFunc(slices.Values(entries), byID)
	}
	for _, e := range entries {
		h.entry(w.Member.ID, e, e.Elsewhere)
	}
	return h.sum()
}

// groupDigest is the fingerprint of what a group bills; the empty digest if that is nothing. That the
// tracker says of an entry that it was billed elsewhere is no part of it: once it is recorded under the
// group, by us or by a person, that is what it says of us.
func groupDigest(entries []state.Billed) state.Digest {
	if len(entries) == 0 {
		return ""
	}
	entries = slices.SortedStableFunc(slices.Values(entries), func(a, b state.Billed) int { return cmp.Compare(a.Entry.ID, b.Entry.ID) })
	h := hasher{}
	for _, b := range entries {
		h.entry(b.Member.ID, b.Entry, false)
	}
	return h.sum()
}

// sameEntry reports whether two entries bill the same.
func sameEntry(a, b state.Billed) bool {
	return groupDigest([]state.Billed{a}) == groupDigest([]state.Billed{b})
}
