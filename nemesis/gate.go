package nemesis

import (
	"sync"

	"tidemark/world"
)

// gate is a lock that may be held across calls that block: in the simulator a sync.Mutex must not be, as whoever waits for it
// would stop the one thread.
type gate struct {
	mu   sync.Mutex
	held bool
	free world.Signal
}

func (g *gate) lock() {
	for !g.try() {
		g.free.Until(func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return !g.held
		}, -1)
	}
}

func (g *gate) try() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	took := !g.held
	g.held = true
	return took
}

func (g *gate) unlock() {
	g.mu.Lock()
	g.held = false
	g.mu.Unlock()
	g.free.Notify()
}
