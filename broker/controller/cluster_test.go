package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// cluster drives controllers by hand: one clock, messages and flushes that wait until they are let go.
type cluster struct {
	now     time.Duration
	members []*testMember
	cfg     config.Config
	wire    []wireMessage
	token   Token
	asked   map[Token]kmsg.Response  // answers that came, nil until then
	at      map[Token]kafka.BrokerID // whom each was asked
	watch   func()                   // called before every event of settle and at its end, nil for nobody
}

type testMember struct {
	id      kafka.BrokerID
	c       *Controller // nil while down
	fs      *memFS
	flushes []disk.Flush
	steps   []Step
	starts  uint64
}

type wireMessage struct {
	from, to kafka.BrokerID
	data     []byte
}

func testConfig(voters int) config.Config {
	cfg := config.Default()
	cfg.MinInsyncReplicas = 2
	cfg.AutoLeaderRebalance = false
	for i := 1; i <= voters; i++ {
		cfg.Voters = append(cfg.Voters, config.Voter{ID: kafka.BrokerID(i), Host: fmt.Sprintf("b%d", i), Port: 9092})
	}
	return cfg
}

func newCluster(cfg config.Config, nodes int) (*cluster, error) {
	cl := &cluster{cfg: cfg, asked: map[Token]kmsg.Response{}, at: map[Token]kafka.BrokerID{}}
	for i := 1; i <= nodes; i++ {
		cl.members = append(cl.members, &testMember{id: kafka.BrokerID(i), fs: newMemFS()})
	}
	for _, m := range cl.members {
		if err := cl.start(m); err != nil {
			return nil, err
		}
	}
	return cl, nil
}

func (cl *cluster) member(id int) *testMember { return cl.members[id-1] }

func (cl *cluster) start(m *testMember) error {
	cfg := cl.cfg
	cfg.NodeID = m.id
	m.starts++
	c, err := Open(cfg, m.fs, cl.now, rand.New(rand.NewPCG(uint64(m.id), m.starts)))
	if err != nil {
		return err
	}
	m.c, m.flushes = c, nil
	cl.collect(m)
	return nil
}

// stop ends a member's process. A power failure also takes what was not synced, but for keep bytes.
func (cl *cluster) stop(m *testMember, power bool, keep int) {
	m.c, m.flushes = nil, nil
	if power {
		m.fs.powerFail(keep)
	}
	cl.wire = slices.DeleteFunc(cl.wire, func(w wireMessage) bool { return w.to == m.id })
}

func (cl *cluster) collect(m *testMember) {
	out := m.c.Ready()
	if out.Fatal != nil {
		panic(out.Fatal)
	}
	for _, msg := range out.Messages {
		cl.wire = append(cl.wire, wireMessage{m.id, msg.To, msg.Data})
	}
	for _, r := range out.Replies {
		cl.asked[r.Token] = r.Response
	}
	m.flushes = append(m.flushes, out.Flushes...)
	m.steps = append(m.steps, out.Steps...)
}

// deliver hands over the i-th message under way; with keep it stays under way too (a duplicate).
func (cl *cluster) deliver(i int, keep bool) error {
	w := cl.wire[i]
	if !keep {
		cl.wire = slices.Delete(cl.wire, i, i+1)
	}
	if int(w.to) > len(cl.members) || cl.member(int(w.to)).c == nil {
		return nil
	}
	m := cl.member(int(w.to))
	err := m.c.Step(cl.now, w.data)
	cl.collect(m)
	return err
}

func (cl *cluster) flush(m *testMember) {
	f := m.flushes[0]
	m.flushes = m.flushes[1:]
	m.c.Flushed(cl.now, f.ID, m.fs.flush(f))
	cl.collect(m)
}

// settle delivers and flushes until nothing is left that the filters let through.
func (cl *cluster) settle(held func(wireMessage) bool, unflushed func(kafka.BrokerID) bool) error {
	for range 10_000 {
		i := slices.IndexFunc(cl.wire, func(w wireMessage) bool { return !held(w) })
		j := slices.IndexFunc(cl.members, func(m *testMember) bool { return len(m.flushes) > 0 && !unflushed(m.id) })
		if cl.watch != nil {
			cl.watch()
		}
		switch {
		case j >= 0:
			cl.flush(cl.members[j])
		case i >= 0:
			if err := cl.deliver(i, false); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return fmt.Errorf("not quiet after 10000 events")
}

// nextDeadline is the earliest of all members.
func (cl *cluster) nextDeadline() time.Duration {
	at := never
	for _, m := range cl.members {
		if m.c != nil {
			at = min(at, m.c.Deadline())
		}
	}
	return at
}

// tick moves the clock and lets everybody do what is due.
func (cl *cluster) tick(to time.Duration) {
	cl.now = max(cl.now, to)
	for _, m := range cl.members {
		if m.c != nil && m.c.Deadline() <= cl.now {
			m.c.Tick(cl.now)
			cl.collect(m)
		}
	}
}

func (cl *cluster) active() *testMember {
	for _, m := range cl.members {
		if m.c != nil && m.c.IsActive() {
			return m
		}
	}
	return nil
}

func (cl *cluster) ask(m *testMember, req kmsg.Request) Token {
	cl.token++
	cl.asked[cl.token], cl.at[cl.token] = nil, m.id
	m.c.Handle(cl.now, req, cl.token)
	cl.collect(m)
	return cl.token
}

// badPartition says how a partition breaks the specification's ValidControllerState, "" if it does not.
func badPartition(img *metadata.Image, cfg config.Config, t *metadata.Topic, p metadata.Partition) string {
	min := effectiveMinISR(minISR(t, &cfg), p.Replicas)
	for _, b := range p.ISR {
		if img.Brokers[b].Fenced && (cfg.EligibleLeaderReplicas || len(p.ISR) > 1) {
			return fmt.Sprintf("fenced %d in ISR %v", b, p.ISR)
		}
	}
	switch {
	case !subset(p.ISR, p.Replicas) || !subset(p.ELR, p.Replicas):
		return fmt.Sprintf("ISR %v or ELR %v not within replicas %v", p.ISR, p.ELR, p.Replicas)
	case len(without(p.ISR, p.ELR...)) != len(p.ISR):
		return fmt.Sprintf("ISR %v and ELR %v overlap", p.ISR, p.ELR)
	case len(p.ISR) >= min && len(p.ELR) > 0:
		return fmt.Sprintf("ISR %v has %d members, yet ELR is %v", p.ISR, min, p.ELR)
	case p.Leader != kafka.NoBroker && !kafka.Contains(p.ISR, p.Leader):
		return fmt.Sprintf("leader %d not in ISR %v", p.Leader, p.ISR)
	case p.Leader != kafka.NoBroker && !active(img, p.Leader):
		return fmt.Sprintf("leader %d is fenced or stopping", p.Leader)
	}
	return ""
}

// freshest is the image of the member that applied most.
func (cl *cluster) freshest() *metadata.Image {
	best := metadata.New()
	for _, m := range cl.members {
		if m.c != nil && m.c.Image().Index > best.Index {
			best = m.c.Image()
		}
	}
	return best
}
