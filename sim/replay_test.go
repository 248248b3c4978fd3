package sim

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"tidemark/broker"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/history"
	"tidemark/world"
)

type connID = broker.ConnID

// busy sets a fake up to do something of everything: it answers, asks its peers, ticks, writes and flushes.
func busy(t testing.TB) func(*fake) {
	return func(f *fake) {
		file, err := f.fs.Open("log", true)
		if err != nil {
			t.Fatal(err)
		}
		end := int64(0)
		f.deadline = 0
		f.onRequest = func(f *fake, _ time.Duration, conn connID, frame []byte) {
			n, err := file.WriteAt(frame, end)
			if err != nil {
				t.Error(err)
			}
			end += int64(n)
			f.reply(conn, frame)
		}
		f.onTick = func(f *fake, now time.Duration) {
			f.deadline = now + time.Duration(f.rnd.IntN(100))*time.Millisecond
			f.send(1+f.id%3, broker.ForFetch, fmt.Sprint("fetch ", f.rnd.IntN(100)))
			f.out.Flushes = append(f.out.Flushes, disk.Flush{Steps: []disk.Step{{Op: disk.SyncFile, Path: "log"}, {Op: disk.SyncDir}}})
		}
		f.onResponse = func(*fake, broker.Link, []byte) {}
		f.onFlushed = func(*fake, disk.FlushID, error) {}
	}
}

// rough runs busy fakes under clients and faults and returns the hash and the trace's length.
func rough(t testing.TB, opt Options, alter func(*fake)) uint64 {
	setUp := busy(t)
	c := newCluster(t, opt, 3, func(f *fake) {
		setUp(f)
		if alter != nil {
			alter(f)
		}
	})
	c.weather = newWeather(opt.Seed)
	c.run(func() {
		for i := range 5 {
			c.Go("client", func() {
				rnd := c.Rand("client", i)
				for {
					b := history.BrokerID(1 + rnd.IntN(3))
					conn, err := c.Dial(fmt.Sprint("client", i), b, time.Second)
					if err != nil {
						c.Sleep(100 * time.Millisecond)
						continue
					}
					for err == nil {
						_ = conn.Send(fmt.Append(nil, "record ", rnd.IntN(1000)))
						_, err = conn.Receive(500 * time.Millisecond)
						c.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond)
					}
					conn.Close()
				}
			})
		}
		c.Sleep(3 * time.Second)
		c.must(c.Cut(1, 2, world.AnyPort))
		c.must(c.Cut(3, 1, world.BrokerPort))
		c.must(c.Lose(2, 1, 0.3))
		held := c.met(world.MessageFault{Kind: world.CanHold, API: world.AnyAPI, Responses: true, Links: []world.Link{{From: 1, To: 3}, {From: 2, To: 3}}})
		c.met(world.MessageFault{Kind: world.CanLate, API: world.AnyAPI, Nth: 3, Delay: time.Second, Links: []world.Link{{From: history.NoBroker, To: 1}}})
		c.met(world.MessageFault{Kind: world.CanDrop, API: world.AnyAPI, Nth: 5, Links: []world.Link{{From: 1, To: 2}, {From: 2, To: 1}}})
		c.must(c.Kill(3))
		c.Sleep(2 * time.Second)
		c.must(c.Start(3))
		_, err := c.PowerFail(2)
		c.must(err)
		c.must(c.SetClock(1, 1.01))
		c.Sleep(2 * time.Second)
		c.must(c.Heal(1, 2, world.AnyPort))
		c.must(c.EndCatch(held))
		c.must(c.Heal(3, 1, world.BrokerPort))
		c.must(c.EndLoss(2, 1))
		c.must(c.Start(2))
		c.must(c.Pause(1))
		c.Sleep(2 * time.Second)
		c.must(c.Resume(1))
		_, err = c.Wipe(3)
		c.must(err)
		c.must(c.Freeze(2))
		c.Sleep(2 * time.Second)
		c.must(c.Thaw(2))
		c.must(c.Start(3))
		c.Sleep(2 * time.Second)
		for number := 2; number <= 3; number++ {
			if met, err := c.Caught(number); err != nil || met.Messages != 1 || met.UnderWay != 0 {
				t.Errorf("fault %d met %+v (%v), expected one message, arrived by now", number, met, err)
			}
		}
	})
	return c.Hash()
}

// met begins a fault on messages.
func (c *cluster) met(f world.MessageFault) int {
	number, err := c.Catch(f)
	c.must(err)
	return number
}

func TestSameSeedSameHash(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	seen := map[uint64]uint64{}
	for seed := range uint64(5) {
		var hashes [3]uint64
		for i := range hashes {
			runtime.GOMAXPROCS(1 + i)
			hashes[i] = rough(t, Options{Seed: seed}, nil)
		}
		if hashes[1] != hashes[0] || hashes[2] != hashes[0] {
			t.Errorf("seed %d: hashes %x, expected three of the same", seed, hashes)
		}
		if other, ok := seen[hashes[0]]; ok {
			t.Errorf("seeds %d and %d have the same hash", seed, other)
		}
		seen[hashes[0]] = seed
	}
}

