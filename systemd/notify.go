// Package systemd tells systemd how the program is, and tells the program whether its log goes to the journal.
// The unit files lie beside it.
//
// A [Notifier] writes the messages of sd_notify(3). It is written out here, and not taken from
// github.com/coreos/go-systemd: that would be one more dependency for a dial and a write, its write can wait
// for ever, and it lets a newline in a status begin a message of its own.
//
// Its one hard rule: what is said to systemd never stops the program. A send ends within a second, and its
// error is something for the log.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

const (
	sendWithin    = time.Second
	longestStatus = 200
)

// Notifier speaks to the systemd that started the program. A nil or zero one does nothing and returns no
// error. It may be used by several goroutines.
type Notifier struct {
	socket   string
	watchdog time.Duration
}

// FromEnvironment returns the notifier that NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID describe. It can
// be used even if there is an error, which is that of a watchdog's interval that is no number: it then has no
// watchdog.
func FromEnvironment() (*Notifier, error) {
	watchdog, err := watchdogInterval(os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"))
	return &Notifier{socket: os.Getenv("NOTIFY_SOCKET"), watchdog: watchdog}, err
}

// watchdogInterval is zero if there is no watchdog, or it waits for another process.
func watchdogInterval(usec, pid string) (time.Duration, error) {
	if usec == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}
	n, err := strconv.ParseInt(usec, 10, 64)
	interval := time.Duration(n) * time.Microsecond
	if err != nil || n <= 0 || interval.Microseconds() != n {
		return 0, fmt.Errorf("systemd: WATCHDOG_USEC: %q is not a number of microseconds", usec)
	}
	return interval, nil
}

// Ready says that a start or a reload is done, also one whose new config was refused: systemctl waits for it.
// An empty status leaves the last one.
func (n *Notifier) Ready(status string) error {
	if status = clean(status); status != "" {
		return n.send("READY=1\nSTATUS=" + status)
	}
	return n.send("READY=1")
}

// Reloading says that the config is being read again. Ready has to follow.
func (n *Notifier) Reloading() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("systemd: notify: monotonic clock: %w", err)
	}
	// Type=notify-reload takes a message for the reload that it asked for only with the time it was sent.
	return n.send("RELOADING=1\nMONOTONIC_USEC=" + strconv.FormatInt(now.Nano()/1000, 10))
}

// Stopping says that the program is about to end by its own will or because it was told to.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1") }

// Status says in one line how things are, for systemctl status: at most 200 characters, and what is not
// printable becomes a space. An empty text takes the line away.
func (n *Notifier) Status(text string) error { return n.send("STATUS=" + clean(text)) }

// Watchdog says that the program makes progress. Without a watchdog it does nothing.
func (n *Notifier) Watchdog() error {
	if n.Every() == 0 {
		return nil
	}
	return n.send("WATCHDOG=1")
}

// Every returns how often Watchdog is to be called, half of what systemd waits; 0 without a watchdog.
func (n *Notifier) Every() time.Duration {
	if n == nil {
		return 0
	}
	return n.watchdog / 2
}

// ExtendTimeout says that a start, a reload or a stop goes on, and that the next message comes within d. A d
// below a microsecond does nothing.
func (n *Notifier) ExtendTimeout(d time.Duration) error {
	if d < time.Microsecond {
		return nil
	}
	return n.send("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(d.Microseconds(), 10))
}

// send writes one datagram, or nothing where there is no socket.
func (n *Notifier) send(message string) error {
	if n == nil || n.socket == "" {
		return nil
	}
	if n.socket[0] != '/' && n.socket[0] != '@' {
		return fmt.Errorf("systemd: notify: NOTIFY_SOCKET %q: neither an absolute path nor an abstract name", n.socket)
	}
	// The name of an abstract socket is written with an @ here, too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: n.socket})
	if err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	// A write waits while the queue of the other side is full.
	err = conn.SetWriteDeadline(time.Now().Add(sendWithin))
	if err == nil {
		_, err = conn.Write([]byte(message))
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	return nil
}

// clean makes a text one line that shows on a terminal what it says: a newline would begin another message,
// and marks of direction would show a line in another order. Spaces are never doubled.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > longestStatus {
		return string(line[:longestStatus-1]) + "…"
	}
	return string(line)
}
