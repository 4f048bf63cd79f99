package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	longestCall = 1 << 20         // bytes of a call
	endWithin   = 8 * time.Second // for the commands that run when the daemon stops
)

// Listen listens on a socket that the owner and the group may use. A socket that a dead daemon left is
// replaced; one on which somebody listens is not.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	conn, err := dial(context.Background(), path)
	if err == nil {
		return nil, errors.Join(fmt.Errorf("socket: %s: another daemon listens there: name another socket", path), conn.Close())
	}
	if !errors.Is(err, ErrNobody) {
		return nil, err
	}
	switch info, err := os.Lstat(path); {
	case err != nil: // there is none
	case info.Mode().Type() != os.ModeSocket:
		return nil, fmt.Errorf("socket: %s is there, and is no socket: name another one", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket: %w", err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	return l, nil
}

// Serve answers calls until ctx ends, and then waits a few seconds for the commands that still run, whose context has
// ended, too. Do runs a command and returns its exit code; what is asked for under other paths goes to rest.
func Serve(ctx context.Context, l net.Listener, do func(ctx context.Context, call Call, out, errOut io.Writer) int, rest http.Handler) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/run", func(w http.ResponseWriter, r *http.Request) { answer(w, r, do) })
	mux.Handle("/", rest)
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: patience,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: withPeer,
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("socket: %w", err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if err := s.Shutdown(late); err != nil {
		return fmt.Errorf("socket: commands have not ended: %w", errors.Join(err, s.Close()))
	}
	return nil
}

// answer runs one call.
func answer(w http.ResponseWriter, r *http.Request, do func(context.Context, Call, io.Writer, io.Writer) int) {
	caller, err := callerOf(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	var call Call
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestCall)).Decode(&call); err != nil {
		http.Error(w, "a call is a JSON object with args: "+err.Error(), http.StatusBadRequest)
		return
	}
	call.Caller = caller.saying(call.User)
	w.Header().Set("Content-Type", "application/x-ndjson")
	p := &printer{enc: json.NewEncoder(w), push: func() { _ = http.NewResponseController(w).Flush() }}
	p.enc.SetEscapeHTML(false)
	out := &stream{printer: p, terminal: call.OutTerm, wrap: func(s string) line { return line{Out: s} }}
	errOut := &stream{printer: p, terminal: call.ErrTerm, wrap: func(s string) line { return line{Err: s} }}
	code := do(r.Context(), call, out, errOut)
	_ = p.print(line{Exit: &code}) // A caller that has gone away is not told.
}
