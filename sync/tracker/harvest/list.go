package harvest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"tidemark/internal/remote"
)

// attempts is how often a list is read at most that changes while it is read.
const attempts = 3

// errShifted means that rows of a list moved while its pages were read, so that others may have been passed over.
var errShifted = errors.New("the list changed each time while it was read: the next pass tries again")

// row is what lists are made of.
type row interface {
	key() remote.ID
	place() string // what the list is sorted by
	fault() error  // why nothing can be made of it, and so of the whole list
}

// pages is what each page says of its list.
type pages struct {
	Page         *int `json:"page"`
	TotalPages   *int `json:"total_pages"`
	TotalEntries *int `json:"total_entries"`
	Links        struct {
		Next string `json:"next"`
	} `json:"links"`
}

// listing is one page of any list.
type listing struct {
	TimeEntries []timeEntry `json:"time_entries"`
	Clients     []client    `json:"clients"`
	pages
}

// list is a list of Harvest: its path, and where the rows of a page are.
type list[T row] struct {
	path string
	rows func(listing) []T
}

func timeEntries() list[timeEntry] {
	return list[timeEntry]{"/time_entries", func(l listing) []timeEntry { return l.TimeEntries }}
}

func clients() list[client] {
	return list[client]{"/clients", func(l listing) []client { return l.Clients }}
}

// every reads all pages of a list, each row once. If rows may have been passed over, it reads the list again; what
// it read last is returned with errShifted.
func (l list[T]) every(ctx context.Context, r *reading, query url.Values) (all []T, err error) {
	for range attempts {
		if all, err = l.once(ctx, r, query); !errors.Is(err, errShifted) {
			break
		}
	}
	return all, err
}

// once reads a list once.
func (l list[T]) once(ctx context.Context, r *reading, query url.Values) (all []T, err error) {
	seen, asked := watch{places: map[remote.ID]string{}}, map[string]bool{}
	for next := query; next != nil; {
		rows, about, err := l.page(ctx, r, next)
		if err != nil {
			return nil, err
		}
		asked[next.Encode()] = true
		seen.total(about.TotalEntries)
		for _, one := range rows {
			if seen.first(one) {
				all = append(all, one)
			}
		}
		if next, err = r.following(l.path, next, about); err == nil && next != nil && (len(rows) == 0 || asked[next.Encode()]) {
			err = errors.New("it says that more follows, and leads in a circle")
		}
		if err != nil {
			return nil, r.client.Misread("GET "+l.path, err)
		}
	}
	if seen.shifted() {
		return all, fmt.Errorf("harvest: %s: %w", l.path, errShifted)
	}
	return all, nil
}

// page reads one page.
func (l list[T]) page(ctx context.Context, r *reading, query url.Values) ([]T, pages, error) {
	var answer listing
	got, err := r.client.Get(ctx, l.path, query, &answer)
	if err != nil {
		return nil, pages{}, err
	}
	r.clock = got.Clock
	rows := l.rows(answer)
	if rows == nil {
		return nil, pages{}, r.client.Misread("GET "+l.path, errors.New("the answer is no list"))
	}
	for _, one := range rows {
		if fault := one.fault(); fault != nil {
			return nil, pages{}, r.client.Misread("GET "+l.path, fault)
		}
	}
	return rows, answer.pages, nil
}

// following returns the query of the page after one; nil after the last. Harvest says where that is. Where it does
// not, pages are counted.
func (r *reading) following(path string, query url.Values, about pages) (url.Values, error) {
	if about.Links.Next != "" {
		return r.linked(path, about.Links.Next)
	}
	if about.Page == nil || about.TotalPages == nil || *about.Page >= *about.TotalPages {
		return nil, nil
	}
	next := url.Values{}
	for name, values := range query {
		next[name] = values
	}
	next.Set("page", strconv.Itoa(*about.Page+1))
	return next, nil
}

// linked takes the query from a link to the next page. Nothing else of it is used: the token goes nowhere else,
// and through a proxy the link leads past it.
func (r *reading) linked(path, link string) (url.Values, error) {
	to, err := url.Parse(link)
	if err != nil {
		return nil, errors.New("the link to the next page is no URL")
	}
	base, _ := url.Parse(r.client.Base)
	harvest, _ := url.Parse(defaultURL)
	switch {
	case to.Host != "" && to.Host != base.Host && to.Host != harvest.Host:
		return nil, fmt.Errorf("the link to the next page leads to another host, %s: set the right url, or look for a proxy in between", remote.Short(to.Host))
	case !strings.HasSuffix(to.Path, path) || to.RawQuery == "":
		return nil, errors.New("the link to the next page leads to another list")
	}
	return to.Query(), nil
}

// watch notices whether rows moved between pages. New rows push others to the next page, where they are met again:
// that passes over nothing. A list that shrinks, and rows that are met again though the list has not grown as much,
// say that some may have moved up to a page that was read already.
type watch struct {
	places         map[remote.ID]string
	repeated       int
	began, now     *int
	shrank, jumped bool
}

func (w *watch) total(entries *int) {
	if entries == nil {
		return
	}
	if w.began == nil {
		w.began, w.now = entries, entries
	}
	w.shrank = w.shrank || *entries < *w.now
	w.now = entries
}

// first reports whether a row was not met before.
func (w *watch) first(r row) bool {
	place, met := w.places[r.key()]
	if met {
		w.repeated++
		w.jumped = w.jumped || place != r.place()
	}
	w.places[r.key()] = r.place()
	return !met
}

func (w *watch) shifted() bool {
	grown := 0
	if w.began != nil {
		grown = *w.now - *w.began
	}
	return w.shrank || w.jumped || w.repeated > grown
}
