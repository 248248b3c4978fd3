package docker

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSignalWakesItsWaiters changes a condition and notifies: nobody who waits misses it, and who waits for too long is told so.
func TestSignalWakesItsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := NewEnv(t.Context(), 1)
		s := env.NewSignal()
		var round atomic.Int64
		var woken atomic.Int64
		for range 10 {
			env.Go("waiter", func() {
				for want := range int64(100) {
					if !s.Until(func() bool { return round.Load() > want }, -1) {
						t.Error("a wait without a limit ended early")
					}
					woken.Add(1)
				}
			})
		}
		for range 100 {
			round.Add(1)
			s.Notify()
		}
		synctest.Wait()
		if woken.Load() != 1000 {
			t.Errorf("%d waits ended, expected 1000", woken.Load())
		}
		begun := time.Now()
		if s.Until(func() bool { return false }, time.Second) || time.Since(begun) != time.Second {
			t.Errorf("a wait of 1s for what never comes took %v", time.Since(begun))
		}
		env.cancel()
	})
}

// TestRunUnwindsWhatWaits ends a run while others sleep and wait without limit: none of them outlives it, and what they had deferred
// is done.
func TestRunUnwindsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := NewEnv(t.Context(), 1)
		var unwound atomic.Int64
		err := env.Run(func() error {
			env.Go("sleeper", func() {
				defer unwound.Add(1)
				env.Sleep(time.Hour)
				t.Error("the sleeper woke up")
			})
			env.Go("waiter", func() {
				defer unwound.Add(1)
				env.NewSignal().Until(func() bool { return false }, -1)
				t.Error("the waiter went on")
			})
			env.Sleep(time.Second)
			return nil
		})
		if err != nil || unwound.Load() != 2 {
			t.Errorf("the run ended with %v, %d were unwound, expected 2", err, unwound.Load())
		}
	})
}

// TestRunEndsWithItsContext interrupts a run: main itself is unwound.
func TestRunEndsWithItsContext(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	env := NewEnv(ctx, 1)
	time.AfterFunc(20*time.Millisecond, cancel)
	err := env.Run(func() error {
		env.Sleep(time.Hour)
		return errors.New("the run went on")
	})
	if !errors.Is(err, errUnwound) {
		t.Errorf("the run ended with %v, expected %v", err, errUnwound)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, before the run %d", runtime.NumGoroutine(), before)
		}
	}
}
