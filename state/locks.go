package state

import (
	"slices"
	"sync"
)

// locks is one lock a name. The zero locks is ready to use.
type locks struct {
	mu   sync.Mutex
	held map[string]*sync.Mutex
}

// Lock takes the locks of all names, always in the same order, and returns what gives them back. A name is
// a reference, or what else only one at a time may work on. Everything that works over one store shares them:
// passes, backfills, people, and the engines before and after a new config was read.
func (s *Store) Lock(names ...string) (unlock func()) { return s.locks.lock(names) }

// lock takes the locks of all names, always in the same order, and returns what gives them back.
func (l *locks) lock(names []string) (unlock func()) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	taken := make([]*sync.Mutex, len(names))
	for i, name := range names {
		taken[i] = l.of(name)
		taken[i].Lock()
	}
	return func() {
		for _, m := range taken {
			m.Unlock()
		}
	}
}

func (l *locks) of(name string) *sync.Mutex {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]*sync.Mutex{}
	}
	if l.held[name] == nil {
		l.held[name] = &sync.Mutex{}
	}
	return l.held[name]
}
