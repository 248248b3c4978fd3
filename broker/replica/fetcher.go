package replica

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
)

// fetcher pulls everything that this broker follows from one leader, with at most one fetch outstanding (Kafka's
// ReplicaFetcherThread).
type fetcher struct {
	leader      kafka.BrokerID
	parts       []*Partition // in order
	turn        int          // which of them the next fetch asks for first
	outstanding bool
	asked       []asked // of the outstanding fetch, in order of request
	retryAt     time.Duration
}

// fetchVersion is the Fetch version between brokers: topic ids and the follower's broker epoch (KIP-903).
const fetchVersion = 17

// fetcher returns the fetcher of a leader, made when first asked for.
func (m *Manager) fetcher(leader kafka.BrokerID) *fetcher {
	i, found := slices.BinarySearchFunc(m.fetchers, leader, func(f *fetcher, b kafka.BrokerID) int { return int(f.leader) - int(b) })
	if !found {
		m.fetchers = slices.Insert(m.fetchers, i, &fetcher{leader: leader})
	}
	return m.fetchers[i]
}

func (f *fetcher) find(p *Partition) (int, bool) {
	return slices.BinarySearchFunc(f.parts, p.tp, func(q *Partition, tp kafka.TopicPartition) int { return q.tp.Compare(tp) })
}

func (f *fetcher) add(p *Partition) {
	if i, found := f.find(p); !found {
		f.parts = slices.Insert(f.parts, i, p)
	}
}

func (f *fetcher) remove(p *Partition) {
	if i, found := f.find(p); found {
		f.parts = slices.Delete(f.parts, i, i+1)
	}
}

// deadline is when the next fetch is due; a partition behind its gate waits for a flush, not for time.
func (f *fetcher) deadline() time.Duration {
	at := forever
	if f.outstanding {
		return at
	}
	for _, p := range f.parts {
		if p.gate == 0 {
			at = min(at, p.retryAt)
		}
	}
	return max(at, f.retryAt)
}

// sendFetches asks every leader that is not being asked for whatever is due.
func (m *Manager) sendFetches() {
	if m.brokerEpoch == kafka.NoBrokerEpoch {
		return
	}
	for _, f := range m.fetchers {
		if !f.outstanding && len(f.parts) > 0 && f.deadline() <= m.now {
			m.out.Fetches = append(m.out.Fetches, FetchOut{To: f.leader, Request: m.buildFetch(f)})
		}
	}
}

// buildFetch asks for every partition that is due. A leader fills its response in the order of the request, up to a limit: so each
// fetch begins one partition later, or the last ones would starve behind busy first ones (Kafka's PartitionStates).
func (m *Manager) buildFetch(f *fetcher) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = fetchVersion
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(m.cfg.NodeID), int64(m.brokerEpoch)
	req.MaxWaitMillis = int32(m.cfg.ReplicaFetchWaitMax.Milliseconds())
	req.MinBytes = int32(m.cfg.ReplicaFetchMinBytes)
	req.MaxBytes = int32(m.cfg.ReplicaFetchResponseMaxBytes)
	req.SessionEpoch = -1
	f.asked = f.asked[:0]
	if f.turn >= len(f.parts) {
		f.turn = 0
	}
	for i := range f.parts {
		p := f.parts[(f.turn+i)%len(f.parts)]
		if p.gate != 0 || p.retryAt > m.now {
			continue
		}
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition = p.tp.Index
		part.CurrentLeaderEpoch = int32(p.epoch)
		part.FetchOffset = int64(p.log.End())
		part.LastFetchedEpoch = int32(p.log.LatestEpoch())
		part.LogStartOffset = int64(p.log.Start())
		part.PartitionMaxBytes = int32(m.cfg.ReplicaFetchMaxBytes)
		if n := len(req.Topics); n == 0 || kafka.TopicID(req.Topics[n-1].TopicID) != p.topicID {
			topic := kmsg.NewFetchRequestTopic()
			topic.TopicID = p.topicID
			req.Topics = append(req.Topics, topic)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, part)
		f.asked = append(f.asked, asked{p: p, epoch: p.epoch, offset: p.log.End()})
	}
	f.outstanding = true
	f.turn++
	return req
}

// FetchResponse takes a leader's answer to the outstanding fetch; FetchFailed says that none will come.
func (m *Manager) FetchResponse(now time.Duration, from kafka.BrokerID, resp *kmsg.FetchResponse) {
	m.now = now
	f := m.fetcher(from)
	if m.stopping || !f.outstanding {
		return
	}
	f.outstanding = false
	if kafka.Code(resp.ErrorCode) != kafka.None {
		f.retryAt = now + m.cfg.ReplicaFetchBackoff
		return
	}
	answered := 0
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for k := range t.Partitions {
			if a := f.take(kafka.TopicID(t.TopicID), t.Partitions[k].Partition); a.p != nil {
				answered++
				m.follow(now, a, &t.Partitions[k])
			}
		}
	}
	if answered == 0 {
		f.retryAt = now + m.cfg.ReplicaFetchBackoff // an answer to nothing must not be asked for again at once
	}
}

// take returns what was asked for a partition, once.
func (f *fetcher) take(id kafka.TopicID, index int32) asked {
	for i := range f.asked {
		if a := f.asked[i]; a.p != nil && a.p.topicID == id && a.p.tp.Index == index {
			f.asked[i].p = nil
			return a
		}
	}
	return asked{}
}

// FetchFailed says that the outstanding fetch to a leader is lost (timeout, reset): retry after replica.fetch.backoff.ms.
func (m *Manager) FetchFailed(now time.Duration, from kafka.BrokerID) {
	m.now = now
	if f := m.fetcher(from); f.outstanding {
		f.outstanding = false
		f.retryAt = now + m.cfg.ReplicaFetchBackoff
	}
}
