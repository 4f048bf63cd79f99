package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tidemark/sync/accounting"
)

// books1 is about one megabyte, which is some 1,500 invoices; books50 is fifty times that.
const (
	books1  = 1 << 20
	books50 = 50 << 20
)

func big(b *testing.B, size int) *Journal {
	b.Helper()
	path := filepath.Join(b.TempDir(), "books.journal")
	j, err := New(settings(path))
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	for n := 0; out.Len() < size; n++ {
		req, err := j.Prepare(invoice(fmt.Sprintf("ts-old-%d", n)))
		if err != nil {
			b.Fatal(err)
		}
		out.Write(req.Steps[0].Body)
		out.WriteByte('\n')
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return j
}

func BenchmarkFind(b *testing.B) {
	for _, size := range []int{books1, books50} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			j := big(b, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if found, err := j.Find(b.Context(), "ts-absent"); err != nil || len(found) != 0 {
					b.Fatalf("Find = %v, %v, want none", found, err)
				}
			}
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	for _, size := range []int{books1, books50} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			j, n := big(b, size), 0
			for b.Loop() {
				n++
				inv := invoice(fmt.Sprintf("ts-new-%d", n))
				req, err := j.Prepare(inv)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := j.Create(b.Context(), inv.Reference, req, accounting.Progress{}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
