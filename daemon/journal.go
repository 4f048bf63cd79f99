package daemon

import (
	"fmt"
	"io"

	"github.com/rs/zerolog"
)

// journal puts before each line how loud it is, as sd-daemon(3) has it. The journal takes that off again.
type journal struct{ io.Writer }

// ForJournal returns a writer for a log that goes to the journal of systemd, so that journalctl knows warnings from
// the rest.
func ForJournal(w io.Writer) zerolog.LevelWriter { return journal{w} }

// WriteLevel writes one line, in one write.
func (j journal) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	prefix := fmt.Appendf(nil, "<%d>", priority(level))
	n, err := j.Write(append(prefix, line...))
	return max(n-len(prefix), 0), err
}

// priority returns the number that syslog gives a level.
func priority(level zerolog.Level) int {
	switch level {
	case zerolog.PanicLevel, zerolog.FatalLevel:
		return 2
	case zerolog.ErrorLevel:
		return 3
	case zerolog.WarnLevel:
		return 4
	case zerolog.DebugLevel, zerolog.TraceLevel:
		return 7
	case zerolog.InfoLevel, zerolog.NoLevel, zerolog.Disabled:
	}
	return 6
}
