package docker

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// watch observes brokers of any make by Kafka's protocol. What a broker says of a partition comes from its Metadata; what it says of its
// own replica by ListOffsets and Fetch as a debugging client (replica id -2), which every replica answers, not the leader alone: the one
// tells the log end, the other the high watermark and the log start.
type watch struct {
	cluster *Cluster
	askers  []*asker // by machine
	known   map[history.Partition]*history.PartitionState
}

// debugging is the replica id of clients that are told of replicas that do not lead (ListOffsetsRequest.DEBUGGING_REPLICA_ID).
const debugging = -2

// Newest versions in which the observer asks: later ones name topics by id, or replicas otherwise.
const (
	watchMetadata    = 12
	watchListOffsets = 7
	watchFetch       = 12
)

// watchBound is how long one look at a broker may take.
const watchBound = 500 * time.Millisecond

func newWatch(c *Cluster) *watch {
	return &watch{cluster: c, known: map[history.Partition]*history.PartitionState{}}
}

func (w *watch) close() {
	for _, a := range w.askers {
		a.close()
	}
}

// view is what one broker said.
type view struct {
	controller history.BrokerID
	partitions []history.PartitionState // without replicas but their brokers
	own        map[history.Partition]history.ReplicaState
}

// look puts together what the brokers say: of each partition the leader and the ISR of the newest leader epoch, by the word of that leader if
// it answers; and each replica as its own broker has it. A broker that does not answer keeps its last known state, as down.
func (w *watch) look() history.ClusterState {
	c := w.cluster
	for range len(c.machines) - len(w.askers) {
		w.askers = append(w.askers, newAsker())
	}
	views := make([]*view, len(c.machines))
	var all sync.WaitGroup
	for i, m := range c.machines {
		all.Go(func() {
			if v, err := w.ask(m, w.askers[i]); err == nil {
				views[i] = v
				m.learnOwn(v.own)
			}
		})
	}
	all.Wait()
	out := history.ClusterState{Controller: history.NoBroker, Time: c.env.Now()}
	up := map[history.BrokerID]bool{}
	newest := map[history.Partition]*history.PartitionState{}
	for i, v := range views {
		if v == nil {
			continue
		}
		b := c.machines[i].id
		up[b] = true
		if v.controller != history.NoBroker {
			out.Controller = v.controller
		}
		for k := range v.partitions {
			p := &v.partitions[k]
			if n := newest[p.Partition]; n == nil || p.Epoch > n.Epoch || p.Epoch == n.Epoch && p.Leader == b {
				newest[p.Partition] = p
			}
		}
	}
	for p, s := range newest {
		if k := w.known[p]; k == nil || s.Epoch >= k.Epoch {
			w.tell(k, s)
			w.known[p] = s
		}
	}
	for _, s := range w.known {
		s := *s
		s.Replicas = slices.Clone(s.Replicas)
		for i := range s.Replicas {
			s.Replicas[i] = w.replica(s.Partition, s.Replicas[i].Broker, up)
		}
		out.Partitions = append(out.Partitions, s)
	}
	slices.SortFunc(out.Partitions, func(a, b history.PartitionState) int { return a.Partition.Compare(b.Partition) })
	return out
}

// replica is a replica as last known.
func (w *watch) replica(p history.Partition, b history.BrokerID, up map[history.BrokerID]bool) history.ReplicaState {
	r := unknownReplica(b)
	if m, err := w.cluster.machine(b); err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if known, ok := m.last[p]; ok {
			r = known
		}
		r.Up = up[b]
	}
	return r
}

// learnOwn takes in what a broker says of its replicas.
func (m *machine) learnOwn(own map[history.Partition]history.ReplicaState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.last {
		if _, ok := own[p]; !ok {
			m.last[p] = unknownReplica(m.id)
		}
	}
	for p, r := range own {
		m.last[p] = r
	}
}

// tell records what has changed of a partition as protocol steps.
func (w *watch) tell(before, now *history.PartitionState) {
	c := w.cluster
	c.recording.Lock()
	defer c.recording.Unlock()
	at := c.env.Now()
	step := history.Step{Broker: now.Leader, Partition: now.Partition, Epoch: now.Epoch, Peer: history.NoBroker,
		From: history.UnknownOffset, To: history.UnknownOffset, ISR: now.ISR}
	if now.Leader != history.NoBroker && (before == nil || before.Epoch != now.Epoch && before.Leader != now.Leader) {
		step.Kind = history.StepElection
		c.opt.Record(step, at)
	}
	if before != nil && !slices.Equal(before.ISR, now.ISR) {
		step.Kind = history.StepISR
		c.opt.Record(step, at)
	}
}

// errIncomplete marks an answer that lacks what was asked for.
var errIncomplete = errors.New("an answer without what was asked for")

