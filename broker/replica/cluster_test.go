package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/metadata"
)

// cluster is a few brokers' replicas joined by hand: every fetch, every answer and every decision of the controller moves only
// when the scenario says so.
type cluster struct {
	t       *testing.T
	cfg     config.Config
	now     time.Duration
	brokers []*host
	master  *metadata.Image // the controller's
	held    *kmsg.AlterPartitionRequest
	wires   []*wire
	token   Token
	owners  map[Token]owner
	acked   map[kafka.Offset]string // what producers were told: which value stands at an offset
	out     strings.Builder
}

// host is one broker: its disk outlives its manager.
type host struct {
	id          kafka.BrokerID
	fs          disk.FS
	m           *Manager // nil while down
	epoch       kafka.BrokerEpoch
	alter       *kmsg.AlterPartitionRequest
	holdFlushes bool
	flushes     []disk.Flush
}

// wire holds the fetches of one follower to one leader, and the answers.
type wire struct {
	follower, leader kafka.BrokerID
	requests         []*kmsg.FetchRequest
	responses        []*kmsg.FetchResponse
}

// owner tells whose request a token stands for: a follower's, or a client's by what it did.
type owner struct {
	follower, leader kafka.BrokerID
	lost             bool
	label            string
}

const topicName = "t"

func newCluster(t *testing.T, n, partitions int, cfg config.Config) *cluster {
	c := &cluster{t: t, cfg: cfg, master: metadata.New(), owners: map[Token]owner{}, acked: map[kafka.Offset]string{}}
	topic := &metadata.Topic{Name: topicName, ID: kafka.TopicID{1}, Configs: map[string]string{}}
	var all []kafka.BrokerID
	for i := 1; i <= n; i++ {
		all = append(all, kafka.BrokerID(i))
		c.brokers = append(c.brokers, &host{id: kafka.BrokerID(i), fs: disk.Mem()})
	}
	for range partitions {
		topic.Partitions = append(topic.Partitions, metadata.Partition{Replicas: all, ISR: all, Leader: 1})
	}
	c.master.Topics[topicName], c.master.Names[topic.ID] = topic, topicName
	for _, h := range c.brokers {
		c.register(h)
	}
	for _, h := range c.brokers {
		c.start(h)
	}
	c.settle()
	return c
}

// register gives a broker a new epoch.
func (c *cluster) register(h *host) {
	c.master.Index++
	h.epoch = kafka.BrokerEpoch(c.master.Index)
	c.master.Brokers[h.id] = metadata.Broker{ID: h.id, Epoch: h.epoch, Rack: rackName(h.id)}
}

func rackName(b kafka.BrokerID) string { return fmt.Sprintf("r%d", b) }

