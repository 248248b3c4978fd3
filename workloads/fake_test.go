package workloads

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
)

// fakeEnv is goroutines and the clock of the test; in a synctest bubble that clock is virtual.
type fakeEnv struct{ start time.Time }

func (e fakeEnv) Now() time.Duration      { return time.Since(e.start) }
func (e fakeEnv) Sleep(d time.Duration)   { time.Sleep(d) }
func (e fakeEnv) Go(_ string, fn func())  { go fn() }
func (e fakeEnv) NewSignal() world.Signal { return &fakeSignal{changed: make(chan struct{})} }
func (e fakeEnv) Rand(purpose string, index int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(index)))
}

type fakeSignal struct {
	mu      sync.Mutex
	changed chan struct{}
}

func (s *fakeSignal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *fakeSignal) Until(cond func() bool, timeout time.Duration) bool {
	var expired <-chan time.Time
	if timeout >= 0 {
		expired = time.After(timeout)
	}
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return true
		}
		select {
		case <-changed:
		case <-expired:
			return false
		}
	}
}

// fakeCluster answers Kafka frames from one log a partition, and misbehaves as told. Only what workloads call is there.
type fakeCluster struct {
	world.Cluster
	mu           sync.Mutex
	brokers      []history.BrokerID
	factor       int
	topic        string
	parts        []fakePartition
	down         map[history.BrokerID]bool            // nothing listens
	silent       map[history.BrokerID]bool            // takes requests, answers none
	behind       map[history.BrokerID][]fakePartition // what a broker still believes that hears nothing of the others
	produce      []mishap                             // of the next Produce requests
	ids          int64                                // producer ids given out
	known        map[string]int64                     // the offsets of what idempotent producers sent, by partition, producer, epoch and sequence number
	sendings     []string                             // of idempotent producers, in order
	elected      int                                  // ElectLeaders requests
	reassign     int                                  // AlterPartitionReassignments requests
	refuseDelete int16                                // the error code of every DeleteRecords, 0 for none
	listDelay    time.Duration                        // how long every ListOffsets lies before it is served
	produces     int16                                // the newest version of Produce that brokers speak; they hang up on newer ones. 0: any
}

type fakePartition struct {
	leader   int32
	epoch    int32
	replicas []int32
	isr      []int32
	start    int64
	log      [][]byte // one batch with one record each
	lag      int64    // how far the high watermark, and one follower, stay behind
}

func (p *fakePartition) end() int64 { return p.start + int64(len(p.log)) }

// mishap is what happens to one Produce request.
type mishap struct {
	code   int16
	append bool // before the answer
	hangUp bool // close the connection instead of answering
	elect  int  // another leader, if not 0
}

func newFakeCluster(brokers int) *fakeCluster {
	f := &fakeCluster{known: map[string]int64{}, down: map[history.BrokerID]bool{}, silent: map[history.BrokerID]bool{}, behind: map[history.BrokerID][]fakePartition{}}
	for i := range brokers {
		f.brokers = append(f.brokers, history.BrokerID(i+1))
	}
	return f
}

func (f *fakeCluster) Brokers() []history.BrokerID { return f.brokers }

func (f *fakeCluster) Dial(_ string, to history.BrokerID, timeout time.Duration) (world.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[to] {
		return nil, world.ErrRefused
	}
	return &fakeConn{f: f, to: to, answers: make(chan []byte, 16), closed: make(chan struct{})}, nil
}

func (f *fakeCluster) NewestVersion(api int16) int16 {
	if api == kmsg.Produce.Int16() && f.produces != 0 {
		return f.produces
	}
	return math.MaxInt16
}

func (f *fakeCluster) Observe() history.ClusterState {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := history.ClusterState{Controller: 1}
	for i, p := range f.parts {
		state := history.PartitionState{Partition: history.Partition{Topic: f.topic, Index: int32(i)}, Leader: history.BrokerID(p.leader), Epoch: history.Epoch(p.epoch)}
		for _, b := range p.isr {
			state.ISR = append(state.ISR, history.BrokerID(b))
		}
		for j, b := range p.replicas {
			r := history.ReplicaState{Broker: history.BrokerID(b), Up: !f.down[history.BrokerID(b)], LEO: history.Offset(p.end()), HW: history.Offset(p.end() - p.lag)}
			if j == len(p.replicas)-1 {
				r.LEO -= history.Offset(p.lag)
			}
			state.Replicas = append(state.Replicas, r)
		}
		s.Partitions = append(s.Partitions, state)
	}
	return s
}

