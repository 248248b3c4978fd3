package live_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/broker/server/load"
	"tidemark/harness"
	"tidemark/history"
)

var benchFor = flag.Duration("load", 5*time.Second, "how long each load of BenchmarkProduce lasts, after a warm-up of a fifth of it")

// benchTopic is what BenchmarkProduce writes to: six partitions on three brokers, each acknowledged by two at least.
const (
	benchTopic      = "orders"
	benchPartitions = 6
	benchFactor     = 3
)

// BenchmarkProduce, which `make bench` runs, puts the same loads with acks=all, by franz-go without idempotence, on three brokers in containers and, to
// compare, on three processes on loopback: records of 1 KiB by four producers with a thousand under way each (throughput, and a latency
// that is mostly waiting behind the others), and one record at a time by one producer (latency). An operation is a whole load.
func BenchmarkProduce(b *testing.B) {
	engine(b)
	for _, place := range []struct {
		name  string
		start func(testing.TB) []string
	}{{"containers", benchContainers}, {"processes", benchProcesses}} {
		b.Run(place.name, func(b *testing.B) {
			seeds := place.start(b)
			for _, l := range []struct {
				name string
				opt  load.Options
			}{
				{"batched", load.Options{Producers: 4, Outstanding: 1000, Size: 1024, Linger: 5 * time.Millisecond}},
				{"one at a time", load.Options{Producers: 1, Outstanding: 1, Size: 1024}},
			} {
				l.opt.Seeds, l.opt.Topic, l.opt.Warmup, l.opt.Duration = seeds, benchTopic, *benchFor/5, *benchFor
				b.Run(l.name, func(b *testing.B) { benchLoad(b, l.opt) })
			}
		})
	}
}

func benchLoad(b *testing.B, opt load.Options) {
	for b.Loop() {
		r, err := load.Produce(b.Context(), opt)
		if err != nil || r.Failed > 0 || r.Records == 0 {
			b.Fatalf("%d records acknowledged, %d failed (%v), %v", r.Records, r.Failed, r.Err, err)
		}
		b.ReportMetric(r.PerSecond(), "records/s")
		b.ReportMetric(r.PerSecond()*float64(opt.Size)/1e6, "MB/s")
		b.ReportMetric(r.Quantile(50), "p50-ms")
		b.ReportMetric(r.Quantile(99), "p99-ms")
	}
	b.ReportMetric(0, "ns/op") // says how long the load was told to last
}

// kafkas gives a run the segments that Kafka's brokers have, where runs of the harness have small ones.
func kafkas(r *history.Run) {
	r.Topic, r.Parts, r.Factor = benchTopic, benchPartitions, benchFactor
	r.Config = map[string]string{"log.segment.bytes": "1073741824"}
}

func benchContainers(b testing.TB) []string {
	c := startAs(b, kafkas)
	c.inSync()
	return c.seeds()
}

// benchProcesses starts three brokers on loopback, each as a process of the same binary that the containers run.
func benchProcesses(b testing.TB) (seeds []string) {
	configs, err := harness.Configs(run(b, kafkas, "# no faults\n"))
	if err != nil {
		b.Fatal(err)
	}
	ports := freePorts(b, 2*len(configs))
	var debugs, voters []string
	for i, port := range ports[:len(configs)] {
		seeds = append(seeds, fmt.Sprintf("127.0.0.1:%d", port))
		debugs = append(debugs, fmt.Sprintf("127.0.0.1:%d", ports[len(configs)+i]))
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, seeds[i]))
	}
	for i, cfg := range configs {
		dir := b.TempDir()
		var text strings.Builder
		for _, p := range cfg.Pairs() {
			switch p.Key {
			case "controller.quorum.voters", "advertised.listeners", "listeners", "log.dirs", "tidemark.debug.listener":
			default:
				fmt.Fprintf(&text, "%s=%s\n", p.Key, p.Value)
			}
		}
		fmt.Fprintf(&text, "controller.quorum.voters=%s\nlisteners=PLAINTEXT://%s\nadvertised.listeners=PLAINTEXT://%s\nlog.dirs=%s\ntidemark.debug.listener=%s\n",
			strings.Join(voters, ","), seeds[i], seeds[i], dir, debugs[i])
		file := filepath.Join(b.TempDir(), "broker.properties")
		if err := writeFile(file, text.String()); err != nil {
			b.Fatal(err)
		}
		broker := exec.Command(tool(b), "broker", "--config", file)
		if err := broker.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = broker.Process.Kill()
			_ = broker.Wait()
		})
	}
	createWhole(b, seeds, debugs)
	return seeds
}

// createWhole creates the topic and waits until every broker has its replicas.
func createWhole(b testing.TB, seeds, debugs []string) {
	client, err := load.Client(seeds)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	have := 0
	for deadline := time.Now().Add(30 * time.Second); have < len(debugs); time.Sleep(100 * time.Millisecond) {
		_, err = kadm.NewClient(client).CreateTopic(b.Context(), benchPartitions, benchFactor, nil, benchTopic)
		have = 0
		for i, debug := range debugs {
			if strings.Contains(get("http://"+debug+"/metrics"), fmt.Sprintf("tidemark_replicas{broker=\"%d\"} %d\n", i+1, benchPartitions)) {
				have++
			}
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d processes of %d have the topic after 30s: %v", have, len(debugs), err)
		}
	}
}

// get is a page, empty if there is none.
func get(url string) string {
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// freePorts lists ports that nothing listens on.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
