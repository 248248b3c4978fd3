// Package world is the ground a run stands on, as interfaces: Env (time, concurrency, randomness) and Cluster (brokers,
// connections, the faults that can be done, what an observer can see). Workloads, nemesis and the run loop are blocking
// code over these; the simulator gives them coroutines and virtual time, containers give them goroutines and the real clock.
package world

import (
	"errors"
	"math/rand/v2"
	"time"

	"tidemark/history"
)

// Env is time, concurrency and randomness. In the simulator only one function runs at a time, and only Sleep, Signal.Until
// and Conn calls let another one run.
type Env interface {
	// Now is the time since the run's start, on one monotonic clock.
	Now() time.Duration
	// Sleep blocks the calling function for d; d ≤ 0 returns at once.
	Sleep(d time.Duration)
	// Go runs fn concurrently. The name appears in traces and errors.
	Go(name string, fn func())
	// Rand returns the random stream named (seed, purpose, index): one client more does not shift another's numbers. Each
	// call returns a fresh stream from its beginning.
	Rand(purpose string, index int) *rand.Rand
	// NewSignal returns a signal that nobody waits on yet.
	NewSignal() Signal
}

// Signal lets functions wait for a condition that others bring about.
type Signal interface {
	// Notify makes every waiter look at its condition again. Change the state first, then notify.
	Notify()
	// Until blocks until cond returns true, looking at once and after each Notify; it returns false when timeout (if ≥ 0)
	// has passed first. cond must be quick, must not block and must guard its own state.
	Until(cond func() bool, timeout time.Duration) bool
}

// Errors of connections. A request whose Send returned ErrRefused never left; after any other error it may have arrived.
var (
	ErrRefused = errors.New("connection refused")
	ErrTimeout = errors.New("timed out")
	ErrClosed  = errors.New("connection closed")
)

// Conn is one ordered connection of a client to a broker. Frames are Kafka frames without their 4-byte length.
type Conn interface {
	// Send hands one frame to the network.
	Send(frame []byte) error
	// Receive blocks for the next frame: ErrTimeout after timeout, ErrClosed when the peer closed or reset.
	Receive(timeout time.Duration) ([]byte, error)
	// Close closes it; what was sent may still arrive at the broker.
	Close()
}

// Dialect is a Cluster whose brokers may be older than its clients.
type Dialect interface {
	// NewestVersion is the newest version of an API (by Kafka's key) that the brokers speak; -1 if they do not have it.
	NewestVersion(api int16) int16
}

// Ability is a fault that a world can do; a plan that needs more is refused before the run.
type Ability string

// The abilities, by the names that plans use.
const (
	CanPartition Ability = "partition"
	CanKill      Ability = "kill"
	CanPause     Ability = "pause"
	CanPowerFail Ability = "powerfail"
	CanStop      Ability = "stop"
	CanElect     Ability = "elect"
	CanClock     Ability = "clock"
	CanFreeze    Ability = "freeze"
	CanWipe      Ability = "wipe"
	CanLoss      Ability = "loss"
	// CanZooKeeper is no fault of its own: a ZooKeeper stands beside the brokers, which other faults may strike.
	CanZooKeeper Ability = "zookeeper"
)

// Port is a part of what goes from broker to broker, by the listener that it is for, in both directions of its connections.
type Port string

// The ports. Clients reach brokers at others, which no fault between brokers touches.
const (
	AnyPort        Port = ""           // everything
	BrokerPort     Port = "broker"     // inter.broker.listener.name: replication
	ControllerPort Port = "controller" // controller.listener.names: the quorum, heartbeats, AlterPartition
)

// ProcessState is what a probe sees of a broker's process.
type ProcessState string

// The process states.
const (
	ProcessRunning ProcessState = "running"
	ProcessPaused  ProcessState = "paused" // by SIGSTOP
	ProcessFrozen  ProcessState = "frozen" // by the cgroup freezer
	ProcessGone    ProcessState = "gone"
)

// Together is a cluster whose brokers may wait for each other as they start: those of a controller quorum of which a majority is down do not listen before
// there is one.
type Together interface {
	// StartTogether starts brokers as Cluster's Start does, all at the same time.
	StartTogether([]history.BrokerID) error
}

