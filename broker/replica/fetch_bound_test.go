package replica

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/log"
)

// TestFetchesThatExpireTogetherAreBounded lets 50 consumers wait for more than there is. When their time is up together, all are answered
// with something, and together with little more than one of them may have.
func TestFetchesThatExpireTogetherAreBounded(t *testing.T) {
	cfg := config.Default()
	cfg.MinInsyncReplicas, cfg.FetchMaxBytes = 1, 1<<20
	c := newCluster(t, 1, 1, cfg)
	m := c.host(1).m
	const batchBytes, consumers = 100 << 10, 50
	for range 20 {
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = 9, 1, 30_000
		topic, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
		topic.Topic, part.Records = topicName, log.BuildBatch(0, 0, 0, make([]byte, batchBytes))
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		c.token++
		m.Produce(0, req, c.token)
	}
	m.Ready()
	fetch := func(offset int64, wait time.Duration) {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 12, -1, int32(wait.Milliseconds()), 1<<30, 1<<30
		topic, part := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		topic.Topic, part.FetchOffset, part.PartitionMaxBytes, part.CurrentLeaderEpoch = topicName, offset, 1<<30, -1
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		c.token++
		m.Fetch(0, req, c.token)
	}
	for range consumers {
		fetch(0, time.Second)
	}
	if early := len(m.Ready().Replies); early != 0 {
		t.Fatalf("%d fetches were answered before their time", early)
	}
	m.Tick(time.Second)
	total, replies := 0, m.Ready().Replies
	for _, r := range replies {
		got := len(r.Response.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches)
		if got < batchBytes {
			t.Errorf("a fetch was answered with %d bytes, expected a batch at least", got)
		}
		total += got
	}
	if most := cfg.FetchMaxBytes + consumers*(batchBytes+1<<10); len(replies) != consumers || total > most {
		t.Errorf("%d answers of %d bytes together, expected %d of at most %d", len(replies), total, consumers, most)
	}
	fetch(0, 0)
	if got := len(m.Ready().Replies[0].Response.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches); got < cfg.FetchMaxBytes-2*batchBytes {
		t.Errorf("the next input's fetch was answered with %d bytes, expected about %d", got, cfg.FetchMaxBytes)
	}
}
