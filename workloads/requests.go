package workloads

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// Versions that the client speaks: the newest that name topics by name, not by id.
const (
	produceVersion        = 9
	fetchVersion          = 12
	metadataVersion       = 12
	listOffsetsVersion    = 7
	createVersion         = 7
	reassignVersion       = 0
	electVersion          = 2
	initProducerIDVersion = 4
	deleteRecordsVersion  = 2
)

// Versions by which a topic is named by its id alone (KIP-516), and the newest of DeleteTopics.
const (
	produceByIDVersion = 13
	fetchByIDVersion   = 13
	deleteVersion      = 6
)

// Timestamps that ListOffsets understands as places.
const (
	latest   = -1
	earliest = -2
)

// millis is a duration in a request's milliseconds.
func millis(d time.Duration) int32 { return int32(min(d.Milliseconds(), 1<<31-1)) }

// producing is a Produce request and its answer, reused from one record to the next.
type producing struct {
	req   kmsg.ProduceRequest
	resp  kmsg.ProduceResponse
	batch []byte
}

// newProducing lets the broker wait for its replicas for three quarters of the client's timeout: a slow replica is then answered
// with REQUEST_TIMED_OUT on a connection that lives on, and only a silent broker makes the client give up.
func newProducing(topic string, timeout time.Duration) *producing {
	p := &producing{}
	p.req.Default()
	p.req.Version = produceVersion
	p.req.TimeoutMillis = millis(timeout * 3 / 4)
	p.req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: make([]kmsg.ProduceRequestTopicPartition, 1)}}
	return p
}

// send sends one record and completes op with what came of it.
func (p *producing) send(c *client, acks int16, op *history.Op) {
	p.req.Version = c.newest(p.req.Key(), p.req.Version)
	if p.req.Version <= newestOfMessages {
		p.batch = appendMessage(p.batch[:0], op.Value)
	} else {
		p.batch = appendBatch(p.batch[:0], op.Value)
	}
	part := &p.req.Topics[0].Partitions[0]
	part.Partition, part.Records = op.Partition.Index, p.batch
	p.req.Acks = acks
	op.Offset, op.HW, op.LogStart = history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	if acks == 0 {
		if err := c.call(op.Broker, &p.req, nil); err != nil {
			op.Outcome, op.Error = lostOutcome(err), err.Error()
			return
		}
		op.Outcome, op.Error = history.Info, AcksNone
		return
	}
	if err := c.call(op.Broker, &p.req, &p.resp); err != nil {
		op.Outcome, op.Error = lostOutcome(err), err.Error()
		return
	}
	if len(p.resp.Topics) != 1 || p.resp.Topics[0].Topic != p.req.Topics[0].Topic || p.resp.Topics[0].TopicID != p.req.Topics[0].TopicID || len(p.resp.Topics[0].Partitions) != 1 ||
		p.resp.Topics[0].Partitions[0].Partition != op.Partition.Index {
		op.Outcome, op.Error = history.Info, fmt.Sprintf("%v: Produce for other partitions than %s", errMalformed, op.Partition)
		return
	}
	answer := &p.resp.Topics[0].Partitions[0]
	op.Outcome = sendOutcome(answer.ErrorCode)
	if op.Outcome != history.OK {
		op.Error = codeName(answer.ErrorCode)
		return
	}
	op.Offset = max(history.Offset(answer.BaseOffset), history.UnknownOffset)
}

// fetching is a Fetch request and its answer, reused from one poll to the next.
type fetching struct {
	req   kmsg.FetchRequest
	resp  kmsg.FetchResponse
	batch batchReader
	blind bool // tells no leader epoch
}

// newFetching asks for at most maxBytes, and waits for the first record for at most maxWait.
func newFetching(topic string, maxWait time.Duration, maxBytes int32) *fetching {
	f := &fetching{}
	f.req.Default()
	f.req.Version = fetchVersion
	f.req.MaxWaitMillis = millis(maxWait)
	f.req.MinBytes = 1
	f.req.MaxBytes = maxBytes
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = maxBytes
	f.req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{part}}}
	return f
}