// fakeConn is one connection; every request is served a millisecond after it was sent, one after the other.
type fakeConn struct {
	f       *fakeCluster
	to      history.BrokerID
	answers chan []byte
	closed  chan struct{}
	once    sync.Once
	last    chan struct{} // closed when the last request was served; nil before one
}

func (c *fakeConn) Close() { c.once.Do(func() { close(c.closed) }) }

func (c *fakeConn) Send(frame []byte) error {
	select {
	case <-c.closed:
		return world.ErrClosed
	default:
	}
	before, served := c.last, make(chan struct{})
	c.last = served
	go func() {
		defer close(served)
		time.Sleep(time.Millisecond)
		if before != nil {
			<-before
		}
		if answer := c.f.serve(c, frame); answer != nil {
			c.answers <- answer
		}
	}()
	return nil
}

func (c *fakeConn) Receive(timeout time.Duration) ([]byte, error) {
	select {
	case b := <-c.answers:
		return b, nil
	case <-c.closed:
		return nil, world.ErrClosed
	case <-time.After(timeout):
		return nil, world.ErrTimeout
	}
}

// serve answers one request; nil is no answer.
func (f *fakeCluster) serve(c *fakeConn, frame []byte) []byte {
	req := readRequest(frame)
	if r, ok := req.(*kmsg.FetchRequest); ok {
		f.await(r)
	}
	if _, ok := req.(*kmsg.ListOffsetsRequest); ok {
		f.mu.Lock()
		delay := f.listDelay
		f.mu.Unlock()
		time.Sleep(delay)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent[c.to] || f.down[c.to] {
		return nil
	}
	var resp kmsg.Response
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		if r.GetVersion() > f.NewestVersion(r.Key()) {
			c.Close()
			return nil
		}
		resp = f.serveProduce(c, r)
	case *kmsg.InitProducerIDRequest:
		init := r.ResponseKind().(*kmsg.InitProducerIDResponse)
		init.ProducerID, init.ProducerEpoch = f.ids, 0
		f.ids++
		resp = init
	case *kmsg.FetchRequest:
		resp = f.serveFetch(c, r)
	case *kmsg.MetadataRequest:
		resp = f.serveMetadata(c, r)
	case *kmsg.ListOffsetsRequest:
		resp = f.serveListOffsets(c, r)
	case *kmsg.DeleteRecordsRequest:
		resp = f.serveDeleteRecords(c, r)
	case *kmsg.CreateTopicsRequest:
		resp = f.serveCreate(r)
	case *kmsg.AlterPartitionAssignmentsRequest:
		resp = f.serveReassign(c, r)
	case *kmsg.ListPartitionReassignmentsRequest: // none is under way
		resp = r.ResponseKind()
	case *kmsg.ElectLeadersRequest:
		resp = f.serveElect(c, r)
	}
	if resp == nil {
		return nil
	}
	return answering(frame, resp)
}

