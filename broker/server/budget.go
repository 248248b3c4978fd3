package server

import (
	"fmt"
	"sync"
	"time"
)

// budget bounds the bytes of requests that are being read or wait for the loop (queued.max.request.bytes). One request is always
// admitted, however large.
type budget struct {
	max  int
	mu   sync.Mutex
	used int
	wake chan struct{} // closed when bytes are given back; nil while no one waits
}

func newBudget(most int64) *budget { return &budget{max: int(most)} }

// take takes n bytes, and waits for them at most so long, or until dead is closed.
func (b *budget) take(n int, dead <-chan struct{}, patience time.Duration) error {
	var timer *time.Timer
	for {
		wake, ok := b.try(n)
		if ok {
			return nil
		}
		if timer == nil {
			timer = time.NewTimer(patience)
			defer timer.Stop()
		}
		select {
		case <-wake:
		case <-dead:
			return fmt.Errorf("closed while it waited for %d bytes", n)
		case <-timer.C:
			return fmt.Errorf("no room for %d bytes of a request within %v", n, patience)
		}
	}
}

func (b *budget) try(n int) (wake <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == 0 || b.used+n <= b.max {
		b.used += n
		return nil, true
	}
	if b.wake == nil {
		b.wake = make(chan struct{})
	}
	return b.wake, false
}

// give gives n bytes back.
func (b *budget) give(n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}

// taken is how many bytes are in use.
func (b *budget) taken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
