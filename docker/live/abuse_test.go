package live_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/server/load"
)

var (
	churnCount = flag.Int("churn", 500, "how many connections TestChurn opens, 10,000 a minute")
	churnSeed  = flag.Uint64("churn-seed", 0, "draws TestChurn's connections again; 0 draws a seed")
)

// churnEvery is the time between two connections of TestChurn: 10,000 of them take a minute.
const churnEvery = 6 * time.Millisecond

// served is a producer and a consumer at work, each record sent after the one before was acknowledged by all, and read back.
type served struct {
	client *kgo.Client
	sent   []string
	got    []string
	worst  time.Duration
}

func (c *cluster) served() *served {
	c.t.Helper()
	client, err := load.Client(c.seeds(), kgo.DefaultProduceTopic(c.run.Topic), kgo.ConsumeTopics(c.run.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	c.do(err)
	c.t.Cleanup(client.Close)
	s := &served{client: client}
	c.exchange(s)
	return s
}

// exchange sends a record and consumes up to it.
func (c *cluster) exchange(s *served) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	value, begun := "record "+itoa(len(s.sent)), time.Now()
	if err := s.client.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
		c.t.Fatalf("producing under abuse: %v", err)
	}
	s.sent = append(s.sent, value)
	for len(s.got) < len(s.sent) {
		fetches := s.client.PollFetches(ctx)
		if ctx.Err() != nil {
			c.t.Fatalf("%d records of %d were consumed under abuse", len(s.got), len(s.sent))
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if len(r.Value) < 100 { // not what fills the log
				s.got = append(s.got, string(r.Value))
			}
		})
	}
	s.worst = max(s.worst, time.Since(begun))
}

// whole fails the test unless everything that was sent was consumed, in order.
func (c *cluster) whole(s *served) {
	c.t.Helper()
	if !slices.Equal(s.got, s.sent) {
		c.t.Errorf("consumed %q, sent %q", s.got, s.sent)
	}
	c.t.Logf("%d records sent and consumed meanwhile, the slowest within %v", len(s.sent), s.worst.Round(time.Millisecond))
}

// TestIdleAndGarbage holds 1,000 connections that say nothing and 100 that talk nonsense at each of three brokers; clients are served
// with acks=all, and afterwards the brokers take what they took before.
func TestIdleAndGarbage(t *testing.T) {
	c := start(t)
	c.inSync()
	s := c.served()
	before := map[int]meters{}
	for i, b := range c.Brokers() {
		before[i] = c.measured(b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var garbage sync.WaitGroup
	for i, b := range c.Brokers() {
		idle, err := load.Idle(c.Address(b), 1000)
		defer func() {
			for _, conn := range idle {
				_ = conn.Close()
			}
		}()
		c.do(err)
		garbage.Go(func() { load.Garbage(ctx, c.Address(b), uint64(i), 100) })
		c.eventually("1,000 idle connections are open", func() bool { return c.measured(b).conns >= 1000 })
		t.Log(lineOf(b, "under", c.measured(b)))
		for range 30 {
			c.exchange(s)
		}
		if open := c.measured(b).conns; open < 1000 {
			t.Errorf("broker %d has %d connections, expected the 1,000 idle ones among them", b, open)
		}
		for _, conn := range idle {
			_ = conn.Close()
		}
	}
	cancel()
	garbage.Wait()
	for i, b := range c.Brokers() {
		c.settles(b, before[i])
	}
	c.exchange(s)
	c.whole(s)
}

// TestChurn opens connections that are half closed, reset, closed, or read slowly at random moments, of a request too, and finds as
// many connections, goroutines and descriptors of the brokers' processes afterwards as before.
func TestChurn(t *testing.T) {
	c := start(t)
	c.inSync()
	s := c.served()
	seed := *churnSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	const b = 1
	before := c.measured(b)
	done := make(chan error, 1)
	var tally load.Tally
	go func() {
		var err error
		tally, err = load.Churn(t.Context(), c.Address(b), seed, *churnCount, time.Duration(*churnCount)*churnEvery)
		done <- err
	}()
	for ended := false; !ended; {
		select {
		case err := <-done:
			if t.Logf("seed %d: %s", seed, &tally); err != nil {
				t.Errorf("-churn-seed %d: %v", seed, err)
			}
			ended = true
		case <-time.After(50 * time.Millisecond):
			c.exchange(s)
		}
	}
	c.settles(b, before)
	c.whole(s)
}
