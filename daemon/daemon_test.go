package daemon_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"tidemark/daemon"
)

const (
	minute  = "15:04:05"
	skipped = "start skipped, the last run has not ended"
)

func TestSlowRunIsSkippedAndCountedNeverDoubled(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(5*time.Minute + time.Second)
		wantStarts(t, &d, minute, "00:01:00", "00:03:00", "00:05:00")
		said := b.lines(skipped)
		if len(said) != 2 || said[1]["skipped"] != 2.0 || said[1]["running"] != "1m0s" {
			t.Errorf("log says %v, want two starts skipped and counted", said)
		}
	}, d.job("agency", "* * * * *", 90*time.Second))
}

func TestJobsRunSideBySide(t *testing.T) {
	var slow, quick diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(3*time.Minute + time.Second)
		wantStarts(t, &slow, minute, "00:01:00")
		wantStarts(t, &quick, minute, "00:01:00", "00:02:00", "00:03:00")
	}, slow.job("slow", "* * * * *", time.Hour), quick.job("quick", "* * * * *", time.Second))
}

func TestOverdueJobCatchesUpOnce(t *testing.T) {
	never := func() (time.Time, error) { return time.Time{}, nil }
	tests := []struct {
		name string
		last func() (time.Time, error)
		want []string
	}{
		{"never ran", never, []string{"00:00:05", "00:15:00"}},
		{"down for three days", ago(72 * time.Hour), []string{"00:00:05", "00:15:00"}},
		{"killed in mid-pass at midnight", ago(14 * time.Minute), []string{"00:00:05", "00:15:00"}},
		{"ran since the last slot", ago(time.Second), []string{"00:15:00"}},
		{"ran in the future", ago(-time.Hour), []string{"00:00:05", "00:15:00"}},
		{"cannot tell", func() (time.Time, error) { return time.Time{}, errLedger }, []string{"00:00:05", "00:15:00"}},
		{"keeps no record", nil, []string{"00:15:00"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d diary
			j := d.job("agency", "*/15 * * * *", time.Second)
			j.Last = tt.last
			inBubble(t, func(b *bubble) {
				b.pass(5 * time.Second)
				b.start()
				b.pass(16 * time.Minute)
				wantStarts(t, &d, minute, tt.want...)
			}, j)
		})
	}
}

func TestMissedSlotsOfARestartAreOneRun(t *testing.T) {
	var d diary
	var good time.Time
	j := d.job("agency", "*/15 * * * *", time.Second)
	run := j.Run
	j.Run = func(ctx context.Context, now time.Time) (daemon.Outcome, error) {
		defer func() { good = time.Now() }()
		return run(ctx, now)
	}
	j.Last = func() (time.Time, error) { return good, nil }
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(time.Minute)
		b.restart(72 * time.Hour)
		b.pass(15 * time.Minute)
		wantStarts(t, &d, "Jan 2 15:04", "Jan 1 00:00", "Jan 4 00:01", "Jan 4 00:15")
	}, j)
}

func TestUnreadableStateStopsBeforeAnyRun(t *testing.T) {
	var d diary
	j := d.job("agency", "* * * * *", time.Second)
	j.Last = func() (time.Time, error) { return time.Time{}, daemon.ErrFatal }
	inBubble(t, func(b *bubble) {
		b.start()
		if err := <-b.ended; !errors.Is(err, daemon.ErrFatal) || !strings.Contains(err.Error(), "agency") {
			t.Errorf("Run = %v, want ErrFatal of agency", err)
		}
		wantStarts(t, &d, minute)
	}, j)
}

func TestJitterStaysWithinItsBound(t *testing.T) {
	var d diary
	j := d.job("agency", "*/15 * * * *", time.Second)
	j.Jitter = 90 * time.Second
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(100*15*time.Minute + 5*time.Minute)
	}, j)
	starts := d.read()
	if len(starts) != 100 {
		t.Fatalf("%d starts, want 100", len(starts))
	}
	late := map[time.Duration]bool{}
	for i, at := range starts {
		by := at.Sub(time.Date(2000, 1, 1, 0, 15*(i+1), 0, 0, time.UTC))
		if by < 0 || by > j.Jitter {
			t.Errorf("start %d is %s late, want between 0 and %s", i, by, j.Jitter)
		}
		late[by] = true
	}
	if len(late) < 2 {
		t.Errorf("all starts are equally late, as %s, want them spread", starts[0])
	}
}