// readRequest reads a frame that a client sent.
func readRequest(frame []byte) kmsg.Request {
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	body := frame[10+binary.BigEndian.Uint16(frame[8:]):]
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if req.IsFlexible() {
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil {
		panic(fmt.Sprintf("request %d version %d: %v", key, version, err))
	}
	return req
}

// answering is the frame that answers a frame.
func answering(frame []byte, resp kmsg.Response) []byte {
	out := append([]byte(nil), frame[4:8]...)
	if resp.IsFlexible() {
		out = append(out, 0)
	}
	return resp.AppendTo(out)
}

// await waits until a Fetch has something to return, or its time is over.
func (f *fakeCluster) await(r *kmsg.FetchRequest) {
	for end := time.Now().Add(time.Duration(r.MaxWaitMillis) * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p := &r.Topics[0].Partitions[0]
		f.mu.Lock()
		there := f.parts[p.Partition].end() > p.FetchOffset
		f.mu.Unlock()
		if there {
			return
		}
	}
}

// knownTo is the partitions as a connection's broker knows them.
func (f *fakeCluster) knownTo(c *fakeConn) []fakePartition {
	if old := f.behind[c.to]; old != nil {
		return old
	}
	return f.parts
}

// leads is the error code of a request that must go to a partition's leader.
func (f *fakeCluster) leads(c *fakeConn, partition int32) int16 {
	switch {
	case partition < 0 || int(partition) >= len(f.parts):
		return kerr.UnknownTopicOrPartition.Code
	case f.knownTo(c)[partition].leader != int32(c.to):
		return kerr.NotLeaderForPartition.Code
	}
	return 0
}

func (f *fakeCluster) serveProduce(c *fakeConn, r *kmsg.ProduceRequest) kmsg.Response {
	asked := r.Topics[0].Partitions[0]
	resp := r.ResponseKind().(*kmsg.ProduceResponse)
	answer := kmsg.NewProduceResponseTopicPartition()
	answer.Partition, answer.BaseOffset = asked.Partition, -1
	m := mishap{append: true, code: f.leads(c, asked.Partition)}
	if m.code != 0 {
		m.append = false
	} else if len(f.produce) > 0 {
		m, f.produce = f.produce[0], f.produce[1:]
	}
	sequenced := sequencedAs(asked.Partition, asked.Records)
	if sequenced != "" {
		f.sendings = append(f.sendings, sequenced)
	}
	if offset, ok := f.known[sequenced]; ok && m.append {
		m.append = false
		if m.code == 0 {
			answer.BaseOffset = offset
		}
	}
	if m.append {
		p := &f.parts[asked.Partition]
		if sequenced != "" {
			f.known[sequenced] = p.end()
		}
		batch := slices.Clone(asked.Records)
		binary.BigEndian.PutUint64(batch, uint64(p.end()))
		if m.code == 0 {
			answer.BaseOffset = p.end()
		}
		p.log = append(p.log, batch)
	}
	if p := &f.parts[asked.Partition]; m.elect != 0 {
		p.leader, p.epoch = int32(m.elect), p.epoch+1
	}
	if m.hangUp {
		c.Close()
	}
	if m.hangUp || r.Acks == 0 {
		return nil
	}
	answer.ErrorCode = m.code
	resp.Topics = []kmsg.ProduceResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []kmsg.ProduceResponseTopicPartition{answer}}}
	return resp
}

// sequencedAs names a batch of an idempotent producer: partition, producer id, epoch and sequence number; "" if it is of none.
func sequencedAs(partition int32, b []byte) string {
	id := int64(binary.BigEndian.Uint64(b[batchProducerIDAt:]))
	if id < 0 {
		return ""
	}
	return fmt.Sprintf("%d: %d/%d #%d", partition, id, binary.BigEndian.Uint16(b[batchEpochAt:]), binary.BigEndian.Uint32(b[batchSequenceAt:]))
}

func (f *fakeCluster) serveFetch(c *fakeConn, r *kmsg.FetchRequest) kmsg.Response {
	asked := r.Topics[0].Partitions[0]
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.Partition, answer.ErrorCode = asked.Partition, f.leads(c, asked.Partition)
	if answer.ErrorCode == 0 {
		p := &f.knownTo(c)[asked.Partition]
		answer.HighWatermark, answer.LogStartOffset = p.end()-p.lag, p.start
		if asked.FetchOffset < p.start || asked.FetchOffset > p.end() {
			answer.ErrorCode = kerr.OffsetOutOfRange.Code
		} else {
			// As brokers may, it begins with a record that was not asked for.
			from := max(asked.FetchOffset-1, p.start)
			for _, batch := range p.log[from-p.start : max(from, p.end()-p.lag)-p.start] {
				answer.RecordBatches = append(answer.RecordBatches, batch...)
			}
		}
	}
	resp.Topics = []kmsg.FetchResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []kmsg.FetchResponseTopicPartition{answer}}}
	return resp
}

