package sim

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// coroutinesMax bounds the coroutines that live at one time.
const coroutinesMax = 20_000

// coroutine is a function of the harness that runs as blocking code: it runs until it waits for something, and the event loop
// goes on with it when that has come. Only one runs at a time; iter.Pull switches stacks without Go's scheduler.
type coroutine struct {
	w     *World
	name  string
	index int // in World.live
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	wake  event

	cond  func() bool // of Signal.Until: what it waits for
	woken bool        // it was woken by what it waited for, not by its timeout
}

// errStopped unwinds a coroutine that is still waiting when the run is over.
var errStopped = errors.New("the run is over")

// Go starts fn as a coroutine; it runs when the caller next waits.
func (w *World) Go(name string, fn func()) {
	if len(w.live) >= coroutinesMax {
		w.fail(fmt.Errorf("coroutine %q would be the %dth alive, at most %d may live at once", name, len(w.live)+1, coroutinesMax))
		return
	}
	c := &coroutine{w: w, name: name, index: len(w.live)}
	c.wake.h = c
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != errStopped { //nolint:errorlint // the very value that park panics with
				w.fail(fmt.Errorf("coroutine %q panicked: %v\n%s", name, r, debug.Stack()))
			}
		}()
		c.yield = yield
		fn()
	})
	w.live = append(w.live, c)
	w.queue.schedule(&c.wake, w.now)
}

// fire goes on with the coroutine until it waits again or ends.
func (c *coroutine) fire() { c.w.resume(c) }

func (w *World) resume(c *coroutine) {
	if w.note(noteResume, history.NoBroker, uint64(c.index), 0, nil) {
		w.tell(history.NoBroker, "go on with "+c.name)
	}
	before := w.running
	w.running = c
	_, more := c.next()
	w.running = before
	if !more {
		w.release(c)
	}
}

func (w *World) release(c *coroutine) {
	last := len(w.live) - 1
	w.live[c.index] = w.live[last]
	w.live[c.index].index = c.index
	w.live[last] = nil
	w.live = w.live[:last]
	w.queue.cancel(&c.wake)
}

// stopAll unwinds every coroutine that is still waiting: no goroutine outlives a run.
func (w *World) stopAll() {
	w.over = true
	for len(w.live) > 0 {
		c := w.live[len(w.live)-1]
		w.running = c
		c.stop()
		w.running = nil
		w.release(c)
	}
}

// current is the coroutine that is running.
func (w *World) current(what string) *coroutine {
	if w.running == nil {
		panic("sim: " + what + " was called outside of any coroutine: it can only wait inside World.Run")
	}
	return w.running
}

// park lets the event loop go on until the coroutine is woken, at the latest after timeout (if ≥ 0). It reports whether it was
// woken rather than timed out.
func (c *coroutine) park(timeout time.Duration) bool {
	if c.w.over {
		panic(errStopped)
	}
	c.woken = false
	if timeout >= 0 {
		c.w.queue.schedule(&c.wake, after(c.w.now, timeout))
	}
	if !c.yield(struct{}{}) {
		panic(errStopped)
	}
	return c.woken
}

// unpark wakes a parked coroutine, as soon as what goes on at this instant is done.
func (c *coroutine) unpark() {
	if !c.woken {
		c.woken = true
		c.w.queue.schedule(&c.wake, c.w.now)
	}
}

// after is t + d, at most the end of time.
func after(t, d time.Duration) time.Duration {
	if s := t + d; s >= t {
		return s
	}
	return forever
}

// Sleep blocks the calling coroutine for d.
func (w *World) Sleep(d time.Duration) {
	if d > 0 {
		w.current("Sleep").park(d)
	}
}

// signal is a world.Signal. Conditions are looked at once per instant however often Notify was called, by the event loop and
// not by the waiters, so that a condition that stays false costs no switch.
type signal struct {
	w       *World
	look    event
	waiters []*coroutine // in the order in which they began to wait
}

// NewSignal returns a signal that nobody waits on yet.
func (w *World) NewSignal() world.Signal { return w.newSignal() }

func (w *World) newSignal() *signal {
	s := &signal{w: w}
	s.look.h = s
	return s
}

// Notify makes every waiter look at its condition again, still at this instant.
func (s *signal) Notify() {
	if len(s.waiters) > 0 && !s.look.queued() {
		s.w.queue.schedule(&s.look, s.w.now)
	}
}

// fire looks at the condition of each that waits now and goes on with those for whom it holds.
func (s *signal) fire() {
	i := 0
	for range len(s.waiters) {
		if i >= len(s.waiters) {
			break
		}
		c := s.waiters[i]
		if !c.cond() {
			i++
			continue
		}
		s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
		s.w.queue.cancel(&c.wake)
		c.woken = true
		s.w.resume(c)
	}
}

// Until blocks until cond holds; false when timeout (if ≥ 0) has passed first.
func (s *signal) Until(cond func() bool, timeout time.Duration) bool {
	if cond() {
		return true
	}
	if timeout == 0 {
		return false
	}
	c := s.w.current("Signal.Until")
	c.cond = cond
	s.waiters = append(s.waiters, c)
	woken := c.park(timeout)
	c.cond = nil
	if woken {
		return true
	}
	for i, other := range s.waiters {
		if other == c {
			s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
			break
		}
	}
	return cond()
}
