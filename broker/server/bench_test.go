package server

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// outstanding is how many records the benchmark has under way at a time.
const outstanding = 1000

// BenchmarkProduceThreeNodes produces records of 1 KiB with acks=all through franz-go to three brokers on loopback: a thousand at a
// time, which franz-go puts into batches, and one at a time.
func BenchmarkProduceThreeNodes(b *testing.B) {
	for _, partitions := range []int32{1, 6} {
		b.Run(fmt.Sprintf("batched/partitions=%d", partitions), func(b *testing.B) {
			c := start(b, 3)
			c.create("orders", partitions, 3, "2")
			client := c.client(kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
			value := bytes.Repeat([]byte("x"), 1024)
			latency := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
			done := make(chan time.Duration, outstanding)
			free := make(chan struct{}, outstanding)
			b.SetBytes(int64(len(value)))
			b.ResetTimer()
			go func() {
				for range b.N {
					free <- struct{}{}
					sent := time.Now()
					client.Produce(b.Context(), &kgo.Record{Topic: "orders", Value: value}, func(_ *kgo.Record, err error) {
						if err != nil {
							b.Error(err)
						}
						done <- time.Since(sent)
					})
				}
			}()
			for range b.N {
				_ = latency.RecordValue((<-done).Microseconds())
				<-free
			}
			report(b, latency)
		})
	}
	b.Run("one at a time", func(b *testing.B) {
		c := start(b, 3)
		c.create("orders", 1, 3, "2")
		client := c.client(kgo.ProducerLinger(0))
		latency := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
		b.ResetTimer()
		for range b.N {
			sent := time.Now()
			c.produce(client, "orders", "record")
			_ = latency.RecordValue(time.Since(sent).Microseconds())
		}
		report(b, latency)
	})
}

func report(b *testing.B, latency *hdrhistogram.Histogram) {
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(latency.ValueAtQuantile(50))/1000, "p50-ms")
	b.ReportMetric(float64(latency.ValueAtQuantile(99))/1000, "p99-ms")
}
