package replica

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/broker/kafka"
)

// fetchOp is a fetch request with its topics resolved.
type fetchOp struct {
	version  int16
	follower kafka.BrokerID // NoBroker for a consumer
	epoch    kafka.BrokerEpoch
	rack     string // of a consumer: client.rack
	minBytes int
	maxBytes int
	topics   []fetchTopic
	targets  []fetchTarget // of all topics, in order of request

	opens        bool          // a full fetch that asks for a session
	session      *fetchSession // of an incremental fetch
	sessionEpoch int32         // that the session then has as long as no other fetch of it came
}

// byID reports whether a fetch names topics by id (KIP-516).
func (op *fetchOp) byID() bool { return op.version >= 13 }

// fetchTopic is one topic of a request, with how many of the targets are its own.
type fetchTopic struct {
	name string
	id   kafka.TopicID
	n    int
}

// fetchTarget is one partition that a fetch asks for.
type fetchTarget struct {
	p           *Partition // nil with a code
	code        kafka.Code
	index       int32
	epoch       kafka.Epoch
	offset      kafka.Offset
	lastFetched kafka.Epoch
	start       kafka.Offset // the follower's log start offset
	maxBytes    int

	cached *cachedPartition // of an incremental fetch
	told   told             // in the answer, once there is one
}

// Fetch serves consumers (ReplicaState.ID and ReplicaID -1) and followers.
func (m *Manager) Fetch(now time.Duration, req *kmsg.FetchRequest, tok Token) {
	m.now = now
	op, code := m.resolveFetch(req)
	if code != kafka.None {
		m.reply(tok, &kmsg.FetchResponse{Version: req.Version, ErrorCode: int16(code)})
		return
	}
	if op.follower != kafka.NoBroker {
		m.creditAll(now, &op)
	}
	mayWait := req.MaxWaitMillis > 0 && len(op.targets) > 0 && !m.purgatory.full() && !m.stopping
	if !mayWait || !m.nothingYet(&op) {
		if resp, got := m.read(&op); !mayWait || got.urgent || got.bytes >= op.minBytes {
			m.give(tok, &op, resp, got)
			return
		}
	}
	d := &delayedFetch{op: op}
	d.tok, d.deadline, d.fetch = tok, now+millis(req.MaxWaitMillis), d
	m.purgatory.add(&d.delayed)
	for i := range d.op.targets {
		p := d.op.targets[i].p
		p.fetches = append(p.fetches, d)
	}
}

// resolveFetch finds what a fetch asks for. An error is one of its session.
func (m *Manager) resolveFetch(req *kmsg.FetchRequest) (fetchOp, kafka.Code) {
	op := fetchOp{
		version: req.Version, follower: kafka.BrokerID(req.ReplicaID), epoch: kafka.NoBrokerEpoch, rack: req.Rack,
		minBytes: int(req.MinBytes), maxBytes: min(int(req.MaxBytes), m.cfg.FetchMaxBytes),
	}
	if req.Version >= 15 {
		op.follower, op.epoch = kafka.BrokerID(req.ReplicaState.ID), kafka.BrokerEpoch(req.ReplicaState.Epoch)
	}
	if op.follower < 0 {
		op.follower = kafka.NoBroker
	}
	code := m.sessionOf(req, &op)
	switch {
	case code != kafka.None:
	case op.session != nil:
		m.resolveSession(&op)
	default:
		m.resolveTopics(req, &op)
	}
	return op, code
}

// resolveTopics makes what the request itself names the targets of a fetch.
func (m *Manager) resolveTopics(req *kmsg.FetchRequest, op *fetchOp) {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	op.topics, op.targets = make([]fetchTopic, len(req.Topics)), make([]fetchTarget, 0, n)
	for i := range req.Topics {
		t := &req.Topics[i]
		op.topics[i] = fetchTopic{t.Topic, t.TopicID, len(t.Partitions)}
		name, code := m.topicName(op.byID(), t.Topic, t.TopicID)
		for k := range t.Partitions {
			target := wanted(&t.Partitions[k])
			target.p, target.code = m.resolve(op.byID(), name, t.TopicID, target.index, code)
			op.targets = append(op.targets, target)
		}
	}
}

// wanted is what a request asks for of one partition.
func wanted(r *kmsg.FetchRequestTopicPartition) fetchTarget {
	return fetchTarget{
		index: r.Partition, epoch: kafka.Epoch(r.CurrentLeaderEpoch), offset: kafka.Offset(r.FetchOffset),
		lastFetched: kafka.Epoch(r.LastFetchedEpoch), start: kafka.Offset(r.LogStartOffset), maxBytes: int(r.PartitionMaxBytes),
	}
}

// resolve finds the replica of a partition whose topic's name was looked up with that outcome.
func (m *Manager) resolve(byID bool, name string, id kafka.TopicID, index int32, code kafka.Code) (*Partition, kafka.Code) {
	if code != kafka.None {
		return nil, code
	}
	p, code := m.lookUp(kafka.TopicPartition{Topic: name, Index: index})
	if byID && p != nil && p.topicID != id {
		return nil, kafka.InconsistentTopicID
	}
	return p, code
}

