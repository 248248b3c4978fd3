package live_test

import (
	"slices"
	"testing"
	"time"

	"tidemark/broker/server/load"
	"tidemark/docker"
)

// proxyRounds is how often BenchmarkProxy alternates.
const proxyRounds = 5

// BenchmarkProxy puts the same loads as BenchmarkProduce on three brokers in containers without a proxy on their connections and on three with
// one, in turns, while no message meets a fault. throughput-% is the records a second with it, in hundredths of those without, more-ms how much
// longer the median latency of one record at a time is; both are the median's of five turns.
func BenchmarkProxy(b *testing.B) {
	engine(b)
	direct, proxied := startWith(b, kafkas, docker.Options{}), startWith(b, kafkas, docker.Options{Messages: true})
	direct.inSync()
	proxied.inSync()
	produce := func(c *cluster, opt load.Options) *load.Result {
		opt.Seeds, opt.Topic, opt.Size, opt.Warmup, opt.Duration = c.seeds(), benchTopic, 1024, *benchFor/5, *benchFor
		r, err := load.Produce(b.Context(), opt)
		if err != nil || r.Failed > 0 || r.Records == 0 {
			b.Fatalf("%d records acknowledged, %d failed (%v), %v", r.Records, r.Failed, r.Err, err)
		}
		return &r
	}
	turns := func(b *testing.B, opt load.Options, measure func(*load.Result) float64) (without, with float64) {
		var plain, through []float64
		for range proxyRounds {
			plain = append(plain, measure(produce(direct, opt)))
			through = append(through, measure(produce(proxied, opt)))
		}
		b.Logf("without %.4g, with %.4g", plain, through)
		slices.Sort(plain)
		slices.Sort(through)
		b.ReportMetric(0, "ns/op") // says how long the loads were told to last
		return plain[proxyRounds/2], through[proxyRounds/2]
	}
	b.Run("batched", func(b *testing.B) {
		for b.Loop() {
			without, with := turns(b, load.Options{Producers: 4, Outstanding: 1000, Linger: 5 * time.Millisecond}, (*load.Result).PerSecond)
			b.ReportMetric(100*with/without, "throughput-%")
		}
	})
	b.Run("one at a time", func(b *testing.B) {
		for b.Loop() {
			without, with := turns(b, load.Options{Producers: 1, Outstanding: 1}, func(r *load.Result) float64 { return r.Quantile(50) })
			b.ReportMetric(with-without, "more-ms")
		}
	})
}
