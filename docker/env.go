package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"tidemark/world"
)

// Env is a world.Env of goroutines and the real clock. When its context ends, every function that waits in it is unwound.
type Env struct {
	seed    uint64
	ctx     context.Context
	cancel  context.CancelFunc
	started time.Time

	mu   sync.Mutex
	live map[string]int // names of what runs
	idle chan struct{}  // closed while nothing runs
}

var _ world.Env = (*Env)(nil)

// NewEnv starts the clock.
func NewEnv(ctx context.Context, seed uint64) *Env {
	e := &Env{seed: seed, started: time.Now(), live: map[string]int{}, idle: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancel(ctx)
	close(e.idle)
	return e
}

// unwindBound is how long functions may take to notice that the run is over: longer than any one request.
const unwindBound = 15 * time.Second

// errUnwound is what is left of a main that did not return.
var errUnwound = errors.New("the run was interrupted")

// Run runs main and returns when it does, with its error, or when the context ends, with why. What still waits then is unwound.
func (e *Env) Run(main func() error) error {
	result := make(chan error, 1)
	e.Go("main", func() {
		err := errUnwound
		defer func() { result <- err }()
		err = main()
	})
	err := <-result
	e.cancel()
	select {
	case <-e.quiet():
		return err
	case <-time.After(unwindBound):
		return fmt.Errorf("these still run %v after the run's end: %s (the run: %w)", unwindBound, e.running(), err)
	}
}

// quiet is closed when nothing runs.
func (e *Env) quiet() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.idle
}

func (e *Env) running() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var names []string
	for name, n := range e.live {
		names = append(names, fmt.Sprintf("%s (%d)", name, n))
	}
	return strings.Join(names, ", ")
}

// Now is the time since the run's start.
func (e *Env) Now() time.Duration { return time.Since(e.started) }

// Sleep blocks the calling function for d.
func (e *Env) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.ctx.Done():
		runtime.Goexit()
	}
}

// Go runs fn concurrently.
func (e *Env) Go(name string, fn func()) {
	e.mu.Lock()
	if len(e.live) == 0 {
		e.idle = make(chan struct{})
	}
	e.live[name]++
	e.mu.Unlock()
	go func() {
		defer e.ended(name)
		fn()
	}()
}

func (e *Env) ended(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[name]--; e.live[name] == 0 {
		delete(e.live, name)
	}
	if len(e.live) == 0 {
		close(e.idle)
	}
}

// Rand returns the random stream of that name, from its beginning.
func (e *Env) Rand(purpose string, index int) *rand.Rand { return world.Stream(e.seed, purpose, index) }

// NewSignal returns a signal that nobody waits on yet.
func (e *Env) NewSignal() world.Signal { return &signal{ctx: e.ctx} }

// signal is a world.Signal: whoever waits holds the channel that the next Notify closes.
type signal struct {
	ctx context.Context

	mu   sync.Mutex
	next chan struct{} // nil while nobody waits
}

// Notify makes every waiter look at its condition again.
func (s *signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// Until blocks until cond returns true, or for timeout, if that is not negative.
func (s *signal) Until(cond func() bool, timeout time.Duration) bool {
	var over <-chan time.Time
	if timeout >= 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		over = t.C
	}
	for {
		changed := s.changed() // before cond looks, so that no change is missed
		if cond() {
			return true
		}
		select {
		case <-changed:
		case <-over:
			return cond()
		case <-s.ctx.Done():
			runtime.Goexit()
		}
	}
}

func (s *signal) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}
