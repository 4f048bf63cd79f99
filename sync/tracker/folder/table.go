package folder

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is what a CSV file holds, or a JSON file laid out as one.
type table struct {
	file    string
	noun    string // what a column is called there
	header  []string
	columns map[string]int // by the name that key makes of the header's
	lines   []line
}

// line is one row of a table.
type line struct {
	table *table
	where string // the place for a person: file and line
	cells []string
}

// key is how the name of a column is compared: letter case and spaces are no difference.
func key(column string) string { return strings.ToLower(strings.Join(strings.Fields(column), " ")) }

// has reports whether the table has a column.
func (t *table) has(column string) bool {
	_, ok := t.columns[key(column)]
	return ok
}

// missing returns those of the columns that the table has not.
func (t *table) missing(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), t.has)
}

// get returns a cell without the spaces around it; empty where there is no such column. Here and in
// what is built on it, a column goes by its key.
func (l line) get(column string) string {
	i, ok := l.table.columns[column]
	if !ok {
		return ""
	}
	return strings.TrimSpace(l.cells[i])
}

// fault says what is wrong in a cell, and what cures it.
func (l line) fault(column, format string, args ...any) error {
	if i, ok := l.table.columns[column]; ok {
		column = shown(name(l.table.header[i]))
	}
	return fmt.Errorf("%s: %s %s: %s", l.where, l.table.noun, column, fmt.Sprintf(format, args...))
}

// text returns the bytes as UTF-8 without a byte order mark.
func text(name string, data []byte) ([]byte, error) {
	const cure = "save it as CSV UTF-8"
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, fmt.Errorf("%s: is UTF-16: %s", printable(name), cure)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return nil, fmt.Errorf("%s: is a spreadsheet or an archive: %s", printable(name), cure)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		good := strings.IndexByte(strings.ToValidUTF8(string(data), "\x00"), 0)
		return nil, fmt.Errorf("%s:%d: is not UTF-8, Latin-1 or Windows-1252 perhaps: %s", printable(name), bytes.Count(data[:good], []byte("\n"))+1, cure)
	}
	return data, nil
}

// tabulate reads a CSV. Every row must have as many cells as the header: where one is too few or too
// many, it cannot be told which cell is which.
func tabulate(name string, data []byte) (*table, error) {
	data = lineEnds(withoutHint(data))
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord = separator(data), -1
	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: is empty: export it again", printable(name))
	case err != nil:
		return nil, torn(name, err)
	}
	for len(header) > 1 && strings.TrimSpace(header[len(header)-1]) == "" {
		header = header[:len(header)-1]
	}
	t := &table{file: printable(name), noun: "column", header: header, columns: make(map[string]int, len(header))}
	for i, column := range header {
		k := key(column)
		if _, twice := t.columns[k]; twice && k != "" {
			return nil, fmt.Errorf("%s:1: column %s: stands there twice: remove one", t.file, shown(column))
		}
		t.columns[k] = i
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, torn(name, err)
		}
		number, _ := r.FieldPos(0)
		if err := t.add(fmt.Sprintf("%s:%d", t.file, number), cells); err != nil {
			return nil, err
		}
	}
}

// withoutHint empties a first line such as sep=; that is meant for a spreadsheet program alone. The line
// stays, so that those below keep their numbers.
func withoutHint(data []byte) []byte {
	first := data
	if end := bytes.IndexAny(data, "\r\n"); end >= 0 {
		first = data[:end]
	}
	named, ok := strings.CutPrefix(strings.ToLower(strings.Trim(string(first), `"`)), "sep=")
	if !ok || len(named) != 1 {
		return data
	}
	return data[len(first):]
}

// lineEnds ends a line at each carriage return that stands alone outside of quotes, as spreadsheets
// write them for a Mac. Without it such a file would be one long header and no row.
func lineEnds(data []byte) []byte {
	out, quoted := bytes.Clone(data), false
	for i, b := range out {
		switch rest := out[i+1:]; {
		case b == '"':
			quoted = !quoted
		case b == '\r' && !quoted && !bytes.HasPrefix(rest, []byte("\n")) && !bytes.HasPrefix(rest, []byte("\r\n")):
			out[i] = '\n'
		}
	}
	return out
}

// add adds a row, unless it is empty or sums up those above.
func (t *table) add(where string, cells []string) error {
	filled := slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" })
	if filled < 0 || t.sums(cells, filled) {
		return nil
	}
	for len(cells) > len(t.header) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) != len(t.header) {
		return fmt.Errorf("%s: has %d cells where the header has %d: put cells that hold the separator into quotes, or export the file again",
			where, len(cells), len(t.header))
	}
	t.lines = append(t.lines, line{table: t, where: where, cells: cells})
	return nil
}

// sums reports whether a row is a total: its first filled cell says so, and it is of nobody and no day.
func (t *table) sums(cells []string, filled int) bool {
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(cells[filled])), "total") {
		return false
	}
	for _, column := range []string{"user", "first name", "last name", "member", "date", "start date"} {
		i, ok := t.columns[column]
		if ok && i != filled && i < len(cells) && strings.TrimSpace(cells[i]) != "" {
			return false
		}
	}
	return true
}

// separator returns the one of comma, semicolon and tab that is most frequent in the header, outside of
// quotes.
func separator(data []byte) rune {
	header, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	best, most := ',', 0
	for _, candidate := range []rune{',', ';', '\t'} {
		count, quoted := 0, false
		for _, r := range string(header) {
			switch {
			case r == '"':
				quoted = !quoted
			case r == candidate && !quoted:
				count++
			}
		}
		if count > most {
			best, most = candidate, count
		}
	}
	return best
}

// torn names the place where a CSV cannot be taken apart.
func torn(name string, err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("%s: %v", printable(name), err)
	}
	return fmt.Errorf("%s:%d: %v (in the row that begins in line %d): double the quotes inside of cells, or export the file again",
		printable(name), p.Line, p.Err, p.StartLine)
}

// shown is text of a file made fit for a message: one line and not too long.
func shown(s string) string {
	const most = 60
	out := []rune(printable(s))
	if len(out) > most {
		return string(out[:most]) + "…"
	}
	return string(out)
}

// printable puts spaces in place of what would break a line or move a cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
