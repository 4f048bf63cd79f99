package perf

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// reading is what the clocks of the process say, or the difference of two of them.
type reading struct {
	cpu, wall time.Duration
	switches  int64 // involuntary
}

func (r reading) plus(o reading) reading {
	return reading{r.cpu + o.cpu, r.wall + o.wall, r.switches + o.switches}
}

func (r reading) minus(o reading) reading {
	return reading{r.cpu - o.cpu, r.wall - o.wall, r.switches - o.switches}
}

// newMeter returns what reads the clocks. User and system time of all threads count.
func newMeter() func() reading {
	began := time.Now()
	return func() reading {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err) // only a wrong argument does this
		}
		return reading{
			cpu:      time.Duration(u.Utime.Nano() + u.Stime.Nano()),
			wall:     time.Since(began),
			switches: u.Nivcsw,
		}
	}
}

// stolen returns how long the host has run others while this machine wanted to run; zero where the
// system does not tell.
func stolen() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseStolen(string(stat))
}

// parseStolen reads the steal time out of /proc/stat, which counts in hundredths of a second.
func parseStolen(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks, err := strconv.ParseInt(fields[8], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
