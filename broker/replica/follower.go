package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/metadata"
	"tidemark/broker/refused"
)

// followerState is the follower's part of a partition.
type followerState struct {
	retryAt time.Duration // no fetch before: the last one failed
}

// becomeFollower starts an epoch as follower. Nothing is truncated yet: the leader's answer to the first fetch says where the
// logs part (KIP-595), the follower's own high watermark does not (KIP-101).
func (m *Manager) becomeFollower(now time.Duration, p *Partition, reg metadata.Partition) {
	m.leaveRole(p)
	p.role, p.epoch, p.leader = following, reg.LeaderEpoch, reg.Leader
	if reg.Leader == kafka.NoBroker {
		p.role = offline
	}
	p.version++
	p.retryAt = now
	m.step(Step{Kind: StepFollow, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: p.hw, To: p.log.End()})
	if m.cfg.Bug.Bites(bug.TruncateToHW, p.role == following && p.log.End() > p.hw && p.flushing == 0) {
		m.cut(now, p, p.hw, "to its own high watermark")
	}
	if p.role == following {
		m.fetcher(p.leader).add(p)
	}
}

// leaveRole ends what a replica did in the epoch before: who waited for it is answered at once, as what they wait for may now mean
// another record (KAFKA-2960, KAFKA-1148).
func (m *Manager) leaveRole(p *Partition) {
	if p.role == following {
		m.fetcher(p.leader).remove(p)
	}
	p.role = offline
	p.epochStart, p.isr, p.replicas, p.remotes, p.partitionEpoch = 0, nil, nil, nil, 0
	m.withdraw(p)
	m.failProduces(p)
	m.failDeletes(p)
	p.version++
}

// asked is what a follower asked a leader for, to hold against the answer, and against what it is to ask next.
type asked struct {
	p    *Partition
	id   kafka.TopicID
	want wanting
	done bool // it was answered
}

// wanting is where a follower's log stands.
type wanting struct {
	epoch       kafka.Epoch // in which it asks
	offset      kafka.Offset
	lastFetched kafka.Epoch
	start       kafka.Offset
}

// follow takes a leader's answer for one partition.
func (m *Manager) follow(now time.Duration, a asked, r *kmsg.FetchResponseTopicPartition) {
	p := a.p
	if p.role != following {
		return
	}
	answers := answersRequest(a.want.epoch, p.epoch, a.want.offset, p.log.End())
	if !answers {
		m.refuseAnswer(a, r)
	}
	if !answers && !m.cfg.Bug.Bites(bug.StaleFetchAnswer, a.want.offset == p.log.End()) {
		return
	}
	switch code := kafka.Code(r.ErrorCode); {
	case code == kafka.OffsetOutOfRange && r.LogStartOffset >= 0:
		m.restartAt(now, p, kafka.Offset(r.LogStartOffset))
	case code != kafka.None || r.DivergingEpoch.Epoch >= 0 && r.DivergingEpoch.EndOffset < 0:
		p.retryAt = now + m.cfg.ReplicaFetchBackoff
	case r.DivergingEpoch.Epoch >= 0:
		if hw := followerHW(p.hw, kafka.Offset(r.HighWatermark), p.log.End()); m.cfg.Bug.Bites(bug.HWBeforeTruncation, hw != p.hw) {
			m.setHW(p, hw, "")
			m.wakeFetches(p)
		}
		m.truncateTo(now, p, kafka.Epoch(r.DivergingEpoch.Epoch), kafka.Offset(r.DivergingEpoch.EndOffset))
	default:
		m.appendFetched(now, a, r)
	}
}

// truncateTo cuts the follower's log where it leaves the leader's. After an unclean election that may be below its own log start, which goes
// back with it (UnifiedLog.truncateTo): a follower that stopped there would take the leader's next records without those before. The leader's
// high watermark is not looked at: it speaks of records that this log does not have yet (KAFKA-14704).
func (m *Manager) truncateTo(now time.Duration, p *Partition, epoch kafka.Epoch, given kafka.Offset) {
	found, ownEnd := p.log.EpochEnd(epoch)
	to := truncationTarget(given, ownEnd, found != kafka.NoEpoch, p.log.End())
	m.cut(now, p, to, fmt.Sprintf("diverged: leader %d ends epoch %d at %d", p.leader, epoch, given))
}

// cut makes a log end at an offset, if its files allow it now.
func (m *Manager) cut(now time.Duration, p *Partition, to kafka.Offset, why string) {
	if m.waitForFlush(p) {
		return
	}
	oldEnd, oldEpoch := p.log.End(), p.log.LatestEpoch()
	empty := func(e log.EpochStart) bool { return e.Start >= to } // an epoch without a record
	if m.cfg.Bug.Bites(bug.UntrimmedEpochCache, to >= oldEnd && slices.ContainsFunc(p.log.Epochs(), empty)) {
		p.retryAt = now + m.cfg.ReplicaFetchBackoff
		return
	}
	end, err := p.log.Truncate(to)
	if err != nil {
		m.fatal(fmt.Errorf("truncating %v to offset %d: %w", p.tp, to, err))
		return
	}
	if end == oldEnd && p.log.LatestEpoch() == oldEpoch {
		p.retryAt = now + m.cfg.ReplicaFetchBackoff // the answer led nowhere: the same question must not be asked at once
		return
	}
	m.truncated(p, oldEnd, why)
}

// restartAt empties the log and starts it at the leader's log start: what the follower has is not in the leader's log any more. The
// high watermark goes there too (KAFKA-9491).
func (m *Manager) restartAt(now time.Duration, p *Partition, start kafka.Offset) {
	if m.waitForFlush(p) {
		return
	}
	oldEnd := p.log.End()
	if oldEnd == start && p.log.Start() == start {
		p.retryAt = now + m.cfg.ReplicaFetchBackoff
		return
	}
	if err := p.log.TruncateFully(start); err != nil {
		m.fatal(fmt.Errorf("restarting %v at offset %d: %w", p.tp, start, err))
		return
	}
	m.truncated(p, oldEnd, fmt.Sprintf("out of range: leader %d starts at %d", p.leader, start))
}

