package replica

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/metadata"
)

// TestScenarios runs the stories in testdata. Brokers are 1, 2, 3; the topic is t. Commands:
//
//	cluster [brokers=3] [partitions=1] [min=2] [classic] [lag=10s] [lag-messages=n] [fetch-bytes=n] [racks] [sessions=1000] [segment=bytes]
//	        [keep=bytes] [age=span] [check=5m] [bug=name]   keep, age and check are retention's;
//	                            starts afresh; 1 leads; with racks broker n is in rack rn, and consumers are sent to their own
//	produce B VALUE... [acks=all|1|0] [timeout=30s] [partition=n]                                one batch by a client
//	  [producer=ID sequence=N [of=EPOCH]]                                                        by an idempotent one
//	consume B OFFSET [wait=0s] [epoch=n] [version=10] [rack=r2]     a client's fetch; from version 11 on followers serve too
//	delete-records B OFFSET [timeout=30s]   a client asks the leader to remove all below an offset
//	replicate [B...]            everything between these followers (default all) and their leaders moves until nothing does
//	request F->L, response L->F one fetch, or one answer, is delivered; lose F->L: it is lost, and the follower knows;
//	                            show F->L: the fetch or answer between them that is delivered next
//	elect B [isr=..] [to=..]    the controller makes B leader in the next epoch, and tells the brokers in to (default all that are up)
//	alter B [lost|drop|hold|error=NAME]  B's AlterPartition reaches the controller, or not; late: the held one does now
//	publish [B...]              brokers hear the controller's metadata
//	fence, unfence, stopping B  the controller's view of a broker; isr A,B: the controller itself changes the ISR
//	kill, wipe, start B         start registers a new incarnation; wipe kills and empties the disk; shutdown B is a clean end;
//	                            register B registers alone; start-stale B starts on metadata from before its registration
//	replicas A,B                the assignment changes; recreate: the topic is deleted and made anew; partition=n for those above
//	retain B OFFSET             B's log loses everything below OFFSET; lose-topic-id B: a crash lost partition.metadata;
//	                            spoil B FILE: what a file holds makes no sense
//	hold-flushes B, flushes B   B's flushes wait, and are shown; flush B carries them out; flush B steps=n: only so many steps of them
//	tick SPAN                   time passes
//	list B TIMESTAMP, epoch-end B EPOCH, state, log, clean-epoch B (of which clean end the broker tells the controller)
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &scenario{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(d) })
	})
}

type scenario struct {
	t *testing.T
	c *cluster
	d *datadriven.TestData
}

func (s *scenario) run(d *datadriven.TestData) string {
	s.d = d
	if s.c != nil {
		s.c.out.Reset()
	}
	var lines [][]string
	lines = append(lines, append([]string{d.Cmd}, s.words(d)...))
	for _, line := range strings.Split(d.Input, "\n") {
		if f := strings.Fields(line); len(f) > 0 {
			lines = append(lines, f)
		}
	}
	for _, f := range lines {
		if err := s.command(f[0], f[1:]); err != nil {
			return fmt.Sprintf("%s%s: %v\n", s.text(), strings.Join(f, " "), err)
		}
	}
	return s.text()
}

func (s *scenario) text() string {
	if s.c == nil || s.c.out.Len() == 0 {
		return "ok\n"
	}
	return s.c.out.String()
}

// words turns datadriven's arguments back into words.
func (s *scenario) words(d *datadriven.TestData) []string {
	var words []string
	for _, a := range d.CmdArgs {
		w := a.Key
		if len(a.Vals) > 0 {
			w += "=" + strings.Join(a.Vals, ",")
		}
		words = append(words, w)
	}
	return words
}

// args are a command's words, split into plain ones and options.
type args struct {
	plain   []string
	options map[string]string
}

func parseArgs(words []string) args {
	a := args{options: map[string]string{}}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.options[k] = v
		} else {
			a.plain = append(a.plain, w)
		}
	}
	return a
}

func (a args) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(a.options[key]); err == nil {
		return n
	}
	return otherwise
}

func (a args) span(key string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(a.options[key]); err == nil {
		return d
	}
	return otherwise
}

