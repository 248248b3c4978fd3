package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/wire"
	"tidemark/internal/garbage"
)

// nodeBound allows for what a node does about a request that it can read: topics created, their files, a few seconds of heartbeats.
var nodeBound = garbage.Bound{Bytes: 64 << 20, Times: 128}

// TestGarbageFrames hands a node spoilt frames of every request that it serves. It answers or closes the connection, and serves
// the next client as before.
func TestGarbageFrames(t *testing.T) {
	build := &scenario{t: t}
	for _, r := range []struct {
		req     kmsg.Request
		version int16
	}{
		{build.build(&datadriven.TestData{Cmd: "metadata", CmdArgs: []datadriven.CmdArg{{Key: "topic", Vals: []string{"orders"}}}}, "orders"), 12},
		{build.build(&datadriven.TestData{Cmd: "create-topic", Input: "min.insync.replicas=1"}, "payments"), 7},
		{build.build(&datadriven.TestData{Cmd: "describe-configs"}, "orders"), 4},
		{produce("orders", "a b", -1), 9},
		{produce("orders", "a b", 1), 3},
		{build.build(&datadriven.TestData{Cmd: "fetch", CmdArgs: []datadriven.CmdArg{{Key: "from", Vals: []string{"0"}}}}, "orders"), 12},
		{build.build(&datadriven.TestData{Cmd: "list-offsets"}, "orders"), 7},
		{build.build(&datadriven.TestData{Cmd: "elect"}, "orders"), 2},
		{offsetForEpoch("orders"), 4},
		{kmsg.NewPtrApiVersionsRequest(), 4},
		{kmsg.NewPtrDescribeClusterRequest(), 1},
		{reassignment("orders"), 0},
		{heartbeat(1), 1},
		{registration(2), 4},
	} {
		r.req.SetVersion(r.version)
		s := startedNode(t)
		inputs := garbage.Of(wire.AppendRequest(nil, 7, "client", r.req), uint64(r.req.Key()))
		name := kmsg.NameForKey(r.req.Key())
		nodeBound.Hold(t, inputs, func(in garbage.Input) error {
			s.conn++
			s.node.Request(s.now, s.conn, in.Data)
			s.settle(2 * time.Second)
			reply, answered := s.replies[s.conn]
			if in.Kind == garbage.Cut && !reply.Close {
				t.Errorf("%s: %s: %+v, expected a closed connection", name, in.Name, reply)
			}
			if waits := r.req.Key() == int16(kmsg.Fetch) || r.req.Key() == int16(kmsg.Produce); !answered && !waits {
				t.Errorf("%s: %s: never answered", name, in.Name)
			}
			return nil
		})
		if got := s.exchange(wire.AppendRequest(nil, 7, "client", kmsg.NewPtrMetadataRequest()), 3, 0, config.Plaintext); got == "no answer" || got == "connection closed" {
			t.Errorf("%s: afterwards the node answers %q", name, got)
		}
	}
}

// startedNode is a cluster of one with the topic orders and a record in it.
func startedNode(t *testing.T) *scenario {
	s := &scenario{t: t, fs: disk.Mem()}
	if got := s.start(&datadriven.TestData{}); got != "controller 1 in term 1, registered: true" {
		t.Fatal(got)
	}
	create := s.createTopic(&datadriven.TestData{}, "orders")
	create.SetVersion(7)
	s.exchange(wire.AppendRequest(nil, 7, "client", create), create.Key(), 7, config.Plaintext)
	return s
}

func offsetForEpoch(topic string) kmsg.Request {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{kmsg.NewOffsetForLeaderEpochRequestTopicPartition()}}}
	return req
}

func reassignment(topic string) kmsg.Request {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{1}}}}}
	return req
}

func heartbeat(id int32) kmsg.Request {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.BrokerEpoch = id, 1
	return req
}

func registration(id int32) kmsg.Request {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.BrokerID, req.IncarnationID = id, [16]byte{1}
	listener := kmsg.NewBrokerRegistrationRequestListener()
	listener.Name, listener.Host, listener.Port = "PLAINTEXT", "broker-2", 9092
	req.Listeners = append(req.Listeners, listener)
	return req
}

// pair is a controller (1) and a broker (2) that follows it, with whatever comes back to 2 held until the test hands it in.
type pair struct {
	t     *testing.T
	nodes [2]*Node
	disks [2]disk.FS
	now   time.Duration
	conns map[ConnID]Link // of requests of node 2's at node 1
	conn  ConnID
	back  []answer
}

