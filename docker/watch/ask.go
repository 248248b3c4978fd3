package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"tidemark/history"
)

// Who asks, by the replica id of its requests. A debugging client (Request.DebuggingConsumerId; FetchRequest.java) is answered by any replica,
// leader or not, and about all that it has: of ListOffsets the latest offset is then the log end. A consumer is answered by the leader alone.
const (
	asConsumer  = -1
	asDebugging = -2
)

const (
	latest       = -1 // the timestamp that stands for the end of the log
	fetchVersion = 11 // the last but one that names topics by name, and takes no epochs
	fetchBytes   = 1  // wanted of each partition: the answer is about the high watermark
	answerBytes  = 16 << 20
	describedMax = 2000 // partitions in one description: what Kafka takes at most (max.request.partition.size.limit)
)

// Bounds of connections.
const (
	dialBound   = 500 * time.Millisecond
	answerBound = 500 * time.Millisecond // after which a connection counts as dead
)

// Asker asks one broker how things stand. Its methods are called one at a time.
type Asker struct {
	broker   history.BrokerID
	client   *kgo.Client
	greeted  bool
	quorum   bool // it answers DescribeQuorum (KIP-595): there is no ZooKeeper
	describe bool // it answers DescribeTopicPartitions (KIP-966)
}

// NewAsker returns an asker of the broker at an address, host:port, of release 0.10 or later: what it speaks is asked by ApiVersions (KIP-35).
func NewAsker(b history.BrokerID, address string) (*Asker, error) {
	most := kversion.Stable()
	most.SetMaxKeyVersion(kmsg.Fetch.Int16(), fetchVersion)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address), kgo.ClientID("observer"), kgo.MaxVersions(most), kgo.BrokerMaxReadBytes(answerBytes), kgo.FetchMaxBytes(answerBytes/2),
		kgo.DialTimeout(dialBound), kgo.RequestTimeoutOverhead(answerBound), kgo.RetryTimeout(answerBound), kgo.RequestRetries(0),
	)
	if err != nil {
		return nil, fmt.Errorf("asking broker %d at %s: %w", b, address, err)
	}
	return &Asker{broker: b, client: client}, nil
}

// Close gives up the connections.
func (a *Asker) Close() { a.client.Close() }

// request asks for one thing.
func request[R kmsg.Response](ctx context.Context, a *Asker, req kmsg.Request) (resp R, err error) {
	got, err := a.client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return resp, fmt.Errorf("broker %d: %s: %w", a.broker, kmsg.NameForKey(req.Key()), err)
	}
	resp, ok := got.(R)
	if !ok {
		return resp, fmt.Errorf("broker %d: %s answered by %T, expected %T", a.broker, kmsg.NameForKey(req.Key()), got, resp)
	}
	return resp, nil
}

// Ask looks once. The error is that the broker does not answer; what it answers of single partitions may be unknown.
func (a *Asker) Ask(ctx context.Context) (Told, error) {
	t := Told{Broker: a.broker, Controller: history.NoBroker}
	if err := a.greet(ctx); err != nil {
		return t, err
	}
	if err := a.askPartitions(ctx, &t); err != nil {
		return t, err
	}
	if a.quorum {
		if err := a.askQuorum(ctx, &t); err != nil {
			return t, err
		}
	}
	return t, a.askReplicas(ctx, &t)
}

// greet finds out, once, what the broker can be asked.
func (a *Asker) greet(ctx context.Context) error {
	if a.greeted {
		return nil
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "tidemark", "1"
	resp, err := request[*kmsg.ApiVersionsResponse](ctx, a, req)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return fmt.Errorf("broker %d: ApiVersions: %w", a.broker, err)
	}
	for _, k := range resp.ApiKeys {
		a.quorum = a.quorum || k.ApiKey == kmsg.DescribeQuorum.Int16()
		a.describe = a.describe || k.ApiKey == kmsg.DescribeTopicPartitions.Int16()
	}
	a.greeted = true
	return nil
}

// askPartitions asks for all partitions: for their description, which has the eligible leader replicas, where the broker gives it.
func (a *Asker) askPartitions(ctx context.Context, t *Told) error {
	if a.describe && a.quorum {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = describedMax
		resp, err := request[*kmsg.DescribeTopicPartitionsResponse](ctx, a, req)
		if err != nil {
			return err
		}
		t.Partitions = ReadDescription(resp)
		return nil
	}
	resp, err := request[*kmsg.MetadataResponse](ctx, a, kmsg.NewPtrMetadataRequest())
	if err != nil {
		return err
	}
	t.Partitions, t.Controller = ReadMetadata(resp)
	return nil
}

