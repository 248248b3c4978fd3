package broker

import (
	"tidemark/broker/controller"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/replica"
)

// ConnID names an accepted connection, chosen by the shell, never reused within an incarnation.
type ConnID uint64

// Purpose tells the connections between two brokers apart, as in Kafka: a held Fetch does not hold an AlterPartition.
type Purpose uint8

// The purposes.
const (
	ForFetch     Purpose = iota // replica fetches
	ForHeartbeat                // registration and heartbeats to the controller
	ForAlter                    // AlterPartition to the controller
	ForRaft                     // the controller quorum's messages; no answers
	ForForward                  // clients' requests forwarded to the controller
)

// Link is an outbound connection to a peer for one purpose. The shell opens it at the first frame.
type Link struct {
	Peer    kafka.BrokerID
	Purpose Purpose
}

// Outbound is a frame (without its length) for a link.
type Outbound struct {
	Link  Link
	Frame []byte
}

// Reply is the answer on an accepted connection. A nil Frame means that the request has no answer (acks=0, raft): the shell
// may hand in the connection's next frame. Close says that the connection is to be closed after it.
type Reply struct {
	Conn  ConnID
	Frame []byte
	Close bool
}

// Output is what a node wants done, in this order: Resets, Sends, Replies, Flushes.
type Output struct {
	Resets  []Link // outbound connections to close: what is under way on them is given up (a request timed out)
	Sends   []Outbound
	Replies []Reply
	Flushes []disk.Flush
	Steps   []replica.Step    // protocol steps, for people and witnesses
	ISR     []controller.Step // leader and ISR changes that the controller committed, as every member of the quorum sees them
	Exit    bool              // a controlled shutdown is complete: the process ends
	Fatal   error             // the process ends at once: disk failure
}
