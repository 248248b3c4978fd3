package broker

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/controller"
	"tidemark/broker/kafka"
	"tidemark/broker/wire"
)

// outbound is the requests under way on one link, oldest first. Answers come in their order, as Kafka promises.
type outbound struct {
	link   Link
	flight []inflight
}

// inflight is a request whose answer has not come.
type inflight struct {
	correlation  int32
	key, version int16
	deadline     time.Duration
	client       *waiter // of a forwarded request: who is owed the answer
}

// flightMax bounds what is forwarded on one link at a time.
const flightMax = 1000

func (n *Node) link(l Link) *outbound {
	for _, o := range n.links {
		if o.link == l {
			return o
		}
	}
	o := &outbound{link: l}
	n.links = append(n.links, o)
	return o
}

// send sends a request of this node's own.
func (n *Node) send(now time.Duration, l Link, req kmsg.Request, timeout time.Duration) {
	n.tokens++
	correlation := int32(n.tokens & 0x7fffffff)
	o := n.link(l)
	o.flight = append(o.flight, inflight{correlation: correlation, key: req.Key(), version: req.GetVersion(), deadline: now + timeout})
	n.scratch = wire.AppendRequest(n.scratch[:0], correlation, n.clientID, req)
	n.out.Sends = append(n.out.Sends, Outbound{l, n.encoded()})
}

func (n *Node) sendRaft(to kafka.BrokerID, data []byte) {
	n.scratch = wire.AppendRaft(n.scratch[:0], n.clientID, data)
	n.out.Sends = append(n.out.Sends, Outbound{Link{to, ForRaft}, n.encoded()})
}

// forward passes a client's frame on under a correlation id of this node's own.
func (n *Node) forward(now time.Duration, l Link, w waiter, h wire.Header, frame []byte) {
	o := n.link(l)
	if len(o.flight) >= flightMax {
		n.hangUp(w.conn)
		return
	}
	n.tokens++
	correlation := int32(n.tokens & 0x7fffffff)
	sent := slices.Clone(frame)
	wire.SetCorrelation(sent, true, correlation)
	o.flight = append(o.flight, inflight{
		correlation: correlation, key: h.Key, version: h.Version,
		deadline: now + n.cfg.ControllerSocketTimeout, client: &w,
	})
	n.out.Sends = append(n.out.Sends, Outbound{l, sent})
}

// sendAlterPartition takes the replicas' AlterPartition to the active controller, which may be this node.
func (n *Node) sendAlterPartition(now time.Duration, req *kmsg.AlterPartitionRequest) {
	switch active := n.ctl.Active(); active {
	case kafka.NoBroker:
		n.replicas.AlterPartitionFailed(now)
	case n.cfg.NodeID:
		n.ctl.Handle(now, req, controller.Token(n.wait(waiter{local: true})))
	default:
		n.send(now, Link{active, ForAlter}, req, n.cfg.ControllerSocketTimeout)
	}
}

// Response hands in one frame that came back on a link. What does not answer the oldest request on it breaks the link.
func (n *Node) Response(now time.Duration, link Link, frame []byte) {
	o := n.link(link)
	correlation, err := wire.Correlation(frame)
	if err != nil || len(o.flight) == 0 || o.flight[0].correlation != correlation {
		n.resetLink(now, o)
		n.pump(now)
		return
	}
	f := o.flight[0]
	o.flight = append(o.flight[:0], o.flight[1:]...)
	if f.client != nil {
		wire.SetCorrelation(frame, false, f.client.correlation)
		n.out.Replies = append(n.out.Replies, Reply{Conn: f.client.conn, Frame: frame})
		return
	}
	resp, err := wire.ParseResponse(frame, f.key, f.version)
	if err != nil {
		o.flight = append([]inflight{f}, o.flight...)
		n.resetLink(now, o)
		n.pump(now)
		return
	}
	if fetch, ok := resp.(*kmsg.FetchResponse); ok {
		n.replicas.FetchResponse(now, link.Peer, fetch)
	} else {
		n.localResponse(now, resp)
	}
	n.pump(now)
}

// localResponse takes the answer to a request of this node's own to the controller.
func (n *Node) localResponse(now time.Duration, resp kmsg.Response) {
	switch resp := resp.(type) {
	case *kmsg.AlterPartitionResponse:
		n.replicas.AlterPartitionResponse(now, resp)
	case *kmsg.BrokerRegistrationResponse:
		n.registered(now, resp)
	case *kmsg.BrokerHeartbeatResponse:
		n.heartbeatAnswered(now, resp)
	case *kmsg.AllocateProducerIDsResponse:
		n.producerIDsAllocated(resp)
	case *kmsg.CreateTopicsResponse:
		n.topicsCreated(resp)
	}
}

// LinkFailed says that a link could not be opened or broke: what was under way on it is lost, with unknown outcome.
func (n *Node) LinkFailed(now time.Duration, link Link) {
	n.giveUp(now, n.link(link))
	n.pump(now)
}

// resetLink closes a link from this side.
func (n *Node) resetLink(now time.Duration, o *outbound) {
	n.out.Resets = append(n.out.Resets, o.link)
	n.giveUp(now, o)
}

// giveUp tells everyone who waits for an answer on a link that none will come.
func (n *Node) giveUp(now time.Duration, o *outbound) {
	lost := o.flight
	o.flight = nil
	for _, f := range lost {
		switch {
		case f.client != nil:
			n.hangUp(f.client.conn) // the controller may have done it or not: no answer says so, as an answer of our own would not
		case f.key == int16(kmsg.Fetch):
			n.replicas.FetchFailed(now, o.link.Peer)
		case f.key == int16(kmsg.AlterPartition):
			n.replicas.AlterPartitionFailed(now)
		case f.key == int16(kmsg.AllocateProducerIDs):
			n.ids.asking = false
		case f.key == int16(kmsg.CreateTopics): // the topics are under way no longer than creatingFor
		default:
			n.life.lost(now)
		}
	}
}

// followController drops what is under way to a node that is not the active controller any more: nothing there can answer it.
func (n *Node) followController(now time.Duration) {
	active := n.ctl.Active()
	if active == n.active || active == kafka.NoBroker {
		return
	}
	n.active = active
	for _, o := range n.links {
		if len(o.flight) > 0 && o.link.Peer != active && (o.link.Purpose == ForHeartbeat || o.link.Purpose == ForAlter) {
			n.resetLink(now, o)
		}
	}
}

func (n *Node) expireLinks(now time.Duration) {
	for _, o := range n.links {
		if len(o.flight) > 0 && o.flight[0].deadline <= now {
			n.resetLink(now, o)
		}
	}
}

func (n *Node) linkDeadline() time.Duration {
	at := Forever
	for _, o := range n.links {
		if len(o.flight) > 0 {
			at = min(at, o.flight[0].deadline)
		}
	}
	return at
}