// Isolated is a cluster whose active controller may be no broker, but a node beside them. Faults that name it by its role strike it as they would a
// broker, and a rest of the cluster has it in it.
type Isolated interface {
	// Controllers lists the controllers that are no brokers, ascending; none where brokers are the controllers.
	Controllers() []history.BrokerID
}

// Speaking is a cluster that can tell what its brokers' processes wrote.
type Speaking interface {
	// LastWords is ": " and the line by which a broker said last why it ended or does not go on; "" if nothing is known.
	LastWords(b history.BrokerID) string
}

// Cluster is the brokers of a run. Methods that act may block (virtual or real time); an error says what was tried on whom.
// Acting on a broker in the wrong state (killing a dead one) is an error.
type Cluster interface {
	// Brokers lists every broker, ascending.
	Brokers() []history.BrokerID
	// Abilities lists the faults that this world can do, in a fixed order.
	Abilities() []Ability

	// Dial connects the named client to a broker: ErrRefused when nothing listens, ErrTimeout when no answer came.
	Dial(client string, to history.BrokerID, timeout time.Duration) (Conn, error)

	// Cut drops what goes from one broker to another at a port, in that direction only; existing connections stay, stalled. Cuts at
	// different ports of a link are independent of each other.
	Cut(from, to history.BrokerID, at Port) error
	// Heal ends a cut.
	Heal(from, to history.BrokerID, at Port) error
	// Lose drops a share (above 0, below 1) of the packets that go from one broker to another, drawn for each.
	Lose(from, to history.BrokerID, share float64) error
	// EndLoss ends it.
	EndLoss(from, to history.BrokerID) error
	// Lost counts the packets that Lose has dropped so far on a link.
	Lost(from, to history.BrokerID) (packets int64, err error)
	// Kill is kill -9: the process is gone, the page cache survives.
	Kill(b history.BrokerID) error
	// PowerFail stops the machine: what was not synced may be lost. Detail says what the disk lost.
	PowerFail(b history.BrokerID) (detail string, err error)
	// Wipe kills the process and removes its partition data; the controller's log is spared. Detail says what was removed.
	Wipe(b history.BrokerID) (detail string, err error)
	// Stop is a controlled shutdown; it returns when the process is gone or after timeout with an error.
	Stop(b history.BrokerID, timeout time.Duration) error
	// Start starts a stopped, killed or powered-off broker on the disk that it left.
	Start(b history.BrokerID) error
	// Pause is SIGSTOP, Resume SIGCONT.
	Pause(b history.BrokerID) error
	Resume(b history.BrokerID) error
	// Freeze stops every process of the broker's machine by the cgroup freezer, which no process can notice; Thaw ends it.
	Freeze(b history.BrokerID) error
	Thaw(b history.BrokerID) error
	// SetClock lets a broker's clock run at rate (1 is right, 1.01 is one per cent fast) from now on, without a jump.
	SetClock(b history.BrokerID, rate float64) error
	// Lags is the faults that delay packets.
	Lags
	// Disks is the faults of disks.
	Disks
	// Messages is the faults of single messages.
	Messages
	// Admin is what an administrator asks for.
	Admin
	// Elect makes a replica the partition's leader cleanly: reordered assignment, then ElectLeaders (Kafka's admin requests).
	Elect(p history.Partition, b history.BrokerID, timeout time.Duration) error

	// ProbeLink tries to get a message from one broker to another's port within timeout: true when it passed.
	ProbeLink(from, to history.BrokerID, at Port, timeout time.Duration) bool
	// ProbeProcess looks at a broker's process.
	ProbeProcess(b history.BrokerID) ProcessState
	// ProbeServing asks a broker for ApiVersions: true when it answered within timeout.
	ProbeServing(b history.BrokerID, timeout time.Duration) bool
	// ProbeClock reads a broker's clock: its local time since its boot's origin. Two readings give the rate.
	ProbeClock(b history.BrokerID) (time.Duration, error)

	// Observe returns the cluster as it stands; Index is left for the recorder, and Time too where looking takes none.
	Observe() history.ClusterState
	// Dump reads every replica of a broker from its own files.
	Dump(b history.BrokerID) []history.Dump
}