// ask looks at one broker.
func (w *watch) ask(m *machine, a *asker) (*view, error) {
	ctx, deadline := w.cluster.env.ctx, time.Now().Add(watchBound)
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = watchMetadata, nil // every topic
	resp, err := a.ask(ctx, m.kafka, req, deadline)
	if err != nil {
		return nil, err
	}
	v := viewOf(resp.(*kmsg.MetadataResponse))
	v.own = map[history.Partition]history.ReplicaState{}
	for _, p := range v.partitions {
		if slices.ContainsFunc(p.Replicas, func(r history.ReplicaState) bool { return r.Broker == m.id }) {
			r := unknownReplica(m.id)
			r.Leads, r.Epoch, r.Up = p.Leader == m.id, p.Epoch, true
			v.own[p.Partition] = r
		}
	}
	if len(v.own) == 0 {
		return v, nil
	}
	if err := w.ends(m, a, v, deadline); err != nil {
		return nil, err
	}
	return v, w.watermarks(m, a, v, deadline)
}

// viewOf reads a broker's metadata. Topics that Kafka keeps for itself are left out.
func viewOf(md *kmsg.MetadataResponse) *view {
	v := &view{controller: history.BrokerID(md.ControllerID)}
	for i := range md.Topics {
		t := &md.Topics[i]
		if t.Topic == nil || t.IsInternal || t.ErrorCode != 0 {
			continue
		}
		for k := range t.Partitions {
			p := &t.Partitions[k]
			s := history.PartitionState{
				Partition: history.Partition{Topic: *t.Topic, Index: p.Partition}, Leader: history.BrokerID(p.Leader),
				Epoch: history.Epoch(p.LeaderEpoch), ISR: brokersOf(p.ISR),
			}
			for _, b := range brokersOf(p.Replicas) {
				s.Replicas = append(s.Replicas, unknownReplica(b))
			}
			slices.Sort(s.ISR)
			v.partitions = append(v.partitions, s)
		}
	}
	return v
}

// ends asks a broker where its logs end.
func (w *watch) ends(m *machine, a *asker, v *view, deadline time.Time) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = watchListOffsets, debugging
	for topic, parts := range byTopic(v) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, index := range parts {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = index, -1 // the end
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := a.ask(w.cluster.env.ctx, m.kafka, req, deadline)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			name := history.Partition{Topic: t.Topic, Index: p.Partition}
			r, ok := v.own[name]
			if !ok {
				return fmt.Errorf("%w: %v was not asked for", errIncomplete, name)
			}
			if p.ErrorCode == 0 {
				r.LEO = history.Offset(p.Offset)
				v.own[name] = r
			}
		}
	}
	return nil
}

// watermarks asks a broker for its replicas' high watermarks and log starts, by a fetch of nothing from their ends.
func (w *watch) watermarks(m *machine, a *asker, v *view, deadline time.Time) error {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = watchFetch, debugging, 0, 0, 1
	req.SessionEpoch = -1 // no session
	for topic, parts := range byTopic(v) {
		t := kmsg.NewFetchRequestTopic()
		t.Topic = topic
		for _, index := range parts {
			r := v.own[history.Partition{Topic: topic, Index: index}]
			if r.LEO == history.UnknownOffset {
				continue
			}
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.PartitionMaxBytes = index, int64(r.LEO), 1
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := a.ask(w.cluster.env.ctx, m.kafka, req, deadline)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.FetchResponse).Topics {
		for _, p := range t.Partitions {
			name := history.Partition{Topic: t.Topic, Index: p.Partition}
			r, ok := v.own[name]
			if !ok {
				return fmt.Errorf("%w: %v was not asked for", errIncomplete, name)
			}
			if p.ErrorCode == 0 {
				r.HW, r.Start = history.Offset(p.HighWatermark), history.Offset(p.LogStartOffset)
				v.own[name] = r
			}
		}
	}
	return nil
}

// byTopic lists a broker's own replicas.
func byTopic(v *view) map[string][]int32 {
	out := map[string][]int32{}
	for p := range v.own {
		out[p.Topic] = append(out[p.Topic], p.Index)
	}
	return out
}

// news records that a broker has come up. Its process tells that, as nobody tells what it does inside.
func (w *watch) news(m *machine) error {
	c := w.cluster
	c.env.Sleep(watchNewsEvery)
	info, err := c.inspect(m.broker)
	if err != nil {
		return err
	}
	c.recording.Lock()
	defer c.recording.Unlock()
	r := &m.steps
	if !info.State.Running {
		return fmt.Errorf("broker %d does not run", m.id)
	}
	began, err := time.Parse(time.RFC3339Nano, info.State.StartedAt)
	if err != nil || began.UnixNano() == r.started {
		return err
	}
	if r.incarnation > 0 && !r.isDown && !r.awaited {
		c.down(m, history.ExitedByItself+", and was started by somebody else")
	}
	r.incarnation++
	r.started, r.isDown, r.ending, r.awaited = began.UnixNano(), false, "", false
	c.step(m, history.StepStart, fmt.Sprintf("incarnation %d", r.incarnation), c.env.Now()-time.Since(began))
	return nil
}

// watchNewsEvery is how often the engine is asked whether a broker has been started anew.
const watchNewsEvery = 200 * time.Millisecond
