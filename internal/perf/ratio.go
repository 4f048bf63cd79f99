package perf

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	tolerance = 0.15 // of the median, for the whole interval
	resamples = 2000
)

// Ratio is a median with the interval that it lies in with 95 % probability. The zero Ratio is one that
// could not be taken, since a clock stood still.
type Ratio struct{ Median, Low, High float64 }

// Conclusive reports whether the interval is no wider than 15 % of the median.
func (r Ratio) Conclusive() bool {
	return r.Median > 0 && r.High-r.Low <= tolerance*r.Median
}

func (r Ratio) String() string {
	if r.Median == 0 {
		return "none"
	}
	return fmt.Sprintf("%.3g (95 %%: %.3g to %.3g)", r.Median, r.Low, r.High)
}

// estimate returns the median of samples and its interval, by the percentile bootstrap. It always draws
// the same, so that the same samples give the same interval.
func estimate(samples []float64) Ratio {
	if slices.ContainsFunc(samples, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return Ratio{}
	}
	draw := rand.New(rand.NewPCG(1, 2))
	medians, again := make([]float64, resamples), make([]float64, len(samples))
	for i := range medians {
		for k := range again {
			again[k] = samples[draw.IntN(len(samples))]
		}
		medians[i] = median(again)
	}
	slices.Sort(medians)
	return Ratio{median(slices.Clone(samples)), medians[resamples*25/1000], medians[resamples*975/1000-1]}
}

// median sorts what it is given.
func median(x []float64) float64 {
	slices.Sort(x)
	half := len(x) / 2
	if len(x)%2 == 1 {
		return x[half]
	}
	return (x[half-1] + x[half]) / 2
}

// Result is what a comparison found.
type Result struct {
	By        Clock
	CPU, Wall Ratio
	Blocks    int
	Switches  int64         // how often a measured thread had to give way to others
	Stolen    time.Duration // what the host took from this machine meanwhile, all processors together
}

// Ratio returns the ratio by the clock that was asked for.
func (r Result) Ratio() Ratio {
	if r.By == Wall {
		return r.Wall
	}
	return r.CPU
}

func (r Result) String() string {
	asked, other := "CPU", fmt.Sprintf("wall %s", r.Wall)
	if r.By == Wall {
		asked, other = "wall", fmt.Sprintf("CPU %s", r.CPU)
	}
	verdict := ""
	if !r.Ratio().Conclusive() {
		verdict = "inconclusive: "
	}
	return fmt.Sprintf("%s%s %s; %s; %d blocks, %d involuntary switches, %s stolen", verdict, asked, r.Ratio(), other, r.Blocks, r.Switches, r.Stolen)
}

// Benchmark is what [Result.Report] needs of a *testing.B.
type Benchmark interface {
	ReportMetric(n float64, unit string)
	Logf(format string, args ...any)
}

// Report makes the ratio the benchmark's result and writes the whole of it under a name into the
// benchmark's log. The unit is "ratio", or "inconclusive" so that nothing compares it.
func (r Result) Report(b Benchmark, name string) {
	unit := "ratio"
	if !r.Ratio().Conclusive() {
		unit = "inconclusive"
	}
	b.ReportMetric(0, "ns/op") // hides the time of the comparison itself, which says nothing
	b.ReportMetric(r.Ratio().Median, unit)
	b.ReportMetric(float64(r.Switches), "switches")
	b.Logf("%s: %s", name, r)
}
