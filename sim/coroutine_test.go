package sim

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSleepOrdersByTimeThenByCall(t *testing.T) {
	c := newCluster(t, Options{}, 1, nil)
	var got []string
	c.run(func() {
		for _, s := range []struct {
			name string
			d    time.Duration
		}{{"late", 3 * time.Second}, {"first", time.Second}, {"second", time.Second}, {"at once", -1}} {
			c.Go(s.name, func() {
				c.Sleep(s.d)
				got = append(got, s.name)
			})
		}
		c.Sleep(time.Minute)
	})
	if want := []string{"at once", "first", "second", "late"}; !slices.Equal(got, want) {
		t.Errorf("ran %v, expected %v", got, want)
	}
}

func TestSignal(t *testing.T) {
	c := newCluster(t, Options{}, 1, nil)
	c.run(func() {
		s := c.NewSignal()
		ready := 0
		looks := 0
		var woken []int
		for i := range 3 {
			c.Go("waiter", func() {
				if !s.Until(func() bool { looks++; return ready > i }, -1) {
					t.Error("a wait without timeout timed out")
				}
				woken = append(woken, i)
			})
		}
		c.Sleep(time.Second)
		if looks != 3 {
			t.Errorf("%d looks before any Notify, expected one each", looks)
		}
		ready = 2
		for range 100 {
			s.Notify()
		}
		c.Sleep(time.Second)
		if !slices.Equal(woken, []int{0, 1}) || looks != 6 {
			t.Errorf("woke %v after %d looks, expected [0 1] after 6", woken, looks)
		}
		start := c.Now()
		if s.Until(func() bool { return false }, 5*time.Second) || c.Now()-start != 5*time.Second {
			t.Errorf("waited %v, expected a timeout after 5s", c.Now()-start)
		}
		if s.Until(func() bool { return false }, 0) || !s.Until(func() bool { return true }, 0) {
			t.Error("a timeout of 0 must look once")
		}
	})
}

// A waiter that is woken and waits again is looked at again only after the next Notify: one event must end.
func TestSignalDoesNotSpin(t *testing.T) {
	c := newCluster(t, Options{}, 1, nil)
	c.run(func() {
		s := c.NewSignal()
		turn, turns := 0, 0
		for i := range 2 {
			c.Go("player", func() {
				for turns < 1000 {
					s.Until(func() bool { return turn == i }, -1)
					turns++
					turn = 1 - i
					s.Notify()
				}
			})
		}
		c.Sleep(time.Second)
		if turns < 1000 {
			t.Errorf("%d turns, expected 1000", turns)
		}
	})
}

func TestRunEndsWithAnError(t *testing.T) {
	boom := errors.New("boom")
	for _, test := range []struct {
		name string
		main func(c *cluster) error
		want string
	}{
		{"main's own", func(*cluster) error { return boom }, "boom"},
		{"a panic names its coroutine", func(c *cluster) error {
			c.Go("fuse", func() {
				c.Sleep(time.Second)
				panic("lit")
			})
			c.Sleep(time.Minute)
			return nil
		}, `coroutine "fuse" panicked: lit`},
		{"a broker's panic names it", func(c *cluster) error {
			conn, err := c.Dial("x", 1, time.Second)
			if err != nil {
				return err
			}
			return errors.Join(conn.Send(nil), func() error { c.Sleep(time.Minute); return nil }())
		}, "in an event of broker 1: panic: dropped the log"},
		{"nothing left", func(c *cluster) error {
			c.NewSignal().Until(func() bool { return false }, -1)
			return nil
		}, "nothing is left to happen, and these still wait: main"},
		{"past the limit of time", func(c *cluster) error {
			c.Sleep(2 * time.Hour)
			return nil
		}, "virtual time would pass the limit of 1h0m0s"},
		{"too many coroutines", func(c *cluster) error {
			for range coroutinesMax + 1 {
				c.Go("one of many", func() { c.Sleep(time.Second) })
			}
			c.Sleep(time.Minute)
			return nil
		}, "at most 20000 may live at once"},
		{"two that keep waking each other", func(c *cluster) error {
			s := c.NewSignal()
			turn := 0
			for i := range 2 {
				c.Go("player", func() {
					for {
						s.Until(func() bool { return turn == i }, -1)
						turn = 1 - i
						s.Notify()
					}
				})
			}
			c.Sleep(time.Minute)
			return nil
		}, "200001 of them at this instant"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			c := newCluster(t, Options{}, 1, func(f *fake) {
				f.onRequest = func(*fake, time.Duration, connID, []byte) { panic("dropped the log") }
			})
			err := c.Run(context.Background(), func() error {
				c.Sleep(processStartMax)
				return test.main(c)
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, expected %q", err, test.want)
			}
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%d goroutines after the run, %d before", after, before)
			}
		})
	}
}

// What still waits when main returns is unwound: its deferred calls run, and may even try to wait.
func TestStillWaitingIsUnwound(t *testing.T) {
	c := newCluster(t, Options{}, 1, nil)
	unwound := 0
	c.run(func() {
		for range 3 {
			c.Go("waiter", func() {
				defer func() { unwound++ }()
				defer c.Sleep(time.Second)
				c.NewSignal().Until(func() bool { return false }, -1)
			})
		}
		c.Sleep(time.Second)
	})
	if unwound != 3 {
		t.Errorf("%d coroutines unwound, expected 3", unwound)
	}
	if err := c.Run(context.Background(), func() error { return nil }); err == nil {
		t.Error("a world ran twice")
	}
}

func TestWaitingOutsideOfRun(t *testing.T) {
	c := newCluster(t, Options{}, 1, nil)
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "Sleep was called outside") {
			t.Errorf("got %v, expected a panic that says what is wrong", r)
		}
	}()
	c.Sleep(time.Second)
}

func TestQueueOrder(t *testing.T) {
	var q queue
	rnd := newStream(1, "queue", 0)
	events := make([]event, 500)
	for range 5000 {
		ev := &events[rnd.below(len(events))]
		switch rnd.below(4) {
		case 0:
			q.cancel(ev)
		default:
			q.schedule(ev, time.Duration(rnd.below(100)))
		}
	}
	var last entry
	for n := len(q.heap); n > 0; n-- {
		top := q.heap[0]
		if top.before(last) {
			t.Fatalf("%v came after %v", top, last)
		}
		if ev := q.pop(); ev != top.ev || ev.queued() {
			t.Fatal("popped another event than the first, or it still counts as queued")
		}
		last = top
	}
	if q.pop() != nil {
		t.Error("an empty queue gave an event")
	}
}
