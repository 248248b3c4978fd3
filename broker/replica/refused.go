package replica

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// This file says what would have come of what a rule refuses, for who watches (package refused). Nothing here changes anything.

// about is what a refusal concerns; nothing if nobody watches.
func (m *Manager) about(p *Partition, brokers ...kafka.BrokerID) refused.About {
	if !m.cfg.Refused.Watched() {
		return refused.About{}
	}
	return refused.About{Partition: p.tp, Brokers: brokers}
}

// refuseAnswer notes an answer that does not fit its follower any more.
func (m *Manager) refuseAnswer(a asked, r *kmsg.FetchResponseTopicPartition) {
	if !m.cfg.Refused.Watched() {
		return
	}
	p, rule, effect := a.p, refused.StaleFetchAnswer, refused.Nothing
	if a.want.offset != p.log.End() {
		rule = refused.MovedFetchAnswer
	}
	switch {
	case kafka.Code(r.ErrorCode) == kafka.OffsetOutOfRange && r.LogStartOffset >= 0:
		effect = refused.Cut
	case r.ErrorCode != 0:
	case r.DivergingEpoch.Epoch >= 0:
		found, ownEnd := p.log.EpochEnd(kafka.Epoch(r.DivergingEpoch.Epoch))
		switch to := truncationTarget(kafka.Offset(r.DivergingEpoch.EndOffset), ownEnd, found != kafka.NoEpoch, p.log.End()); {
		case to < p.hw:
			effect = refused.CutCommitted
		case to < p.log.End():
			effect = refused.Cut
		}
	case len(r.RecordBatches) > 0 && rule == refused.StaleFetchAnswer:
		effect = refused.Appended
	}
	m.cfg.Refused.Note(rule, effect, m.about(p, m.cfg.NodeID, p.leader))
}

// refuseFetch notes a follower's fetch that is not to count.
func (m *Manager) refuseFetch(now time.Duration, op *fetchOp, t *fetchTarget) {
	p := t.p
	if !m.cfg.Refused.Watched() || p == nil || p.role != leading {
		return
	}
	r, rule := p.remote(op.follower), refused.DivergingFetch
	if r == nil {
		return
	}
	registered, _ := m.registration(op.follower)
	switch admitReplicaFetch(true, t.epoch, p.epoch, true, op.epoch, registered.Epoch) {
	case kafka.FencedLeaderEpoch:
		rule = refused.FencedFetch
	case kafka.UnknownLeaderEpoch:
		rule = refused.FetchAhead
	case kafka.NotLeaderOrFollower:
		rule = refused.ForeignFetch
	default:
		if epoch, end := p.log.EpochEnd(t.lastFetched); t.lastFetched < 0 || !diverges(t.lastFetched, t.offset, epoch, end) {
			return
		}
	}
	about := m.about(p, op.follower, m.cfg.NodeID)
	about.End = t.offset
	m.cfg.Refused.Note(rule, m.creditEffect(now, p, r, t.offset, op.epoch), about)
}

// creditEffect is what would come of taking down a follower's log end.
func (m *Manager) creditEffect(now time.Duration, p *Partition, r *remote, offset kafka.Offset, epoch kafka.BrokerEpoch) refused.Effect {
	was, before := *r, m.nextHW(now, p, nil)
	r.leo, r.brokerEpoch = offset, epoch
	eligible, after := m.eligible(r), m.nextHW(now, p, nil)
	*r = was
	switch {
	case !slices.Contains(p.maximal, r.id) && mayJoin(offset, p.hw, p.epochStart, eligible, p.pending != nil):
		return refused.Joined
	case after > before:
		return refused.Raised
	case offset > was.leo:
		return refused.Counted
	}
	return refused.Nothing
}

// isrEffect is what would come of another ISR.
func isrEffect(isr []kafka.BrokerID, other []int32) refused.Effect {
	switch in := func(b int32) bool { return slices.Contains(isr, kafka.BrokerID(b)) }; {
	case !all(other, in):
		return refused.Joined
	case len(other) < len(isr):
		return refused.Left
	}
	return refused.Nothing
}

// all reports whether all of some are such.
func all[T any](some []T, such func(T) bool) bool {
	return !slices.ContainsFunc(some, func(x T) bool { return !such(x) })
}
