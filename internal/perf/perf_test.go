package perf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// machine is one that costs what a test says. Its clocks move by the work alone.
type machine struct {
	clock     reading
	collected int
	did       []step
	block     int               // the block under way, from 1; 0 while calibrating
	noise     func(int) float64 // what a block makes the subject cost more; nil for nothing
}

// step is one measured call.
type step struct {
	who  string
	n    int
	took time.Duration
}

func (m *machine) comparison() comparison {
	return comparison{
		meter:   func() reading { return m.clock },
		collect: func() { m.collected++; m.block++ },
	}
}

// work costs so much processor and wall time each time.
func (m *machine) work(who string, cpu, wall time.Duration) Work {
	return Work{Do: func(n int) {
		factor := 1.0
		if m.noise != nil && who == "subject" && m.block > 0 {
			factor = m.noise(m.block)
		}
		took := time.Duration(factor * float64(n) * float64(wall))
		m.clock = m.clock.plus(reading{time.Duration(factor * float64(n) * float64(cpu)), took, 1})
		if m.block > 0 {
			m.did = append(m.did, step{who, n, took})
		}
	}}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-3*want }

func TestKnownRatios(t *testing.T) {
	const us = time.Microsecond
	tests := []struct {
		name               string
		subject, yardstick [2]time.Duration // CPU, wall
		by                 Clock
		cpu, wall          float64
	}{
		{"same", [2]time.Duration{us, us}, [2]time.Duration{us, us}, CPU, 1, 1},
		{"nine times", [2]time.Duration{9 * us, 9 * us}, [2]time.Duration{us, us}, CPU, 9, 9},
		{"a twelfth", [2]time.Duration{25 * us, 25 * us}, [2]time.Duration{300 * us, 300 * us}, CPU, 1.0 / 12, 1.0 / 12},
		{"waits as long, computes thrice", [2]time.Duration{30 * us, 130 * us}, [2]time.Duration{10 * us, 130 * us}, Wall, 3, 1},
		{"slow against quick", [2]time.Duration{time.Second, time.Second}, [2]time.Duration{us, us}, CPU, 1e6, 1e6},
		{"quicker than the clock", [2]time.Duration{40, 40}, [2]time.Duration{20, 20}, CPU, 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{}
			r := m.comparison().run(tt.by, m.work("subject", tt.subject[0], tt.subject[1]), m.work("yardstick", tt.yardstick[0], tt.yardstick[1]))
			if !near(r.CPU.Median, tt.cpu) || !near(r.Wall.Median, tt.wall) {
				t.Errorf("ratios = %v CPU, %v wall, want %v and %v", r.CPU.Median, r.Wall.Median, tt.cpu, tt.wall)
			}
			want := r.CPU
			if tt.by == Wall {
				want = r.Wall
			}
			if r.Ratio() != want || !r.Ratio().Conclusive() || r.Blocks != 30 {
				t.Errorf("result = %+v, want a conclusive one by the clock asked for in 30 blocks", r)
			}
		})
	}
}

func TestBlocksInterleaveSubjectAndYardstick(t *testing.T) {
	m := &machine{}
	r := m.comparison().run(CPU, m.work("subject", 7, 7), m.work("yardstick", 1000, 1000))
	var order []string
	for _, s := range m.did {
		order = append(order, s.who)
	}
	want := slices.Repeat([]string{"subject", "yardstick", "yardstick", "subject"}, 30)
	if !slices.Equal(order, want) {
		t.Errorf("order = %v, want 30 blocks of %v", order, want[:4])
	}
	if m.collected != 30 {
		t.Errorf("%d garbage collections, want one before each of 30 blocks", m.collected)
	}
	if r.Switches != 120 {
		t.Errorf("Switches = %d, want those of the 120 measurements", r.Switches)
	}
}

func TestMeasurementsTakeTenToFiftyMilliseconds(t *testing.T) {
	for _, cost := range []time.Duration{1, 333, time.Microsecond, 77 * time.Microsecond, 3 * time.Millisecond, 9 * time.Millisecond, 26 * time.Millisecond, 50 * time.Millisecond} {
		m := &machine{}
		m.comparison().run(Wall, m.work("subject", cost, cost), m.work("yardstick", 100, 100))
		for _, s := range m.did {
			if s.took < 10*time.Millisecond || s.took > 50*time.Millisecond {
				t.Fatalf("work of %s was done %d times in %s, want 10 to 50 ms", cost, s.n, s.took)
			}
		}
	}
}

