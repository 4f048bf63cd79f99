package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
	"github.com/rs/zerolog"

	"tidemark/daemon"
)

// bubble is a daemon in fake time, with a wall clock that can be set and a log that can be read. Its time
// begins at midnight UTC on 1 January 2000.
type bubble struct {
	t      *testing.T
	jobs   func() ([]daemon.Job, error) // what Load gives
	step   atomic.Int64                 // how far the wall clock was set
	reload chan func(error)
	stop   context.CancelFunc
	ended  chan error
	log    journal
}

// inBubble runs a test of a daemon that loads these jobs first.
func inBubble(t *testing.T, f func(b *bubble), jobs ...daemon.Job) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, reload: make(chan func(error), 8), ended: make(chan error, 1)}
		b.load(jobs...)
		defer func() {
			if b.stop != nil {
				b.stop()
			}
		}()
		f(b)
	})
}

func (b *bubble) load(jobs ...daemon.Job) {
	b.jobs = func() ([]daemon.Job, error) { return jobs, nil }
}

func (b *bubble) now() time.Time {
	return time.Now().Add(time.Duration(b.step.Load()))
}

func (b *bubble) start() {
	d := &daemon.Daemon{
		Load: func(context.Context) ([]daemon.Job, error) { return b.jobs() },
		Log:  zerolog.New(&b.log),
		Now:  b.now,
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	go func() { b.ended <- d.Run(ctx, b.reload) }()
	synctest.Wait()
}

// restart stops the daemon in good order and starts it again after a while.
func (b *bubble) restart(after time.Duration) {
	b.t.Helper()
	b.stop()
	if err := <-b.ended; err != nil {
		b.t.Fatalf("Run = %v, want nil", err)
	}
	b.pass(after)
	b.start()
}

func (b *bubble) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bubble) reloadNow() {
	b.reload <- nil
	synctest.Wait()
}

// lines returns the log lines with a message.
func (b *bubble) lines(message string) (found []map[string]any) {
	b.t.Helper()
	for line := range bytes.Lines(b.log.read()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			b.t.Fatalf("log line %s: %v", line, err)
		}
		if fields["message"] == message {
			found = append(found, fields)
		}
	}
	return found
}

// journal is a log that can be read while it is written.
type journal struct {
	mu  sync.Mutex
	out []byte
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.out = append(j.out, line...)
	return len(line), nil
}

func (j *journal) read() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.out)
}

// diary writes down when a job started, by the wall clock.
type diary struct {
	mu     sync.Mutex
	starts []time.Time
}

func (d *diary) write(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts = append(d.starts, now)
}

func (d *diary) read() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.starts)
}

func (d *diary) format(location *time.Location, layout string) (out []string) {
	for _, t := range d.read() {
		out = append(out, t.In(location).Format(layout))
	}
	return out
}

// job returns a job whose runs take some time, or until they are cancelled, and are written down.
func (d *diary) job(name, spec string, takes time.Duration) daemon.Job {
	return daemon.Job{
		Name: name, Schedule: schedule(spec), Deadline: time.Hour,
		Run: func(ctx context.Context, now time.Time) (daemon.Outcome, error) {
			d.write(now)
			select {
			case <-time.After(takes):
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

func schedule(spec string) daemon.Schedule {
	s, err := cron.ParseStandard(spec)
	if err != nil {
		panic(err)
	}
	return s
}

// ago is a Last that says when the job last ran well.
func ago(d time.Duration) func() (time.Time, error) {
	return func() (time.Time, error) { return time.Now().Add(-d), nil }
}

func wantStarts(t *testing.T, d *diary, layout string, want ...string) {
	t.Helper()
	if got := d.format(time.UTC, layout); !slices.Equal(got, want) {
		t.Errorf("starts = %v, want %v", got, want)
	}
}

var errLedger = errors.New("ledger: 503")