// waitForFlush puts a truncation off until the flush of the log that is under way is done, as it names files that truncation
// may remove: the leader is asked again then.
func (m *Manager) waitForFlush(p *Partition) bool {
	if p.flushing != 0 {
		p.gate = p.flushing
	}
	return p.flushing != 0
}

// truncated follows up a truncation. The checkpoint file may hold a recovery point beyond the new end: until that is put right,
// nothing is appended, or a crash would leave records that recovery trusts unread.
func (m *Manager) truncated(p *Partition, oldEnd kafka.Offset, why string) {
	end, oldHW := p.log.End(), p.hw
	p.version++
	if end != oldEnd { // else only an epoch in which nothing was written was forgotten
		m.step(Step{Kind: StepTruncate, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: oldEnd, To: end, Detail: why})
	}
	hw := recoveredHW(p.hw, p.log.Start(), end)
	if m.cfg.Bug.Bites(bug.FullTruncationLeavesHW, p.hw < p.log.Start()) {
		hw = p.hw
	}
	m.setHW(p, hw, "truncation")
	if p.hw < oldHW {
		m.checkpointHW() // other records will stand between the two: the old one must not be believed after a crash
	}
	if p.savedStart > p.log.Start() { // it went back with a batch, or the leader's log begins earlier
		p.gate = m.hand(m.startSteps(), flushJob{gated: p})
	}
	if p.log.SnapshotsCut() {
		p.gate = m.checkpointRecovery(flushJob{gated: p}, disk.Step{Op: disk.SyncDir, Path: p.dir})
	} else if p.savedRecovery > end {
		p.gate = m.checkpointRecovery(flushJob{gated: p})
	}
	m.maybeFlush(p)
	m.wakeFetches(p) // a consumer may stand beyond the end
}

// appendFetched takes the leader's records and high watermark, in that order.
func (m *Manager) appendFetched(now time.Duration, a asked, r *kmsg.FetchResponseTopicPartition) {
	p := a.p
	began := p.log.Start()
	if len(r.RecordBatches) > 0 {
		if err := checkFetched(r.RecordBatches, a); err != nil {
			m.cfg.Refused.Note(refused.YoungerBatch, refused.Appended, m.about(p, m.cfg.NodeID, p.leader))
			p.retryAt = now + m.cfg.ReplicaFetchBackoff
			return
		}
		if !m.beginWithin(p, r.RecordBatches) {
			return
		}
		end, err := p.log.AppendFetched(r.RecordBatches)
		if err != nil {
			m.appendFailed(p, err)
			p.retryAt = now + m.cfg.ReplicaFetchBackoff
			if p.log.End() == a.want.offset {
				return
			}
			end = p.log.End()
		}
		if end > a.want.offset {
			p.version++
			m.step(Step{Kind: StepAppend, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: a.want.offset, To: end})
			m.maybeFlush(p)
		}
	}
	m.setHW(p, followerHW(p.hw, kafka.Offset(r.HighWatermark), p.log.End()), "")
	if start := max(kafka.Offset(r.LogStartOffset), began); start > p.log.Start() && start <= p.hw {
		m.moveStart(p, start, fmt.Sprintf("leader %d starts there", p.leader))
	}
	if m.cfg.Bug.Bites(bug.PurgatorySurvivesDemotion, len(p.produces) > 0) {
		m.completeProduces(p)
	}
	m.wakeFetches(p)
}

// beginWithin makes room in an empty log for the batch in which its start lies, as the leader's does: a batch cannot be had in part (Kafka
// catches UnexpectedAppendOffsetException for it, in Partition.appendRecordsToFollowerOrFutureReplica). False: the log's files do not
// allow it now.
func (m *Manager) beginWithin(p *Partition, batches []byte) bool {
	b, err := log.ParseBatch(batches)
	if err != nil || p.log.Start() != p.log.End() || b.Base >= p.log.End() || b.Last < p.log.End() {
		return true
	}
	if m.waitForFlush(p) {
		return false
	}
	if err := p.log.TruncateFully(b.Base); err != nil {
		m.fatal(fmt.Errorf("restarting %v at offset %d: %w", p.tp, b.Base, err))
		return false
	}
	return true
}

// appendFailed tells a batch that is at fault from a disk that is.
func (m *Manager) appendFailed(p *Partition, err error) {
	var bad *log.InvalidBatch
	if !errors.As(err, &bad) {
		m.fatal(fmt.Errorf("appending to %v: %w", p.tp, err))
	}
}

// Where a v2 record batch has its length and its epoch, and how many bytes the length does not count.
const (
	batchLengthAt = 8
	batchEpochAt  = 12
	batchOverhead = 12
	batchHeadSize = 16
)

// checkFetched looks at the epochs of fetched batches; the log checks the rest.
func checkFetched(b []byte, a asked) error {
	for len(b) >= batchHeadSize {
		epoch := kafka.Epoch(int32(binary.BigEndian.Uint32(b[batchEpochAt:])))
		if !mayAppendFetched(epoch, a.want.epoch) {
			return fmt.Errorf("batch of epoch %d in the answer to a fetch of epoch %d", epoch, a.want.epoch)
		}
		size := int64(int32(binary.BigEndian.Uint32(b[batchLengthAt:]))) + batchOverhead
		if size < batchHeadSize || size > int64(len(b)) {
			return nil
		}
		b = b[size:]
	}
	return nil
}
