package harness

import (
	"time"

	"tidemark/broker"
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
	Untrue          bool // what was refused said more of a replica's log than there was by then, or nothing refused it
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
			k := NearKind{r.Refusal, n.untrue(r.About)}
			if n.seen[k]++; k.grave() && n.seen[k] <= nearMax {
				about := nemesis.Concern{Partition: history.Partition{Topic: r.Partition.Topic, Index: r.Partition.Index}, Brokers: brokers(nil, r.Brokers)}
				n.near = append(n.near, Near{now, k, about})
			}
		}
	}
}

// untrue reports whether a replica's log ends below what is said of it.
func (n *nearby) untrue(a refused.About) (short bool) {
	if a.End == 0 || len(a.Brokers) == 0 {
		return false
	}
	if at := n.node(history.BrokerID(a.Brokers[0])); at != nil {
		at.EachReplica(func(p *replica.Partition) { short = short || p.Name() == a.Partition && p.Log().End() < a.End })
	}
	return short
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