func TestFirstStartIsSpreadToo(t *testing.T) {
	var d diary
	j := d.job("agency", "*/15 * * * *", time.Second)
	j.Jitter = 90 * time.Second
	for range 10 {
		inBubble(t, func(b *bubble) {
			b.start()
			b.pass(17 * time.Minute)
		}, j)
	}
	starts := d.read()
	if len(starts) != 10 {
		t.Fatalf("%d starts of 10 daemons, want 10", len(starts))
	}
	if !slices.ContainsFunc(starts, func(at time.Time) bool { return !at.Equal(starts[0]) }) {
		t.Errorf("all of them start at %s, want them spread", starts[0])
	}
}

func TestJitterNeverReachesTheNextSlot(t *testing.T) {
	var d diary
	j := d.job("agency", "* * * * *", time.Second)
	j.Jitter = time.Hour
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(60*time.Minute + 45*time.Second)
	}, j)
	if n := len(d.read()); n != 60 {
		t.Errorf("%d starts in an hour of minutes, want 60", n)
	}
}

func TestRunIsCancelledAtItsDeadline(t *testing.T) {
	var d diary
	j := d.job("agency", "0 * * * *", 24*time.Hour)
	j.Deadline = 10 * time.Minute
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(2*time.Hour + 11*time.Minute)
		wantStarts(t, &d, minute, "01:00:00", "02:00:00")
		runs := b.lines("run")
		if len(runs) != 2 || runs[0]["outcome"] != "deadline" || runs[0]["took"] != "10m0s" || runs[0]["level"] != "warn" {
			t.Errorf("runs = %v, want two that ended at the deadline of 10m0s", runs)
		}
	}, j)
}

func TestPanicIsTheErrorOfItsRunAlone(t *testing.T) {
	var good, bad diary
	j := bad.job("broken", "* * * * *", 0)
	run := j.Run
	j.Run = func(ctx context.Context, now time.Time) (daemon.Outcome, error) {
		_, _ = run(ctx, now)
		panic("index out of range")
	}
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(2*time.Minute + time.Second)
		wantStarts(t, &good, minute, "00:01:00", "00:02:00")
		wantStarts(t, &bad, minute, "00:01:00", "00:02:00")
		stacks := b.lines("panic")
		if len(stacks) != 2 || stacks[0]["level"] != "debug" || !strings.Contains(stacks[0]["stack"].(string), "daemon_test.go") {
			t.Errorf("stacks = %v, want two at debug level that name this file", stacks)
		}
		i := slices.IndexFunc(b.lines("run"), func(l map[string]any) bool { return l["job"] == "broken" })
		if line := b.lines("run")[i]; line["outcome"] != "panic" || line["level"] != "error" || line["error"] != "panic: index out of range" {
			t.Errorf("run = %v, want a panic at error level", line)
		}
	}, good.job("sound", "* * * * *", 0), j)
}

func TestFatalErrorStopsTheOthersAndEndsRun(t *testing.T) {
	var other diary
	j := daemon.Job{Name: "agency", Schedule: schedule("1 * * * *"), Deadline: time.Minute,
		Run: func(context.Context, time.Time) (daemon.Outcome, error) {
			return nil, errors.Join(daemon.ErrFatal, errors.New("commit: input/output error"))
		}}
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(90 * time.Second)
		if err := <-b.ended; !errors.Is(err, daemon.ErrFatal) || !strings.Contains(err.Error(), "agency") {
			t.Errorf("Run = %v, want ErrFatal of agency", err)
		}
		got := map[any]any{}
		for _, l := range b.lines("run") {
			got[l["job"]] = l["outcome"].(string) + " " + l["level"].(string)
		}
		if got["agency"] != "fatal fatal" || got["other"] != "stopped info" {
			t.Errorf("runs = %v, want agency fatal and other stopped", got)
		}
	}, j, other.job("other", "* * * * *", time.Hour))
}

