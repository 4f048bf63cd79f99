// Package remotetest serves HTTP within one process, so that tests of clients run in a synctest bubble:
// real requests and answers, byte by byte, and not a moment of real time.
//
// Its one hard rule: nothing leaves the process.
package remotetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Base is the URL under which a server of this package is reached.
const Base = "http://localhost"

// Serve serves a handler until the test ends, and returns the connections to it. Whatever host they are
// asked for, they lead to this server.
func Serve(t *testing.T, h http.Handler) http.RoundTripper {
	t.Helper()
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("server: %v", err)
		}
	}()
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return transport
}

// listener hands over one end of a pipe for each dial.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for a dial.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses every further dial.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address that says that there is none.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
