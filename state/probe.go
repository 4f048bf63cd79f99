package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// probeArgument is the first argument of the child process that takes a look at a file.
const probeArgument = "__probe"

// probeWait is how long a probe may take.
const probeWait = 10 * time.Minute

// Report is what a look at a state file found.
type Report struct {
	Path string `json:"path"`
	Space
	Rows   map[string]int `json:"rows,omitempty"` // by bucket
	Faults []string       `json:"faults,omitempty"`
	Kind   string         `json:"kind,omitempty"` // of the first fault: damaged, newer or foreign
}

// Err returns what is wrong with the file; nil if nothing is.
func (r Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	text := r.Faults[0]
	if n := len(r.Faults) - 1; n > 0 {
		text = fmt.Sprintf("%s (and %d more)", text, n)
	}
	for kind, sentinel := range faultKinds() {
		if r.Kind == kind {
			return fmt.Errorf("%w: %s", sentinel, text)
		}
	}
	return fmt.Errorf("%w: %s", ErrDamaged, text)
}

// faultKinds are the names of the faults that are not damage.
func faultKinds() map[string]error {
	return map[string]error{"newer": ErrNewer, "foreign": ErrForeign, "held": berrors.ErrTimeout}
}

func (r *Report) fault(err error) {
	if len(r.Faults) == 0 {
		r.Kind = "damaged"
		for kind, sentinel := range faultKinds() {
			if errors.Is(err, sentinel) {
				r.Kind = kind
			}
		}
	}
	text := err.Error()
	for _, sentinel := range []error{ErrDamaged, ErrNewer, ErrForeign} {
		text = strings.ReplaceAll(text, sentinel.Error()+": ", "") // Err says it.
	}
	const enough = 20
	if len(r.Faults) < enough {
		r.Faults = append(r.Faults, text)
	}
}

// Check looks at the state at path while no other process owns it.
func Check(path string) (r Report, err error) {
	if err := existing(path); err != nil {
		return Report{Path: path}, err
	}
	l, err := takeLock(path)
	if err != nil {
		return Report{Path: path}, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	return examine(path)
}

// Check looks at the open state as it is at this moment: at a copy of it, made in the folder for temporary
// files, since reading a damaged file can end the process that does. The state can be used meanwhile.
func (s *Store) Check() (Report, error) {
	report := Report{Path: s.path}
	folder, path, err := s.copied("check")
	if err != nil {
		return report, err
	}
	report, err = examine(path)
	report.Path = s.path
	if err := errors.Join(err, os.RemoveAll(folder)); err != nil {
		return report, err
	}
	s.mu.Lock() // a commit writes the head that it ends
	defer s.mu.Unlock()
	if err := checkHeads(s.path, s.db.Info().PageSize); err != nil {
		report.fault(err)
	}
	return report, nil
}

// examine looks at a file in a child process: some damage ends a process that meets it, and that must not
// be this one. The program's main function has to hand its arguments to [Probe].
func examine(path string) (Report, error) {
	report := Report{Path: path}
	out, err := runProbe(path)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && crashed(exit):
		report.fault(fmt.Errorf("a process that read it died (%v)", exit))
		return report, nil
	case err != nil:
		return report, fmt.Errorf("state probe of %s: %w", path, err)
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return report, fmt.Errorf("state probe of %s: %w", path, err)
	}
	if report.Kind == "held" {
		return report, &HeldError{Path: path}
	}
	return report, nil
}

func runProbe(path string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeWait)
	defer cancel()
	// The child ends with the thread that started it, so that it does not keep the file from the next start.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, probeArgument, path)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	return out, errors.Join(err, ctx.Err())
}

// crashed tells a child that met damage from one that somebody stopped.
func crashed(exit *exec.ExitError) bool {
	const afterPanic = 2
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return exit.ExitCode() == afterPanic
	}
	switch status.Signal() {
	case syscall.SIGBUS, syscall.SIGSEGV, syscall.SIGABRT:
		return true
	}
	return false
}

// Probe does the work of the child process where args ask for it. It reports whether they did, and with
// which code the process has to exit.
func Probe(args []string) (handled bool, code int) {
	if len(args) != 2 || args[0] != probeArgument {
		return false, 0
	}
	if err := json.NewEncoder(os.Stdout).Encode(probe(args[1])); err != nil {
		return true, 1
	}
	return true, 0
}

// probe opens the file for reading and looks at every page and every value.
func probe(path string) (r Report) {
	r.Path, r.Rows = path, map[string]int{}
	debug.SetPanicOnFault(true)
	defer func() {
		if caught := recover(); caught != nil {
			r.fault(fmt.Errorf("reading it failed: %v", caught))
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: time.Second})
	if err != nil {
		r.fault(tellForeign(path, err))
		return r
	}
	defer db.Close()
	if err := db.View(r.pages); err != nil {
		r.fault(err)
	}
	if len(r.Faults) == 0 {
		r.look(db)
	}
	return r
}

// pages looks at the heads and at every page.
func (r *Report) pages(tx *bbolt.Tx) error {
	there, err := size(r.Path)
	if err != nil {
		return err
	}
	if r.Size = tx.Size(); there < r.Size {
		return fmt.Errorf("%w: it is cut off: %d bytes of %d are there", ErrDamaged, there, r.Size)
	}
	if err := checkHeads(r.Path, tx.DB().Info().PageSize); err != nil {
		return err
	}
	for err := range tx.Check() {
		r.fault(err)
	}
	return nil
}

// look reads every row, and holds the keys against their index.
func (r *Report) look(db *bbolt.DB) {
	err := db.View(func(tx *bbolt.Tx) error {
		if err := checkSchema(tx); err != nil {
			return err
		}
		for _, name := range buckets() {
			c := tx.Bucket(name).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				r.Rows[string(name)]++
				if _, err := unseal(v); err != nil {
					r.fault(fmt.Errorf("%s %q: %w", name, k, err))
				}
			}
		}
		r.Space = spaceOf(tx)
		return r.lookAtKeys(tx)
	})
	if err != nil {
		r.fault(err)
	}
}

// lookAtKeys checks that each key has its one row in expiry or frozen, and that there are no others.
func (r *Report) lookAtKeys(tx *bbolt.Tx) error {
	open := 0
	err := scan(tx, bucketKey, nil, func(key, value []byte) error {
		var k Key
		if err := decode(bucketKey, key, value, &k); err != nil {
			r.fault(err)
			return nil
		}
		row, bucket := append(moment(k.First), key...), bucketExpiry
		if k.Outcome == Unknown {
			open++
			row, bucket = key, bucketFrozen
		}
		if tx.Bucket(bucket).Get(row) == nil {
			r.fault(fmt.Errorf("%w: key %q has no row in %s", ErrDamaged, key, bucket))
		}
		return nil
	})
	if n := r.Rows["expiry"]; n != r.Rows["key"]-open {
		r.fault(fmt.Errorf("%w: %d rows in expiry for %d keys with an outcome", ErrDamaged, n, r.Rows["key"]-open))
	}
	if n := r.Rows["frozen"]; n != open {
		r.fault(fmt.Errorf("%w: %d rows in frozen for %d open keys", ErrDamaged, n, open))
	}
	return err
}
