package tempo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"tidemark/internal/remote"
)

// errMoved means that a list changed while its pages were read.
var errMoved = errors.New("the list changed while it was read")

// list is one page of a list of Tempo.
type list[T any] struct {
	Results  []T `json:"results"`
	Metadata *struct {
		Next          string `json:"next"`
		NextPageToken string `json:"nextPageToken"`
	} `json:"metadata"`
	clock time.Time
}

// ask reads one page of a list: with a search where something is asked for.
func ask[T any](ctx context.Context, c *remote.Client, path string, query url.Values, asked any) (page list[T], err error) {
	var answer remote.Answer
	method := "POST "
	if asked == nil {
		method = "GET "
		answer, err = c.Get(ctx, path, query, &page)
	} else {
		answer, err = c.Search(ctx, path, query, asked, &page)
	}
	page.clock = answer.Clock
	switch {
	case err != nil:
		return page, err
	case page.Results == nil || page.Metadata == nil:
		return page, c.Misread(method+path, errors.New("the answer is no list: it has no results or no metadata"))
	case len(page.Results) == 0 && page.Metadata.Next+page.Metadata.NextPageToken != "":
		return page, c.Misread(method+path, errors.New("a page without rows says that more follow"))
	}
	return page, nil
}

// every reads all pages of a list by offset. Each begins with the last row of the one before, so that a row that
// vanished meanwhile, and moved all later ones up, is noticed.
func every[T any](ctx context.Context, r *reading, path string, asked any, id func(T) string) (all []T, err error) {
	again := 0 // rows of the page before; none where the server's pages have but one
	for offset := 0; ; offset = len(all) {
		query := url.Values{"offset": {strconv.Itoa(offset - again)}, "limit": {strconv.Itoa(r.settings.pageSize())}}
		list, err := ask[T](ctx, r.tempo, path, query, asked)
		if err != nil {
			return nil, err
		}
		r.clock = list.clock
		rows := list.Results
		if again > 0 && (len(rows) == 0 || id(rows[0]) != id(all[offset-1])) {
			return nil, fmt.Errorf("tempo: %s: %w", path, errMoved)
		}
		all = append(all, rows[again:]...)
		if list.Metadata.Next == "" {
			return all, nil
		}
		again = min(1, len(rows)-1)
	}
}