// admission is what a leader makes of one partition of a fetch before it reads.
type admission struct {
	code      kafka.Code
	blind     bool // the leader cannot even tell where its log begins and is committed
	diverging bool
	epoch     kafka.Epoch // where the leader's log ends the follower's last fetched epoch
	end       kafka.Offset
}

// admit checks one partition of a fetch.
func (m *Manager) admit(op *fetchOp, t *fetchTarget) admission {
	p := t.p
	if p == nil {
		return admission{code: t.code}
	}
	if op.follower == kafka.NoBroker {
		code := admitEpoch(t.epoch, p.epoch)
		if code == kafka.None {
			code = admitConsumerFetch(p.role == leading, p.epoch != kafka.NoEpoch, op.version >= firstFollowerVersion)
		}
		if code == kafka.None && p.role == leading && !hwReadable(p.hw, p.log.Start()) {
			return admission{code: kafka.OffsetOutOfRange, blind: true}
		}
		if code == kafka.None && (t.offset < p.log.Start() || t.offset > p.log.End()) {
			code = kafka.OffsetOutOfRange
		}
		return admission{code: code}
	}
	registered, _ := m.registration(op.follower)
	asked, assigned := t.epoch, p.remote(op.follower) != nil
	unfenced := asked != p.epoch && p.role == leading
	if m.cfg.Bug.Bites(bug.UnfencedFetch, unfenced) || m.cfg.Bug.Bites(bug.UnfencedIncrementalFetch, unfenced && op.session != nil) {
		asked = p.epoch
	}
	code := admitReplicaFetch(p.role == leading, asked, p.epoch, assigned, op.epoch, registered.Epoch)
	switch {
	case code != kafka.None:
		return admission{code: code}
	case !hwReadable(p.hw, p.log.Start()):
		return admission{code: kafka.OffsetOutOfRange, blind: true}
	case t.offset < p.log.Start():
		return admission{code: kafka.OffsetOutOfRange}
	}
	if t.lastFetched >= 0 {
		epoch, end := p.log.EpochEnd(t.lastFetched)
		if epoch == kafka.NoEpoch {
			return admission{code: kafka.OffsetOutOfRange}
		}
		if m.cfg.Bug.Bites(bug.SingleEpochLookup, epoch < t.lastFetched) {
			epoch = t.lastFetched
		}
		diverging := diverges(t.lastFetched, t.offset, epoch, end)
		if diverging && !m.cfg.Bug.Bites(bug.OffsetOnlyDivergence, t.offset <= p.log.End()) {
			return admission{diverging: true, epoch: epoch, end: end}
		}
	}
	if t.offset > p.log.End() {
		return admission{code: kafka.OffsetOutOfRange}
	}
	return admission{}
}

// creditAll takes down the follower's log ends, of those partitions where its log does not leave the leader's.
func (m *Manager) creditAll(now time.Duration, op *fetchOp) {
	for i := range op.targets {
		t := &op.targets[i]
		m.refuseFetch(now, op, t)
		if a := m.admit(op, t); a.code == kafka.None && (!a.diverging || m.cfg.Bug.Bites(bug.DivergingFetchCredited, true)) {
			r := t.p.remote(op.follower)
			r.start = t.start
			m.credit(now, t.p, r, t.offset, op.epoch)
			m.completeDeletes(t.p)
		}
	}
}

// nothingYet reports whether there is nothing at all to tell a fetch that would wait for something: the usual case, in which no
// response needs to be made.
func (m *Manager) nothingYet(op *fetchOp) bool {
	if op.minBytes < 1 {
		return false
	}
	follower := op.follower != kafka.NoBroker
	for i := range op.targets {
		t := &op.targets[i]
		if a := m.admit(op, t); a.code != kafka.None || a.diverging {
			return false
		}
		if t.offset < m.readBound(op, t.p) || m.preferredReplica(op, t) != kafka.NoBroker || follower && t.p.remote(op.follower).hwSent < t.p.hw {
			return false
		}
	}
	return true
}

// lacksHW reports whether a waiting follower is to be told of a new high watermark at once: consumers may be reading there (KIP-392). Where
// none are sent to followers it hears of it with the next records, or when its wait is over.
func (m *Manager) lacksHW(op *fetchOp, p *Partition) bool {
	if m.cfg.ReplicaSelector != config.RackAware || op.follower == kafka.NoBroker {
		return false
	}
	r := p.remote(op.follower)
	return r != nil && r.hwSent < p.hw
}

