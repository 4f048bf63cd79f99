package daemon_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/daemon"
)

func TestReloadTwiceLeavesOneEntry(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(30 * time.Second)
		b.reloadNow()
		b.reloadNow()
		b.pass(2 * time.Minute)
		wantStarts(t, &d, minute, "00:01:00", "00:02:00")
		if n := len(b.lines("reloaded")); n != 2 {
			t.Errorf("%d reloads, want 2", n)
		}
	}, d.job("agency", "* * * * *", time.Second))
}

func TestReloadDoesNotRepeatARunOrLoseOne(t *testing.T) {
	var d diary
	j := d.job("agency", "@every 10m", time.Second)
	j.Last = func() (time.Time, error) { return time.Time{}, nil }
	inBubble(t, func(b *bubble) {
		b.start()
		for range 7 {
			b.pass(3 * time.Minute)
			b.reloadNow()
		}
		wantStarts(t, &d, minute, "00:00:00", "00:10:00", "00:20:00")
	}, j)
}

func TestReloadOfBadConfigKeepsTheOldJobs(t *testing.T) {
	twice := daemon.Job{Name: "agency", Schedule: schedule("@daily"), Deadline: time.Hour, Run: new(diary).job("", "@daily", 0).Run}
	endless := twice
	endless.Deadline = 0
	tests := []struct {
		name string
		load func() ([]daemon.Job, error)
		says string
	}{
		{"an error", func() ([]daemon.Job, error) { return nil, errLedger }, "ledger: 503"},
		{"a panic", func() ([]daemon.Job, error) { panic("slice bounds") }, "slice bounds"},
		{"one name twice", func() ([]daemon.Job, error) { return []daemon.Job{twice, twice}, nil }, "agency: is there twice"},
		{"no deadline", func() ([]daemon.Job, error) { return []daemon.Job{endless}, nil }, "agency: no deadline"},
		{"nothing to run", func() ([]daemon.Job, error) { return []daemon.Job{{Name: "x"}}, nil }, "job x: nothing to run"},
		{"no name", func() ([]daemon.Job, error) { return []daemon.Job{{}}, nil }, "no name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d diary
			inBubble(t, func(b *bubble) {
				b.start()
				b.pass(90 * time.Second)
				b.jobs = tt.load
				b.reloadNow()
				b.pass(time.Minute)
				wantStarts(t, &d, minute, "00:01:00", "00:02:00")
				said := b.lines("reload refused, the old jobs go on")
				if len(said) != 1 || said[0]["level"] != "error" || !strings.Contains(said[0]["error"].(string), tt.says) {
					t.Errorf("log says %v, want one refusal with %q", said, tt.says)
				}
			}, d.job("agency", "* * * * *", time.Second))
		})
	}
}

func TestFirstLoadMustSucceed(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.jobs = func() ([]daemon.Job, error) { return nil, errLedger }
		b.start()
		if err := <-b.ended; err == nil || err.Error() != "daemon: load: ledger: 503" {
			t.Errorf("Run = %v, want daemon: load: ledger: 503", err)
		}
	})
}

func TestStopDuringTheFirstLoadIsInGoodOrder(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.jobs = func() ([]daemon.Job, error) {
			time.Sleep(time.Second)
			return nil, fmt.Errorf("config: %w", context.Canceled)
		}
		b.start()
		b.stop()
		if err := <-b.ended; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

func TestReloadInMidRunNeverDoublesIt(t *testing.T) {
	var before, after diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(90 * time.Second)
		b.load(after.job("agency", "* * * * *", time.Second))
		b.reloadNow()
		b.pass(3 * time.Minute)
		wantStarts(t, &before, minute, "00:01:00")
		wantStarts(t, &after, minute, "00:04:00")
		if runs := b.lines("run"); len(runs) != 2 || runs[0]["took"] != "2m30s" || runs[0]["outcome"] != "done" {
			t.Errorf("runs = %v, want the old one to end by itself after 2m30s", runs)
		}
	}, before.job("agency", "* * * * *", 150*time.Second))
}

func TestJobTakenAwayAndBroughtBackInMidRun(t *testing.T) {
	var before, after diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(90 * time.Second)
		b.load()
		b.reloadNow()
		b.pass(time.Minute)
		b.load(after.job("agency", "* * * * *", time.Second))
		b.reloadNow()
		b.pass(2 * time.Minute)
		wantStarts(t, &before, minute, "00:01:00")
		wantStarts(t, &after, minute, "00:04:00")
	}, before.job("agency", "* * * * *", 150*time.Second))
}

func TestJobTakenAwayStopsAfterItsRun(t *testing.T) {
	for _, step := range []time.Duration{0, -30 * time.Minute} {
		var d diary
		inBubble(t, func(b *bubble) {
			b.start()
			b.pass(61 * time.Second)
			b.load()
			b.reloadNow()
			b.step.Add(int64(step))
			b.pass(10 * time.Minute)
			wantStarts(t, &d, minute, "00:01:00")
			if n := len(b.lines("run")); n != 1 {
				t.Errorf("clock moved by %s: %d run lines, want 1", step, n)
			}
			if said := b.lines(skipped); len(said) != 0 {
				t.Errorf("clock moved by %s: log says %v, want no start skipped", step, said)
			}
		}, d.job("agency", "* * * * *", 5*time.Minute))
	}
}

func TestJobBroughtBackAfterItsRunIsNew(t *testing.T) {
	var d diary
	j := d.job("agency", "*/5 * * * *", time.Second)
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(5 * time.Minute)
		b.load()
		b.reloadNow()
		b.pass(7 * time.Minute)
		b.load(j)
		b.reloadNow()
		b.pass(4 * time.Minute)
		wantStarts(t, &d, minute, "00:05:00", "00:15:00")
	}, j)
}

func TestFasterScheduleInMidRunSkipsNothingOfThePast(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(time.Hour + 10*time.Minute + time.Second)
		b.load(d.job("agency", "* * * * *", time.Second))
		b.reloadNow()
		b.pass(2 * time.Minute)
		wantStarts(t, &d, "15:04", "01:00")
		if said := b.lines(skipped); len(said) != 2 {
			t.Errorf("log says %v, want the two starts skipped that came since the reload", said)
		}
	}, d.job("agency", "0 1 * * *", 30*time.Minute))
}

func TestReloadTakesTheNewSchedule(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(2*time.Hour + 7*time.Minute)
		b.load(d.job("agency", "*/15 * * * *", time.Second))
		b.reloadNow()
		b.pass(10 * time.Minute)
		wantStarts(t, &d, "15:04", "02:00", "02:15")
	}, d.job("agency", "0 2 * * *", time.Second))
}
