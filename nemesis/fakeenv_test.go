package nemesis

import (
	"container/heap"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"tidemark/world"
)

// fakeEnv is virtual time with coroutines, as the simulator has them: one function runs at a time, in an order that the calls
// alone decide.
type fakeEnv struct {
	seed    uint64
	now     time.Duration
	seq     int
	queue   wakes
	running *fakeTask
}

type fakeTask struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	wake  *wake
	woken bool
}

type wake struct {
	at   time.Duration
	seq  int
	task *fakeTask // nil when cancelled
}

type wakes []*wake

func (q wakes) Len() int { return len(q) }
func (q wakes) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q wakes) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *wakes) Push(x any)   { *q = append(*q, x.(*wake)) }
func (q *wakes) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

func (e *fakeEnv) schedule(t *fakeTask, at time.Duration) {
	e.seq++
	t.wake = &wake{at, e.seq, t}
	heap.Push(&e.queue, t.wake)
}

// run runs main and everything that it starts until nothing is left, and fails when somebody waits for ever.
func (e *fakeEnv) run(main func()) error {
	done := false
	e.Go("main", func() { main(); done = true })
	for e.queue.Len() > 0 {
		w := heap.Pop(&e.queue).(*wake)
		if w.task == nil {
			continue
		}
		e.now = max(e.now, w.at)
		e.running = w.task
		w.task.next()
		e.running = nil
	}
	if !done {
		return fmt.Errorf("at %v everybody waits for ever", e.now)
	}
	return nil
}

func (e *fakeEnv) Now() time.Duration { return e.now }

func (e *fakeEnv) Go(_ string, fn func()) {
	t := &fakeTask{}
	t.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		fn()
	})
	e.schedule(t, e.now)
}

func (e *fakeEnv) Sleep(d time.Duration) {
	if d > 0 {
		t := e.running
		e.schedule(t, e.now+d)
		t.yield(struct{}{})
	}
}

func (e *fakeEnv) Rand(purpose string, index int) *rand.Rand {
	return world.Stream(e.seed, purpose, index)
}

func (e *fakeEnv) NewSignal() world.Signal { return &fakeSignal{env: e} }

type fakeSignal struct {
	env     *fakeEnv
	waiters []*fakeTask
}

func (s *fakeSignal) Notify() {
	waiters := s.waiters
	s.waiters = nil
	for _, t := range waiters {
		t.woken = true
		if t.wake != nil {
			t.wake.task = nil
		}
		s.env.schedule(t, s.env.now)
	}
}

func (s *fakeSignal) Until(cond func() bool, timeout time.Duration) bool {
	end := s.env.now + timeout
	for !cond() {
		if timeout >= 0 && s.env.now >= end {
			return false
		}
		t := s.env.running
		t.woken, t.wake = false, nil
		s.waiters = append(s.waiters, t)
		if timeout >= 0 {
			s.env.schedule(t, end)
		}
		t.yield(struct{}{})
		if !t.woken {
			s.drop(t)
		}
	}
	return true
}

func (s *fakeSignal) drop(t *fakeTask) {
	for i, o := range s.waiters {
		if o == t {
			s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
			return
		}
	}
}

// realEnv is goroutines and the real clock, sped up, so that the race detector sees the runner at work.
type realEnv struct {
	begin time.Time
	speed time.Duration
}

func (e *realEnv) Now() time.Duration      { return time.Since(e.begin) * e.speed }
func (e *realEnv) Sleep(d time.Duration)   { time.Sleep(d / e.speed) }
func (e *realEnv) Go(_ string, fn func())  { go fn() }
func (e *realEnv) NewSignal() world.Signal { return &realSignal{env: e} }
func (e *realEnv) Rand(purpose string, index int) *rand.Rand {
	return world.Stream(1, purpose, index)
}

type realSignal struct {
	env     *realEnv
	mu      sync.Mutex
	changed chan struct{}
}

func (s *realSignal) current() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *realSignal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

func (s *realSignal) Until(cond func() bool, timeout time.Duration) bool {
	var expired <-chan time.Time
	if timeout >= 0 {
		timer := time.NewTimer(timeout / s.env.speed)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		changed := s.current()
		if cond() {
			return true
		}
		select {
		case <-changed:
		case <-expired:
			return cond()
		}
	}
}