func (c *cluster) start(h *host) {
	cfg := c.cfg
	cfg.NodeID, cfg.Rack = h.id, rackName(h.id)
	m, err := Open(cfg, h.fs, c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	h.m, h.flushes = m, nil
	m.SetBrokerEpoch(h.epoch)
	c.publish(h)
}

// publish hands a broker a copy of the controller's metadata.
func (c *cluster) publish(h *host) {
	img := metadata.New()
	img.Index = c.master.Index
	for id, b := range c.master.Brokers {
		img.Brokers[id] = b
	}
	var changed []kafka.TopicPartition
	if h.m.img != nil {
		for _, name := range h.m.img.TopicNames() {
			if c.master.Topics[name] == nil {
				for i := range h.m.img.Topics[name].Partitions {
					changed = append(changed, kafka.TopicPartition{Topic: name, Index: int32(i)})
				}
			}
		}
	}
	for _, name := range c.master.TopicNames() {
		t := *c.master.Topics[name]
		t.Partitions = slices.Clone(t.Partitions)
		img.Topics[name], img.Names[t.ID] = &t, name
		for i := range t.Partitions {
			changed = append(changed, kafka.TopicPartition{Topic: name, Index: int32(i)})
		}
	}
	h.m.ApplyMetadata(c.now, img, changed)
}

func (c *cluster) host(id kafka.BrokerID) *host { return c.brokers[id-1] }

func (c *cluster) wire(follower, leader kafka.BrokerID) *wire {
	for _, w := range c.wires {
		if w.follower == follower && w.leader == leader {
			return w
		}
	}
	c.wires = append(c.wires, &wire{follower: follower, leader: leader})
	slices.SortFunc(c.wires, func(a, b *wire) int { return int(a.follower*100+a.leader) - int(b.follower*100+b.leader) })
	return c.wire(follower, leader)
}

// settle collects what the managers want done and carries out their flushes, until nothing is left.
func (c *cluster) settle() {
	for again := true; again; {
		again = false
		for _, h := range c.brokers {
			if h.m == nil {
				continue
			}
			again = c.collect(h) || again
		}
	}
}

func (c *cluster) collect(h *host) (again bool) {
	out := h.m.Ready()
	if out.Fatal != nil {
		fmt.Fprintf(&c.out, "broker %d: FATAL %v\n", h.id, out.Fatal)
		h.m = nil
		return true
	}
	for _, s := range out.Steps {
		c.printStep(h.id, s)
	}
	for _, f := range out.Fetches {
		w := c.wire(h.id, f.To)
		w.requests = append(w.requests, recodeRequest(c.t, f.Request))
	}
	if out.AlterPartition != nil {
		h.alter = out.AlterPartition
	}
	for _, r := range out.Replies {
		c.route(h, r)
	}
	h.flushes = append(h.flushes, out.Flushes...)
	return len(out.Replies) > 0 || c.flush(h)
}

// flush carries out a broker's flushes unless they are held.
func (c *cluster) flush(h *host) bool {
	if h.holdFlushes || len(h.flushes) == 0 {
		return false
	}
	flushes := h.flushes
	h.flushes = nil
	for _, f := range flushes {
		var err error
		for _, s := range f.Steps {
			if err == nil {
				err = disk.Run(h.fs, s)
			}
		}
		h.m.Flushed(c.now, f.ID, err)
	}
	return true
}

// flushSteps carries out the first n steps of a broker's flushes, as one does that is killed then.
func (c *cluster) flushSteps(h *host, n int) error {
	for _, f := range h.flushes {
		for _, s := range f.Steps[:min(n, len(f.Steps))] {
			if err := disk.Run(h.fs, s); err != nil {
				return err
			}
		}
		n = max(n-len(f.Steps), 0)
	}
	return nil
}

func (c *cluster) printStep(id kafka.BrokerID, s Step) {
	fmt.Fprintf(&c.out, "broker %d: %s", id, s.Kind)
	if s.Partition.Index != 0 || s.Partition.Topic != topicName {
		fmt.Fprintf(&c.out, " of %v", s.Partition)
	}
	switch s.Kind {
	case StepElection:
		fmt.Fprintf(&c.out, " epoch %d, HW %d, epoch start %d", s.Epoch, s.From, s.To)
	case StepFollow:
		fmt.Fprintf(&c.out, " %d epoch %d, HW %d, LEO %d", s.Peer, s.Epoch, s.From, s.To)
	default:
		fmt.Fprintf(&c.out, " %d -> %d", s.From, s.To)
	}
	if s.Detail != "" {
		fmt.Fprintf(&c.out, " (%s)", s.Detail)
	}
	c.out.WriteString("\n")
}

// route takes a reply to whoever asked: a follower by its wire, a client by printing it.
func (c *cluster) route(h *host, r Reply) {
	o := c.owners[r.Token]
	delete(c.owners, r.Token)
	if o.lost {
		return
	}
	if o.follower > 0 {
		w := c.wire(o.follower, h.id)
		w.responses = append(w.responses, recodeResponse(c.t, r.Response.(*kmsg.FetchResponse)))
		return
	}
	if p, ok := r.Response.(*kmsg.ProduceResponse); ok && p.Topics[0].Partitions[0].ErrorCode == 0 {
		c.acked[kafka.Offset(p.Topics[0].Partitions[0].BaseOffset)] = o.label
	}
	if r.Close {
		fmt.Fprintf(&c.out, "%s: connection closed\n", o.label)
		return
	}
	fmt.Fprintf(&c.out, "%s: %s\n", o.label, describe(r.Response))
}

// describe renders a client's answer.
func describe(r kmsg.Response) string {
	var parts []string
	switch r := r.(type) {
	case nil:
		return "no answer"
	case *kmsg.ProduceResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					parts = append(parts, kafka.Code(p.ErrorCode).String())
				} else {
					parts = append(parts, fmt.Sprintf("acked at offset %d", p.BaseOffset))
				}
			}
		}
	case *kmsg.DeleteRecordsResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s, low watermark %d", kafka.Code(p.ErrorCode), p.LowWatermark))
			}
		}
	case *kmsg.FetchResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					parts = append(parts, fmt.Sprintf("%s (log start %d, HW %d)", kafka.Code(p.ErrorCode), p.LogStartOffset, p.HighWatermark))
				} else if p.PreferredReadReplica >= 0 {
					parts = append(parts, fmt.Sprintf("go to broker %d (HW %d)", p.PreferredReadReplica, p.HighWatermark))
				} else {
					parts = append(parts, fmt.Sprintf("[%s] HW %d", values(p.RecordBatches), p.HighWatermark))
				}
			}
		}
	}
	return strings.Join(parts, ", ")
}

// values renders record batches as offset:value/epoch.
func values(data []byte) string {
	var parts []string
	for len(data) > 0 {
		b, err := log.ParseBatch(data)
		if err != nil {
			return "corrupt"
		}
		records, err := log.Records(data[:b.Size], 1<<20)
		if err != nil {
			return "corrupt"
		}
		for _, r := range records {
			parts = append(parts, fmt.Sprintf("%d:%s/%d", r.Offset, r.Value, b.Epoch))
		}
		data = data[b.Size:]
	}
	return strings.Join(parts, " ")
}