func TestCalibrationOfUnevenWork(t *testing.T) {
	tests := []struct {
		name  string
		costs func(call, n int) time.Duration
	}{
		{"square", func(_, n int) time.Duration { return time.Duration(n * n * 600) }},
		{"cube", func(_, n int) time.Duration { return time.Duration(n * n * n * 9) }},
		{"a cliff", func(_, n int) time.Duration {
			return time.Duration(n)*time.Microsecond + time.Duration(max(0, n-50))*time.Millisecond
		}},
		{"disturbed once", func(call, n int) time.Duration {
			if call == 2 {
				return 30 * time.Millisecond
			}
			return time.Duration(n) * time.Microsecond
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, calls := &machine{}, 0
			subject := Work{Do: func(n int) {
				calls++
				m.clock.wall += tt.costs(calls, n)
			}}
			n := m.comparison().calibrate(subject)
			if took := tt.costs(1000, n); took < 10*time.Millisecond || took > 50*time.Millisecond {
				t.Errorf("calibrated to %d, which take %s, want 10 to 50 ms", n, took)
			}
		})
	}
}

func TestWorkThatCostsNothingIsCalibratedAllTheSame(t *testing.T) {
	m := &machine{}
	if n := m.comparison().calibrate(m.work("subject", 0, 0)); n < 1 {
		t.Errorf("calibrated to %d, want a number that can be done", n)
	}
}

func TestSlowWorkIsDoneOnceAtATime(t *testing.T) {
	m := &machine{}
	m.comparison().run(Wall, m.work("subject", time.Second, time.Second), m.work("yardstick", 100, 100))
	if m.did[0].n != 1 {
		t.Errorf("work of 1s was done %d times, want once", m.did[0].n)
	}
}

func TestPreparationIsNotMeasured(t *testing.T) {
	m := &machine{}
	subject := m.work("subject", 2000, 2000)
	ready := 0
	do := subject.Do
	subject.Prepare = func(n int) { m.clock.cpu += time.Hour; ready = n }
	subject.Do = func(n int) {
		if ready != n {
			t.Fatalf("prepared for %d, did %d", ready, n)
		}
		ready = 0
		do(n)
	}
	if r := m.comparison().run(CPU, subject, m.work("yardstick", 1000, 1000)); !near(r.CPU.Median, 2) {
		t.Errorf("ratio = %v, want 2", r.CPU.Median)
	}
}

func TestDriftCancels(t *testing.T) {
	m := &machine{}
	slower := func(w Work) Work {
		return Work{Do: func(n int) {
			before := m.clock
			w.Do(n)
			cost := m.clock.minus(before)
			m.clock.cpu += time.Duration(float64(cost.cpu) * 0.1 * float64(len(m.did)))
		}}
	}
	r := m.comparison().run(CPU, slower(m.work("subject", 1000, 1000)), slower(m.work("yardstick", 1000, 1000)))
	if !near(r.CPU.Median, 1) {
		t.Errorf("ratio = %v, want 1 on a machine that gets ever slower", r.CPU.Median)
	}
}

func TestDisturbedBlocksDoNotCount(t *testing.T) {
	m := &machine{noise: func(block int) float64 {
		if block%5 == 0 {
			return 8
		}
		return 1
	}}
	r := m.comparison().run(CPU, m.work("subject", 3000, 3000), m.work("yardstick", 1000, 1000))
	if !near(r.CPU.Median, 3) || !r.CPU.Conclusive() || r.Blocks != 30 {
		t.Errorf("result = %v, want 3 in 30 blocks", r)
	}
}

func TestWideIntervalTakesMoreBlocks(t *testing.T) {
	wild := func(until int) func(int) float64 {
		draw := rand.New(rand.NewPCG(3, 4))
		return func(block int) float64 {
			if block > until {
				return 1
			}
			return math.Exp(2 * draw.NormFloat64())
		}
	}
	tests := []struct {
		name       string
		noise      func(int) float64
		blocks     int
		conclusive bool
	}{
		{"wild at first", wild(30), 60, true},
		{"wild for long", wild(60), 120, true},
		{"wild to the end", wild(1000), 120, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{noise: tt.noise}
			r := m.comparison().run(CPU, m.work("subject", 1000, 1000), m.work("yardstick", 1000, 1000))
			if r.Blocks != tt.blocks || r.Ratio().Conclusive() != tt.conclusive {
				t.Errorf("result = %v, want %d blocks, conclusive %t", r, tt.blocks, tt.conclusive)
			}
			if inconclusive := strings.HasPrefix(r.String(), "inconclusive: "); inconclusive == tt.conclusive {
				t.Errorf("String = %q, want it to say inconclusive: %t", r, !tt.conclusive)
			}
		})
	}
}

func TestClockThatStandsStillGivesNoRatio(t *testing.T) {
	m := &machine{}
	r := m.comparison().run(CPU, m.work("subject", 0, 1000), m.work("yardstick", 0, 1000))
	if r.CPU != (Ratio{}) || r.CPU.Conclusive() || !near(r.Wall.Median, 1) {
		t.Errorf("result = %v, want no ratio by CPU and 1 by wall", r)
	}
}