func (f *fakeCluster) serveMetadata(c *fakeConn, r *kmsg.MetadataRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	resp.ControllerID = 1
	for range f.Brokers() {
		resp.Brokers = append(resp.Brokers, kmsg.NewMetadataResponseBroker())
	}
	if len(r.Topics) == 0 {
		return resp
	}
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = r.Topics[0].Topic
	if f.parts == nil {
		topic.ErrorCode = kerr.UnknownTopicOrPartition.Code
	}
	for i, p := range f.knownTo(c) {
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Leader, part.LeaderEpoch, part.Replicas, part.ISR = int32(i), p.leader, p.epoch, p.replicas, p.isr
		topic.Partitions = append(topic.Partitions, part)
	}
	resp.Topics = append(resp.Topics, topic)
	return resp
}

func (f *fakeCluster) serveListOffsets(c *fakeConn, r *kmsg.ListOffsetsRequest) kmsg.Response {
	asked := r.Topics[0].Partitions[0]
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	answer := kmsg.NewListOffsetsResponseTopicPartition()
	answer.Partition, answer.ErrorCode = asked.Partition, f.leads(c, asked.Partition)
	if answer.ErrorCode == 0 {
		p := &f.knownTo(c)[asked.Partition]
		answer.Offset = p.end() - p.lag
		if asked.Timestamp == earliest {
			answer.Offset = p.start
		}
	}
	resp.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []kmsg.ListOffsetsResponseTopicPartition{answer}}}
	return resp
}

func (f *fakeCluster) serveDeleteRecords(c *fakeConn, r *kmsg.DeleteRecordsRequest) kmsg.Response {
	asked := r.Topics[0].Partitions[0]
	resp := r.ResponseKind().(*kmsg.DeleteRecordsResponse)
	answer := kmsg.NewDeleteRecordsResponseTopicPartition()
	answer.Partition, answer.LowWatermark, answer.ErrorCode = asked.Partition, -1, f.leads(c, asked.Partition)
	if answer.ErrorCode == 0 && f.refuseDelete != 0 {
		answer.ErrorCode = f.refuseDelete
	} else if answer.ErrorCode == 0 {
		p := &f.parts[asked.Partition]
		p.log, p.start = p.log[asked.Offset-p.start:], asked.Offset
		answer.LowWatermark = p.start
	}
	resp.Topics = []kmsg.DeleteRecordsResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []kmsg.DeleteRecordsResponseTopicPartition{answer}}}
	return resp
}

func (f *fakeCluster) serveCreate(r *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic = r.Topics[0].Topic
	if f.parts != nil {
		answer.ErrorCode = kerr.TopicAlreadyExists.Code
	} else {
		f.topic, f.factor = r.Topics[0].Topic, int(r.Topics[0].ReplicationFactor)
		for i := range r.Topics[0].NumPartitions {
			var replicas []int32
			for j := range f.factor {
				replicas = append(replicas, int32((int(i)+j)%len(f.brokers)+1))
			}
			f.parts = append(f.parts, fakePartition{leader: replicas[0], replicas: replicas, isr: replicas})
		}
	}
	resp.Topics = append(resp.Topics, answer)
	return resp
}

func (f *fakeCluster) serveReassign(c *fakeConn, r *kmsg.AlterPartitionAssignmentsRequest) kmsg.Response {
	f.reassign++
	resp := r.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	asked := r.Topics[0].Partitions[0]
	answer := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
	answer.Partition = asked.Partition
	f.parts[asked.Partition].replicas = asked.Replicas
	resp.Topics = []kmsg.AlterPartitionAssignmentsResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []kmsg.AlterPartitionAssignmentsResponseTopicPartition{answer}}}
	return resp
}

// serveElect refuses the first request, as a controller does that has just changed.
func (f *fakeCluster) serveElect(c *fakeConn, r *kmsg.ElectLeadersRequest) kmsg.Response {
	f.elected++
	resp := r.ResponseKind().(*kmsg.ElectLeadersResponse)
	answer := kmsg.NewElectLeadersResponseTopicPartition()
	answer.Partition = r.Topics[0].Partitions[0]
	p := &f.parts[answer.Partition]
	switch {
	case f.elected == 1:
		answer.ErrorCode = kerr.NotController.Code
	case f.down[history.BrokerID(p.replicas[0])]:
		answer.ErrorCode = kerr.PreferredLeaderNotAvailable.Code
	default:
		p.leader = p.replicas[0]
		p.epoch++
	}
	resp.Topics = []kmsg.ElectLeadersResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []kmsg.ElectLeadersResponseTopicPartition{answer}}}
	return resp
}
