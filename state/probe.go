package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// probeArgument is the first argument of the child process that takes a look at a file.
const probeArgument = "__probe"

// probeWait is how long a probe may take.
const probeWait = 10 * time.Minute

// Report is what a look at a state file found.
type Report struct {
	Path   string         `json:"path"`
	Size   int64          `json:"size"`           // bytes
	Free   int64          `json:"free"`           // bytes on free pages
	Rows   map[string]int `json:"rows,omitempty"` // by bucket
	Faults []string       `json:"faults,omitempty"`
	Kind   string         `json:"kind,omitempty"` // of the first fault: damaged, newer or foreign
}

// Err returns what is wrong with the file; nil if nothing is.
func (r Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	kind := ErrDamaged
	switch r.Kind {
	case "newer":
		kind = ErrNewer
	case "foreign":
		kind = ErrForeign
	}
	text := r.Faults[0]
	if n := len(r.Faults) - 1; n > 0 {
		text = fmt.Sprintf("%s (and %d more)", text, n)
	}
	return fmt.Errorf("%w: %s", kind, text)
}

func (r *Report) fault(err error) {
	if len(r.Faults) == 0 {
		switch {
		case errors.Is(err, ErrNewer):
			r.Kind = "newer"
		case errors.Is(err, ErrForeign):
			r.Kind = "foreign"
		default:
			r.Kind = "damaged"
		}
	}
	const enough = 20
	if len(r.Faults) < enough {
		r.Faults = append(r.Faults, err.Error())
	}
}

// Check looks at the file at path in a child process: some damage ends a process that meets it, and that
// must not be this one. The program's main function has to hand its arguments to [Probe].
func Check(path string) (Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeWait)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return Report{}, fmt.Errorf("state probe: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, probeArgument, path)
	cmd.Env = []string{}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	runErr := cmd.Run()
	report := Report{Path: path}
	if err := json.Unmarshal(out.Bytes(), &report); err == nil && runErr == nil {
		return report, nil
	}
	if ctx.Err() != nil || runErr == nil {
		return report, fmt.Errorf("state probe of %s: no answer: %v", path, errors.Join(ctx.Err(), runErr))
	}
	report.fault(fmt.Errorf("%w: a process that read it died (%v)", ErrDamaged, runErr))
	return report, nil
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
		r.fault(foreign(path, err))
		return r
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		r.Size = tx.Size()
		for err := range tx.Check() {
			r.fault(err)
		}
		return nil
	})
	if err != nil {
		r.fault(err)
	}
	if len(r.Faults) == 0 {
		r.look(db)
	}
	return r
}

// foreign tells a file that never was a database from one that is damaged.
func foreign(path string, cause error) error {
	const magicAt, magic = 16, "\xed\xda\x0c\xed"
	f, err := os.Open(path)
	if err != nil {
		return cause
	}
	defer f.Close()
	for _, meta := range []int64{0, 4096} {
		head := make([]byte, magicAt+len(magic))
		if _, err := f.ReadAt(head, meta); err != nil && !errors.Is(err, io.EOF) {
			return cause
		}
		if string(head[magicAt:]) == magic {
			return fmt.Errorf("%w: %v", ErrDamaged, cause)
		}
	}
	return fmt.Errorf("%w, or damaged beyond that: %v", ErrForeign, cause)
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
		return r.lookAtKeys(tx)
	})
	if err != nil {
		r.fault(err)
	}
	stats := db.Stats()
	r.Free = int64(stats.FreePageN+stats.PendingPageN) * int64(db.Info().PageSize)
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
