package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	stdsync "sync"
	"time"

	"github.com/spf13/cobra"

	"tidemark/config"
	"tidemark/daemon"
	"tidemark/daemon/control"
)

// home is the open state of a running daemon with the engines over it. Passes and the callers of the socket work over it
// side by side; nobody does while the file is closed for a moment.
type home struct {
	mu      stdsync.RWMutex // held for reading by whoever works over the state, for writing while it is closed
	session *session        // nil: it could not be opened again, and the daemon is about to end
	swap    stdsync.Mutex   // guards session against a reload
	reload  chan func(error)
	stop    context.CancelCauseFunc // ends the daemon
	began   time.Time
}

// errClosed ends what comes while the daemon is about to end.
var errClosed = temporaryError{errors.New("the daemon has closed its state and is about to end")}

// enter returns the session for one piece of work, and what ends that work.
func (h *home) enter() (s *session, leave func(), err error) {
	h.mu.RLock()
	h.swap.Lock()
	defer h.swap.Unlock()
	if h.session == nil {
		h.mu.RUnlock()
		return nil, nil, errClosed
	}
	return h.session, h.mu.RUnlock, nil
}

// close closes the state for good. Who still works over it has had time enough: the file is then left as it is, which
// does it no harm.
func (h *home) close() error {
	if !h.lock(time.Second) {
		return errors.New("state: left open, somebody is still at work")
	}
	defer h.mu.Unlock()
	s := h.session
	if h.take(nil); s == nil {
		return nil
	}
	return s.store.Close()
}

// take replaces the session by one over the same state.
func (h *home) take(s *session) {
	h.swap.Lock()
	defer h.swap.Unlock()
	h.session = s
}

// closeWithin is how long somebody who needs the file closed waits for the work that is under way.
const closeWithin = 10 * time.Second

// lock waits until nobody works over the state, but not for long. Others can begin meanwhile, which they could not if
// this were a wait in line.
func (h *home) lock(within time.Duration) bool {
	const poll = 20 * time.Millisecond
	for range within / poll {
		if h.mu.TryLock() {
			return true
		}
		time.Sleep(poll)
	}
	return h.mu.TryLock()
}

// closed closes the state, lets something be done to its file, and opens it again with open. If that fails the daemon
// ends, and its next start says why.
func (h *home) closed(do func(*work) error, open func(*work) (*session, error)) error {
	if !h.lock(closeWithin) {
		return temporaryError{errors.New("a pass or a command is at work in the daemon: try again when it has ended")}
	}
	defer h.mu.Unlock()
	old := h.session
	if old == nil {
		return errClosed
	}
	h.take(nil)
	if err := old.store.Close(); err != nil {
		h.stop(err)
		return err
	}
	err := do(old.work)
	s, openErr := open(old.work)
	if openErr != nil {
		h.stop(openErr)
		return errors.Join(err, openErr)
	}
	h.take(s)
	return err
}

// again lets the daemon read its config again, and returns what is wrong with it.
func (h *home) again(ctx context.Context) error {
	told := make(chan error, 1)
	select {
	case h.reload <- func(err error) { told <- err }:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-told:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// served marks the commands that a daemon runs for others. What is not marked it never does.
const served = "tidemark/served"

// here marks a command as one that a daemon runs where there is one: this process then prints what comes back. Run does
// it, in the daemon as here.
func (a *app) here(cmd *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd.Annotations = map[string]string{served: "yes"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.home == nil {
			if answered, err := a.forward(cmd.Context()); answered {
				return err
			}
		}
		return run(cmd.Context(), args)
	}
	return cmd
}

// overState is a command that works over the open state.
func (a *app) overState(cmd *cobra.Command, run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	return a.here(cmd, func(ctx context.Context, args []string) error {
		return a.inState(func(s *session) error { return run(ctx, s, args) })
	})
}

// inState works over the state that the daemon has open, or opens it.
func (a *app) inState(run func(s *session) error) (err error) {
	if a.home == nil {
		s, err := a.open()
		if err != nil {
			return err
		}
		return errors.Join(run(s), s.store.Close())
	}
	s, leave, err := a.home.enter()
	if err != nil {
		return err
	}
	defer leave()
	err = run(s)
	if errors.Is(ending(err), daemon.ErrFatal) {
		a.home.stop(err)
	}
	return err
}

// whileClosed does something to the file of the state while nobody has it open.
func (a *app) whileClosed(do func(*work) error) error {
	if a.home != nil {
		return a.home.closed(do, a.openWork)
	}
	w, err := a.load()
	if err != nil {
		return err
	}
	return do(w)
}

// onlyServed keeps a daemon from doing for others what they are to do themselves, with their own rights.
func (a *app) onlyServed(cmd *cobra.Command, _ []string) error {
	if a.home != nil && cmd.Annotations[served] == "" {
		return usage("%s is not run by a daemon", cmd.CommandPath())
	}
	return nil
}

// endedError is how a command ended that a daemon has run, and whose words are printed already.
type endedError struct{ code int }

func (e endedError) Error() string { return fmt.Sprintf("ended with %d", e.code) }

// forward lets the daemon run this command. It reports false where there is none.
func (a *app) forward(ctx context.Context) (answered bool, err error) {
	socket := config.Peek(a.path)
	if socket == "" {
		return false, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return false, err
	}
	call := control.Call{Args: a.args, Folder: folder, OutTerm: isTerminal(a.out), ErrTerm: isTerminal(a.err), NoColor: os.Getenv("NO_COLOR") != "", User: person()}
	code, err := control.Run(ctx, string(socket), call, a.out, a.err)
	switch {
	case errors.Is(err, control.ErrNobody):
		return false, nil
	case errors.Is(err, control.ErrCut):
		return true, temporaryError{err}
	case err != nil:
		return true, err
	case code != exitDone:
		return true, endedError{code}
	}
	return true, nil
}

// serve runs the command of a caller.
func (a *app) serve(h *home) func(ctx context.Context, call control.Call, out, errOut io.Writer) int {
	return func(ctx context.Context, call control.Call, out, errOut io.Writer) int {
		one := &app{out: out, err: errOut, args: call.Args, now: a.now, net: a.net, log: a.log, home: h, call: &call}
		return one.execute(daemon.WithRun(ctx))
	}
}

// who returns how the person who runs the command is written into the history. As is who they say to be; it may be
// empty.
func (a *app) who(as string) string {
	switch {
	case a.call != nil:
		return a.call.Caller.As(as)
	case as != "":
		return as
	}
	return person()
}

// file returns where the file is that an argument names: relative to the folder of the person, not to that of a daemon.
func (a *app) file(name string) (string, error) {
	if a.call == nil {
		return filepath.Abs(name)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(a.call.Folder, name)
	}
	return filepath.Clean(name), nil
}
