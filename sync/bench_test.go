package sync

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/internal/perf"
	"tidemark/state"
	"tidemark/sync/tracker"
)

// pagesOverHTTP is a tracker whose pages are fetched and decoded anew in each traversal.
type pagesOverHTTP struct {
	*peerTracker
	url   string
	pages int
}

func (p pagesOverHTTP) Weeks(ctx context.Context, _ tracker.Query) iter.Seq2[tracker.Page, error] {
	return func(yield func(tracker.Page, error) bool) {
		for n := range p.pages {
			page, err := p.fetch(ctx, n)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

func (p pagesOverHTTP) fetch(ctx context.Context, n int) (page tracker.Page, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/%d", p.url, n), nil)
	if err != nil {
		return page, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return page, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return page, err
	}
	return page, json.Unmarshal(body, &page.Weeks)
}

// servePages serves pages of weeks, each of a member's working week: two entries a day.
func servePages(b *testing.B, pages, size int) pagesOverHTTP {
	bodies := make([][]byte, pages)
	for n := range bodies {
		weeks := make([]tracker.Week, size)
		for i := range weeks {
			id := fmt.Sprintf("%06d", n*size+i)
			weeks[i] = week("week-" + id)
			weeks[i].Member = tracker.Ref{ID: "member-" + id, Name: "Member " + id}
			for e := range 10 {
				one := ofProject(entry(fmt.Sprintf("entry-%s-%d", id, e), 3.5), fmt.Sprint("project-", e%4))
				one.Date, one.Note = monday.AddDays(e/2), "Sketches, review with the client, corrections"
				weeks[i].Entries = append(weeks[i].Entries, one)
			}
		}
		body, err := json.Marshal(weeks)
		if err != nil {
			b.Fatal(err)
		}
		bodies[n] = body
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil {
			_, _ = w.Write(bodies[n])
		}
	}))
	b.Cleanup(server.Close)
	return pagesOverHTTP{newPeerTracker(), server.URL, pages}
}

// BenchmarkUnchangedOverlap compares re-reading weeks that are all known with merely fetching and decoding
// them. It may cost at most 1 ÷ 0.7 of that.
func BenchmarkUnchangedOverlap(b *testing.B) {
	const pages, size = 5, 200
	from := servePages(b, pages, size)
	store, err := state.Open(filepath.Join(b.TempDir(), "tidemark.db"), state.Options{NoProbe: true, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	engine := New(store, from, newPeerBooks(), testRules(), func() time.Time { return afterwards }, zerolog.Nop(), nil)
	read := func(n int) {
		for range n {
			for page, err := range from.Weeks(context.Background(), tracker.Query{}) {
				if err != nil || len(page.Weeks) != size {
					b.Fatalf("page = %d weeks, %v; want %d", len(page.Weeks), err, size)
				}
			}
		}
	}
	pull := func(n int) {
		for range n {
			var report Report
			if err := engine.pull(context.Background(), afterwards, &report); err != nil || report.Duplicates != pages*size {
				b.Fatalf("pull = %d duplicates, %v; want %d", report.Duplicates, err, pages*size)
			}
		}
	}
	var first Report
	if err := engine.pull(context.Background(), afterwards, &first); err != nil || first.Stored != pages*size {
		b.Fatalf("first pull = %d stored, %v; want %d", first.Stored, err, pages*size)
	}
	r := perf.Compare(perf.CPU, perf.Work{Do: pull}, perf.Work{Do: read})
	r.Report(b, "unchanged overlap ÷ fetch and decode")
	if r.Ratio().Conclusive() && r.Ratio().Low > 1/0.7 {
		b.Errorf("unchanged overlap ÷ fetch and decode = %s, want at most %.2f", r.Ratio(), 1/0.7)
	}
}
