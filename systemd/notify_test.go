package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// listen opens a socket as systemd does, and returns it and the notifier of a program that was given it.
func listen(t *testing.T, name string) (*net.UnixConn, *Notifier) {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	return conn, notifier(t)
}

func notifier(t *testing.T) *Notifier {
	t.Helper()
	n, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// heard returns the next message, which is there already: a send ends when its datagram is in the queue.
func heard(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func sockets(t *testing.T) map[string]string {
	return map[string]string{
		"path":     filepath.Join(t.TempDir(), "notify"),
		"abstract": fmt.Sprintf("@tidemark-test-%d-%d", os.Getpid(), time.Now().UnixNano()),
	}
}

func TestMessages(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "120000000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	tests := []struct {
		name string
		send func(*Notifier) error
		want string
	}{
		{"ready", func(n *Notifier) error { return n.Ready("") }, "READY=1"},
		{"ready with a status", func(n *Notifier) error { return n.Ready("3 syncs") }, "READY=1\nSTATUS=3 syncs"},
		{"ready with a hostile status", func(n *Notifier) error { return n.Ready("x\nMAINPID=1") }, "READY=1\nSTATUS=x MAINPID=1"},
		{"stopping", (*Notifier).Stopping, "STOPPING=1"},
		{"status", func(n *Notifier) error { return n.Status("waiting\nERRNO=5") }, "STATUS=waiting ERRNO=5"},
		{"no status", func(n *Notifier) error { return n.Status("\n") }, "STATUS="},
		{"watchdog", (*Notifier).Watchdog, "WATCHDOG=1"},
		{"more time", func(n *Notifier) error { return n.ExtendTimeout(30 * time.Second) }, "EXTEND_TIMEOUT_USEC=30000000"},
	}
	for kind, name := range sockets(t) {
		conn, n := listen(t, name)
		for _, test := range tests {
			t.Run(kind+"/"+test.name, func(t *testing.T) {
				if err := test.send(n); err != nil {
					t.Fatal(err)
				}
				if got := heard(t, conn); got != test.want {
					t.Errorf("message = %q, want %q", got, test.want)
				}
			})
		}
	}
}

func TestReloadingTellsWhenItWasSent(t *testing.T) {
	conn, n := listen(t, filepath.Join(t.TempDir(), "notify"))
	before := monotonic(t)
	if err := n.Reloading(); err != nil {
		t.Fatal(err)
	}
	after, got := monotonic(t), heard(t, conn)
	text, ok := strings.CutPrefix(got, "RELOADING=1\nMONOTONIC_USEC=")
	sent, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || sent < before || sent > after {
		t.Errorf("message = %q, want RELOADING=1 with a MONOTONIC_USEC from %d to %d", got, before, after)
	}
}

func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano() / 1000
}

func TestWithoutSystemdNothingHappens(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		t.Setenv(name, "")
	}
	for name, n := range map[string]*Notifier{"nil": nil, "zero": {}, "from the environment": notifier(t)} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(n.Ready("x"), n.Reloading(), n.Stopping(), n.Status("x"), n.Watchdog(), n.ExtendTimeout(time.Second))
			if err != nil || n.Every() != 0 {
				t.Errorf("error = %v, Every = %v, want neither", err, n.Every())
			}
		})
	}
}

func TestWatchdogOfTheEnvironment(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	tests := []struct {
		name, usec, pid string
		every           time.Duration
		fault           bool
	}{
		{"none", "", own, 0, false},
		{"two minutes", "120000000", own, time.Minute, false},
		{"nobody named", "3000000", "", 1500 * time.Millisecond, false},
		{"of the parent", "3000000", "1", 0, false},
		{"zero", "0", own, 0, true},
		{"negative", "-3", own, 0, true},
		{"no number", "2min", own, 0, true},
		{"longer than a duration can be", "9223372036854775807", own, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conn, _ := listen(t, filepath.Join(t.TempDir(), "notify"))
			t.Setenv("WATCHDOG_USEC", test.usec)
			t.Setenv("WATCHDOG_PID", test.pid)
			n, err := FromEnvironment()
			if n.Every() != test.every || (err != nil) != test.fault {
				t.Fatalf("Every = %v, error = %v; want %v, an error: %v", n.Every(), err, test.every, test.fault)
			}
			// What comes first tells whether Watchdog sent anything.
			if err := errors.Join(n.Watchdog(), n.Stopping()); err != nil {
				t.Fatal(err)
			}
			if got := heard(t, conn); (got == "WATCHDOG=1") != (test.every > 0) {
				t.Errorf("first message = %q with an interval of %v", got, test.every)
			}
		})
	}
}

func TestShortExtensionIsNotSent(t *testing.T) {
	conn, n := listen(t, filepath.Join(t.TempDir(), "notify"))
	if err := errors.Join(n.ExtendTimeout(0), n.ExtendTimeout(-time.Second), n.ExtendTimeout(time.Nanosecond), n.Stopping()); err != nil {
		t.Fatal(err)
	}
	if got := heard(t, conn); got != "STOPPING=1" {
		t.Errorf("first message = %q, want STOPPING=1", got)
	}
}

func TestSendFaultsAreReturned(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ name, socket, want string }{
		{"not there", filepath.Join(folder, "gone"), "no such file"},
		{"abstract, not there", "@tidemark-test-gone", "refused"},
		{"of a virtual machine", "vsock:2:1234", "neither an absolute path"},
		{"relative", "notify", "neither an absolute path"},
		{"too long", "/" + strings.Repeat("x", 200), "invalid argument"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NOTIFY_SOCKET", test.socket)
			err := notifier(t).Ready("")
			if err == nil || !strings.HasPrefix(err.Error(), "systemd: notify: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want systemd: notify: … %s", err, test.want)
			}
		})
	}
}

func TestSendDoesNotWaitForAReader(t *testing.T) {
	_, n := listen(t, filepath.Join(t.TempDir(), "notify"))
	const more = 100_000 // than any queue holds
	for range more {
		began := time.Now()
		err := n.Status("again")
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 20*sendWithin {
			t.Errorf("error = %v after %v, want a deadline after %v", err, time.Since(began), sendWithin)
		}
		return
	}
	t.Fatalf("%d messages were taken without a reader", more)
}

func TestClean(t *testing.T) {
	long := strings.Repeat("ä", longestStatus)
	for _, test := range []struct{ name, text, want string }{
		{"as it is", "last pass 12:05, 3 created, 1 in review", "last pass 12:05, 3 created, 1 in review"},
		{"newlines", "a\r\nb\n\nc\n", "a b c"},
		{"separators of lines", "a\u2028b\u2029c\u0085d", "a b c d"},
		{"escape sequence", "a\x1b[31mb", "a [31mb"},
		{"zero byte", "a\x00b", "a b"},
		{"order of writing", "a\u202eb", "a b"},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"longest", long, long},
		{"longer", long + "ä", strings.Repeat("ä", longestStatus-1) + "…"},
		{"nothing", " \t\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := clean(test.text); got != test.want {
				t.Errorf("clean(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\x00\x1b[0m", "\xff\xfe", strings.Repeat("é ", 300), "a\u202e\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > longestStatus {
			t.Errorf("clean(%q) = %q: not UTF-8, or longer than %d", text, got, longestStatus)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("clean(%q) = %q: has what is not printable", text, got)
		}
		if again := clean(got); again != got {
			t.Errorf("clean(%q) = %q, and cleaned again %q", text, got, again)
		}
	})
}