// The trace changes nothing, and its last event carries the hash.
func TestTraceTellsTheSameRun(t *testing.T) {
	var events []Event
	traced := rough(t, Options{Seed: 1, Trace: func(e Event) { events = append(events, e) }}, nil)
	if plain := rough(t, Options{Seed: 1}, nil); plain != traced {
		t.Errorf("hash %x with a trace, %x without", traced, plain)
	}
	last := events[len(events)-1]
	if last.Hash != traced || last.Seq != uint64(len(events)) {
		t.Errorf("the last of %d events is %+v, expected it to be the last in number and to carry hash %x", len(events), last, traced)
	}
	for _, e := range events {
		if e.Text == "" {
			t.Fatalf("event %d has no text", e.Seq)
		}
	}
}

// A node that looks at anything no seed reaches is caught by comparing the hashes of two runs.
func TestHashCatches(t *testing.T) {
	plant := map[string]func(f *fake, conn connID, frame []byte){
		"a wall-clock read": func(f *fake, conn connID, frame []byte) {
			f.reply(conn, fmt.Append(frame, time.Now().UnixNano()))
		},
		"an order of map iteration": func(f *fake, conn connID, frame []byte) {
			if bytes.HasPrefix(frame, []byte("record")) {
				for peer := range map[kafka.BrokerID]bool{1: true, 2: true, 3: true} {
					f.send(peer, broker.ForRaft, "append")
				}
			}
			f.reply(conn, frame)
		},
	}
	for name, onRequest := range plant {
		t.Run(name, func(t *testing.T) {
			hash := func() uint64 {
				return rough(t, Options{Seed: 1}, func(f *fake) {
					f.onRequest = func(f *fake, _ time.Duration, conn connID, frame []byte) { onRequest(f, conn, frame) }
				})
			}
			first := hash()
			for range 5 {
				if hash() != first {
					return
				}
			}
			t.Errorf("six runs with %s had the same hash %x", name, first)
		})
	}
}

// One client more does not shift another's numbers, nor the delays on its connections.
func TestStreamsAreIndependent(t *testing.T) {
	delays := func(others int) (got []time.Duration) {
		c := newCluster(t, Options{Seed: 4}, 1, func(f *fake) { f.onRequest = echo })
		c.run(func() {
			for i := range others {
				c.Go("other", func() {
					for {
						if conn, err := c.Dial(fmt.Sprint("other", i), 1, time.Second); err == nil {
							_ = conn.Send([]byte("x"))
						}
						c.Sleep(time.Millisecond)
					}
				})
			}
			conn, err := c.Dial("client", 1, time.Second)
			c.must(err)
			for range 20 {
				at := c.Now()
				c.must(conn.Send([]byte("x")))
				_, err := conn.Receive(time.Second)
				c.must(err)
				got = append(got, c.Now()-at)
			}
		})
		return got
	}
	if alone, crowded := delays(0), delays(3); fmt.Sprint(alone) != fmt.Sprint(crowded) {
		t.Errorf("round trips %v alone, %v with others", alone, crowded)
	}
}

func TestOptions(t *testing.T) {
	one := config.Default()
	one.NodeID = 1
	two := one
	two.NodeID = 2
	for name, opt := range map[string]Options{
		"no brokers":      {Until: time.Hour},
		"no limit":        {Configs: []config.Config{one}},
		"negative limit":  {Configs: []config.Config{one}, Until: -1},
		"out of order":    {Configs: []config.Config{two, one}, Until: time.Hour},
		"twice":           {Configs: []config.Config{one, one}, Until: time.Hour},
		"without node.id": {Configs: []config.Config{config.Default()}, Until: time.Hour},
	} {
		if _, err := New(opt); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// BenchmarkMessages measures what the simulator itself costs a delivered message: 10 clients and an echo.
func BenchmarkMessages(b *testing.B) {
	c := newCluster(b, Options{Seed: 1, Until: forever}, 3, func(f *fake) { f.onRequest = echo })
	frame := make([]byte, 200)
	b.ReportAllocs()
	err := c.Run(context.Background(), func() error {
		c.Sleep(time.Second)
		for range 10 {
			conn, err := c.Dial("client", 2, time.Second)
			if err != nil {
				return err
			}
			c.Go("client", func() {
				for {
					if conn.Send(frame) != nil {
						return
					}
					if _, err := conn.Receive(time.Second); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		b.ResetTimer()
		start := c.Events()
		for want := uint64(0); b.Loop(); {
			for want += 2; c.Events()-start < want; {
				c.Sleep(time.Millisecond)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(c.Events()-start), "ns/message")
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
