package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/controller"
	"tidemark/broker/kafka"
)

// producerIDs is the block of producer ids that this incarnation gives out from, and the one that is to follow (Kafka's
// RPCProducerIdManager).
type producerIDs struct {
	block, next idBlock
	asking      bool // the controller was asked for one
}

// idBlock is the ids from first on, up to end.
type idBlock struct{ first, end, size int64 }

// take returns an id that no other client gets; false while there is none.
func (p *producerIDs) take() (int64, bool) {
	if p.block.first == p.block.end {
		p.block, p.next = p.next, idBlock{}
	}
	if p.block.first == p.block.end {
		return 0, false
	}
	p.block.first++
	return p.block.first - 1, true
}

// wanting reports whether the controller is to be asked for a block: nine tenths of the one in use are gone, and no other is there or under
// way.
func (p *producerIDs) wanting() bool {
	left := p.block.end - p.block.first
	return !p.asking && p.next.size == 0 && left*10 <= p.block.size
}

// initProducerID answers InitProducerId (key 22). Without a transactional id every request gets a new producer id, whatever id and epoch it
// names (TransactionCoordinator.handleInitProducerId). There is no transaction coordinator.
func (n *Node) initProducerID(now time.Duration, req *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	switch id := req.TransactionalID; {
	case id != nil && *id == "":
		resp.ErrorCode = int16(kafka.InvalidRequest)
	case id != nil:
		resp.ErrorCode = int16(kafka.CoordinatorNotAvailable)
	default:
		if id, ok := n.ids.take(); ok {
			resp.ProducerID, resp.ProducerEpoch = id, 0
		} else {
			resp.ErrorCode = int16(kafka.CoordinatorLoadInProgress) // the client asks again
		}
		n.wantProducerIDs(now)
	}
	return resp
}

// wantProducerIDs asks the active controller, which may be this node, for a block if one is needed. Without a controller, or without an answer, a
// later client's request asks again.
func (n *Node) wantProducerIDs(now time.Duration) {
	if !n.ids.wanting() || n.life.epoch == kafka.NoBrokerEpoch {
		return
	}
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = int32(n.cfg.NodeID), int64(n.life.epoch)
	switch active := n.ctl.Active(); {
	case active == n.cfg.NodeID:
		n.ids.asking = true
		n.ctl.Handle(now, req, controller.Token(n.wait(waiter{local: true})))
	case active != kafka.NoBroker && len(n.link(Link{active, ForForward}).flight) < flightMax:
		n.ids.asking = true
		n.send(now, Link{active, ForForward}, req, n.cfg.ControllerSocketTimeout)
	}
}

// producerIDsAllocated takes the controller's answer.
func (n *Node) producerIDsAllocated(resp *kmsg.AllocateProducerIDsResponse) {
	n.ids.asking = false
	if size := int64(resp.ProducerIDLen); resp.ErrorCode == 0 && resp.ProducerIDStart >= 0 && size > 0 && resp.ProducerIDStart+size > 0 {
		n.ids.next = idBlock{first: resp.ProducerIDStart, end: resp.ProducerIDStart + size, size: size}
	}
}
