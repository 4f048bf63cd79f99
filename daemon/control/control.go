// Package control is the socket of a running daemon. Who owns the state file keeps everybody else out, so a command that
// needs it is run by the daemon: the arguments go in, what the command prints comes back, and its exit code.
//
// Its one hard rule: the daemon believes the kernel, not the caller, about who is calling.
//
// The protocol is HTTP over a unix socket. POST /v1/run takes a [Call] as JSON and answers with one JSON object a line,
// as the command goes on:
//
//	{"out":"…"}     what it wrote to its standard output
//	{"err":"…"}     what it wrote to its standard error
//	{"exit":0}      how it ended; always the last line
//
// An answer without its last line was cut off, and what the command did is not known. A caller that goes away ends the
// command as SIGTERM would: it finishes the record in hand. Other paths are those of the handler that [Serve] was given.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Call is a command line, and what the program would otherwise see for itself.
type Call struct {
	Args    []string `json:"args"`              // without the name of the program
	Folder  string   `json:"folder,omitempty"`  // to which the names of files are relative; empty: the daemon's own
	OutTerm bool     `json:"outTerm,omitempty"` // the standard output is a terminal
	ErrTerm bool     `json:"errTerm,omitempty"` // the standard error is one
	NoColor bool     `json:"noColor,omitempty"` // colours are not wanted, even on a terminal
	User    string   `json:"user,omitempty"`    // who the caller says to be; see [Caller]

	// Caller is who calls, as the daemon has found out. It never comes from the wire.
	Caller Caller `json:"-"`
}

// line is a line of an answer.
type line struct {
	Out  string `json:"out,omitempty"`
	Err  string `json:"err,omitempty"`
	Exit *int   `json:"exit,omitempty"`
}

// ErrCut means that the answer of a daemon ended in the middle: the command may have been done or not.
var ErrCut = errors.New("the daemon did not say how the command ended")

// printer writes the lines of one answer. Its two streams may be written to from several goroutines.
type printer struct {
	mu   sync.Mutex
	enc  *json.Encoder
	push func()
}

func (p *printer) print(l line) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.enc.Encode(l); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	p.push()
	return nil
}

// stream is one of the two that a command writes to.
type stream struct {
	printer  *printer
	wrap     func(string) line
	terminal bool
	rest     []byte // the beginning of a character whose end was not written yet
}

// Terminal reports whether what is written here ends on a terminal.
func (s *stream) Terminal() bool { return s.terminal }

func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	whole := len(s.rest) - cut(s.rest)
	text := string(s.rest[:whole])
	s.rest = append(s.rest[:0], s.rest[whole:]...)
	if text == "" {
		return len(p), nil
	}
	return len(p), s.printer.print(s.wrap(text))
}

// cut returns how many bytes at the end of p are the beginning of a character.
func cut(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// copyLines writes the lines of an answer to where they belong and returns the exit code.
func copyLines(in io.Reader, out, errOut io.Writer) (code int, err error) {
	dec := json.NewDecoder(in)
	for {
		var l line
		switch err := dec.Decode(&l); {
		case errors.Is(err, io.EOF):
			return 0, ErrCut
		case err != nil:
			return 0, fmt.Errorf("%w: %v", ErrCut, err)
		}
		_, outErr := io.WriteString(out, l.Out)
		_, errErr := io.WriteString(errOut, l.Err)
		if err := errors.Join(outErr, errErr); err != nil {
			return 0, err
		}
		if l.Exit != nil {
			return *l.Exit, nil
		}
	}
}
