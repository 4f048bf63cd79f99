package daemon_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tidemark/daemon"
	"tidemark/systemd"
)

// hear returns the next message that begins so, and what came before it.
func hear(t *testing.T, conn *net.UnixConn, want string) (before []string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		buffer := make([]byte, 1024)
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("waiting for %s: %v; heard %q", want, err, before)
		}
		message := string(buffer[:n])
		if strings.HasPrefix(message, want) {
			return before
		}
		before = append(before, message)
	}
}

func TestSystemdIsToldOfEverything(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "200000")
	t.Setenv("WATCHDOG_PID", "")
	notifier, err := systemd.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	jobs := []daemon.Job{{
		Name: "agency", Schedule: schedule("@daily"), Deadline: time.Hour,
		Last: func() (time.Time, error) { return time.Time{}, nil }, // It is overdue.
		Run:  func(context.Context, time.Time) (daemon.Outcome, error) { return nil, errors.New("ledger:\nREADY=1") },
	}}
	loads := 0
	d := &daemon.Daemon{Log: zerolog.Nop(), Notify: notifier, Load: func(context.Context) ([]daemon.Job, error) {
		if loads++; loads > 1 {
			return nil, errLedger
		}
		return jobs, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reload, ended := make(chan func(error)), make(chan error, 1)
	go func() { ended <- d.Run(ctx, reload) }()
	if before := hear(t, conn, "READY=1"); len(before) > 0 {
		t.Errorf("before it was ready it said %q", before)
	}
	for _, said := range hear(t, conn, "STATUS=agency failed") {
		if said != "WATCHDOG=1" {
			t.Errorf("it said %q, which is no line of a status", said)
		}
	}
	for range 3 { // It sleeps, and is alive.
		hear(t, conn, "WATCHDOG=1")
	}
	reload <- nil
	hear(t, conn, "RELOADING=1\nMONOTONIC_USEC=")
	hear(t, conn, "READY=1") // Also of a config that was refused.
	cancel()
	hear(t, conn, "STOPPING=1")
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}
