// Package docker is the container world: brokers in real containers that are really killed, stopped, paused and cut off. It needs a
// Docker engine on this machine (or one whose networks this machine reaches) and nothing from any registry: the image is this
// program's own static binary.
//
// Each broker is two containers. The sidecar runs `tidemark agent`: it owns the network namespace, with addresses, published ports
// and firewall rules, so that these outlive the broker's process. The broker joins that namespace. Its partitions and its
// controller log lie on two named volumes.
package docker

import (
	"time"

	"tidemark/broker/config"
	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/world"
)

// Abilities lists the faults that this world can do. Power failures and clocks are not among them: containers share the
// machine's page cache and its clock.
func Abilities() []world.Ability {
	return []world.Ability{
		world.CanPartition, world.CanKill, world.CanPause, world.CanStop, world.CanElect, world.CanReassign, world.CanFreeze, world.CanWipe, world.CanLoss, world.CanLag,
		world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle,
	}
}

// Where a broker finds its files.
const (
	dataPath     = targets.DataPath
	metadataPath = targets.MetadataPath
	configPath   = targets.ConfigPath + "/broker.properties"
	binaryPath   = "/tidemark"
)

// Bounds on what is waited for.
const (
	engineBound  = 30 * time.Second // one call to the engine
	buildBound   = 5 * time.Minute  // of the image
	startBound   = 20 * time.Second // a container listens
	cleanupBound = time.Minute      // everything of a run is removed
	stateBound   = 250 * time.Millisecond
	dumpBound    = time.Minute
)

// Options describe a cluster of containers.
type Options struct {
	Configs  []config.Config // one a broker; addresses and directories are filled in here
	Target   *targets.Target // whose brokers run instead of this program's own; nil is these
	Site     targets.Site    // the target's brokers, without their addresses
	Binary   string          // path of a static tidemark binary; "" is the running program
	Keep     bool            // Close leaves the cluster for a look inside
	Messages bool            // a proxy stands on the connections to and between brokers, so that single messages can meet faults
	Lags     bool            // packets between brokers can be late
	Reorders bool            // and overtake each other, which takes a kernel with netem
	Memory   int64           // limit of each broker's container, in bytes; 0 is 1 GiB
	CPUs     float64         // processors that each broker's container may use; 0 is all
	// Record is given every protocol step that is seen, of each broker in order, and when it happened on the run's clock.
	Record func(s history.Step, at time.Duration)
	// Say is told what goes on, a line at a time.
	Say func(line string)
}
