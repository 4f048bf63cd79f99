// Package fault lets a test end the process for real at a named point of the program.
//
// Its one hard rule: it does nothing at all unless the environment names the point, and it is never
// used to change a decision.
package fault

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Env is the variable that names the point to die at, as "point" or "point:3" for the third time
// that the point is reached.
const Env = "TIDEMARK_FAULT"

// Points kills the process with SIGKILL when the point that the environment named is reached.
// The zero Points never kills.
type Points struct {
	name string
	left atomic.Int64
}

// FromEnvironment reads [Env] once.
func FromEnvironment() *Points {
	name, count, counted := strings.Cut(os.Getenv(Env), ":")
	p := &Points{name: name}
	p.left.Store(1)
	if n, err := strconv.ParseInt(count, 10, 64); counted && err == nil {
		p.left.Store(n)
	}
	return p
}

// Hit says that the program has reached a point. A nil Points is allowed.
func (p *Points) Hit(point string) {
	if p == nil || p.name == "" || p.name != point {
		return
	}
	if p.left.Add(-1) > 0 {
		return
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}
