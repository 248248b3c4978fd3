package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/broker"
	"tidemark/world"
)

// A peer that is cut off for ever costs a bounded amount of memory: the connection breaks when its buffer is full.
func TestFullPipeBreaksTheConnection(t *testing.T) {
	c := newCluster(t, Options{Seed: 1}, 2, nil)
	c.run(func() {
		c.poke(1, func(f *fake) { f.send(2, broker.ForRaft, "first") })
		c.Sleep(time.Second)
		c.must(c.Cut(1, 2, world.AnyPort))
		for range pipeMax + 10 {
			c.poke(1, func(f *fake) { f.send(2, broker.ForRaft, "append") })
		}
		c.Sleep(time.Second)
		if got := fmt.Sprint(c.fakes[1].log); got != "[link to 2 failed]" {
			t.Errorf("broker 1 saw %s, expected its link to fail once", got)
		}
	})
}

// So does a broker that answers nothing: its connection is reset when too much waits.
func TestTooManyPendingRequests(t *testing.T) {
	c := newCluster(t, Options{Seed: 1}, 2, func(f *fake) { f.onRequest = func(*fake, time.Duration, connID, []byte) {} })
	c.run(func() {
		conn, err := c.Dial("x", 2, time.Second)
		c.must(err)
		for range 2 * pendingMax {
			if conn.Send([]byte("x")) != nil {
				break
			}
			c.Sleep(time.Millisecond)
		}
		if _, err := conn.Receive(time.Second); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("got %v, expected a closed connection", err)
		}
		c.Sleep(time.Second)
		if got := fmt.Sprint(c.fakes[2].log); got != "[disconnected 1]" {
			t.Errorf("broker 2 saw %s, expected the connection to go", got)
		}
	})
}

func TestEventLimit(t *testing.T) {
	c := newCluster(t, Options{Seed: 1, MaxEvents: 1000}, 1, func(f *fake) {
		f.deadline = 0
		f.onTick = func(f *fake, now time.Duration) { f.deadline = now + time.Millisecond }
	})
	err := c.Run(context.Background(), func() error {
		c.Sleep(time.Minute)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "1001 events") {
		t.Errorf("got %v, expected the limit of 1000 events to be named", err)
	}
}

// A broker whose deadline never moves on is an error, not a hang.
func TestDeadlineThatStandsStill(t *testing.T) {
	c := newCluster(t, Options{Seed: 1}, 1, func(f *fake) {
		f.deadline = 0
		f.onTick = func(f *fake, now time.Duration) { f.deadline = now }
	})
	err := c.Run(context.Background(), func() error {
		c.Sleep(time.Minute)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "at this instant") {
		t.Errorf("got %v, expected an error", err)
	}
}

// What a broker must not do ends the run with an error that names it.
func TestBrokerBreaksItsContract(t *testing.T) {
	for want, act := range map[string]func(*fake, connID){
		"replied on connection 9, which it never accepted":                       func(f *fake, _ connID) { f.reply(9, nil) },
		"replied on connection 1 (x>1), where no request waits for one":          func(f *fake, conn connID) { f.reply(conn, nil); f.reply(conn, nil) },
		"broker 1 sends to a peer: broker 7 does not exist, expected one of [1]": func(f *fake, _ connID) { f.send(7, broker.ForFetch, "x") },
	} {
		c := newCluster(t, Options{Seed: 1}, 1, func(f *fake) {
			f.onRequest = func(f *fake, _ time.Duration, conn connID, _ []byte) { act(f, conn) }
		})
		err := c.Run(context.Background(), func() error {
			c.Sleep(processStartMax)
			conn, err := c.Dial("x", 1, time.Second)
			if err != nil {
				return err
			}
			if err := conn.Send([]byte("x")); err != nil {
				return err
			}
			c.Sleep(time.Minute)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// Rough weather delays and resets, but never reorders or loses within a connection.
func TestWeather(t *testing.T) {
	stalls, resets, echoes := 0, 0, 0
	for seed := range uint64(20) {
		c := newCluster(t, Options{Seed: seed}, 1, func(f *fake) { f.onRequest = echo })
		c.weather = weather{stall: 0.01, reset: 0.001}
		c.run(func() {
			for range 10 {
				conn, err := c.Dial("x", 1, time.Second)
				if err != nil {
					continue
				}
				for i := range 100 {
					if conn.Send(fmt.Append(nil, i)) != nil {
						break
					}
				}
				for i := range 100 {
					at := c.Now()
					got, err := conn.Receive(time.Second)
					if err != nil {
						resets++
						break
					}
					if string(got) != fmt.Sprint(i) {
						t.Fatalf("seed %d: got %s, expected %d", seed, got, i)
					}
					echoes++
					if c.Now()-at > stallMin {
						stalls++
					}
				}
				conn.Close()
			}
		})
	}
	if stalls < 20 || resets < 2 || resets > 100 || echoes < 10_000 {
		t.Errorf("%d stalls, %d resets, %d echoes", stalls, resets, echoes)
	}
}
