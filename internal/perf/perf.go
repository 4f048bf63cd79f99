// Package perf measures what a piece of work costs as a multiple of another one, its yardstick, on a
// machine that has other things to do.
//
// Its one hard rule: a number is a ratio of two works that were interleaved in one run, with the interval
// that it is known to; where that interval is too wide, the answer is that there is none.
//
// Both works are run in blocks of subject, yardstick, yardstick, subject, so that what slows the machine
// for longer than a block slows both, and what gets steadily slower within one weighs on both alike.
// Each block gives one ratio; the result is their median.
//
//	func BenchmarkLookup(b *testing.B) {
//		small, large := open(b, 300), open(b, 3_000_000)
//		perf.Compare(perf.CPU, perf.Work{Do: large.lookup}, perf.Work{Do: small.lookup}).Report(b, "look-up, 3,000,000 ÷ 300 keys")
//	}
//
// A comparison takes from two seconds to about ten, whatever b.N says. Since that is longer than the
// usual benchtime, such a benchmark runs once.
package perf

import (
	"runtime"
	"time"
)

const (
	fewest = 30  // blocks
	most   = 120 // blocks, when fewer do not tell

	shortest = 10 * time.Millisecond
	aim      = 20 * time.Millisecond
	longest  = 50 * time.Millisecond
)

// Clock is what the cost of a work is told by.
type Clock int

// CPU is for work that computes. Wall is for work that waits, as for a disk.
const (
	CPU Clock = iota
	Wall
)

// Work is something that can be done n times over. How often, a comparison decides: so that one
// measurement takes 10 to 50 ms, or once if that takes longer.
type Work struct {
	Prepare func(n int) // not measured; nil if there is nothing to prepare
	Do      func(n int)
}

// Compare measures subject ÷ yardstick by a clock, in 30 blocks, or up to 120 until that clock's ratio is known well enough.
func Compare(by Clock, subject, yardstick Work) Result {
	c := comparison{meter: newMeter(), collect: runtime.GC}
	before := stolen()
	r := c.run(by, subject, yardstick)
	r.Stolen = stolen() - before
	return r
}

// comparison holds what a test replaces.
type comparison struct {
	meter   func() reading
	collect func()
}

func (c comparison) run(by Clock, subject, yardstick Work) Result {
	a, b := c.calibrate(subject), c.calibrate(yardstick)
	r := Result{By: by}
	var cpu, wall []float64
	for blocks := fewest; ; blocks *= 2 {
		for ; r.Blocks < blocks; r.Blocks++ {
			s, y := c.block(subject, yardstick, a, b)
			per := float64(b) / float64(a)
			cpu = append(cpu, per*float64(s.cpu)/float64(y.cpu))
			wall = append(wall, per*float64(s.wall)/float64(y.wall))
			r.Switches += s.switches + y.switches
		}
		r.CPU, r.Wall = estimate(cpu), estimate(wall)
		if r.Ratio().Conclusive() || blocks == most {
			return r
		}
	}
}

// block measures subject and yardstick twice each, a and b times over.
func (c comparison) block(subject, yardstick Work, a, b int) (s, y reading) {
	c.collect()
	s = c.measure(subject, a)
	y = c.measure(yardstick, b)
	y = y.plus(c.measure(yardstick, b))
	s = s.plus(c.measure(subject, a))
	return s, y
}

func (c comparison) measure(w Work, n int) reading {
	if w.Prepare != nil {
		w.Prepare(n)
	}
	before := c.meter()
	w.Do(n)
	return c.meter().minus(before)
}

// calibrate returns how often a work is to be done for one measurement: the fewest known to be too often
// where no number fits.
func (c comparison) calibrate(w Work) int {
	few, many := 0, 1<<40
	for n := 1; many-few > 1; {
		took := c.measure(w, n).wall
		if took >= shortest {
			took = min(took, c.measure(w, n).wall) // the first may have been disturbed
		}
		switch {
		case took < shortest:
			few = n
		case took > longest:
			many = n
		default:
			return n
		}
		if n = scaled(n, took); n <= few || n >= many {
			n = few + (many-few)/2
		}
	}
	return many
}

// scaled returns the n that would take as long as is aimed for, at most ten times more or less than before.
func scaled(n int, took time.Duration) int {
	factor := float64(aim) / float64(max(took, 1))
	return max(1, int(float64(n)*min(max(factor, 0.1), 10)))
}
