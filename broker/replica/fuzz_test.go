package replica

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// smallCluster is a cluster of two, broker 1 leading, for tests that feed it bytes.
func smallCluster(t *testing.T) *cluster {
	cfg := config.Default()
	cfg.MinInsyncReplicas = 2
	c := newCluster(t, 2, 1, cfg)
	return c
}

// mustBeSane fails if a replica broke what holds whatever it was sent.
func mustBeSane(t *testing.T, m *Manager) {
	if out := m.Ready(); out.Fatal != nil {
		t.Fatalf("bytes from outside were taken for a disk error: %v", out.Fatal)
	}
	m.EachReplica(func(p *Partition) {
		if p.hw < p.log.Start() || p.hw > p.log.End() {
			t.Fatalf("high watermark %d, expected inside the log, %d to %d", p.hw, p.log.Start(), p.log.End())
		}
		if e := p.log.LatestEpoch(); e > p.epoch {
			t.Fatalf("the log has epoch %d, expected at most the replica's own, %d", e, p.epoch)
		}
	})
	if d := m.Deadline(); d < m.now {
		m.Tick(m.now)
		m.Ready()
		if m.Deadline() < m.now {
			t.Fatalf("deadline %v does not move beyond %v", m.Deadline(), m.now)
		}
	}
}

// FuzzFetchResponse: whatever a leader answers, a follower neither panics nor leaves its epoch or its log's bounds.
func FuzzFetchResponse(f *testing.F) {
	seed := func(epoch int32, end, hw, start int64, code int16, records []byte) {
		resp := kmsg.NewPtrFetchResponse()
		resp.Version = fetchVersion
		topic, part := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		topic.TopicID = kafka.TopicID{1}
		part.DivergingEpoch.Epoch, part.DivergingEpoch.EndOffset = epoch, end
		part.HighWatermark, part.LogStartOffset, part.ErrorCode, part.RecordBatches = hw, start, code, records
		topic.Partitions = append(topic.Partitions, part)
		resp.Topics = append(resp.Topics, topic)
		f.Add(resp.AppendTo(nil))
	}
	seed(-1, -1, 5, 0, 0, log.BuildBatch(2, 0, 0, []byte("c")))
	seed(-1, -1, 5, 0, 0, log.BuildBatch(2, 9, 0, []byte("from a younger leader")))
	seed(0, 1, 5, 0, 0, nil)
	seed(0, -7, -5, 0, 0, nil)
	seed(7, 1<<62, 1<<62, 0, 0, nil)
	seed(-1, -1, -1, 1<<62, int16(kafka.OffsetOutOfRange), nil)
	seed(-1, -1, -1, -1, int16(kafka.OffsetOutOfRange), nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		resp := kmsg.NewPtrFetchResponse()
		resp.Version = fetchVersion
		if resp.ReadFrom(data) != nil {
			return
		}
		c := smallCluster(t)
		follower := c.host(2).m
		records := append(log.BuildBatch(0, 0, 0, []byte("a")), log.BuildBatch(1, 0, 0, []byte("b"))...)
		if _, err := follower.parts[0].log.AppendFetched(records); err != nil {
			t.Fatal(err)
		}
		f := follower.fetcher(1)
		f.session.parts = []asked{{p: follower.parts[0], id: follower.parts[0].topicID, want: wanting{offset: 2}}}
		f.outstanding = true
		follower.FetchResponse(time.Second, 1, resp)
		mustBeSane(t, follower)
	})
}

// FuzzFetchRequest: whatever a consumer or follower asks, a leader answers or keeps the request, and credits nothing beyond its log.
func FuzzFetchRequest(f *testing.F) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaState.ID, req.ReplicaState.Epoch = fetchVersion, 2, 2
	topic, part := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	topic.TopicID, part.PartitionMaxBytes = kafka.TopicID{1}, 1<<20
	for _, offset := range []int64{-1, 0, 1, 2, 1 << 62} {
		part.FetchOffset, part.CurrentLeaderEpoch, part.LastFetchedEpoch = offset, 0, int32(offset%3)
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	f.Add(req.AppendTo(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		req := kmsg.NewPtrFetchRequest()
		req.Version = fetchVersion
		if req.ReadFrom(data) != nil {
			return
		}
		c := smallCluster(t)
		leader := c.host(1).m
		p := leader.parts[0]
		if _, _, err := p.log.Append(log.BuildBatch(0, 0, 0, []byte("a")), 0); err != nil {
			t.Fatal(err)
		}
		leader.Fetch(time.Second, req, 1)
		for _, r := range p.remotes {
			if r.leo > p.log.End() {
				t.Fatalf("follower %d is credited %d, expected at most %d", r.id, r.leo, p.log.End())
			}
		}
		mustBeSane(t, leader)
		leader.Tick(1 << 62)
		mustBeSane(t, leader)
	})
}

// FuzzProduce: whatever a producer sends is appended whole or refused with a code.
func FuzzProduce(f *testing.F) {
	f.Add(int16(-1), int32(100), log.BuildBatch(0, 0, 0, []byte("a"), []byte("b")))
	f.Add(int16(1), int32(-1), []byte{})
	f.Add(int16(7), int32(0), []byte("not a batch at all, but long enough to have a header, surely: 61"))
	f.Fuzz(func(t *testing.T, acks int16, timeout int32, records []byte) {
		c := smallCluster(t)
		leader := c.host(1).m
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = 9, acks, timeout
		topic, part := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
		topic.Topic, part.Records = topicName, records
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		before := leader.parts[0].log.End()
		leader.Produce(time.Second, req, 1)
		out := leader.Ready()
		if out.Fatal != nil {
			t.Fatal(out.Fatal)
		}
		grown := leader.parts[0].log.End() > before
		for _, r := range out.Replies {
			resp, ok := r.Response.(*kmsg.ProduceResponse)
			if ok && resp.Topics[0].Partitions[0].ErrorCode == 0 && !grown {
				t.Fatal("acknowledged without an append")
			}
			if ok && acks == acksAll && resp.Topics[0].Partitions[0].ErrorCode == 0 {
				t.Fatal("acks=all acknowledged by the leader alone")
			}
		}
		leader.Tick(1 << 62)
		mustBeSane(t, leader)
	})
}