type answer struct {
	link  Link
	frame []byte
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, conns: map[ConnID]Link{}}
	for i, roles := range []string{"broker,controller", "broker"} {
		cfg, err := config.Parse(fmt.Sprintf("node.id=%d\nprocess.roles=%s\ncontroller.quorum.voters=1@broker-1:9092\nadvertised.listeners=PLAINTEXT://broker-%d:9092\n"+
			"broker.session.timeout.ms=3000\nbroker.heartbeat.interval.ms=500\nreplica.fetch.wait.max.ms=100\n", i+1, roles, i+1))
		if err != nil {
			t.Fatal(err)
		}
		p.disks[i] = disk.Mem()
		if p.nodes[i], err = Open(cfg, p.disks[i], 0, rand.New(rand.NewPCG(1, uint64(i)))); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// collect carries out what a node wants done.
func (p *pair) collect(i int) {
	out := p.nodes[i].Ready()
	if out.Fatal != nil {
		p.t.Fatalf("node %d ends: %v", i+1, out.Fatal)
	}
	for _, s := range out.Sends {
		p.conn++
		if s.Link.Peer != kafka.BrokerID(2-i) {
			p.t.Fatalf("node %d sends to %d", i+1, s.Link.Peer)
		}
		p.conns[p.conn] = s.Link
		p.nodes[1-i].Request(p.now, p.conn, s.Frame)
		p.collect(1 - i)
	}
	for _, r := range out.Replies {
		link := p.conns[r.Conn]
		delete(p.conns, r.Conn)
		switch {
		case r.Close:
			p.nodes[1-i].LinkFailed(p.now, link)
			p.collect(1 - i)
		case r.Frame != nil && i == 0:
			p.back = append(p.back, answer{link, r.Frame})
		}
	}
	for _, f := range out.Flushes {
		var err error
		for _, step := range f.Steps {
			if err = disk.Run(p.disks[i], step); err != nil {
				break
			}
		}
		p.nodes[i].Flushed(p.now, f.ID, err)
		p.collect(i)
	}
}

// next lets time pass until an answer is on its way to node 2, for at most a minute.
func (p *pair) next() (answer, bool) {
	for end := p.now + time.Minute; p.now <= end; {
		if len(p.back) > 0 {
			a := p.back[0]
			p.back = p.back[1:]
			return a, true
		}
		i := 0
		if p.nodes[1].Deadline() < p.nodes[0].Deadline() {
			i = 1
		}
		p.now = max(p.now+time.Microsecond, p.nodes[i].Deadline())
		p.nodes[i].Tick(p.now)
		p.collect(i)
	}
	return answer{}, false
}

func (p *pair) deliver(a answer) {
	p.nodes[1].Response(p.now, a.link, a.frame)
	p.collect(1)
}

// TestGarbageAnswers spoils what comes back to a broker from the controller and from the leader that it follows. The broker asks again,
// and once the answers are good again, so is the broker.
func TestGarbageAnswers(t *testing.T) {
	p := newPair(t)
	intact := func(n int) {
		for range n {
			if a, ok := p.next(); ok {
				p.deliver(a)
			}
		}
	}
	spoilt := map[Purpose]int{}
	for i := range 1000 {
		a, ok := p.next()
		if !ok {
			t.Fatalf("after %d spoilt answers the broker asks no more", i)
		}
		inputs := garbage.Of(a.frame, uint64(i))
		spoilt[a.link.Purpose]++
		nodeBound.Hold(t, inputs[i*7%len(inputs):][:1], func(in garbage.Input) error {
			p.deliver(answer{a.link, in.Data})
			return nil
		})
		if i == 300 {
			intact(20)
			create := kmsg.NewPtrCreateTopicsRequest()
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "orders", 2, 2
			create.Version, create.Topics = 7, append(create.Topics, topic)
			p.nodes[0].Request(p.now, 1<<40, wire.AppendRequest(nil, 1, "client", create))
			p.collect(0)
		}
		intact(i % 3)
	}
	if spoilt[ForHeartbeat] < 100 || spoilt[ForFetch] < 100 {
		t.Errorf("spoilt %v, expected at least 100 heartbeats' answers and fetches' each", spoilt)
	}
	intact(100)
	if p.nodes[1].BrokerEpoch() == kafka.NoBrokerEpoch || p.nodes[0].Image().Brokers[2].Fenced {
		t.Errorf("with good answers again the broker has epoch %d and is %+v", p.nodes[1].BrokerEpoch(), p.nodes[0].Image().Brokers[2])
	}
}
