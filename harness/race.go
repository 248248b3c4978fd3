package harness

import (
	"context"
	"sync"
)

// race carries out do for the numbers from first on below end, in order, so many at a time, until one returns true: those before it that
// are under way come to their end, those behind it are cut off. It returns the lowest number for which do returned true, -1 if there is
// none. So the outcome is the same however many workers there are. more, if set, is asked before each number whether to go on.
func race(ctx context.Context, first, end, workers int, more func() bool, do func(ctx context.Context, n int) bool) int {
	r := racing{next: first, end: end, won: -1, cancel: map[int]context.CancelFunc{}}
	var all sync.WaitGroup
	for range max(1, min(workers, end-first)) {
		all.Go(func() {
			for ctx.Err() == nil && (more == nil || more()) {
				n, mine, ok := r.take(ctx)
				if !ok {
					return
				}
				r.over(n, do(mine, n) && mine.Err() == nil)
			}
		})
	}
	all.Wait()
	return r.won
}

// racing is a race under way.
type racing struct {
	mu        sync.Mutex
	next, end int
	won       int
	cancel    map[int]context.CancelFunc // of those under way
}

func (r *racing) take(ctx context.Context) (n int, mine context.Context, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = r.next; n >= r.end {
		return 0, nil, false
	}
	r.next++
	mine, r.cancel[n] = context.WithCancel(ctx)
	return n, mine, true
}

func (r *racing) over(n int, won bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel[n]()
	delete(r.cancel, n)
	if !won || n >= r.end {
		return // behind a winner, even where it ended too early to be cut off
	}
	r.won, r.end = n, n
	for m, cancel := range r.cancel {
		if m > n {
			cancel()
		}
	}
}
