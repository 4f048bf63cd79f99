package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type command func(ctx context.Context, call Call, out, errOut io.Writer) int

// served lets a command be run at a socket until the test ends.
func served(t *testing.T, do command) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s.sock")
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	rest := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "rest") })
	go func() { ended <- Serve(ctx, l, do, rest) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return socket
}

func TestCommandIsRunWithItsStreamsAndItsCode(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var got Call
	socket := served(t, func(_ context.Context, call Call, out, errOut io.Writer) int {
		got = call
		for _, b := range []byte("Größe: 3 €\n") { // a character may come in parts
			_, _ = out.Write([]byte{b})
		}
		fmt.Fprint(errOut, "note: <&>\n")
		fmt.Fprint(out, out.(interface{ Terminal() bool }).Terminal(), errOut.(interface{ Terminal() bool }).Terminal())
		return 3
	})
	var out, errOut bytes.Buffer
	code, err := Run(t.Context(), socket, Call{Args: []string{"status", "--json"}, Folder: "/srv", OutTerm: true, User: me.Username}, &out, &errOut)
	if code != 3 || err != nil {
		t.Errorf("Run = %d, %v, want 3", code, err)
	}
	if want := "Größe: 3 €\ntrue false"; out.String() != want || errOut.String() != "note: <&>\n" {
		t.Errorf("printed %q and %q, want %q", out.String(), errOut.String(), want)
	}
	if strings.Join(got.Args, " ") != "status --json" || got.Folder != "/srv" {
		t.Errorf("the command got %+v", got)
	}
	if want := (Caller{UID: os.Getuid(), Name: me.Username, Trusted: true}); got.Caller != want {
		t.Errorf("caller = %+v, want %+v", got.Caller, want)
	}
}

// A command writes as it goes on: what is written is seen before the command ends.
func TestOutputComesWhileTheCommandRuns(t *testing.T) {
	seen := make(chan struct{})
	socket := served(t, func(ctx context.Context, _ Call, out, _ io.Writer) int {
		fmt.Fprintln(out, "1 of 2")
		select {
		case <-seen:
			return 0
		case <-ctx.Done():
			return 1
		}
	})
	code, err := Run(t.Context(), socket, Call{}, writerFunc(func(p []byte) { close(seen) }), io.Discard)
	if code != 0 || err != nil {
		t.Errorf("Run = %d, %v", code, err)
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	if len(p) > 0 {
		f(p)
	}
	return len(p), nil
}

func TestCallerThatGoesAwayEndsTheCommand(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	socket := served(t, func(ctx context.Context, _ Call, _, _ io.Writer) int {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return 1
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := Run(ctx, socket, Call{}, io.Discard, io.Discard); !errors.Is(err, ErrCut) || !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want it cut off and cancelled", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the command saw %v", err)
	}
}

func TestAnswerWithoutItsEndIsNoEnd(t *testing.T) {
	for _, body := range []string{"", `{"out":"half"}` + "\n", `{"out":"ha`} {
		code, err := copyLines(strings.NewReader(body), io.Discard, io.Discard)
		if !errors.Is(err, ErrCut) {
			t.Errorf("%q: %d, %v, want ErrCut", body, code, err)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.sock")
	left := filepath.Join(t.TempDir(), "left.sock")
	leave(t, left)
	for _, socket := range []string{gone, left, filepath.Join(t.TempDir(), strings.Repeat("x", 120))} {
		if _, err := Run(t.Context(), socket, Call{}, io.Discard, io.Discard); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: %v, want ErrNobody", filepath.Base(socket), err)
		}
	}
}

// leave makes a socket on which nobody listens any more.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenTakesOverNothingThatIsAlive(t *testing.T) {
	dir := t.TempDir()
	left, file := filepath.Join(dir, "left.sock"), filepath.Join(dir, "file")
	leave(t, left)
	l, err := Listen(left)
	if err != nil {
		t.Fatalf("a socket that was left behind: %v", err)
	}
	defer l.Close()
	if info, err := os.Stat(left); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v, want 0660", info.Mode(), err)
	}
	go func() { // it is alive: somebody accepts
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.Close()
		}
	}()
	if _, err := Listen(left); err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Errorf("a socket in use: %v", err)
	}
	if err := os.WriteFile(file, []byte("books"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil {
		t.Error("a file was taken for a socket")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "books" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

func TestHistoryNamesTheAccount(t *testing.T) {
	root := Caller{UID: 0, Name: "root", Trusted: true}
	bo := Caller{UID: 1001, Name: "bo"}
	hidden := Caller{UID: overflow, Name: "nobody"}
	tests := []struct {
		what     string
		caller   Caller
		says, as string
		want     string
	}{
		{"root", root, "root", "", "root"},
		{"root for somebody", root, "root", "ann", "ann"},
		{"somebody behind sudo", root, "ann", "", "ann"},
		{"an account", bo, "bo", "", "bo"},
		{"an account that says to be another", bo, "ann", "", "bo"},
		{"an account for somebody", bo, "bo", "ann", "bo (as ann)"},
		{"an account that a namespace hides", hidden, "bo", "", "bo (as they say)"},
		{"the same for somebody", hidden, "bo", "ann", "bo (as they say) (as ann)"},
	}
	for _, tt := range tests {
		if got := tt.caller.saying(tt.says).As(tt.as); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestOtherPathsGoToTheRest(t *testing.T) {
	socket := served(t, func(context.Context, Call, io.Writer, io.Writer) int { return 0 })
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	resp, err := client.Get("http://tidemark/healthz")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "rest" {
		t.Errorf("GET /healthz = %s %q", resp.Status, body)
	}
	resp, err = client.Post("http://tidemark/v1/run", "application/json", strings.NewReader("status"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a call that is no JSON: %s", resp.Status)
	}
}

// Over anything but a unix socket it is not known who calls, and nothing is run.
func TestNothingIsRunForAStranger(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/run", strings.NewReader(`{"args":["status"]}`))
	answer(w, r, func(context.Context, Call, io.Writer, io.Writer) int { t.Error("it was run"); return 0 })
	if w.Code != http.StatusForbidden {
		t.Errorf("answered %d", w.Code)
	}
}

func TestCommandsHaveSecondsToEndWhenTheDaemonStops(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, func(ctx context.Context, _ Call, out, _ io.Writer) int {
			cancel() // the daemon is told to stop while the command runs
			<-ctx.Done()
			fmt.Fprint(out, "the record in hand is finished")
			return 75
		}, http.NotFoundHandler())
	}()
	var out bytes.Buffer
	code, err := Run(t.Context(), socket, Call{}, &out, io.Discard)
	if code != 75 || err != nil || out.Len() == 0 {
		t.Errorf("Run = %d, %v, printed %q", code, err, out.String())
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve = %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Serve does not end")
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}
