package replica

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// BenchmarkProduceReplicated is one acks=all record of 100 bytes through a leader and two followers, without the wire's encoding:
// go test ./broker/replica -run none -bench ProduceReplicated
func BenchmarkProduceReplicated(b *testing.B) {
	cfg := config.Default()
	cfg.MinInsyncReplicas = 2
	c := newCluster(nil, 3, 1, cfg)
	leader := c.host(1).m
	batch := log.BuildBatch(0, 0, 0, make([]byte, 100))
	parked := map[Token]kafka.BrokerID{}
	for _, w := range c.wires {
		w.requests = nil
		c.host(w.follower).m.FetchFailed(0, 1)
	}
	now := cfg.ReplicaFetchBackoff
	followers := []*Manager{c.host(2).m, c.host(3).m}
	acked := 0
	send := func(f *Manager) {
		f.Tick(now)
		for _, out := range f.Ready().Fetches {
			c.token++
			parked[c.token] = f.cfg.NodeID
			leader.Fetch(now, out.Request, c.token)
		}
	}
	answer := func() (moved bool) {
		for _, r := range leader.Ready().Replies {
			moved = true
			if id, ok := parked[r.Token]; ok {
				delete(parked, r.Token)
				f := c.host(id).m
				f.FetchResponse(now, 1, r.Response.(*kmsg.FetchResponse))
				send(f)
			} else {
				acked++
			}
		}
		return moved
	}
	for _, f := range followers {
		send(f)
	}
	for answer() {
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acksAll, 30_000
	topic, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic, part.Records = topicName, batch
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	b.ReportAllocs()
	for b.Loop() {
		c.token++
		leader.Produce(now, req, c.token)
		for answer() {
		}
	}
	if acked < b.N {
		b.Fatalf("%d acknowledged, expected %d", acked, b.N)
	}
}