// deliverRequest takes the oldest fetch on a wire to the leader.
func (c *cluster) deliverRequest(w *wire) {
	req := w.requests[0]
	w.requests = w.requests[1:]
	if leader := c.host(w.leader); leader.m != nil {
		c.token++
		c.owners[c.token] = owner{follower: w.follower, leader: w.leader}
		leader.m.Fetch(c.now, req, c.token)
	} else {
		c.host(w.follower).m.FetchFailed(c.now, w.leader)
	}
	c.settle()
}

// deliverResponse takes the oldest answer on a wire to the follower.
func (c *cluster) deliverResponse(w *wire) {
	resp := w.responses[0]
	w.responses = w.responses[1:]
	if f := c.host(w.follower); f.m != nil {
		f.m.FetchResponse(c.now, w.leader, resp)
	}
	c.settle()
}

// replicate moves everything between the named followers and their leaders until nothing moves.
func (c *cluster) replicate(followers []kafka.BrokerID) {
	for range 1000 {
		moved := false
		for _, w := range slices.Clone(c.wires) {
			if !slices.Contains(followers, w.follower) || c.host(w.follower).m == nil {
				continue
			}
			for len(w.requests) > 0 {
				c.deliverRequest(w)
				moved = true
			}
			for len(w.responses) > 0 {
				c.deliverResponse(w)
				moved = true
			}
		}
		if !moved {
			return
		}
	}
	c.t.Fatal("replication does not come to rest")
}

// stop takes a broker away: its requests and the answers to it are lost, and who waits for it is told.
func (c *cluster) stop(h *host) {
	if h.m != nil {
		_ = h.m.Close()
	}
	h.m, h.alter = nil, nil
	for _, w := range c.wires {
		if w.follower == h.id || w.leader == h.id {
			c.forget(w)
		}
		if w.leader == h.id {
			if f := c.host(w.follower); f.m != nil {
				f.m.FetchFailed(c.now, h.id)
			}
		}
	}
	c.settle()
}

// forget loses what is on a wire, and the answer that the leader still owes.
func (c *cluster) forget(w *wire) {
	w.requests, w.responses = nil, nil
	for tok, o := range c.owners {
		if o.follower == w.follower && o.leader == w.leader {
			o.lost = true
			c.owners[tok] = o
		}
	}
}

// recodeRequest and recodeResponse send a message through its bytes.
func recodeRequest(t *testing.T, req *kmsg.FetchRequest) *kmsg.FetchRequest {
	got := kmsg.NewPtrFetchRequest()
	got.Version = req.Version
	if err := got.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return got
}

func recodeResponse(t *testing.T, resp *kmsg.FetchResponse) *kmsg.FetchResponse {
	got := kmsg.NewPtrFetchResponse()
	got.Version = resp.Version
	if err := got.ReadFrom(resp.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return got
}

// decide is the controller: it holds an AlterPartition to Kafka's rules and changes the metadata.
func (c *cluster) decide(req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionResponse {
	resp := kmsg.NewPtrAlterPartitionResponse()
	resp.Version = req.Version
	for _, t := range req.Topics {
		rt := kmsg.NewAlterPartitionResponseTopic()
		rt.TopidID = t.TopicID
		for _, p := range t.Partitions {
			a := kmsg.NewAlterPartitionResponseTopicPartition()
			a.Partition = p.Partition
			reg := &c.master.Topics[c.master.Names[t.TopicID]].Partitions[p.Partition]
			a.ErrorCode = int16(c.alter(req, &p, reg))
			a.LeaderID, a.LeaderEpoch, a.PartitionEpoch = int32(reg.Leader), int32(reg.LeaderEpoch), reg.PartitionEpoch
			for _, b := range reg.ISR {
				a.ISR = append(a.ISR, int32(b))
			}
			rt.Partitions = append(rt.Partitions, a)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (c *cluster) alter(req *kmsg.AlterPartitionRequest, p *kmsg.AlterPartitionRequestTopicPartition, reg *metadata.Partition) kafka.Code {
	switch {
	case kafka.Epoch(p.LeaderEpoch) < reg.LeaderEpoch:
		return kafka.FencedLeaderEpoch
	case kafka.BrokerID(req.BrokerID) != reg.Leader:
		return kafka.InvalidRequest
	case p.PartitionEpoch < reg.PartitionEpoch:
		return kafka.InvalidUpdateVersion
	}
	var isr []kafka.BrokerID
	for _, member := range p.NewEpochISR {
		b := c.master.Brokers[kafka.BrokerID(member.BrokerID)]
		unknown := kafka.BrokerEpoch(member.BrokerEpoch) == kafka.NoBrokerEpoch && slices.Contains(reg.ISR, b.ID)
		if b.Fenced || b.Stopping || b.Epoch != kafka.BrokerEpoch(member.BrokerEpoch) && !unknown {
			return kafka.IneligibleReplica
		}
		isr = append(isr, b.ID)
	}
	reg.ISR = isr
	reg.PartitionEpoch++
	c.master.Index++
	return kafka.None
}
