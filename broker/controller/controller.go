// Package controller is one member of the controller quorum: the cluster's metadata in a raft log (what ZooKeeper did, KIP-500,
// KIP-595), sessions and fencing (KIP-631), elections (KIP-966), all as pure decisions around etcd's raft.
package controller

import (
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// Token names a request that is to be answered later.
type Token uint64

// Reply answers the request behind a token.
type Reply struct {
	Token    Token
	Response kmsg.Response
}

// Message is one raft message to another member, as bytes.
type Message struct {
	To   kafka.BrokerID
	Data []byte
}

// Output is what a controller wants done.
type Output struct {
	Messages []Message
	Replies  []Reply
	Flushes  []disk.Flush           // ids are the controller's own, from 1
	Changed  []kafka.TopicPartition // partitions that the committed metadata changed, in order, without repeats
	Steps    []Step
	Fatal    error // a disk error: the node must stop at once
}

// Step is an ISR or leader change that was committed, for people and witnesses.
type Step struct {
	Partition kafka.TopicPartition
	Leader    kafka.BrokerID
	Epoch     kafka.Epoch
	ISR       []kafka.BrokerID
	Unclean   bool
	Detail    string // why: "broker 2 fenced", "alter partition by 1", ...
}

// Controller is one node's member of the quorum: a voter if it is in controller.quorum.voters, else a learner that follows the
// metadata.
type Controller struct{}

// Open recovers the member from its disk: raft log, term and vote. rnd draws election timeouts and topic ids.
func Open(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (*Controller, error) {
	panic("not built")
}

// Step takes a raft message from another member; garbage is an error and changes nothing.
func (c *Controller) Step(now time.Duration, data []byte) error { panic("not built") }

// Handle takes a request for the active controller: BrokerRegistration, BrokerHeartbeat, AlterPartition, CreateTopics,
// ElectLeaders, AlterPartitionReassignments. The answer comes in Output once what it changed is committed; NOT_CONTROLLER where
// this member is not the active one, or stops being it before the commit.
func (c *Controller) Handle(now time.Duration, req kmsg.Request, tok Token) { panic("not built") }

// Flushed reports a finished flush.
func (c *Controller) Flushed(now time.Duration, id disk.FlushID, err error) { panic("not built") }

// Tick does what has become due; Deadline is when Tick should next be called.
func (c *Controller) Tick(now time.Duration) { panic("not built") }

// Deadline is the earliest time at which Tick has something to do.
func (c *Controller) Deadline() time.Duration { panic("not built") }

// Ready returns what the controller wants done and forgets it.
func (c *Controller) Ready() Output { panic("not built") }

// Image is the committed metadata that this member has applied. Not to be changed.
func (c *Controller) Image() *metadata.Image { panic("not built") }

// Active is the member that this one believes to be the active controller, kafka.NoBroker if none; Term is the raft term.
func (c *Controller) Active() kafka.BrokerID { panic("not built") }

// Term is the raft term: the controller epoch.
func (c *Controller) Term() int64 { panic("not built") }

// IsActive reports whether this member acts as the controller: it leads, its own term's first entry is committed and a
// majority answered within controller.quorum.fetch.timeout.ms.
func (c *Controller) IsActive() bool { panic("not built") }

// Close closes its files.
func (c *Controller) Close() error { panic("not built") }
