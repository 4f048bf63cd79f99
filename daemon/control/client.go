package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// patience is how long a daemon may take to accept a call; a command itself may take as long as it likes.
const patience = 2 * time.Second

// ErrNobody means that no daemon listens on a socket.
var ErrNobody = errors.New("no daemon is running")

// ErrDenied means that a daemon may listen, and that the caller may not speak to it.
var ErrDenied = errors.New("the socket of the daemon may not be used by this account")

// Run lets the daemon that listens on a socket run a command, and returns its exit code. The error is [ErrNobody] where
// none listens, [ErrDenied] where it may not be spoken to, and [ErrCut] where it is not known how the command ended.
func Run(ctx context.Context, socket string, call Call, out, errOut io.Writer) (code int, err error) {
	body, err := json.Marshal(call)
	if err != nil {
		return 0, fmt.Errorf("control: %w", err)
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return 0, err
	}
	t := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://tidemark/v1/run", bytes.NewReader(body))
	if err != nil {
		return 0, errors.Join(fmt.Errorf("control: %w", err), conn.Close())
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCut, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return 0, fmt.Errorf("control: %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return copyLines(resp.Body, out, errOut)
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: %s: run it as root, or as a member of the group that owns the socket", ErrDenied, socket)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EINVAL):
		return nil, fmt.Errorf("%w: nobody listens on %s", ErrNobody, socket)
	}
	return nil, fmt.Errorf("control: %w", err)
}
