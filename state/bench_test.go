package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"tidemark/internal/perf"
	"tidemark/sync/civil"
	"tidemark/sync/tracker"
)

// BenchmarkStore tells as ratios within one run what the size of the file does to the cost of a look-up
// and of a sweep, and what a commit costs above its flushes. Under -short the large file holds 300,000
// weeks and keys in place of 3,000,000.
func BenchmarkStore(b *testing.B) {
	few, many := 300, 3_000_000
	if testing.Short() {
		many /= 10
	}
	large := filled(b, many)
	b.Run("Heads", func(b *testing.B) { benchmarkHeads(b, large, many, filled(b, few), few) })
	b.Run("Sweep", func(b *testing.B) { benchmarkSweep(b, large, many) })
	b.Run("Commit", benchmarkCommit)
}

// filled makes a file with n weeks and n keys, in the order of time.
func filled(b *testing.B, n int) *book {
	b.Helper()
	path := filepath.Join(b.TempDir(), "tidemark.db")
	fill(b, path, n)
	s, err := Open(path, Options{NoProbe: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return &book{s, b, time.Date(2026, time.November, 9, 9, 0, 0, 0, time.UTC)}
}

// fill writes without a flush for each commit, since a benchmark that is cut off may lose the file.
func fill(b *testing.B, path string, n int) {
	b.Helper()
	s, err := Open(path, Options{NoProbe: true, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	const chunk = 50_000
	for from := 0; from < n; from += chunk {
		err = errors.Join(err, s.update(func(tx *bbolt.Tx) error {
			for i := from; i < min(n, from+chunk); i++ {
				if err := fillRow(tx, i); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	if err := errors.Join(err, s.db.Sync(), s.Close()); err != nil {
		b.Fatal(err)
	}
}

// aPeriod is how many weeks of a filled file are of the same seven days.
const aPeriod = 300

func placeOf(i int) Place {
	first := civil.Date{Year: 1971, Month: time.January, Day: 4}.AddDays(7 * (i / aPeriod))
	return Place{first, fmt.Sprintf("64a687e29ae1f428%08x", i)}
}

func fillRow(tx *bbolt.Tx, i int) error {
	const digest = "1:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	p := placeOf(i)
	h := Head{Version: tracker.Version{Kind: tracker.Exact, Number: 3}, State: tracker.Approved, Digest: digest, Sequence: 1}
	payload, err := h.encode()
	if err != nil {
		return err
	}
	ref := fmt.Sprintf("ts-%s-%08d", p.First, i)
	k := Key{Name: ref, Reference: ref, Document: 1, Act: Create, First: p.First.In(time.UTC).Add(time.Duration(i)), Digest: digest}
	return errors.Join(putBytes(tx, bucketWeek, p.key(agency), payload), finish(tx, agency.Account, k, Done))
}

// benchmarkHeads looks up the weeks of one page: the same newest ones again and again, as passes do, or
// pages anywhere in the file, as a backfill does.
func benchmarkHeads(b *testing.B, large *book, many int, small *book, few int) {
	pages := func(from func() int) (all [][]Place) {
		for range 100 {
			var page []Place
			for i := from(); len(page) < aPeriod; i++ {
				page = append(page, placeOf(i))
			}
			all = append(all, page)
		}
		return all
	}
	newest := pages(func() int { return many - aPeriod })
	anywhere := pages(func() int { return rand.IntN(many - aPeriod) })
	yardstick := perf.Work{Do: small.looks(pages(func() int { return 0 }))}
	name := fmt.Sprintf("look-ups of %d weeks, %d ÷ %d stored", aPeriod, many, few)
	b.Run("Newest", func(b *testing.B) {
		perf.Compare(perf.CPU, perf.Work{Do: large.looks(newest)}, yardstick).Report(b, "newest, "+name)
	})
	b.Run("Anywhere", func(b *testing.B) {
		perf.Compare(perf.CPU, perf.Work{Do: large.looks(anywhere)}, yardstick).Report(b, "anywhere, "+name)
	})
}

// looks returns what looks up one page after another.
func (b *book) looks(pages [][]Place) func(n int) {
	return func(n int) {
		for i := range n {
			heads, err := b.Heads(agency, pages[i%len(pages)])
			if err != nil || heads[aPeriod-1] == nil {
				b.t.Fatalf("Heads = %v, %v", heads, err)
			}
		}
	}
}

// benchmarkSweep sweeps keys that are older than all others, which stay.
func benchmarkSweep(b *testing.B, large *book, many int) {
	const few = 30_000
	sweep := func(s *book) perf.Work {
		first := time.Date(1970, time.June, 1, 0, 0, 0, 0, time.UTC)
		return perf.Work{
			Prepare: func(n int) { s.done("ts-1970", n, first, 1) },
			Do: func(n int) {
				swept, err := s.Sweep(Clock{Now: first.Add(ttl + time.Hour)}, ttl)
				if err != nil || swept != (Swept{Keys: n}) {
					b.Fatalf("Sweep = %+v, %v, want %d keys", swept, err, n)
				}
			},
		}
	}
	const some = 10 * batch
	work := sweep(large)
	work.Prepare(some)
	began := time.Now()
	work.Do(some)
	b.Logf("%d expired keys of %d: %s each", some, many, time.Since(began)/some)
	name := fmt.Sprintf("sweep of an expired key, %d ÷ %d stored", many, few)
	perf.Compare(perf.CPU, work, sweep(filled(b, few))).Report(b, name)
}

// benchmarkCommit changes one row of 30,000, against what a commit writes and flushes at the least: its
// data pages, and then the meta page.
func benchmarkCommit(b *testing.B) {
	s := filled(b, 30_000)
	s.group("ts-881")
	s.must(s.claim(create("ts-881", 0, "e1")))
	commit := func(n int) {
		for range n {
			s.must(s.Attempted(agency.Account, "ts-881", s.now, false, "timeout"))
		}
	}
	file, err := os.OpenFile(filepath.Join(filepath.Dir(s.db.Path()), "raw"), os.O_CREATE|os.O_RDWR, 0o600)
	s.must(err)
	defer func() { s.must(file.Close()) }()
	_, err = file.Write(make([]byte, 1<<20))
	s.must(errors.Join(err, file.Sync()))
	data, meta := make([]byte, 12<<10), make([]byte, 4<<10)
	flush := func(n int) {
		for i := range n {
			data[0], meta[0] = byte(i), byte(i)
			_, err := file.WriteAt(data, 64<<10)
			s.must(errors.Join(err, syscall.Fdatasync(int(file.Fd()))))
			_, err = file.WriteAt(meta, 0)
			s.must(errors.Join(err, syscall.Fdatasync(int(file.Fd()))))
		}
	}
	perf.Compare(perf.Wall, perf.Work{Do: commit}, perf.Work{Do: flush}).Report(b, "a lone durable commit ÷ two raw flushes")
}