// askQuorum asks who the active controller is; it is unknown while the quorum has none.
func (a *Asker) askQuorum(ctx context.Context, t *Told) error {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	t.Controller = history.NoBroker
	within, cancel := context.WithTimeout(ctx, quorumBound)
	defer cancel()
	resp, err := request[*kmsg.DescribeQuorumResponse](within, a, req)
	switch {
	case err == nil:
		t.Controller = ReadQuorum(resp)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // the broker passes it on to a controller that it does not reach
	default:
		return err
	}
	return nil
}

// quorumBound is how long a broker may take to ask the controller who it is.
const quorumBound = 200 * time.Millisecond

// askReplicas asks for the broker's own replicas: first for log ends, then for high watermarks there, then who leads. The epoch at the end must
// be that at the beginning, or else the answers do not belong together, and the replica is left unknown this time.
func (a *Asker) askReplicas(ctx context.Context, t *Told) error {
	var own []history.Partition
	for i := range t.Partitions {
		if p := &t.Partitions[i]; slices.Contains(p.Replicas, a.broker) {
			own = append(own, p.Partition)
		}
	}
	if len(own) == 0 {
		return nil
	}
	ends, err := a.askEnds(ctx, own, asDebugging)
	if err != nil {
		return err
	}
	marks, err := a.askMarks(ctx, ends)
	if err != nil {
		return err
	}
	leads, err := a.askEnds(ctx, own, asConsumer)
	if err != nil {
		return err
	}
	for _, p := range own {
		end, has := ends[p]
		mark, marked := marks[p]
		lead := leads[p]
		if !has || end.code != 0 || !marked || lead.code == 0 && lead.epoch != end.epoch {
			continue
		}
		// The log may have grown since its end was told.
		t.Replicas = append(t.Replicas, Replica{p, history.ReplicaState{
			Broker: a.broker, Up: true, Leads: leading(lead.code), Epoch: end.epoch, LEO: max(end.offset, mark.hw), HW: mark.hw, Start: mark.start,
		}})
	}
	return nil
}

// leading reports whether a broker that answers a consumer so takes itself for the leader. OFFSET_NOT_AVAILABLE is a new leader's whose
// high watermark has not reached its epoch (KIP-207).
func leading(code int16) bool {
	return code == 0 || code == kerr.OffsetNotAvailable.Code
}

// end is where a log ends, by ListOffsets.
type end struct {
	code   int16
	offset history.Offset
	epoch  history.Epoch // of the replica; -1 if it was not told
}

// mark is a replica's high watermark and log start.
type mark struct{ hw, start history.Offset }

// askEnds asks for the latest offsets.
func (a *Asker) askEnds(ctx context.Context, own []history.Partition, as int32) (map[history.Partition]end, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = as
	for _, p := range own {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.Topic {
			topic := kmsg.NewListOffsetsRequestTopic()
			topic.Topic = p.Topic
			req.Topics = append(req.Topics, topic)
		}
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp, part.MaxNumOffsets = p.Index, latest, 1
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, part)
	}
	resp, err := request[*kmsg.ListOffsetsResponse](ctx, a, req)
	if err != nil {
		return nil, err
	}
	out := map[history.Partition]end{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			e := end{code: p.ErrorCode, offset: history.Offset(p.Offset), epoch: -1}
			if resp.Version == 0 {
				e.offset = history.UnknownOffset
				if len(p.OldStyleOffsets) > 0 {
					e.offset = history.Offset(p.OldStyleOffsets[0])
				}
			}
			if resp.Version >= 4 {
				e.epoch = history.Epoch(p.LeaderEpoch)
			}
			out[history.Partition{Topic: t.Topic, Index: p.Partition}] = e
		}
	}
	return out, nil
}

// askMarks asks for the high watermarks by fetches from where logs end.
func (a *Asker) askMarks(ctx context.Context, ends map[history.Partition]end) (map[history.Partition]mark, error) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = asDebugging, 0, 0, answerBytes/2, -1
	for _, p := range slices.SortedFunc(maps.Keys(ends), history.Partition.Compare) {
		e := ends[p]
		if e.code != 0 || e.offset < 0 {
			continue
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.Topic {
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic = p.Topic
			req.Topics = append(req.Topics, topic)
		}
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.Index, int64(e.offset), fetchBytes
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, part)
	}
	out := map[history.Partition]mark{}
	if len(req.Topics) == 0 {
		return out, nil
	}
	resp, err := request[*kmsg.FetchResponse](ctx, a, req)
	if err != nil {
		return nil, err
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if p.ErrorCode != 0 || p.HighWatermark < 0 {
				continue
			}
			m := mark{history.Offset(p.HighWatermark), history.UnknownOffset}
			if resp.Version >= 5 {
				m.start = history.Offset(p.LogStartOffset)
			}
			out[history.Partition{Topic: t.Topic, Index: p.Partition}] = m
		}
	}
	return out, nil
}
