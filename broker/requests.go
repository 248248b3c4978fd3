package broker

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/controller"
	"tidemark/broker/replica"
	"tidemark/broker/wire"
)

// waitingMax bounds the requests that one node owes answers to; past it a connection is closed instead.
const waitingMax = 100_000

// Request hands in one frame of a connection that the inter-broker listener accepted, the only one where a broker has just one. The
// shell hands in a connection's next frame only after the reply to the one before (Kafka mutes the channel so). The node keeps no
// reference to frame after Request returns, but may change it.
func (n *Node) Request(now time.Duration, conn ConnID, frame []byte) {
	n.RequestAt(now, n.cfg.InterBrokerListener, conn, frame)
}

// RequestAt is Request for a connection that the listener of that name accepted: what is served, and which addresses a client is told,
// depends on it. What the listener does not serve closes the connection, as in Kafka (SocketServer.scala).
func (n *Node) RequestAt(now time.Duration, listener string, conn ConnID, frame []byte) {
	h, req, raft, err := wire.ParseRequest(frame)
	switch {
	case err != nil:
		n.refuse(listener, conn, h, err)
	case !n.serves(listener, h.Key):
		n.hangUp(conn)
	case len(n.waiting) >= waitingMax:
		n.hangUp(conn)
	case h.Key == wire.KeyRaft:
		if err := n.ctl.Step(now, raft); err != nil {
			n.hangUp(conn)
			break
		}
		n.out.Replies = append(n.out.Replies, Reply{Conn: conn})
	default:
		n.dispatch(now, listener, conn, h, req, frame)
	}
	n.pump(now)
}

// serves reports whether a listener takes requests of a key. Kafka says so with each message ("listeners" in BrokerHeartbeatRequest.json
// and its like); unlike Kafka's since KIP-919, a controller's listener does not describe the cluster.
func (n *Node) serves(listener string, key int16) bool {
	clients, controller := n.cfg.ServesClients(listener), n.cfg.ServesController(listener)
	switch key {
	case wire.KeyRaft:
		return n.cfg.ServesQuorum(listener)
	case int16(kmsg.AlterPartition), int16(kmsg.AllocateProducerIDs), int16(kmsg.BrokerRegistration), int16(kmsg.BrokerHeartbeat):
		return controller
	case int16(kmsg.ApiVersions), int16(kmsg.CreateTopics), int16(kmsg.DeleteTopics), int16(kmsg.ElectLeaders), int16(kmsg.AlterPartitionAssignments),
		int16(kmsg.ListPartitionReassignments), int16(kmsg.AddRaftVoter), int16(kmsg.RemoveRaftVoter), int16(kmsg.DescribeConfigs):
		return clients || controller
	default:
		return clients
	}
}

// apiVersions answers key 18 with what the listener serves.
func (n *Node) apiVersions(listener string, version int16) *kmsg.ApiVersionsResponse {
	resp := wire.ApiVersions(version)
	resp.ApiKeys = slices.DeleteFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return !n.serves(listener, k.ApiKey) })
	return resp
}

// refuse answers a frame that is not a request: a client that is ahead of this broker is told which versions of ApiVersions there are.
func (n *Node) refuse(listener string, conn ConnID, h wire.Header, err error) {
	var version *wire.UnsupportedVersionError
	if errors.As(err, &version) && h.Key == int16(kmsg.ApiVersions) {
		n.reply(conn, h.CorrelationID, n.apiVersions(listener, h.Version))
		return
	}
	n.hangUp(conn)
}

