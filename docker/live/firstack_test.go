package live_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/workloads"
)

// BenchmarkFirstAck starts three brokers and writes to them, from nothing but a built image to the first acknowledged write with
// acks=all, and takes them down outside of the measurement. The median is what is promised: under 5 s.
//
//	go test ./docker/live -run '^$' -bench FirstAck -benchtime 10x
func BenchmarkFirstAck(b *testing.B) {
	e, r := engine(b), run(b, nil, "# no faults\n")
	firstAck(b, e, r) // builds the image, and warms up
	var all, up, created []time.Duration
	for b.Loop() {
		f := firstAck(b, e, r)
		all, up, created = append(all, f.acked), append(up, f.up), append(created, f.created)
	}
	b.ReportMetric(median(up).Seconds(), "s-median-up")
	b.ReportMetric(median(created).Seconds(), "s-median-topic")
	b.ReportMetric(median(all).Seconds(), "s-median-ack")
	b.ReportMetric(slices.Max(all).Seconds(), "s-max-ack")
	b.Logf("until the first acknowledged write: %v", all)
}

// firsts is when things happened for the first time, since the start.
type firsts struct{ up, created, acked time.Duration }

func firstAck(b *testing.B, e *docker.Engine, r history.Run) (f firsts) {
	b.Helper()
	configs, err := harness.Configs(r)
	if err != nil {
		b.Fatal(err)
	}
	binary := tool(b)
	env := docker.NewEnv(context.Background(), 1)
	record := history.NewRecorder(env.Now, nil)
	cluster, err := docker.Start(env, e, docker.Options{Configs: configs, Binary: binary, Record: record.StepAt, Say: func(string) {}})
	if err != nil {
		b.Fatal(err)
	}
	err = env.Run(func() error {
		f.up = env.Now()
		work := &workloads.Append{
			Env: env, Cluster: cluster, Record: record, Topic: r.Topic, Parts: 1, Factor: 3, Acks: -1, Writers: 1, Rate: 1000, Timeout: 5 * time.Second,
		}
		if err := work.Create(30 * time.Second); err != nil {
			return err
		}
		f.created = env.Now()
		for record.Acked(history.Partition{}) == 0 {
			work.Load(env.Now() + time.Millisecond)
		}
		f.acked = env.Now()
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := cluster.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	return f
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
