// Package broker is the replicated log itself: a broker as one state machine, under Kafka's protocol and names.
//
// A Node is given the time, a frame, a finished flush; it changes its state and leaves frames to send, flushes to make and its
// next deadline. It never sleeps, dials, starts a goroutine, reads a clock or draws a random number that was not handed in.
//
// What calls a Node, and does what it asks for, is the shell: it listens and dials, runs the flushes, keeps the clock and wakes the
// node at its deadline. There are two, around the same Node: the simulator (package sim) in virtual time, and the broker's process
// (package broker/server) with sockets, files and the real clock.
package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/controller"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
	"tidemark/broker/replica"
)

// Forever is a deadline that never comes.
const Forever = time.Duration(1<<63 - 1)

// Node is one broker incarnation: a member of the controller quorum, the replicas, and the requests under way between them.
type Node struct {
	cfg      config.Config
	clientID string // in the requests that this node sends
	ctl      *controller.Controller
	replicas *replica.Manager // nil where process.roles lacks broker
	life     lifecycle
	active   kafka.BrokerID // the last active controller that this node knew

	creating map[string]time.Duration // topics that the controller was asked for (autoCreate), with when they may be asked for again

	ids producerIDs

	waiting map[uint64]waiter // requests that an answer is owed to, by token
	tokens  uint64
	links   []*outbound
	flushes map[disk.FlushID]innerFlush
	flushID disk.FlushID
	out     Output
	spare   Output // whose slices the next output may use
	scratch []byte // where frames are encoded before their size is known
	dead    bool   // Exit or Fatal was given out
}

// waiter is who waits for the answer behind a token: an accepted connection, or this node itself.
type waiter struct {
	conn        ConnID
	correlation int32
	local       bool
}

// innerFlush tells whose flush a node's flush is.
type innerFlush struct {
	controller bool
	id         disk.FlushID
}

// Open starts a node on the disk that its last incarnation left. now is the node's own clock; rnd is a stream of its own.
func Open(cfg config.Config, fs disk.FS, now time.Duration, rnd *rand.Rand) (*Node, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, clientID: "broker-" + strconv.Itoa(int(cfg.NodeID)),
		active: kafka.NoBroker, creating: map[string]time.Duration{}, waiting: map[uint64]waiter{}, flushes: map[disk.FlushID]innerFlush{},
	}
	var err error
	if n.ctl, err = controller.Open(cfg, fs, now, rnd); err != nil {
		return nil, fmt.Errorf("controller log of broker %d: %w", cfg.NodeID, err)
	}
	if cfg.Broker {
		if n.replicas, err = replica.Open(cfg, fs, now); err != nil {
			return nil, fmt.Errorf("replicas of broker %d: %w", cfg.NodeID, err)
		}
		n.life = newLifecycle(cfg, n.replicas.CleanShutdownEpoch(), now, rnd)
		n.replicas.SetIncarnation(n.life.incarnation)
	}
	n.pump(now)
	return n, nil
}

// Flushed reports a flush's outcome.
func (n *Node) Flushed(now time.Duration, id disk.FlushID, err error) {
	inner, ok := n.flushes[id]
	if !ok {
		return
	}
	delete(n.flushes, id)
	if inner.controller {
		n.ctl.Flushed(now, inner.id, err)
	} else {
		n.replicas.Flushed(now, inner.id, err)
	}
	n.pump(now)
}

// Tick does what has become due.
func (n *Node) Tick(now time.Duration) {
	n.expireLinks(now)
	if n.ctl.Deadline() <= now {
		n.ctl.Tick(now)
	}
	if n.replicas != nil {
		if n.replicas.Deadline() <= now {
			n.replicas.Tick(now)
		}
		n.tickLifecycle(now)
	}
	n.pump(now)
}

// Deadline is the node's local time at which Tick should next be called.
func (n *Node) Deadline() time.Duration {
	at := min(n.ctl.Deadline(), n.linkDeadline())
	if n.replicas != nil {
		at = min(at, n.replicas.Deadline(), n.life.deadline())
	}
	return at
}

// Ready returns what the node wants done and forgets it. Call it after every input. The slices are the caller's until the next call
// of Ready; what they point to is the caller's for good.
func (n *Node) Ready() Output {
	out, again := n.out, n.spare
	n.out = Output{
		Resets: again.Resets[:0], Sends: again.Sends[:0], Replies: again.Replies[:0], Flushes: again.Flushes[:0],
		Steps: again.Steps[:0], ISR: again.ISR[:0],
	}
	n.spare = out
	return out
}

// Shutdown begins a controlled shutdown (SIGTERM): leadership moves away, everything is flushed, the marker written; then
// Output.Exit.
func (n *Node) Shutdown(now time.Duration) {
	if n.replicas == nil {
		n.exit()
		return
	}
	n.life.beginShutdown(now)
	n.tickLifecycle(now)
	n.pump(now)
}

// pumpMax bounds how often the parts of a node may wake each other within one input.
const pumpMax = 1000