func (n *Node) dispatch(now time.Duration, listener string, conn ConnID, h wire.Header, req kmsg.Request, frame []byte) {
	w := waiter{conn: conn, correlation: h.CorrelationID}
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		n.reply(conn, h.CorrelationID, n.apiVersions(listener, h.Version))
	case *kmsg.MetadataRequest:
		resp := n.metadata(listener, req)
		n.autoCreate(now, req, resp)
		n.reply(conn, h.CorrelationID, resp)
	case *kmsg.DescribeClusterRequest:
		n.reply(conn, h.CorrelationID, n.describeCluster(listener, req))
	case *kmsg.DescribeConfigsRequest:
		n.reply(conn, h.CorrelationID, n.describeConfigs(req))
	case *kmsg.AlterPartitionRequest, *kmsg.AllocateProducerIDsRequest, *kmsg.BrokerRegistrationRequest, *kmsg.BrokerHeartbeatRequest:
		n.ctl.Handle(now, req, controller.Token(n.wait(w)))
	case *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest, *kmsg.ElectLeadersRequest, *kmsg.AlterPartitionAssignmentsRequest,
		*kmsg.ListPartitionReassignmentsRequest, *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest:
		n.toController(now, w, h, req, frame)
	default:
		if n.replicas == nil {
			n.hangUp(conn)
			return
		}
		n.toReplicas(now, w, req)
	}
}

func (n *Node) toReplicas(now time.Duration, w waiter, req kmsg.Request) {
	switch req := req.(type) {
	case *kmsg.InitProducerIDRequest:
		n.reply(w.conn, w.correlation, n.initProducerID(now, req))
	case *kmsg.ProduceRequest:
		n.replicas.Produce(now, req, replica.Token(n.wait(w)))
	case *kmsg.DeleteRecordsRequest:
		n.replicas.DeleteRecords(now, req, replica.Token(n.wait(w)))
	case *kmsg.FetchRequest:
		n.replicas.Fetch(now, req, replica.Token(n.wait(w)))
	case *kmsg.ListOffsetsRequest:
		n.reply(w.conn, w.correlation, n.replicas.ListOffsets(now, req))
	case *kmsg.OffsetForLeaderEpochRequest:
		n.reply(w.conn, w.correlation, n.replicas.OffsetForLeaderEpoch(now, req))
	default:
		n.hangUp(w.conn)
	}
}

// toController serves a client's request for the active controller: here, or forwarded to where it is (KIP-590).
func (n *Node) toController(now time.Duration, w waiter, h wire.Header, req kmsg.Request, frame []byte) {
	active := n.ctl.Active()
	if active < 0 || active == n.cfg.NodeID {
		n.ctl.Handle(now, req, controller.Token(n.wait(w)))
		return
	}
	n.forward(now, Link{active, ForForward}, w, h, frame)
}

// answer gives the response behind a token to whoever waits for it; a nil one says that there is none (acks=0). With hangUp the
// connection is closed instead.
func (n *Node) answer(now time.Duration, token uint64, resp kmsg.Response, hangUp bool) {
	w, ok := n.waiting[token]
	if !ok {
		return
	}
	delete(n.waiting, token)
	switch {
	case w.local:
		n.localResponse(now, resp)
	case hangUp:
		n.hangUp(w.conn)
	case resp == nil:
		n.out.Replies = append(n.out.Replies, Reply{Conn: w.conn})
	default:
		n.reply(w.conn, w.correlation, resp)
	}
}

func (n *Node) reply(conn ConnID, correlation int32, resp kmsg.Response) {
	n.scratch = wire.AppendResponse(n.scratch[:0], correlation, resp)
	n.out.Replies = append(n.out.Replies, Reply{Conn: conn, Frame: n.encoded()})
}

// scratchMax bounds the room that a node keeps for encoding.
const scratchMax = 1 << 20

// encoded is a copy of the frame in scratch.
func (n *Node) encoded() []byte {
	frame := slices.Clone(n.scratch)
	if cap(n.scratch) > scratchMax {
		n.scratch = nil
	}
	return frame
}

// hangUp closes a connection whose request cannot be answered, as Kafka does.
func (n *Node) hangUp(conn ConnID) {
	n.out.Replies = append(n.out.Replies, Reply{Conn: conn, Close: true})
}

// Disconnected says that an accepted connection is gone: the shell drops answers for it. What it asked for goes on.
func (n *Node) Disconnected(time.Duration, ConnID) {}
