// Package load is what clients do to brokers from outside: steady producers and consumers that measure (Produce, Follow), and
// connections that end as they like, say nothing, or talk nonsense (Churn, Idle, Garbage). Tests and benchmarks use it, against
// brokers in their own process and in containers alike.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options describe a load of producers.
type Options struct {
	Seeds       []string
	Topic       string
	Producers   int           // clients
	Outstanding int           // records that each has under way at a time, at most
	Size        int           // bytes of a record's value
	Linger      time.Duration // that a client waits for more records of a batch
	Rate        float64       // records a second by all producers; 0 is as fast as they are acknowledged
	Warmup      time.Duration // before anything counts
	Duration    time.Duration // after it
}

// Result is what a load has measured after its warm-up.
type Result struct {
	Records int64                   // acknowledged
	Failed  int64                   // records that were given up, the warm-up's too
	Err     error                   // the first of them
	Elapsed time.Duration           // from the end of the warm-up to the last acknowledgement
	Latency *hdrhistogram.Histogram // in microseconds, from when a record was to be sent
}

// PerSecond is the throughput.
func (r *Result) PerSecond() float64 { return float64(r.Records) / r.Elapsed.Seconds() }

// Quantile is a quantile of the latency, in milliseconds.
func (r *Result) Quantile(percent float64) float64 {
	return float64(r.Latency.ValueAtQuantile(percent)) / 1000
}

// latencyMax bounds what a latency is recorded as.
const latencyMax = time.Minute

// Client is a franz-go client with acks=all. Idempotence is off: replication alone is measured.
func Client(seeds []string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.RecordDeliveryTimeout(30 * time.Second),
	}, opts...)...)
}

// Produce sends records until the duration is over or ctx ends, and waits for their acknowledgements.
func Produce(ctx context.Context, opt Options) (Result, error) {
	m := &meter{latency: hdrhistogram.New(1, latencyMax.Microseconds(), 3), from: time.Now().Add(opt.Warmup)}
	ctx, cancel := context.WithDeadline(ctx, m.from.Add(opt.Duration))
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, opt.Producers)
	for i := range opt.Producers {
		all.Go(func() { errs[i] = m.produce(ctx, &opt, i) })
	}
	all.Wait()
	return m.result(), errors.Join(errs...)
}

// meter gathers the acknowledgements of all producers.
type meter struct {
	from time.Time // what was to be sent before does not count

	mu      sync.Mutex
	latency *hdrhistogram.Histogram
	records int64
	failed  int64
	err     error
	last    time.Time
}

func (m *meter) produce(ctx context.Context, opt *Options, i int) error {
	client, err := Client(opt.Seeds, kgo.DefaultProduceTopic(opt.Topic), kgo.ProducerLinger(opt.Linger))
	if err != nil {
		return err
	}
	defer client.Close()
	value := make([]byte, opt.Size)
	free := make(chan struct{}, opt.Outstanding)
	var every time.Duration
	if opt.Rate > 0 {
		every = time.Duration(float64(opt.Producers) / opt.Rate * float64(time.Second))
	}
	due := time.Now().Add(every * time.Duration(i) / time.Duration(opt.Producers)) // not all at the same moment
	for ctx.Err() == nil {
		if opt.Rate > 0 {
			due = due.Add(every)
			if !sleep(ctx, time.Until(due)) {
				break
			}
		}
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		if opt.Rate == 0 {
			due = time.Now()
		}
		sent := due
		// What is under way when the load ends is waited for: it is not bound to ctx.
		client.Produce(context.WithoutCancel(ctx), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			m.done(sent, err)
			<-free
		})
	}
	return client.Flush(context.WithoutCancel(ctx))
}

func (m *meter) done(sent time.Time, err error) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil:
		if m.failed++; m.err == nil {
			m.err = err
		}
	case !sent.Before(m.from):
		m.records++
		m.last = now
		_ = m.latency.RecordValue(min(now.Sub(sent), latencyMax).Microseconds())
	}
}

func (m *meter) result() Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Result{Records: m.records, Failed: m.failed, Err: m.err, Elapsed: max(m.last.Sub(m.from), time.Microsecond), Latency: m.latency}
}

// Follow consumes a topic from its beginning until ctx ends, and counts the records in n. The error is the first that is not the end.
func Follow(ctx context.Context, seeds []string, topic string, n *atomic.Int64) error {
	client, err := Client(seeds, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		n.Add(int64(fetches.NumRecords()))
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("consuming %s: %w", topic, err)
		}
	}
}

// sleep waits; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
