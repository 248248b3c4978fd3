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
	session     leaderSession
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

// buildFetch asks for every partition that is due; of those that the leader remembers, only where something changed.
func (m *Manager) buildFetch(f *fetcher) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = fetchVersion
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(m.cfg.NodeID), int64(m.brokerEpoch)
	req.MaxWaitMillis = int32(m.cfg.ReplicaFetchWaitMax.Milliseconds())
	req.MinBytes = int32(m.cfg.ReplicaFetchMinBytes)
	req.MaxBytes = int32(m.cfg.ReplicaFetchResponseMaxBytes)
	due := f.session.begin()
	for _, p := range f.parts {
		if p.gate == 0 && p.retryAt <= m.now {
			want := wanting{epoch: p.epoch, offset: p.log.End(), lastFetched: p.log.LatestEpoch(), start: p.log.Start()}
			due = append(due, asked{p: p, id: p.topicID, want: want})
		}
	}
	f.session.ask(req, due, f.turn, int32(m.cfg.ReplicaFetchMaxBytes))
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
	if code := kafka.Code(resp.ErrorCode); code != kafka.None {
		if !f.session.refused(code) {
			f.retryAt = now + m.cfg.ReplicaFetchBackoff
		}
		return
	}
	fits := true
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for k := range t.Partitions {
			a := f.session.take(kafka.TopicID(t.TopicID), t.Partitions[k].Partition)
			if a == nil {
				fits = false
				continue
			}
			m.follow(now, *a, &t.Partitions[k])
		}
	}
	if !f.session.answered(resp.SessionID, fits) {
		f.retryAt = now + m.cfg.ReplicaFetchBackoff // an answer to something else must not be asked for again at once
	}
}

// FetchFailed says that the outstanding fetch to a leader is lost (timeout, reset): retry after replica.fetch.backoff.ms.
func (m *Manager) FetchFailed(now time.Duration, from kafka.BrokerID) {
	m.now = now
	if f := m.fetcher(from); f.outstanding {
		f.outstanding = false
		f.session.restart()
		f.retryAt = now + m.cfg.ReplicaFetchBackoff
	}
}
