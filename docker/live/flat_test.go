package live_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/broker/server/load"
	"tidemark/history"
)

var flatFor = flag.Duration("flat", 20*time.Second, "how long TestFlat loads and watches three brokers; 10m is the real thing")

// What TestFlat sends, and how much more it lets a broker take in the end.
const (
	flatRate    = 300 // records a second
	flatSize    = 200 // bytes of a value
	flatFew     = 4   // goroutines, and descriptors
	flatHeap    = 1 << 20
	recordExtra = 80 // bytes of a record in a batch of its own beyond the value, at most
	// An offset index has 8 bytes in memory for every 4096 bytes of a log, and a slice that grows has up to twice its use.
	logPerIndexByte = 4096 / (2 * 8)
)

// TestFlat holds three brokers under a steady load and reads what their processes take: after the first fifth of the time
// goroutines and descriptors stay as many within a few, and the heap, once collected, grows by no more than the offset index of
// what was written meanwhile and a mebibyte. The ring of protocol steps is kept short, so that it is full before the first look: full
// size it grows to its bound over some minutes.
func TestFlat(t *testing.T) {
	c := startAs(t, func(r *history.Run) {
		r.Parts = 3
		r.Config = map[string]string{"log.segment.bytes": "1073741824", "tidemark.debug.steps.max": "1000"}
	})
	c.inSync()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	var sent load.Result
	var produceErr, followErr error
	var consumed atomic.Int64
	clients.Go(func() {
		sent, produceErr = load.Produce(ctx, load.Options{
			Seeds: c.seeds(), Topic: c.run.Topic, Producers: 3, Outstanding: 100, Size: flatSize, Rate: flatRate,
			Warmup: *flatFor / 10, Duration: *flatFor * 9 / 10,
		})
		time.Sleep(time.Second) // the consumer gets the last ones
		cancel()
	})
	clients.Go(func() { followErr = load.Follow(ctx, c.seeds(), c.run.Topic, &consumed) })
	series := c.watch(ctx, *flatFor)
	clients.Wait()
	c.do(produceErr)
	c.do(followErr)
	t.Logf("%d records acknowledged, %.0f a second, p50 %.1f ms, p99 %.1f ms; %d consumed", sent.Records, sent.PerSecond(), sent.Quantile(50), sent.Quantile(99), consumed.Load())
	if due := 0.9 * flatRate * flatFor.Seconds(); sent.Failed > 0 || float64(sent.Records) < 0.9*due {
		t.Errorf("%d of %.0f records were acknowledged, %d failed (%v)", sent.Records, due, sent.Failed, sent.Err)
	}
	if consumed.Load() < sent.Records {
		t.Errorf("%d records of %d were consumed", consumed.Load(), sent.Records)
	}
	for b, samples := range series {
		n := len(samples)
		if n < 10 {
			t.Fatalf("broker %d was measured %d times, expected 10 or more", b, n)
		}
		early, late := middle(samples[n/5:n*3/10]), middle(samples[n*4/5:])
		t.Log(lineOf(b, "early", early))
		t.Log(lineOf(b, "late", late))
		written := sent.Records * (flatSize + recordExtra)
		if limit := early.heap + flatHeap + written/logPerIndexByte; late.heap > limit {
			t.Errorf("the heap of broker %d grew from %s to %s, expected at most %s", b, mebi(early.heap), mebi(late.heap), mebi(limit))
		}
		if late.goroutines > early.goroutines+flatFew || late.files > early.files+flatFew {
			t.Errorf("broker %d has %d goroutines and %d descriptors, expected within %d of %d and %d", b,
				late.goroutines, late.files, flatFew, early.goroutines, early.files)
		}
	}
}

// watch measures every broker a hundred times or so.
func (c *cluster) watch(ctx context.Context, long time.Duration) map[history.BrokerID][]meters {
	c.t.Helper()
	series := map[history.BrokerID][]meters{}
	ticker := time.NewTicker(max(long/100, 200*time.Millisecond))
	defer ticker.Stop()
	end := time.After(long)
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-end:
			return series
		case <-ctx.Done():
			return series
		}
		for _, b := range c.Brokers() {
			m := c.measured(b)
			series[b] = append(series[b], m)
			if n%10 == 0 {
				c.t.Log(lineOf(b, fmt.Sprintf("%3d", n), m))
			}
		}
	}
}

// middle is the median of each meter, but of the heap the lower quartile: what a request under way holds for a moment does not stay, and
// what leaks is there in every sample.
func middle(samples []meters) meters {
	quantile := func(of func(*meters) int64, quarters int) int64 {
		var values []int64
		for i := range samples {
			values = append(values, of(&samples[i]))
		}
		slices.Sort(values)
		return values[len(values)*quarters/4]
	}
	median := func(of func(*meters) int64) int64 { return quantile(of, 2) }
	return meters{
		conns: median(func(m *meters) int64 { return m.conns }), goroutines: median(func(m *meters) int64 { return m.goroutines }),
		files: median(func(m *meters) int64 { return m.files }), heap: quantile(func(m *meters) int64 { return m.heap }, 1),
		resident: median(func(m *meters) int64 { return m.resident }),
	}
}

func lineOf(b history.BrokerID, when string, m meters) string {
	return fmt.Sprintf("broker %d %5s: %d connections, %d goroutines, %d descriptors, heap %s, resident %s", b, when, m.conns, m.goroutines,
		m.files, mebi(m.heap), mebi(m.resident))
}
