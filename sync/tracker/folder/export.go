package folder

import (
	"bytes"
	"fmt"
	"strings"

	"tidemark/sync/money"
	"tidemark/sync/tracker"
)

// content is what one file says. Records of our own form that cannot be read are unread one by one.
type content struct {
	rows    []row
	records []record
	unread  []tracker.Unread
	notes   []string
}

// format is one kind of export file, known by its columns.
type format struct {
	name  string
	needs []string
	// open looks at the header and returns how a line is read.
	open func(*table) (func(*cells) row, error)
}

// formats lists the exports. They need what is billed and what ids are made of. Clockify's comes before Toggl Track's, which is told by less.
func formats() []format {
	return []format{
		{"Harvest's detailed report", []string{"Date", "Client", "Project", "Task", "Notes", "Hours", "Billable?", "First Name", "Last Name"}, harvest},
		{"Clockify's detailed report", []string{"Project", "Client", "Description", "User", "Billable", "Start Date", "Start Time", "Duration (h)"}, clockify},
		{"Toggl Track's detailed report", []string{"User", "Client", "Project", "Description", "Billable", "Start date", "Start time", "Duration"}, toggl},
	}
}

// parse takes a file apart. An error means that nothing of the file counts.
func (r reading) parse(src source) (content, error) {
	data, err := text(src.name, src.data)
	if err != nil {
		return content{}, err
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); bytes.HasPrefix(start, []byte("{")) || strings.HasSuffix(strings.ToLower(src.name), ".json") {
		return r.document(src, data)
	}
	t, err := tabulate(src.name, data)
	if err != nil {
		return content{}, err
	}
	if len(t.missing(ownColumns())) == 0 {
		return r.plain(src, t)
	}
	for _, f := range formats() {
		if len(t.missing(f.needs)) == 0 {
			return r.export(src, t, f)
		}
	}
	return content{}, unrecognised(t)
}

// unrecognised names the form that comes nearest, and the columns that it lacks.
func unrecognised(t *table) error {
	if t.has("Customer") && t.has("Activity") {
		return fmt.Errorf("%s:1: looks like an export of Kimai, which is not read: put its work into the plain form", t.file)
	}
	nearest, missing, cure := "the plain form", t.missing(ownColumns()), "add them"
	if len(missing) == len(ownColumns()) {
		missing = nil
	}
	for _, f := range formats() {
		lacks := t.missing(f.needs)
		if len(lacks) < len(f.needs) && (missing == nil || len(lacks) < len(missing)) {
			nearest, missing, cure = f.name, lacks, "export the detailed report with them, in English"
		}
	}
	if missing == nil {
		return fmt.Errorf("%s:1: is no export that is known here: put in the detailed report of Harvest, Clockify or Toggl Track as CSV in English, or the plain form", t.file)
	}
	return fmt.Errorf("%s:1: looks like %s, but lacks the columns %s: %s", t.file, nearest, strings.Join(missing, ", "), cure)
}

// export reads the lines of an export. One whose member or day cannot be told makes the whole file
// unreadable: there is no knowing which week it belongs to.
func (r reading) export(src source, t *table, f format) (content, error) {
	lineOf, err := f.open(t)
	if err != nil {
		return content{}, err
	}
	var c content
	var odd []string
	for _, l := range t.lines {
		line := cells{line: l, reading: r}
		read := lineOf(&line)
		if read.unplaced != nil {
			return content{}, read.unplaced
		}
		read.src, read.fault = &src, line.fault
		c.rows = append(c.rows, read)
		if read.odd != "" {
			odd = append(odd, read.odd)
		}
	}
	if len(odd) > 0 {
		c.notes = []string{some(odd)}
	}
	return c, nil
}

// priced is a column whose name states a currency: Amount (EUR).
type priced struct {
	column   string         // its key
	currency money.Currency // empty where the name states none
}

// pricedColumns returns the columns that begin with a name, given as its key, and go on with a currency
// in parentheses or with nothing.
func pricedColumns(t *table, name string) ([]priced, error) {
	var found []priced
	for _, column := range t.header {
		rest, ok := strings.CutPrefix(key(column), name)
		rest = strings.TrimSpace(rest)
		if !ok || rest != "" && (rest[0] != '(' || rest[len(rest)-1] != ')') {
			continue
		}
		c, err := currency(strings.ToUpper(strings.TrimSpace(strings.Trim(rest, "()"))))
		if err != nil {
			return nil, fmt.Errorf("%s:1: column %s: %v", t.file, shown(column), err)
		}
		found = append(found, priced{key(column), c})
	}
	return found, nil
}
