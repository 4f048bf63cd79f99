package journal

import (
	"bytes"
	"iter"
)

// block is a line at the left margin with the indented lines below it: a transaction or a directive.
// A comment that goes from "comment" to "end comment" is one block.
type block struct {
	head       []byte // the first line, without white space behind it
	start, end int    // in the file's bytes, the last line end included
	line       int    // the number of the first line, from 1
	open       bool   // a comment that is never closed
}

// blocks walks over a file without looking into its blocks. Text behind the last one and between
// them is in no block that means anything.
func blocks(data []byte) iter.Seq[block] {
	return func(yield func(block) bool) {
		at := 0
		if bytes.HasPrefix(data, []byte("\uFEFF")) {
			at = len("\uFEFF")
		}
		for line := 1; at < len(data); {
			b := blockAt(data, at)
			b.line = line
			if !yield(b) {
				return
			}
			line += bytes.Count(data[b.start:b.end], []byte("\n"))
			at = b.end
		}
	}
}

func blockAt(data []byte, at int) block {
	b := block{start: at, end: lineEnd(data, at)}
	b.head = bytes.TrimRight(data[at:b.end], " \t\r\n")
	if word, _ := directive(b.head); word == "comment" || word == "test" {
		b.open = true
		for b.open && b.end < len(data) {
			next := lineEnd(data, b.end)
			b.open = string(bytes.TrimRight(data[b.end:next], " \t\r\n")) != "end "+word
			b.end = next
		}
		return b
	}
	for b.end < len(data) && (data[b.end] == ' ' || data[b.end] == '\t') {
		next := lineEnd(data, b.end)
		if len(bytes.TrimSpace(data[b.end:next])) == 0 {
			break
		}
		b.end = next
	}
	return b
}

func lineEnd(data []byte, at int) int {
	if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(data)
}

// directive splits a line into its first word and the rest. Ledger allows ! or @ before the word.
func directive(head []byte) (word, rest string) {
	if len(head) > 0 && (head[0] == '!' || head[0] == '@') {
		head = head[1:]
	}
	n := bytes.IndexAny(head, " \t")
	if n < 0 {
		return string(head), ""
	}
	return string(head[:n]), string(bytes.TrimSpace(head[n:]))
}

func (b block) isTransaction() bool { return len(b.head) > 0 && b.head[0] >= '0' && b.head[0] <= '9' }

// unified gives bytes with \n at every line end and one at the end, so that an editor which rewrites
// line ends changes no transaction.
func unified(data []byte) []byte {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(bytes.Clone(data), '\n')
	}
	return data
}
