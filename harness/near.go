package harness

import (
	"time"

	"tidemark/broker"
	"tidemark/broker/kafka"
	"tidemark/broker/refused"
	"tidemark/broker/replica"
	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/sim"
)

// NearKind is what nearly happened: a rule of the protocol refused it, or an invariant was broken and nobody saw it.
type NearKind struct {
	refused.Refusal      // an invariant's name is the rule then
	Untrue          bool // what was refused said of a replica's log what was not so, or nothing refused it
}

// grave reports whether somebody might have noticed.
func (k NearKind) grave() bool { return k.Untrue || k.Effect.Grave() }

// Near is something that nearly happened, and when: since the load began, as a plan's times count.
type Near struct {
	At time.Duration
	NearKind
	About nemesis.Concern // whom it concerned
}

// nearMax bounds how many of a kind are kept of one run: the first ones.
const nearMax = 2

// nearby takes down what nearly happens in a run.
type nearby struct {
	log  refused.Log
	node func(history.BrokerID) *broker.Node
	seen map[NearKind]int
	near []Near // At counts from the run's start
}

// watch lets a world's brokers tell what they refuse.
func (n *nearby) watch(opt *sim.Options, node func(history.BrokerID) *broker.Node) {
	n.seen, n.node = map[NearKind]int{}, node
	for i := range opt.Configs {
		opt.Configs[i].Refused = &n.log
	}
	look := opt.AfterEvent
	opt.AfterEvent = func(now time.Duration, b history.BrokerID) {
		if look != nil {
			look(now, b)
		}
		for _, r := range n.log.Take() {
			k := NearKind{r.Refusal, n.untrue(r)}
			if n.seen[k]++; k.grave() && n.seen[k] <= nearMax {
				about := nemesis.Concern{Partition: history.Partition{Topic: r.Partition.Topic, Index: r.Partition.Index}, Brokers: brokers(nil, r.Brokers)}
				n.near = append(n.near, Near{now, k, about})
			}
		}
	}
}

// untrue reports whether what is said of the log of the first broker that is named is not so. It is said by the last one: that the log reaches up to End, or, of
// who is to join the ISR, up to the high watermark. It may end earlier, or hold something else than the log of who says so, as far as that one goes.
func (n *nearby) untrue(r refused.Noted) bool {
	if len(r.Brokers) == 0 {
		return false
	}
	own, says := n.replica(r.Brokers[0], r.Partition), n.replica(r.Brokers[len(r.Brokers)-1], r.Partition)
	if own == nil || says == nil {
		return false
	}
	end := r.End
	if end == 0 && r.Effect == refused.Joined {
		end = says.HW()
	}
	end = min(end, says.Log().End())
	return own.Log().End() < end || end > 0 && epochAt(own, end-1) != epochAt(says, end-1)
}

// replica is a broker's replica of a partition, nil if it has none, or is down.
func (n *nearby) replica(b kafka.BrokerID, tp kafka.TopicPartition) (found *replica.Partition) {
	if at := n.node(history.BrokerID(b)); at != nil {
		at.EachReplica(func(p *replica.Partition) {
			if p.Name() == tp {
				found = p
			}
		})
	}
	return found
}

// epochAt is the leader epoch of the record at an offset: where two logs have the same one at the same offset, they agree up to there.
func epochAt(p *replica.Partition, at kafka.Offset) kafka.Epoch {
	epoch := kafka.NoEpoch
	for _, e := range p.Log().Epochs() {
		if e.Start <= at {
			epoch = e.Epoch
		}
	}
	return epoch
}

// broke takes down invariants that were broken: what nobody but the simulator has seen nearly showed.
func (n *nearby) broke(broken []checker.Broken) {
	for _, b := range broken {
		k := NearKind{Refusal: refused.Refusal{Rule: refused.Rule(b.Name)}, Untrue: true}
		n.near = append(n.near, Near{time.Duration(b.Time), k, nemesis.Concern{Partition: b.Partition}})
	}
}

// sinceLoad is what nearly happened under load.
func (n *nearby) sinceLoad(h *history.History) (out []Near) {
	began, loaded := loadBegan(h)
	if !loaded {
		return nil
	}
	for _, x := range n.near {
		if x.At -= began; x.At > 0 {
			out = append(out, x)
		}
	}
	return out
}
