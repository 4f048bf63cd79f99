package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// A bbolt file begins with two head pages, which are written in turn. Each holds, after the 16 bytes that begin
// every page, a magic number and what it says of the file, and then a checksum over both.
const (
	headMagic    = 0xed0cdaed
	headBegin    = 16
	headChecksum = headBegin + 56
	headEnd      = headChecksum + 8
)

// tellForeign tells a file that never was a database from one that cannot be opened for another reason.
func tellForeign(path string, cause error) error {
	f, err := os.Open(path)
	if err != nil {
		return cause
	}
	defer f.Close()
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		head := make([]byte, headEnd)
		if _, err := f.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
			return cause
		}
		if binary.NativeEndian.Uint32(head[headBegin:]) == headMagic {
			return cause
		}
	}
	return fmt.Errorf("%w: it is no database, or damaged from its first byte on: %v", ErrForeign, cause)
}

// checkHeads compares both head pages with their checksums. bbolt is content with one; but if the newer one
// is the bad one, the last transaction is gone without a word.
func checkHeads(path string, pageSize int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for page := range 2 {
		head := make([]byte, headEnd)
		if _, err := f.ReadAt(head, int64(page)*int64(pageSize)); err != nil {
			return err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(head[headBegin:headChecksum]) // it never fails: a hash
		if sum.Sum64() != binary.NativeEndian.Uint64(head[headChecksum:]) {
			return fmt.Errorf("%w: head page %d does not match its checksum, so that the last transaction may be missing", ErrDamaged, page)
		}
	}
	return nil
}
