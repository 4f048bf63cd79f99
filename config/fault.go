package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing that is wrong with a config, and where.
type Fault struct {
	File    string
	Line    int    // from 1; 0 where no place in the file is to blame
	Column  int    // from 1
	Path    string // the setting, such as syncs.agency.invoice.rates[0].rate; empty where none is to blame
	Message string
	Excerpt string // the line, with what could be a secret masked; empty where it is not shown
}

// Error gives file:line:column: message, then the line with a mark under the place. Where the line is not
// shown, it names the setting.
func (f Fault) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	text := fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
	switch {
	case f.Excerpt != "":
		mark := strings.Repeat(" ", min(max(f.Column-1, 0), utf8.RuneCountInString(f.Excerpt)))
		text += fmt.Sprintf("\n    %s\n    %s^", f.Excerpt, mark)
	case f.Path != "":
		text += " (" + f.Path + ")"
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

func (f *Faults) orNil() error {
	if len(f.All) == 0 {
		return nil
	}
	return f
}