func (a args) has(word string) bool { return slices.Contains(a.plain, word) }

func brokerIDs(list string) []kafka.BrokerID {
	var ids []kafka.BrokerID
	for f := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(f); err == nil {
			ids = append(ids, kafka.BrokerID(n))
		}
	}
	return ids
}

// brokers are the brokers named, or all.
func (s *scenario) brokers(words []string) []kafka.BrokerID {
	var ids []kafka.BrokerID
	for _, h := range s.c.brokers {
		if len(words) == 0 || slices.Contains(words, strconv.Itoa(int(h.id))) {
			ids = append(ids, h.id)
		}
	}
	return ids
}

func (s *scenario) command(cmd string, words []string) error {
	a := parseArgs(words)
	if cmd == "cluster" {
		return s.cluster(a)
	}
	if h := s.first(a); h != nil && h.m == nil && slices.Contains([]string{"produce", "consume", "list", "epoch-end", "alter", "shutdown"}, cmd) {
		return fmt.Errorf("broker %d is down", h.id)
	}
	switch c := s.c; cmd {
	case "produce":
		s.produce(a)
	case "consume":
		s.consume(a)
	case "delete-records":
		s.deleteRecords(a)
	case "replicate":
		c.replicate(s.brokers(a.plain))
	case "request", "response", "lose":
		return s.message(cmd, a.plain[0])
	case "show":
		return s.show(a.plain[0])
	case "elect":
		reg := s.registration(a)
		reg.Leader = s.first(a).id
		reg.LeaderEpoch++
		reg.PartitionEpoch++
		if isr := a.options["isr"]; isr != "" {
			reg.ISR = brokerIDs(isr)
		}
		s.publish(brokerIDs(a.options["to"]))
	case "isr":
		reg := s.registration(a)
		reg.ISR = brokerIDs(a.plain[0])
		reg.PartitionEpoch++
	case "replicas":
		reg := s.registration(a)
		reg.Replicas = brokerIDs(a.plain[0])
		reg.PartitionEpoch++
	case "publish":
		s.publish(s.brokers(a.plain))
	case "alter":
		return s.alter(a)
	case "late":
		resp := c.decide(c.held)
		fmt.Fprintf(&c.out, "controller: %s\n", kafka.Code(resp.Topics[0].Partitions[0].ErrorCode))
	case "fence", "unfence", "stopping":
		b := c.master.Brokers[s.first(a).id]
		b.Fenced, b.Stopping = cmd == "fence", cmd == "stopping"
		c.master.Brokers[b.ID] = b
	case "kill":
		c.stop(s.first(a))
	case "wipe":
		c.stop(s.first(a))
		s.first(a).fs = disk.Mem()
	case "register":
		c.register(s.first(a))
	case "start":
		c.register(s.first(a))
		c.start(s.first(a))
		c.settle()
	case "start-stale":
		h := s.first(a)
		c.register(h)
		c.master.Brokers[h.id] = metadata.Broker{ID: h.id, Epoch: h.epoch - 1}
		c.start(h)
		c.master.Brokers[h.id] = metadata.Broker{ID: h.id, Epoch: h.epoch}
		c.settle()
	case "lose-topic-id":
		return s.first(a).fs.Remove(topicName + "-0/" + metadataFile)
	case "spoil":
		return disk.Run(s.first(a).fs, disk.Step{Op: disk.WriteFile, Path: a.plain[1], Data: []byte("0\n2\nt 0 1\n")})
	case "retain":
		p := s.first(a).m.parts[0]
		offset, _ := strconv.Atoi(a.plain[1])
		if err := p.log.TruncateFully(kafka.Offset(offset)); err != nil {
			return err
		}
		p.log.AssignEpoch(p.epoch, kafka.Offset(offset))
		p.hw = kafka.Offset(offset)
	case "shutdown":
		h := s.first(a)
		h.m.BeginShutdown(c.now)
		c.settle()
		fmt.Fprintf(&c.out, "broker %d: done %v\n", h.id, h.m.Done())
		c.stop(h)
	case "recreate":
		c.master.Names = map[kafka.TopicID]string{{2}: topicName}
		c.master.Topics[topicName].ID = kafka.TopicID{2}
		for i := range c.master.Topics[topicName].Partitions {
			c.master.Topics[topicName].Partitions[i].LeaderEpoch = 0
		}
	case "hold-flushes":
		s.first(a).holdFlushes = true
	case "flush":
		if a.options["steps"] != "" {
			return c.flushSteps(s.first(a), a.number("steps", 0))
		}
		s.first(a).holdFlushes = false
		c.settle()
	case "flushes":
		for _, f := range s.first(a).flushes {
			for _, step := range f.Steps {
				fmt.Fprintf(&c.out, "%v\n", step)
			}
		}
	case "tick":
		s.tick(a)
	case "clean-epoch":
		fmt.Fprintf(&c.out, "%d\n", s.first(a).m.CleanShutdownEpoch())
	case "list":
		s.list(a)
	case "epoch-end":
		s.epochEnd(a)
	case "state":
		s.state(false)
	case "log":
		s.state(true)
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

// first is the broker that a command names first, nil if it names none.
func (s *scenario) first(a args) *host {
	if len(a.plain) > 0 {
		if n, err := strconv.Atoi(a.plain[0]); err == nil && n >= 1 && n <= len(s.c.brokers) {
			return s.c.brokers[n-1]
		}
	}
	return nil
}

func (s *scenario) registration(a args) *metadata.Partition {
	return &s.c.master.Topics[topicName].Partitions[a.number("partition", 0)]
}

func (s *scenario) cluster(a args) error {
	cfg := config.Default()
	cfg.MinInsyncReplicas = a.number("min", 2)
	cfg.EligibleLeaderReplicas = !a.has("classic")
	cfg.ReplicaLagTimeMax = a.span("lag", 10*time.Second)
	cfg.ReplicaLagMaxMessages = int64(a.number("lag-messages", 0))
	cfg.ReplicaFetchResponseMaxBytes = a.number("fetch-bytes", cfg.ReplicaFetchResponseMaxBytes)
	cfg.FetchSessionCacheSlots = a.number("sessions", cfg.FetchSessionCacheSlots)
	if a.has("racks") {
		cfg.ReplicaSelector = config.RackAware
	}
	cfg.LogSegmentBytes = a.number("segment", cfg.LogSegmentBytes)
	cfg.LogRetentionBytes = int64(a.number("keep", int(cfg.LogRetentionBytes)))
	cfg.LogRetention, cfg.LogRetentionCheckInterval = a.span("age", cfg.LogRetention), a.span("check", cfg.LogRetentionCheckInterval)
	cfg.Bug = bug.On(bug.Name(a.options["bug"]))
	s.c = newCluster(s.t, a.number("brokers", 3), a.number("partitions", 1), cfg)
	s.c.replicate(s.brokers(nil))
	s.c.out.Reset()
	return nil
}

func (s *scenario) publish(to []kafka.BrokerID) {
	s.c.master.Index++
	for _, h := range s.c.brokers {
		if h.m != nil && (to == nil || slices.Contains(to, h.id)) {
			s.c.publish(h)
			s.c.settle()
		}
	}
}

func (s *scenario) produce(a args) {
	c, h := s.c, s.first(a)
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, int32(a.span("timeout", 30*time.Second).Milliseconds())
	if acks := a.options["acks"]; acks != "" && acks != "all" {
		req.Acks = int16(a.number("acks", -1))
	}
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = topicName
	if name := a.options["topic"]; name != "" {
		topic.Topic = name
	}
	var payload [][]byte
	for _, v := range a.plain[1:] {
		payload = append(payload, []byte(v))
	}
	for index := range strings.SplitSeq(fmt.Sprint(a.options["partition"]), ",") {
		n, _ := strconv.Atoi(index)
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition = int32(n)
		part.Records = log.BuildBatch(0, 0, c.now.Milliseconds(), payload...)
		if _, ok := a.options["producer"]; ok {
			log.Sequence(part.Records, int64(a.number("producer", 0)), int16(a.number("of", 0)), int32(a.number("sequence", 0)))
		}
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	c.token++
	c.owners[c.token] = owner{label: "produce " + strings.Join(a.plain[1:], " ")}
	h.m.Produce(c.now, req, c.token)
	c.settle()
}

func (s *scenario) deleteRecords(a args) {
	c, h := s.c, s.first(a)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 2, int32(a.span("timeout", 30*time.Second).Milliseconds())
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Offset, _ = strconv.ParseInt(a.plain[1], 10, 64)
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic, topic.Partitions = topicName, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	c.token++
	c.owners[c.token] = owner{label: "delete below " + a.plain[1]}
	h.m.DeleteRecords(c.now, req, c.token)
	c.settle()
}

func (s *scenario) consume(a args) {
	c, h := s.c, s.first(a)
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.Rack = int16(a.number("version", 10)), -1, a.options["rack"]
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(a.span("wait", 0).Milliseconds()), int32(a.number("min-bytes", 1)), 1<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = topicName
	part := kmsg.NewFetchRequestTopicPartition()
	offset, _ := strconv.Atoi(a.plain[1])
	part.FetchOffset, part.PartitionMaxBytes = int64(offset), 1<<20
	part.CurrentLeaderEpoch = int32(a.number("epoch", -1))
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	c.token++
	c.owners[c.token] = owner{label: "consume from " + a.plain[1]}
	h.m.Fetch(c.now, req, c.token)
	c.settle()
}

func (s *scenario) message(cmd, route string) error {
	from, to, _ := strings.Cut(route, "->")
	ids := append(brokerIDs(from), brokerIDs(to)...)
	if len(ids) != 2 {
		return fmt.Errorf("expected A->B")
	}
	switch c := s.c; cmd {
	case "request":
		w := c.wire(ids[0], ids[1])
		if len(w.requests) == 0 {
			return fmt.Errorf("there is none")
		}
		c.deliverRequest(w)
	case "response":
		w := c.wire(ids[1], ids[0])
		if len(w.responses) == 0 {
			return fmt.Errorf("there is none")
		}
		c.deliverResponse(w)
	default:
		w := c.wire(ids[0], ids[1])
		c.forget(w)
		c.host(ids[0]).m.FetchFailed(c.now, ids[1])
		c.settle()
	}
	return nil
}

func (s *scenario) alter(a args) error {
	c, h := s.c, s.first(a)
	req := h.alter
	if req == nil {
		return fmt.Errorf("nothing is proposed")
	}
	h.alter = nil
	for _, p := range req.Topics[0].Partitions {
		var isr []string
		for _, member := range p.NewEpochISR {
			isr = append(isr, fmt.Sprintf("%d@%d", member.BrokerID, member.BrokerEpoch))
		}
		fmt.Fprintf(&c.out, "broker %d proposes ISR %s, leader epoch %d, partition epoch %d\n", h.id, strings.Join(isr, " "), p.LeaderEpoch, p.PartitionEpoch)
	}
	switch name := a.options["error"]; {
	case a.has("drop"):
		h.m.AlterPartitionFailed(c.now)
	case a.has("hold"):
		c.held = req
		h.m.AlterPartitionFailed(c.now)
	case a.has("lost"):
		fmt.Fprintf(&c.out, "controller: %s\n", kafka.Code(c.decide(req).Topics[0].Partitions[0].ErrorCode))
		h.m.AlterPartitionFailed(c.now)
	case name != "":
		resp := kmsg.NewPtrAlterPartitionResponse()
		for _, t := range req.Topics {
			rt := kmsg.NewAlterPartitionResponseTopic()
			rt.TopidID = t.TopicID
			for _, p := range t.Partitions {
				ra := kmsg.NewAlterPartitionResponseTopicPartition()
				ra.Partition = p.Partition
				ra.ErrorCode = code(name)
				rt.Partitions = append(rt.Partitions, ra)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		h.m.AlterPartitionResponse(c.now, resp)
	default:
		resp := c.decide(req)
		fmt.Fprintf(&c.out, "controller: %s\n", kafka.Code(resp.Topics[0].Partitions[0].ErrorCode))
		h.m.AlterPartitionResponse(c.now, resp)
	}
	c.settle()
	return nil
}

// code finds an error code by Kafka's name.
func code(name string) int16 {
	for n := int16(1); n < 130; n++ {
		if e := kerr.TypedErrorForCode(n); e != nil && e.Message == name {
			return n
		}
	}
	panic("no error is called " + name)
}

// tick lets time pass, waking each broker exactly at its deadlines.
func (s *scenario) tick(a args) {
	c := s.c
	span, err := time.ParseDuration(a.plain[0])
	if err != nil {
		s.t.Fatal(err)
	}
	end := c.now + span
	for {
		next := end
		for _, h := range c.brokers {
			if h.m != nil {
				next = min(next, max(c.now, h.m.Deadline()))
			}
		}
		stuck := next == c.now
		c.now = next
		for _, h := range c.brokers {
			if h.m != nil && h.m.Deadline() <= c.now {
				h.m.Tick(c.now)
			}
		}
		c.settle()
		if stuck {
			for _, h := range c.brokers {
				if h.m != nil && h.m.Deadline() <= c.now {
					s.t.Fatalf("%s: broker %d has done what was due and is due again", s.d.Pos, h.id)
				}
			}
		}
		if c.now >= end {
			return
		}
	}
}

func (s *scenario) list(a args) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = int16(a.number("version", 7)), -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = topicName
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp, _ = map[string]int64{"latest": -1, "earliest": -2, "max": -3}[a.plain[1]]
	if n, err := strconv.Atoi(a.plain[1]); err == nil {
		part.Timestamp = int64(n)
	}
	part.CurrentLeaderEpoch = int32(a.number("epoch", -1))
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	p := s.first(a).m.ListOffsets(s.c.now, req).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		fmt.Fprintf(&s.c.out, "%s: %s\n", a.plain[1], kafka.Code(p.ErrorCode))
		return
	}
	fmt.Fprintf(&s.c.out, "%s: offset %d, timestamp %d, epoch %d\n", a.plain[1], p.Offset, p.Timestamp, p.LeaderEpoch)
}

func (s *scenario) epochEnd(a args) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = 4
	topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
	topic.Topic = topicName
	part := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	n, _ := strconv.Atoi(a.plain[1])
	part.LeaderEpoch, part.CurrentLeaderEpoch = int32(n), int32(a.number("epoch", -1))
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	p := s.first(a).m.OffsetForLeaderEpoch(s.c.now, req).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		fmt.Fprintf(&s.c.out, "%s\n", kafka.Code(p.ErrorCode))
		return
	}
	fmt.Fprintf(&s.c.out, "epoch %d ends at %d\n", p.LeaderEpoch, p.EndOffset)
}

// state prints every replica, with its records if asked.
func (s *scenario) state(records bool) {
	for _, h := range s.c.brokers {
		if h.m == nil {
			fmt.Fprintf(&s.c.out, "%d down\n", h.id)
			continue
		}
		h.m.EachReplica(func(p *Partition) {
			fmt.Fprintf(&s.c.out, "%d", h.id)
			if p.tp.Index != 0 {
				fmt.Fprintf(&s.c.out, " %v", p.tp)
			}
			role := map[role]string{offline: "offline", leading: "leads", following: "follows"}[p.role]
			fmt.Fprintf(&s.c.out, " %s epoch %d, LEO %d, HW %d", role, p.epoch, p.log.End(), p.hw)
			if p.log.Start() > 0 {
				fmt.Fprintf(&s.c.out, ", log start %d", p.log.Start())
			}
			if p.Leads() {
				fmt.Fprintf(&s.c.out, ", ISR %v", p.isr)
				if p.pending != nil {
					fmt.Fprintf(&s.c.out, " proposed %v", p.pending)
				}
			}
			if records {
				data, _ := p.log.Read(p.log.Start(), p.log.End(), 1<<20, true)
				fmt.Fprintf(&s.c.out, " [%s]", values(data))
			}
			s.c.out.WriteString("\n")
		})
	}
}
