package replica

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
)

// The timestamps of ListOffsets that stand for a place in the log.
const (
	latestTimestamp   = -1
	earliestTimestamp = -2
	maxTimestamp      = -3 // KIP-734
)

// ListOffsets answers key 2, guarded as in KIP-207.
func (m *Manager) ListOffsets(now time.Duration, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	m.now = now
	resp := &kmsg.ListOffsetsResponse{Version: req.Version}
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, len(t.Partitions))
		for k := range t.Partitions {
			r, out := &t.Partitions[k], &rt.Partitions[k]
			out.Default()
			out.Partition = r.Partition
			p, code := m.leaderFor(kafka.TopicPartition{Topic: t.Topic, Index: r.Partition}, kafka.Epoch(r.CurrentLeaderEpoch))
			if code == kafka.None {
				code = m.listOffset(p, req.ReplicaID >= 0, r.Timestamp, out)
			}
			if code == kafka.OffsetNotAvailable && req.Version < 5 {
				code = kafka.LeaderNotAvailable
			}
			out.ErrorCode = int16(code)
		}
	}
	return resp
}

// leaderFor finds a partition that this broker leads, in the epoch asked for.
func (m *Manager) leaderFor(tp kafka.TopicPartition, asked kafka.Epoch) (*Partition, kafka.Code) {
	p, code := m.lookUp(tp)
	if code == kafka.None {
		code = admitEpoch(asked, p.epoch)
	}
	if code == kafka.None && p.role != leading {
		code = kafka.NotLeaderOrFollower
	}
	return p, code
}

func (m *Manager) listOffset(p *Partition, replica bool, timestamp int64, out *kmsg.ListOffsetsResponseTopicPartition) kafka.Code {
	bound := consumerBound(replica, p.hw, p.log.End())
	known := replica || latestKnown(p.hw, p.epochStart)
	offset, at := kafka.Offset(-1), int64(-1)
	var err error
	switch timestamp {
	case latestTimestamp:
		if !known {
			m.cfg.Refused.Note(refused.UnknownLatest, refused.Told, m.about(p, m.cfg.NodeID))
		}
		if !known && !m.cfg.Bug.Bites(bug.PrematureLatest, true) {
			return kafka.OffsetNotAvailable
		}
		offset = bound
	case earliestTimestamp:
		offset = p.log.Start()
	case maxTimestamp:
		if at, err = p.maxTimestamp(bound); err == nil && at >= 0 {
			offset, at, err = p.log.OffsetForTime(at)
		}
	default:
		if timestamp >= 0 {
			offset, at, err = p.log.OffsetForTime(timestamp)
		}
	}
	if err != nil {
		m.fatal(fmt.Errorf("looking up time %d in %v: %w", timestamp, p.tp, err))
		return kafka.StorageError
	}
	if timestamp >= 0 && (offset < 0 || offset >= bound) {
		if !known {
			return kafka.OffsetNotAvailable
		}
		offset, at = -1, -1
	}
	out.Offset, out.Timestamp = int64(offset), at
	if offset >= 0 {
		out.LeaderEpoch = int32(p.epochOf(offset))
	}
	return kafka.None
}

// epochOf is the epoch of the record at an offset, or the leader's own at the log's end.
func (p *Partition) epochOf(offset kafka.Offset) kafka.Epoch {
	epoch := p.epoch
	for _, e := range p.log.Epochs() {
		if e.Start > offset {
			break
		}
		epoch = e.Epoch
	}
	return epoch
}

// Where a v2 record batch has its largest timestamp, and the size of what comes before its records.
const (
	batchMaxTimeAt  = 35
	batchHeaderSize = 61
)

// maxTimestampChunk is how much of a log is read at a time, in bytes.
const maxTimestampChunk = 1 << 20

// maxTimestamp is the largest timestamp below bound, -1 if there is none.
func (p *Partition) maxTimestamp(bound kafka.Offset) (int64, error) {
	largest := int64(-1)
	for from := p.log.Start(); from < bound; {
		data, err := p.log.Read(from, bound, maxTimestampChunk, true)
		if err != nil || len(data) == 0 {
			return largest, err
		}
		for len(data) >= batchHeaderSize {
			largest = max(largest, int64(binary.BigEndian.Uint64(data[batchMaxTimeAt:])))
			from = kafka.Offset(binary.BigEndian.Uint64(data)) + kafka.Offset(binary.BigEndian.Uint32(data[batchLastDeltaAt:])) + 1
			data = data[int(binary.BigEndian.Uint32(data[batchLengthAt:]))+batchOverhead:]
		}
	}
	return largest, nil
}

// batchLastDeltaAt is where a v2 record batch has the offset of its last record, from its first.
const batchLastDeltaAt = 23

// OffsetForLeaderEpoch answers key 23.
func (m *Manager) OffsetForLeaderEpoch(now time.Duration, req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	m.now = now
	resp := &kmsg.OffsetForLeaderEpochResponse{Version: req.Version}
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, len(t.Partitions))
		for k := range t.Partitions {
			r, out := &t.Partitions[k], &rt.Partitions[k]
			out.Default()
			out.Partition = r.Partition
			p, code := m.leaderFor(kafka.TopicPartition{Topic: t.Topic, Index: r.Partition}, kafka.Epoch(r.CurrentLeaderEpoch))
			out.ErrorCode = int16(code)
			if code == kafka.None {
				epoch, end := p.log.EpochEnd(kafka.Epoch(r.LeaderEpoch))
				out.LeaderEpoch, out.EndOffset = int32(epoch), int64(end)
			}
		}
	}
	return resp
}