// from makes it the fetch of a consumer in a rack.
func (f *fetching) from(n *nearby) { f.req.Rack, f.blind = n.rack, n.blind }

// preferred is the broker that the last answer, which carried no error, sent the consumer to, history.NoBroker if none.
func (f *fetching) preferred() history.BrokerID {
	return history.BrokerID(f.resp.Topics[0].Partitions[0].PreferredReadReplica)
}

// poll fetches from op.Position and completes op with what came; next is the position after it, and code the answer's error
// code, 0 also if none came. A poll without an answer had no effect either way, so it fails.
func (f *fetching) poll(c *client, op *history.Op) (next history.Offset, code int16) {
	part := &f.req.Topics[0].Partitions[0]
	part.Partition, part.FetchOffset, part.CurrentLeaderEpoch = op.Partition.Index, int64(op.Position), int32(op.Epoch)
	if f.blind {
		part.CurrentLeaderEpoch = -1
	}
	next = op.Position
	op.Outcome, op.Offset, op.HW, op.LogStart = history.Fail, history.UnknownOffset, history.UnknownOffset, history.UnknownOffset
	if err := c.call(op.Broker, &f.req, &f.resp); err != nil {
		op.Error = err.Error()
		return next, 0
	}
	if f.resp.ErrorCode != 0 {
		op.Error = codeName(f.resp.ErrorCode)
		return next, f.resp.ErrorCode
	}
	if len(f.resp.Topics) != 1 || f.resp.Topics[0].Topic != f.req.Topics[0].Topic || f.resp.Topics[0].TopicID != f.req.Topics[0].TopicID || len(f.resp.Topics[0].Partitions) != 1 ||
		f.resp.Topics[0].Partitions[0].Partition != op.Partition.Index {
		op.Error = fmt.Sprintf("%v: Fetch of other partitions than %s", errMalformed, op.Partition)
		return next, 0
	}
	answer := &f.resp.Topics[0].Partitions[0]
	if answer.ErrorCode != 0 {
		op.Error = codeName(answer.ErrorCode)
		return next, answer.ErrorCode
	}
	records, next, err := f.batch.read(op.Position, answer.RecordBatches)
	if err != nil {
		op.Error = fmt.Sprintf("%v: %v", errMalformed, err)
		return next, 0
	}
	op.Outcome, op.Records = history.OK, records
	op.HW, op.LogStart = max(history.Offset(answer.HighWatermark), history.UnknownOffset), max(history.Offset(answer.LogStartOffset), history.UnknownOffset)
	return next, 0
}

// listOffset asks a partition's leader for its earliest or latest offset.
func listOffset(c *client, p history.Partition, r route, place int64) (history.Offset, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = listOffsetsVersion
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.CurrentLeaderEpoch, part.Timestamp = p.Index, int32(r.epoch), place
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: p.Topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{part}}}
	resp := kmsg.NewPtrListOffsetsResponse()
	if err := c.call(r.leader, req, resp); err != nil {
		return 0, fmt.Errorf("ListOffsets of %s at broker %d: %w", p, r.leader, err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != p.Index {
		return 0, fmt.Errorf("ListOffsets of %s at broker %d: %w: other partitions", p, r.leader, errMalformed)
	}
	answer := resp.Topics[0].Partitions[0]
	if answer.ErrorCode != 0 {
		return 0, fmt.Errorf("ListOffsets of %s at broker %d: %w", p, r.leader, errors.New(codeName(answer.ErrorCode)))
	}
	if answer.Offset < 0 {
		return 0, fmt.Errorf("ListOffsets of %s at broker %d: offset %d, expected 0 or more", p, r.leader, answer.Offset)
	}
	return history.Offset(answer.Offset), nil
}