// pump carries what the controller and the replicas want done to where it belongs, until neither wants anything more.
func (n *Node) pump(now time.Duration) {
	for range pumpMax {
		if n.dead {
			return
		}
		progress := n.pumpController(now)
		n.followController(now)
		if n.replicas != nil {
			progress = n.pumpReplicas(now) || progress
			if n.life.flushing && n.replicas.Done() {
				n.exit()
				return
			}
		}
		if !progress {
			return
		}
	}
	n.fail(errors.New("controller and replicas keep waking each other"))
}

func (n *Node) pumpController(now time.Duration) (progress bool) {
	out := n.ctl.Ready()
	if out.Fatal != nil {
		n.fail(fmt.Errorf("controller log: %w", out.Fatal))
		return false
	}
	for _, f := range out.Flushes {
		n.flush(f, true)
	}
	for _, m := range out.Messages {
		n.sendRaft(m.To, m.Data)
	}
	n.out.ISR = append(n.out.ISR, out.Steps...)
	if len(out.Changed) > 0 && n.replicas != nil {
		n.replicas.ApplyMetadata(now, n.ctl.Image(), out.Changed)
	}
	for _, r := range out.Replies {
		n.answer(now, uint64(r.Token), r.Response, false)
	}
	return len(out.Flushes)+len(out.Messages)+len(out.Changed)+len(out.Replies) > 0
}

func (n *Node) pumpReplicas(now time.Duration) (progress bool) {
	out := n.replicas.Ready()
	if out.Fatal != nil {
		n.fail(fmt.Errorf("replicas: %w", out.Fatal))
		return false
	}
	n.out.Steps = append(n.out.Steps, out.Steps...)
	for _, f := range out.Flushes {
		n.flush(f, false)
	}
	for _, f := range out.Fetches {
		n.send(now, Link{f.To, ForFetch}, f.Request, n.cfg.ReplicaSocketTimeout)
	}
	if out.AlterPartition != nil {
		n.sendAlterPartition(now, out.AlterPartition)
	}
	for _, r := range out.Replies {
		n.answer(now, uint64(r.Token), r.Response, r.Close)
	}
	return len(out.Fetches)+len(out.Replies)+len(out.Flushes) > 0 || out.AlterPartition != nil
}

func (n *Node) flush(f disk.Flush, ofController bool) {
	n.flushID++
	n.flushes[n.flushID] = innerFlush{ofController, f.ID}
	f.ID, f.Urgent = n.flushID, ofController
	n.out.Flushes = append(n.out.Flushes, f)
}

func (n *Node) exit() {
	n.dead = true
	n.out.Exit = true
}

func (n *Node) fail(err error) {
	n.dead = true
	n.out.Fatal = err
}

// wait remembers who is owed an answer and returns the token for it.
func (n *Node) wait(w waiter) uint64 {
	n.tokens++
	n.waiting[n.tokens] = w
	return n.tokens
}

// EachReplica visits every replica in order of partition.
func (n *Node) EachReplica(fn func(*replica.Partition)) {
	if n.replicas != nil {
		n.replicas.EachReplica(fn)
	}
}

// FetchSessions is how many fetch sessions its replicas keep, and how many partitions they remember.
func (n *Node) FetchSessions() (sessions, partitions int) {
	if n.replicas == nil {
		return 0, 0
	}
	return n.replicas.FetchSessions()
}

// DueHW is the high watermark that one of its replicas should have by what this node knew at its last input.
func (n *Node) DueHW(p *replica.Partition) kafka.Offset { return n.replicas.DueHW(p) }

// Image is the committed metadata that this node has applied. Not to be changed.
func (n *Node) Image() *metadata.Image { return n.ctl.Image() }

// ActiveController is the node that this one believes to be the active controller (kafka.NoBroker if none), and the raft term.
func (n *Node) ActiveController() (kafka.BrokerID, int64) { return n.ctl.Active(), n.ctl.Term() }

// IsActiveController reports whether this node acts as the controller.
func (n *Node) IsActiveController() bool { return n.ctl.IsActive() }

// Quorum tells of this node's part in the controller quorum.
func (n *Node) Quorum() controller.QuorumState { return n.ctl.Quorum() }

// Directory is the id of the disk that this node's metadata log is on (KIP-853).
func (n *Node) Directory() controller.DirectoryID { return n.ctl.Directory() }

// HasVoter reports whether a broker is a voter of the controller quorum on a disk, as far as this node knows.
func (n *Node) HasVoter(b kafka.BrokerID, d controller.DirectoryID) bool { return n.ctl.HasVoter(b, d) }

// BrokerEpoch is the epoch of this incarnation's registration, kafka.NoBrokerEpoch before it.
func (n *Node) BrokerEpoch() kafka.BrokerEpoch { return n.life.epoch }

// Close releases the node's files, as the end of a process does: nothing is written.
func (n *Node) Close() {
	n.dead = true
	_ = n.ctl.Close()
	if n.replicas != nil {
		_ = n.replicas.Close()
	}
}