func TestEstimate(t *testing.T) {
	ramp := make([]float64, 101)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	tests := []struct {
		name    string
		samples []float64
		want    Ratio
		within  float64 // of the interval's ends
	}{
		{"equal", []float64{2, 2, 2, 2}, Ratio{2, 2, 2}, 0},
		{"even", []float64{4, 1, 3, 2}, Ratio{2.5, 1, 4}, 0.5},
		// For the median of 101 the order statistics 41 and 61 bound 95 %.
		{"ramp", ramp, Ratio{50, 40, 60}, 2},
	}
	for _, tt := range tests {
		got := estimate(tt.samples)
		if got.Median != tt.want.Median || math.Abs(got.Low-tt.want.Low) > tt.within || math.Abs(got.High-tt.want.High) > tt.within {
			t.Errorf("estimate of %s = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestConclusiveUpToFifteenPercent(t *testing.T) {
	tests := []struct {
		ratio Ratio
		want  bool
	}{
		{Ratio{1, 1, 1}, true},
		{Ratio{2, 1.86, 2.15}, true},
		{Ratio{2, 1.84, 2.15}, false},
		{Ratio{}, false},
	}
	for _, tt := range tests {
		if got := tt.ratio.Conclusive(); got != tt.want {
			t.Errorf("%v is conclusive: %t, want %t", tt.ratio, got, tt.want)
		}
	}
}

// sheet is a benchmark that writes down what is reported.
type sheet struct {
	metrics map[string]float64
	log     string
}

func (s *sheet) ReportMetric(n float64, unit string)     { s.metrics[unit] = n }
func (s *sheet) Logf(format string, args ...interface{}) { s.log += fmt.Sprintf(format, args...) }

func TestReport(t *testing.T) {
	sure, unsure := Ratio{1.02, 0.98, 1.05}, Ratio{1.5, 1, 2}
	tests := []struct {
		result Result
		unit   string
		median float64
		log    string
	}{
		{
			Result{By: CPU, CPU: sure, Wall: unsure, Blocks: 30, Switches: 12, Stolen: 40 * time.Millisecond}, "ratio", 1.02,
			"look-up: CPU 1.02 (95 %: 0.98 to 1.05); wall 1.5 (95 %: 1 to 2); 30 blocks, 12 involuntary switches, 40ms stolen",
		},
		{
			Result{By: Wall, CPU: sure, Wall: unsure, Blocks: 120, Switches: 12}, "inconclusive", 1.5,
			"look-up: inconclusive: wall 1.5 (95 %: 1 to 2); CPU 1.02 (95 %: 0.98 to 1.05); 120 blocks, 12 involuntary switches, 0s stolen",
		},
		{
			Result{By: CPU, Wall: sure, Blocks: 120}, "inconclusive", 0,
			"look-up: inconclusive: CPU none; wall 1.02 (95 %: 0.98 to 1.05); 120 blocks, 0 involuntary switches, 0s stolen",
		},
	}
	for _, tt := range tests {
		s := &sheet{metrics: map[string]float64{"ns/op": -1}}
		tt.result.Report(s, "look-up")
		if got, ok := s.metrics[tt.unit]; !ok || got != tt.median || len(s.metrics) != 3 {
			t.Errorf("metrics = %v, want %s %v", s.metrics, tt.unit, tt.median)
		}
		if s.metrics["ns/op"] != 0 || s.metrics["switches"] != float64(tt.result.Switches) {
			t.Errorf("metrics = %v, want ns/op 0 and %d switches", s.metrics, tt.result.Switches)
		}
		if s.log != tt.log {
			t.Errorf("log = %q, want %q", s.log, tt.log)
		}
	}
}

func TestMeterCountsUp(t *testing.T) {
	meter := newMeter()
	before, after := meter(), meter()
	for after.cpu == before.cpu {
		after = meter()
	}
	if d := after.minus(before); d.cpu < 0 || d.wall <= 0 || d.switches < 0 {
		t.Errorf("clocks went on by %+v, want none to go back", d)
	}
}

func TestParseStolen(t *testing.T) {
	tests := []struct {
		stat string
		want time.Duration
	}{
		{"cpu  10 0 5 900 3 0 1 42 0 0\ncpu0 1 1 1 1 1 1 1 7 0 0\n", 420 * time.Millisecond},
		{"cpu  10 0 5 900\n", 0},
		{"cpu  10 0 5 900 3 0 1 many 0 0\n", 0},
		{"", 0},
	}
	for _, tt := range tests {
		if got := parseStolen(tt.stat); got != tt.want {
			t.Errorf("parseStolen(%q) = %s, want %s", tt.stat, got, tt.want)
		}
	}
}
