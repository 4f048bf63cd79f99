package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a config, and where.
type Fault struct {
	File    string
	Line    int // from 1; 0 where no place in the file is to blame
	Column  int // from 1
	Message string
	Excerpt string // the line, with what could be a secret masked; empty where there is none
}

// Error gives file:line:column: message, then the line with a mark under the place.
func (f Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	text := fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
	if f.Excerpt != "" {
		mark := strings.Repeat(" ", min(max(f.Column-1, 0), len(f.Excerpt)))
		text += fmt.Sprintf("\n    %s\n    %s^", f.Excerpt, mark)
	}
	return text
}

// Faults are all that is wrong with a config, in the order of the file.
type Faults struct{ All []Fault }

// Error lists every fault.
func (f *Faults) Error() string {
	texts := make([]string, len(f.All))
	for i, one := range f.All {
		texts[i] = one.Error()
	}
	head := "the config has a fault:\n"
	if len(f.All) > 1 {
		head = fmt.Sprintf("the config has %d faults:\n", len(f.All))
	}
	return head + strings.Join(texts, "\n")
}

// Join makes one error of several: all faults among them in the order of the file, without repeats. It
// is nil if there is no error.
func Join(errs ...error) error {
	all := &Faults{}
	var others []error
	for _, err := range errs {
		var f *Faults
		switch {
		case err == nil:
		case errors.As(err, &f):
			all.All = append(all.All, f.All...)
		default:
			others = append(others, err)
		}
	}
	slices.SortStableFunc(all.All, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	all.All = slices.Compact(all.All)
	if len(all.All) > 0 {
		others = append([]error{all}, others...)
	}
	return errors.Join(others...)
}

// source is a config file: it knows what its lines say, and which folder its paths are relative to.
type source struct {
	file   string
	folder string
	lines  []string
}

// fault makes a fault at a place in the file.
func (s *source) fault(line, column int, format string, args ...any) Fault {
	f := Fault{File: s.file, Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
	if line >= 1 && line <= len(s.lines) && len(s.lines[line-1]) <= longest {
		f.Excerpt = mask(strings.TrimRight(s.lines[line-1], "\r"))
		if line > 1 && opens.MatchString(s.lines[line-2]) && !places.MatchString(f.Excerpt) {
			f.Excerpt = ""
		}
	}
	return f
}

// longest line that is shown beside its fault.
const longest = 400

// opens finds a key whose value, perhaps a secret, stands in the next line; places one that says where it is.
var (
	opens  = regexp.MustCompile(`(?i)(token|secret|password|passwd|credential|key)["']?\s*:\s*([|>][-+0-9]*)?\s*$`)
	places = regexp.MustCompile(`^\s*(credential|env|file)\s*:`)
)

// secretive finds the keys whose values may be secrets.
var secretive = regexp.MustCompile(`(?i)(token|secret|password|passwd|credential|api[_-]?key|private[_-]?key|client[_-]?id)["']?\s*:`)

// plainSecret finds values of such keys that are only names of where the secret is.
var reference = regexp.MustCompile(`^\s*\{?\s*(credential|env|file)\s*:\s*[A-Za-z0-9_./-]*\s*\}?\s*(#.*)?$`)

// mask hides what may be a secret in a line.
func mask(line string) string {
	at := secretive.FindStringIndex(line)
	if at == nil || reference.MatchString(line[at[1]:]) || strings.TrimSpace(line[at[1]:]) == "" {
		return line
	}
	return line[:at[1]] + " •••"
}

// near returns the known name that is most like a wrong one, and whether one is like it at all.
func near(wrong string, known []string) (string, bool) {
	best, least := "", 3
	for _, name := range known {
		if d := distance(strings.ToLower(wrong), name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best, best != ""
}

// distance counts the letters to change, add or drop, and neighbours to swap, that make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// unknown says that a name is not known, which one may be meant, and which ones there are.
func unknown(what, wrong string, known []string) string {
	text := fmt.Sprintf("unknown %s %q", what, wrong)
	if name, ok := near(wrong, known); ok {
		return text + fmt.Sprintf("; did you mean %q?", name)
	}
	return text + "; known are " + strings.Join(known, ", ")
}
