package daemon_test

import (
	"testing"
	"time"
)

func TestSleepOfThreeDaysIsOneRun(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(20 * time.Minute)
		b.step.Add(int64(72 * time.Hour))
		b.pass(30 * time.Second)
		wantStarts(t, &d, "Jan 2 15:04", "Jan 1 00:15", "Jan 4 00:20")
		if said := b.lines("the clock was put forward, or the machine slept"); len(said) != 1 || said[0]["step"] != "72h0m0s" {
			t.Errorf("log says %v, want one step of 72h0m0s", said)
		}
		b.pass(25 * time.Minute)
		wantStarts(t, &d, "Jan 2 15:04", "Jan 1 00:15", "Jan 4 00:20", "Jan 4 00:30", "Jan 4 00:45")
	}, d.job("agency", "*/15 * * * *", time.Second))
}

func TestSleepInMidRunIsCaughtUpWhenTheRunEnds(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(2*time.Hour + time.Minute)
		b.step.Add(int64(72 * time.Hour))
		b.pass(20 * time.Minute)
		wantStarts(t, &d, "Jan 2 15:04", "Jan 1 02:00", "Jan 4 02:10")
	}, d.job("agency", "0 2 * * *", 10*time.Minute))
}

func TestClockPutBackMakesNeitherStormNorSilence(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		b.pass(65 * time.Minute)
		b.step.Add(int64(-time.Hour))
		b.pass(time.Hour)
		wantStarts(t, &d, "15:04", "00:15", "00:30", "00:45", "01:00", "00:15", "00:30", "00:45", "01:00")
		if said := b.lines("the clock was put back"); len(said) != 1 || said[0]["step"] != "-1h0m0s" {
			t.Errorf("log says %v, want one step of -1h0m0s", said)
		}
	}, d.job("agency", "*/15 * * * *", time.Second))
}

func TestClockNudgedIsNotSaid(t *testing.T) {
	var d diary
	inBubble(t, func(b *bubble) {
		b.start()
		for range 20 {
			b.step.Add(int64(-20 * time.Second))
			b.pass(45 * time.Second)
			b.step.Add(int64(20 * time.Second))
			b.pass(15 * time.Second)
		}
		wantStarts(t, &d, "15:04", "00:15")
		if said := b.lines("the clock was put back"); len(said) != 0 {
			t.Errorf("log says %v, want nothing", said)
		}
	}, d.job("agency", "*/15 * * * *", time.Second))
}