func TestStopCancelsAtOnceAndWaits(t *testing.T) {
	var cancelled, finished time.Duration
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(90 * time.Second)
		asked := time.Now()
		b.stop()
		if err := <-b.ended; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		finished = time.Since(asked)
		if cancelled != 90*time.Second || finished != 9*time.Second {
			t.Errorf("cancelled at %s, ended after %s, want at 1m30s and after 9s", cancelled, finished)
		}
	}, daemon.Job{Name: "agency", Schedule: schedule("1 * * * *"), Deadline: time.Hour,
		Run: func(ctx context.Context, _ time.Time) (daemon.Outcome, error) {
			<-ctx.Done()
			cancelled = time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
			time.Sleep(9 * time.Second) // the record in hand
			return nil, ctx.Err()
		}})
}

func TestFatalErrorOfTheRecordInHandIsNotLost(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(90 * time.Second)
		b.stop()
		if err := <-b.ended; !errors.Is(err, daemon.ErrFatal) {
			t.Errorf("Run = %v, want ErrFatal", err)
		}
	}, daemon.Job{Name: "agency", Schedule: schedule("1 * * * *"), Deadline: time.Hour,
		Run: func(ctx context.Context, _ time.Time) (daemon.Outcome, error) {
			<-ctx.Done()
			return nil, daemon.ErrFatal
		}})
}

func TestStopNamesTheJobThatDoesNot(t *testing.T) {
	var release chan struct{} // made in the bubble, as its channels have to be
	var d diary
	inBubble(t, func(b *bubble) {
		release = make(chan struct{})
		b.start()
		b.pass(90 * time.Second)
		asked := time.Now()
		b.stop()
		err := <-b.ended
		if err == nil || !strings.Contains(err.Error(), "stuck") || strings.Contains(err.Error(), "willing") {
			t.Errorf("Run = %v, want an error that names stuck alone", err)
		}
		if took := time.Since(asked); took != 10*time.Second {
			t.Errorf("Run ended after %s, want 10s", took)
		}
		close(release)
	}, d.job("willing", "1 * * * *", time.Hour), daemon.Job{Name: "stuck", Schedule: schedule("1 * * * *"), Deadline: time.Hour,
		Run: func(context.Context, time.Time) (daemon.Outcome, error) {
			<-release
			return nil, nil
		}})
}

func TestStopWhileNothingRunsIsImmediate(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(time.Second)
		b.stop()
		synctest.Wait()
		select {
		case err := <-b.ended:
			if err != nil {
				t.Errorf("Run = %v, want nil", err)
			}
		default:
			t.Error("Run goes on, want it ended")
		}
	}, d.job("agency", "* * * * *", 0))
}

type counts struct{ Weeks, Created int }

func (c counts) MarshalZerologObject(e *zerolog.Event) {
	e.Int("weeks", c.Weeks).Int("created", c.Created)
}

func TestEachRunIsOneLine(t *testing.T) {
	tests := []struct {
		name    string
		outcome daemon.Outcome
		err     error
		want    map[string]any
	}{
		{"good", counts{40, 3}, nil, map[string]any{"level": "info", "outcome": "done", "weeks": 40.0, "created": 3.0}},
		{"bad, with what it did", counts{40, 1}, errLedger, map[string]any{"level": "error", "outcome": "failed", "weeks": 40.0, "created": 1.0, "error": "ledger: 503"}},
		{"nothing to say", nil, nil, map[string]any{"level": "info", "outcome": "done"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := daemon.Job{Name: "agency", Schedule: schedule("0 1 * * *"), Deadline: time.Hour,
				Run: func(context.Context, time.Time) (daemon.Outcome, error) {
					time.Sleep(1500 * time.Millisecond)
					return tt.outcome, tt.err
				}}
			inBubble(t, func(b *bubble) {
				b.start()
				b.pass(2 * time.Hour)
				tt.want["message"], tt.want["job"], tt.want["took"] = "run", "agency", "1.5s"
				tt.want["next"] = "2000-01-02T01:00:00.000Z"
				if runs := b.lines("run"); len(runs) != 1 || !equalFields(runs[0], tt.want) {
					t.Errorf("runs = %v, want one: %v", runs, tt.want)
				}
			}, j)
		})
	}
}

func equalFields(got, want map[string]any) bool {
	for k, v := range want {
		if got[k] != v {
			return false
		}
	}
	return len(got) == len(want)
}
