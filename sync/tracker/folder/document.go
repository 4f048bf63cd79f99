package folder

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tidemark/sync/tracker"
)

// documentJSON is the plain form as JSON. Its records are taken apart one by one.
type documentJSON struct {
	Weeks []json.RawMessage `json:"weeks"`
}

type weekJSON struct {
	ID       cellJSON    `json:"id"`
	Version  cellJSON    `json:"version"`
	State    cellJSON    `json:"state"`
	First    cellJSON    `json:"first"`
	Last     cellJSON    `json:"last"`
	Member   refJSON     `json:"member"`
	Client   refJSON     `json:"client"`
	Project  refJSON     `json:"project"`
	Currency cellJSON    `json:"currency"`
	Entries  []entryJSON `json:"entries"`
}

type entryJSON struct {
	ID       cellJSON `json:"id"`
	Date     cellJSON `json:"date"`
	Hours    cellJSON `json:"hours"`
	Billable cellJSON `json:"billable"`
	Task     refJSON  `json:"task"`
	Note     cellJSON `json:"note"`
	Rate     cellJSON `json:"rate"`
	Amount   cellJSON `json:"amount"`
}

type refJSON struct {
	ID   cellJSON `json:"id"`
	Name cellJSON `json:"name"`
}

// cellJSON is a text, a number as it is written, or true or false; null is empty.
type cellJSON string

// UnmarshalJSON keeps the digits of a number as they stand.
func (c *cellJSON) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(c))
	case '{', '[':
		return errors.New("is a list or an object where a text or a number belongs")
	}
	if *c = cellJSON(b); string(b) == "null" {
		*c = ""
	}
	return nil
}

// columnsJSON are the columns that a record of a document is laid out in.
func columnsJSON() []string {
	return []string{
		"id", "version", "state", "first", "last", "member", "member_id", "client", "client_id", "project", "project_id", "currency",
		"entry", "date", "hours", "billable", "task", "task_id", "note", "rate", "amount",
	}
}

// document reads the plain form as JSON.
func (r reading) document(src source, data []byte) (content, error) {
	var d documentJSON
	if err := strictly(data, &d); err != nil {
		return content{}, fmt.Errorf("%s:%d: %s: mend the JSON", printable(src.name), lineAt(data, err), spoken(err))
	}
	if d.Weeks == nil {
		return content{}, fmt.Errorf("%s: holds no list \"weeks\": see the plain form in docs/exports.md", printable(src.name))
	}
	// Only now: what was decoded is not broken, and not nested without end.
	if field := repeated(json.NewDecoder(bytes.NewReader(data))); field != "" {
		return content{}, fmt.Errorf("%s: the field %q stands twice in one object: mend the JSON", printable(src.name), shown(field))
	}
	var c content
	seen := map[string]bool{}
	for i, raw := range d.Weeks {
		where := fmt.Sprintf("%s: weeks[%d]", printable(src.name), i)
		id, t, err := layOut(raw, where)
		switch {
		case err != nil && fitRecord(id) != nil:
			return content{}, err
		case err != nil:
			c.unread = append(c.unread, tracker.Unread{ID: id, Reason: err.Error()})
			continue
		case seen[id]:
			return content{}, fmt.Errorf("%s: record %s stands there twice: remove one", where, shown(id))
		}
		seen[id] = true
		one, err := r.plain(src, t)
		if err != nil {
			return content{}, err
		}
		c.records, c.unread = append(c.records, one.records...), append(c.unread, one.unread...)
	}
	return c, nil
}

// layOut turns a record into the rows that it would be in a CSV.
func layOut(raw json.RawMessage, where string) (string, *table, error) {
	var known struct {
		ID cellJSON `json:"id"`
	}
	var w weekJSON
	if err := strictly(raw, &w); err != nil {
		_ = json.Unmarshal(raw, &known) // What is wrong is told by err; here only the id is wanted.
		return string(known.ID), nil, fmt.Errorf("%s: %s: mend the JSON", where, spoken(err))
	}
	t := &table{noun: "field", header: columnsJSON(), columns: map[string]int{}}
	for i, column := range t.header {
		t.columns[column] = i
	}
	head := []cellJSON{
		w.ID, w.Version, w.State, w.First, w.Last, w.Member.Name, w.Member.ID, w.Client.Name, w.Client.ID,
		w.Project.Name, w.Project.ID, w.Currency,
	}
	if len(w.Entries) == 0 {
		t.lay(where, head, make([]cellJSON, len(t.header)-len(head)))
	}
	for i, e := range w.Entries {
		t.lay(fmt.Sprintf("%s.entries[%d]", where, i), head,
			[]cellJSON{e.ID, e.Date, e.Hours, e.Billable, e.Task.Name, e.Task.ID, e.Note, e.Rate, e.Amount})
	}
	return string(w.ID), t, nil
}

func (t *table) lay(where string, parts ...[]cellJSON) {
	l := line{table: t, where: where}
	for _, part := range parts {
		for _, cell := range part {
			l.cells = append(l.cells, string(cell))
		}
	}
	t.lines = append(t.lines, l)
}

// strictly decodes one value that has no unknown fields and nothing behind it.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the end")
	}
	return nil
}

// repeated returns a field that stands twice in one object of the next value, which must not be broken;
// empty if none does.
func repeated(d *json.Decoder) string {
	open, err := d.Token()
	delim, nested := open.(json.Delim)
	if err != nil || !nested {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			field, _ := d.Token()
			name, ok := field.(string)
			folded := strings.ToLower(name)
			if !ok || seen[folded] {
				return name
			}
			seen[folded] = true
		}
		if name := repeated(d); name != "" {
			return name
		}
	}
	_, _ = d.Token() // The end of the object or list.
	return ""
}

// lineAt returns the line that an error of JSON speaks of; the last where it does not say.
func lineAt(data []byte, err error) int {
	end := len(data)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset < int64(end) {
		end = int(syntax.Offset)
	}
	return bytes.Count(data[:end], []byte("\n")) + 1
}

// spoken says what is wrong without a word of how this program is built.
func spoken(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Sprintf("%s does not belong into %q", kind.Value, cmp.Or(kind.Field, "the whole"))
	}
	return shown(strings.TrimPrefix(err.Error(), "json: "))
}
