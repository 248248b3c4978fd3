package live_test

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/docker/kafkadisk/kafkadisktest"
	"tidemark/history"
)

// observedTarget is the release whose brokers are observed, and whose own tools say whether rightly.
const observedTarget = "apache-kafka:4.1.0"

// TestObserverAgainstKafkasOwnTools writes to unmodified brokers, in every codec and in several epochs, and compares what the observer and the
// dumps say of every replica with each other, with DumpLogSegments on the broker's own files, and with what kafka-topics and
// kafka-get-offsets say.
func TestObserverAgainstKafkasOwnTools(t *testing.T) {
	c := startAs(t, func(r *history.Run) { r.Target, r.Parts = observedTarget, 2 })
	c.inSync()
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c.write(codec, fmt.Sprintf("round %d", i), 40)
		if i%2 == 0 {
			p := c.Observe().Partitions[i/2%c.run.Parts]
			c.do(c.Elect(p.Partition, c.follower(p), 15*time.Second))
		}
	}
	c.do(c.Kill(3))
	c.write(kgo.SnappyCompression(), "without broker 3", 40)
	c.do(c.Start(3))
	c.inSync()

	// The checkpoint of high watermarks is written once a second.
	dumps := map[history.BrokerID][]history.Dump{}
	c.eventually("checkpoints at the logs' ends", func() bool {
		for _, b := range c.Brokers() {
			dumps[b] = c.Dump(b)
			if len(dumps[b]) != c.run.Parts || slices.ContainsFunc(dumps[b], func(d history.Dump) bool { return d.Err != "" || d.HW != d.LEO }) {
				return false
			}
		}
		return true
	})
	seen := c.Observe()
	for _, b := range c.Brokers() {
		tool, err := kafkadisktest.Parse(c.kafkaTool(b, "kafka.tools.DumpLogSegments --print-data-log --files $(ls /data/*-[0-9]/*.log | grep -v /__ | tr '\\n' ',')"))
		c.do(err)
		for i := range dumps[b] {
			d := &dumps[b][i]
			if want := tool[d.Partition]; len(want) < 100 || !slices.Equal(d.Records, want) {
				t.Errorf("broker %d, %v: %d records in the dump and %d by DumpLogSegments, expected the same, at least 100:\n%v\n%v", b, d.Partition, len(d.Records), len(want), d.Records, want)
			}
			r := replicaOf(seen, d.Partition, b)
			if !r.Up || r.LEO != d.LEO || r.HW != d.HW || r.Start != d.Start {
				t.Errorf("broker %d, %v: observed %+v, and its files hold %d to %d with the high watermark %d", b, d.Partition, r, d.Start, d.LEO, d.HW)
			}
		}
	}
	described := c.kafkaTool(1, fmt.Sprintf("org.apache.kafka.tools.TopicCommand --bootstrap-server %s --describe --topic %s", c.Address(1), c.run.Topic))
	offsets := c.kafkaTool(1, fmt.Sprintf("org.apache.kafka.tools.GetOffsetShell --bootstrap-server %s --topic %s", c.Address(1), c.run.Topic))
	for i := range seen.Partitions {
		p := &seen.Partitions[i]
		leader := replicaOf(seen, p.Partition, p.Leader)
		if !leader.Leads || leader.Epoch != p.Epoch || p.Epoch < 1 {
			t.Errorf("%v in epoch %d has the leader %d, which says %+v: expected it to lead in that epoch, not the first", p.Partition, p.Epoch, p.Leader, leader)
		}
		line := regexp.MustCompile(fmt.Sprintf(`Partition: %d\s+Leader: (\d+)\s+Replicas: (\S+)\s+Isr: (\S+)`, p.Partition.Index)).FindStringSubmatch(described)
		if line == nil || line[1] != strconv.Itoa(int(p.Leader)) || sorted(line[2]) != sortedIDs(replicaIDs(p)) || sorted(line[3]) != sortedIDs(p.ISR) {
			t.Errorf("%v: observed leader %d, replicas %v, ISR %v, and kafka-topics says %q of:\n%s", p.Partition, p.Leader, replicaIDs(p), p.ISR, line, described)
		}
		if want := fmt.Sprintf("%s:%d:%d\n", p.Partition.Topic, p.Partition.Index, leader.HW); !strings.Contains(offsets, want) {
			t.Errorf("%v: observed the high watermark %d, and kafka-get-offsets says:\n%s", p.Partition, leader.HW, offsets)
		}
	}
}

// write sends records to every partition, each batch acknowledged by all.
func (c *cluster) write(codec kgo.CompressionCodec, what string, records int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.seeds()...), kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	c.do(err)
	defer client.Close()
	for at := 0; at < records; at += 10 {
		var batch []*kgo.Record
		for i := range 10 * c.run.Parts {
			batch = append(batch, &kgo.Record{
				Topic: c.run.Topic, Partition: int32(i % c.run.Parts), Key: []byte("k"), Value: fmt.Appendf(nil, "%s, %d of %d to partition %d", what, at+i/c.run.Parts, records, i%c.run.Parts),
			})
		}
		c.do(client.ProduceSync(ctx, batch...).FirstErr())
	}
}

// kafkaTool runs one of Kafka's own tools, a class and its arguments, inside a broker's container.
func (c *cluster) kafkaTool(b history.BrokerID, command string) string {
	c.t.Helper()
	return kafkaTool(c.t, fmt.Sprintf("%s-%d", c.Name(), b), command)
}

func kafkaTool(t testing.TB, container, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	java := "/opt/java/openjdk/bin/java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' "
	text, err := exec.CommandContext(ctx, "docker", "exec", container, "/bin/sh", "-c", java+command).Output()
	if err != nil {
		t.Fatalf("%s in %s: %v: %s", command, container, err, text)
	}
	return string(text)
}

func replicaOf(s history.ClusterState, p history.Partition, b history.BrokerID) history.ReplicaState {
	for i := range s.Partitions {
		for _, r := range s.Partitions[i].Replicas {
			if s.Partitions[i].Partition == p && r.Broker == b {
				return r
			}
		}
	}
	return history.ReplicaState{}
}

func replicaIDs(p *history.PartitionState) (out []history.BrokerID) {
	for _, r := range p.Replicas {
		out = append(out, r.Broker)
	}
	return out
}

// sortedIDs are brokers as sorted gives them.
func sortedIDs(ids []history.BrokerID) string {
	var words []string
	for _, id := range ids {
		words = append(words, strconv.Itoa(int(id)))
	}
	return sorted(strings.Join(words, ","))
}

// sorted is a list with commas, in order.
func sorted(list string) string {
	words := strings.Split(list, ",")
	slices.Sort(words)
	return strings.Join(words, ",")
}
