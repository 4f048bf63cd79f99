// Package folder reads approved weeks from a folder of export files: the detailed reports of Harvest,
// Clockify and Toggl Track, and a plain CSV and JSON of our own.
//
// An export says nothing of versions, and but for Harvest's nothing of approval: dropping the file into
// the folder is the approval. Exports are cut into weeks by member and ISO week. Where several files
// cover a day of a member, the newest of them says what was done on it.
//
// Its one hard rule: a file counts as a whole or not at all. One that is still being written, or of
// which a row cannot be placed, says nothing in this pass; and a file that is gone withdraws nothing.
package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tidemark/sync/civil"
	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// pageSize is how many weeks a page holds at most.
const pageSize = 100

// Folder is one folder of export files. It may be used by several goroutines.
type Folder struct {
	account string
	path    string
	quiet   time.Duration
	reading reading
	now     func() time.Time // for Week and Access, which are asked without the time of a pass
}

// New checks the settings, every fault at once. It does not touch the folder.
func New(settings Settings) (*Folder, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	f := &Folder{
		account: settings.Account,
		path:    string(settings.Path),
		quiet:   defaultQuiet,
		reading: reading{dates: settings.Dates, currency: money.Currency(settings.Currency)},
		now:     time.Now,
	}
	if settings.Quiet != nil {
		f.quiet = time.Duration(*settings.Quiet)
	}
	return f, nil
}

// Account returns the name of the tracker account as it stands in the settings.
func (f *Folder) Account() string { return f.account }

// Traits says that every traversal reads every file, whatever was asked for.
func (f *Folder) Traits() tracker.Traits { return tracker.Traits{Feed: true, Wide: true} }

// Weeks yields every week of the folder whose first day is wanted, sorted by first day and id. While a
// file is being written it yields no week, only a note that names the file: what that file takes over
// from others is not known yet. For a range that ends that is an error: whoever asks for one does not ask
// again in the next pass, and would take nothing for all there is. A folder that cannot be read is an
// error; a file that cannot be understood is an unread record under its name.
func (f *Folder) Weeks(ctx context.Context, q tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		found, err := f.read(ctx, q.Now)
		if err != nil {
			yield(tracker.Page{}, err)
			return
		}
		weeks := found.weeks
		switch {
		case found.busy != nil && !q.First.Last.IsZero():
			yield(tracker.Page{}, fmt.Errorf("folder: %w: try again once it has rested", found.busy))
			return
		case found.busy != nil:
			weeks = nil
		}
		weeks = slices.DeleteFunc(weeks, func(w tracker.Week) bool { return !wanted(q.First, w.Period.First) })
		first := slices.Clip(weeks[:min(pageSize, len(weeks))])
		if len(first)+len(found.notes)+len(found.unread) > 0 &&
			!yield(tracker.Page{Weeks: first, Notes: found.notes, Unread: found.unread, Partial: found.busy != nil}, nil) {
			return
		}
		for part := range slices.Chunk(weeks[len(first):], pageSize) {
			if !yield(tracker.Page{Weeks: part}, nil) {
				return
			}
		}
	}
}

// Week returns the week with that id as the files now say. ErrGone means that no file holds it, which
// is also the answer to the name of a file: files are announced by their names when they are unread.
func (f *Folder) Week(ctx context.Context, id string) (tracker.Week, error) {
	gone := fmt.Errorf("folder: %s: %w", id, tracker.ErrGone)
	if filepath.IsLocal(id) && filepath.Base(id) == id {
		if _, err := os.Lstat(filepath.Join(f.path, id)); err == nil {
			return tracker.Week{}, gone
		}
	}
	found, err := f.read(ctx, f.now())
	switch {
	case err != nil:
		return tracker.Week{}, err
	case found.busy != nil:
		return tracker.Week{}, fmt.Errorf("folder: %s: %w", id, found.busy)
	}
	for _, w := range found.weeks {
		if w.ID == id {
			return w, nil
		}
	}
	for _, u := range found.unread {
		if u.ID == id {
			return tracker.Week{}, fmt.Errorf("folder: %s: %s", id, u.Reason)
		}
	}
	return tracker.Week{}, gone
}

// Access reads the folder once, and says what is in it.
func (f *Folder) Access(ctx context.Context) (tracker.Access, error) {
	found, err := f.read(ctx, f.now())
	if err != nil {
		return tracker.Access{}, err
	}
	a := tracker.Access{Account: f.path, Reads: []string{fmt.Sprintf("%d weeks in the files of %s", len(found.weeks), f.path)}, Notes: found.notes}
	for _, u := range found.unread {
		a.Notes = append(a.Notes, u.ID+": "+u.Reason)
	}
	return a, nil
}

// wanted reports whether a day is in a range whose zero ends are open.
func wanted(p civil.Period, day civil.Date) bool {
	return !day.Before(p.First) && (p.Last.IsZero() || !day.After(p.Last))
}

// gathered is all that one reading of the folder gives.
type gathered struct {
	weeks   []tracker.Week
	rows    []row
	records []record
	unread  []tracker.Unread
	notes   []string
	busy    error // that of the first file that is being written; nil where none is
}

// read reads every file that has rested at the time now.
func (f *Folder) read(ctx context.Context, now time.Time) (gathered, error) {
	names, err := list(f.path)
	if err != nil {
		return gathered{}, err
	}
	var g gathered
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return gathered{}, fmt.Errorf("folder: %w", err)
		}
		src, err := open(f.path, name, now, f.quiet)
		if err == nil {
			err = g.take(src, f.reading)
		}
		g.leave(name, err)
	}
	g.weeks = append(weeksOf(g.rows), latest(g.records)...)
	slices.SortFunc(g.weeks, func(a, b tracker.Week) int {
		return cmp.Or(a.Period.First.Compare(b.Period.First), cmp.Compare(a.ID, b.ID))
	})
	return g, nil
}

// take adds what a file says.
func (g *gathered) take(src source, r reading) error {
	if src.ahead {
		g.notes = append(g.notes, printable(src.name)+": was written in the future by the file system's clock: read all the same; set the clocks right")
	}
	c, err := r.parse(src)
	if err != nil {
		return err
	}
	g.rows, g.records = append(g.rows, c.rows...), append(g.records, c.records...)
	g.unread, g.notes = append(g.unread, c.unread...), append(g.notes, c.notes...)
	return nil
}

// leave remembers why nothing of a file was taken. One that was removed since the folder was listed
// needs no word.
func (g *gathered) leave(name string, err error) {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errBusy):
		g.busy = cmp.Or(g.busy, err)
		g.notes = append(g.notes, err.Error()+": left, with all others, for the next pass")
	default:
		g.unread = append(g.unread, tracker.Unread{ID: printable(name), Reason: err.Error()})
	}
}