// readBound is the offset below which a fetch may read of a partition.
func (m *Manager) readBound(op *fetchOp, p *Partition) kafka.Offset {
	end := p.log.End()
	bound := consumerBound(op.follower != kafka.NoBroker, p.hw, end)
	if p.role != leading && m.cfg.Bug.Bites(bug.FollowerReadsPastHW, bound != end) || p.role == leading && m.cfg.Bug.Bites(bug.ReadPastHW, bound != end) {
		return end
	}
	// The position of an offset at which a segment was rolled is that of the end of the one before: it bounds nothing in the next one.
	if op.follower == kafka.NoBroker && m.cfg.Bug.Bites(bug.UnstableReadLimit, bound < end && p.log.Rolled(bound)) {
		return end
	}
	return bound
}

// give answers a fetch with what was read. What all fetches that are answered within one input hold is bounded as one fetch is,
// beyond a batch for each: many that wake or expire together must not fill the memory.
func (m *Manager) give(tok Token, op *fetchOp, resp *kmsg.FetchResponse, got reading) {
	m.given += got.bytes
	m.reply(tok, m.conclude(op, resp))
}

// reading says what a read found: urgent, that it must be answered now.
type reading struct {
	bytes  int
	urgent bool
}

// read makes the response to a fetch from what there is now; to an incremental one, of those partitions of which there is something new. It
// credits nothing: when a fetch has waited, what it said is old.
func (m *Manager) read(op *fetchOp) (*kmsg.FetchResponse, reading) {
	resp := &kmsg.FetchResponse{Version: op.version}
	var parts []kmsg.FetchResponseTopicPartition
	if op.session == nil {
		resp.Topics = make([]kmsg.FetchResponseTopic, 0, len(op.topics))
		parts = make([]kmsg.FetchResponseTopicPartition, 0, len(op.targets))
	}
	var got reading
	next := 0
	for _, topic := range op.topics {
		first := len(parts)
		for i := next; i < next+topic.n; i++ {
			t := &op.targets[i]
			parts = append(parts, kmsg.FetchResponseTopicPartition{})
			out := &parts[len(parts)-1]
			m.readPartition(op, t, out, &got)
			if t.told = tell(out); t.cached != nil && !mustTell(t.told, t.cached.told) {
				parts = parts[:len(parts)-1]
			}
		}
		next += topic.n
		if n := len(parts); n > first || op.session == nil {
			resp.Topics = append(resp.Topics, kmsg.FetchResponseTopic{Topic: topic.name, TopicID: topic.id, Partitions: parts[first:n:n]})
		}
	}
	return resp, got
}

// noRecords is what a partition without any is answered with: librdkafka takes null for a broken response.
var noRecords = []byte{}

func (m *Manager) readPartition(op *fetchOp, t *fetchTarget, out *kmsg.FetchResponseTopicPartition, got *reading) {
	out.Default()
	out.Partition, out.HighWatermark, out.RecordBatches = t.index, -1, noRecords
	a := m.admit(op, t)
	if t.p != nil && (a.code == kafka.None || a.code == kafka.OffsetOutOfRange && !a.blind) {
		out.HighWatermark, out.LastStableOffset, out.LogStartOffset = int64(t.p.hw), int64(t.p.hw), int64(t.p.log.Start())
	}
	if a.code != kafka.None {
		out.ErrorCode = int16(a.code)
		got.urgent = true
		return
	}
	if a.diverging {
		out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = int32(a.epoch), int64(a.end)
		got.urgent = true
		return
	}
	follower := op.follower != kafka.NoBroker
	if follower {
		if r := t.p.remote(op.follower); r.hwSent < t.p.hw {
			r.hwSent = t.p.hw
			got.urgent = true
		}
	}
	if to := m.preferredReplica(op, t); to != kafka.NoBroker {
		out.PreferredReadReplica = int32(to)
		got.urgent = true
		return
	}
	left := min(op.maxBytes, m.cfg.FetchMaxBytes-m.given) - got.bytes
	bound := m.readBound(op, t.p)
	if t.offset >= bound || left <= 0 && got.bytes > 0 {
		return
	}
	data, err := t.p.log.Read(t.offset, bound, min(t.maxBytes, left), got.bytes == 0)
	if err != nil {
		m.fatal(fmt.Errorf("reading %v from offset %d: %w", t.p.tp, t.offset, err))
		out.ErrorCode = int16(kafka.StorageError)
		got.urgent = true
		return
	}
	out.RecordBatches = data
	got.bytes += len(data)
}

// fetchSatisfied reports whether a waiting fetch can be answered, now that something changed at p: there is enough to read,
// or an error to tell.
func (m *Manager) fetchSatisfied(d *delayedFetch, p *Partition) bool {
	if d.op.minBytes > 1 {
		_, got := m.read(&d.op)
		return got.urgent || got.bytes >= d.op.minBytes
	}
	for i := range d.op.targets {
		t := &d.op.targets[i]
		if t.p != p {
			continue
		}
		if a := m.admit(&d.op, t); a.code != kafka.None || a.diverging {
			return true
		}
		if t.offset < m.readBound(&d.op, p) || m.lacksHW(&d.op, p) {
			return true
		}
	}
	return false
}
