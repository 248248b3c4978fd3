// Package broker is the replicated log itself: a broker as one state machine, under Kafka's protocol and names.
//
// A Node is given the time, a frame, a finished flush; it changes its state and leaves frames to send, flushes to make and its
// next deadline. It never sleeps, dials, starts a goroutine, reads a clock or draws a random number that was not handed in.
package broker

import (
	"math/rand/v2"
	"time"

	"tidemark/broker/config"
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

// Output is what a node wants done, in this order: Sends, Replies, Resets, Flushes.
type Output struct {
	Sends   []Outbound
	Replies []Reply
	Resets  []Link // outbound connections to close: what is under way on them is given up (a request timed out)
	Flushes []disk.Flush
	Steps   []replica.Step // protocol steps, for people and witnesses
	ISR     []ISRChange
	Exit    bool  // a controlled shutdown is complete: the process ends
	Fatal   error // the process ends at once: disk failure
}

// ISRChange is a leader or ISR change that the controller committed, as seen by the active controller's node.
type ISRChange struct {
	Partition kafka.TopicPartition
	Leader    kafka.BrokerID
	Epoch     kafka.Epoch
	ISR       []kafka.BrokerID
	Detail    string
}

// Node is one broker incarnation.
type Node struct{}

// Open starts a node on the disk that its last incarnation left. now is the node's own clock; rnd is a stream of its own.
func Open(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (*Node, error) {
	panic("not built")
}

// Request hands in one frame of an accepted connection. The shell hands in a connection's next frame only after the reply to
// the one before (Kafka mutes the channel so). The node keeps no reference to frame after Request returns.
func (n *Node) Request(now time.Duration, conn ConnID, frame []byte) { panic("not built") }

// Disconnected says that an accepted connection is gone.
func (n *Node) Disconnected(now time.Duration, conn ConnID) { panic("not built") }

// Response hands in one frame that came back on a link.
func (n *Node) Response(now time.Duration, link Link, frame []byte) { panic("not built") }

// LinkFailed says that a link could not be opened or broke: what was under way on it is lost, with unknown outcome.
func (n *Node) LinkFailed(now time.Duration, link Link) { panic("not built") }

// Flushed reports a flush's outcome.
func (n *Node) Flushed(now time.Duration, id disk.FlushID, err error) { panic("not built") }

// Tick does what has become due.
func (n *Node) Tick(now time.Duration) { panic("not built") }

// Deadline is the node's local time at which Tick should next be called.
func (n *Node) Deadline() time.Duration { panic("not built") }

// Ready returns what the node wants done and forgets it. Call it after every input.
func (n *Node) Ready() Output { panic("not built") }

// Shutdown begins a controlled shutdown (SIGTERM): leadership moves away, everything is flushed, the marker written; then
// Output.Exit.
func (n *Node) Shutdown(now time.Duration) { panic("not built") }

// EachReplica visits every replica in order of partition.
func (n *Node) EachReplica(fn func(*replica.Partition)) { panic("not built") }

// Close releases the node's files, as the end of a process does: nothing is written.
func (n *Node) Close() { panic("not built") }
