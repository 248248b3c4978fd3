package broker

import (
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/controller"
	"tidemark/broker/kafka"
)

// Bounds on what clients have created by asking for it: topics under way at a time, and how long one is under way, at most, before a
// client's next request sends for it again, which is harmless if it comes twice.
const (
	creatingMax = 100
	creatingFor = time.Second
)

// autoCreate has the topics created that a Metadata request asked for in vain, as Kafka does (AutoTopicCreationManager.scala): with
// auto.create.topics.enable, where the client allows it, by the active controller, with num.partitions and default.replication.factor.
// Until it is done the answer stays UNKNOWN_TOPIC_OR_PARTITION, after which clients ask again; where too few brokers are alive it becomes
// INVALID_REPLICATION_FACTOR.
func (n *Node) autoCreate(now time.Duration, asked *kmsg.MetadataRequest, answer *kmsg.MetadataResponse) {
	if !n.cfg.AutoCreateTopics || asked.Version >= 4 && !asked.AllowAutoTopicCreation { // before version 4 there was no asking for leave
		return
	}
	enough := n.aliveBrokers() >= n.cfg.DefaultReplicationFactor
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, int32(n.cfg.ControllerSocketTimeout.Milliseconds())
	for i := range answer.Topics {
		t := &answer.Topics[i]
		switch {
		case kafka.Code(t.ErrorCode) != kafka.UnknownTopicOrPartition:
		case !enough:
			t.ErrorCode = int16(kafka.InvalidReplicationFactor)
		case n.beginCreating(now, *t.Topic):
			create := kmsg.NewCreateTopicsRequestTopic()
			create.Topic, create.NumPartitions, create.ReplicationFactor = *t.Topic, int32(n.cfg.NumPartitions), int16(n.cfg.DefaultReplicationFactor)
			req.Topics = append(req.Topics, create)
		}
	}
	if len(req.Topics) > 0 {
		n.sendCreateTopics(now, req)
	}
}

// aliveBrokers counts the brokers that are registered and not fenced.
func (n *Node) aliveBrokers() (alive int) {
	for _, b := range n.ctl.Image().Brokers {
		if !b.Fenced {
			alive++
		}
	}
	return alive
}

// beginCreating reports whether the controller is to be asked for a topic: it is not under way, and there is room for it.
func (n *Node) beginCreating(now time.Duration, topic string) bool {
	if until, ok := n.creating[topic]; ok && now < until {
		return false
	}
	if len(n.creating) >= creatingMax {
		maps.DeleteFunc(n.creating, func(_ string, until time.Duration) bool { return until <= now })
	}
	if len(n.creating) >= creatingMax {
		return false
	}
	n.creating[topic] = now + creatingFor
	return true
}

// sendCreateTopics takes a request of this node's own for topics to the active controller, which may be this node. Without one it is
// dropped: the client asks again.
func (n *Node) sendCreateTopics(now time.Duration, req *kmsg.CreateTopicsRequest) {
	switch active := n.ctl.Active(); {
	case active == n.cfg.NodeID:
		n.ctl.Handle(now, req, controller.Token(n.wait(waiter{local: true})))
	case active != kafka.NoBroker && len(n.link(Link{active, ForForward}).flight) < flightMax:
		n.send(now, Link{active, ForForward}, req, n.cfg.ControllerSocketTimeout)
	default:
		for _, t := range req.Topics {
			delete(n.creating, t.Topic)
		}
	}
}

// topicsCreated takes the controller's answer: what it refused, as a controller does that is no more the active one, may be asked for again.
func (n *Node) topicsCreated(resp *kmsg.CreateTopicsResponse) {
	for _, t := range resp.Topics {
		delete(n.creating, t.Topic)
	}
}
