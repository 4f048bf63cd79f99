package journal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest texts in bytes. A line of ledger ends at 4,096.
const (
	longestName = 200 // a client or a title
	longestNote = 600 // the text of an invoice line
)

// clean makes text fit for a description or a comment: one line of at most limit bytes, in which
// nothing can begin a comment, a tag, a date or a payee. What was cut off is marked by an ellipsis.
func clean(text string, limit int) string {
	text = strings.Map(harmless, strings.ToValidUTF8(text, "\uFFFD"))
	return cut(strings.Join(strings.Fields(text), " "), limit)
}

// harmless replaces what either program gives a meaning to. Both read "word:" and "[date]" even in
// the midst of a comment: "date: x" there makes the whole file unreadable.
func harmless(r rune) rune {
	switch {
	case r == ';':
		return ','
	case r == ':':
		return '∶' // U+2236, which looks the same and has no meaning
	case r == '|':
		return '/'
	case r == '[', r == '{':
		return '('
	case r == ']', r == '}':
		return ')'
	case unicode.IsControl(r), unicode.IsSpace(r):
		return ' '
	case unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF':
		return -1
	}
	return r
}

func cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	end := limit - len(mark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimRight(text[:end], " ") + mark
}
