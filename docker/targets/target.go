// Package targets describes brokers that are not this program's own: how each is configured, formatted and started in a container, and
// which faults it admits. It is text made from values; the room docker carries it out.
package targets

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/world"
)

// Target is brokers of one make.
type Target struct {
	Name          string          // as --target has it, such as apache-kafka:4.1.0
	Release       Release         // of Apache Kafka, whose image is made here; the zero Release where Image is named
	Image         string          // the image's name in the engine or a registry; "" where it is made here
	Abilities     []world.Ability // the faults that it admits
	Keeper        bool            // a ZooKeeper stands beside the brokers
	Isolated      bool            // the controller quorum has nodes of its own beside the brokers (Kafka's isolated mode)
	KeeperAdmin   bool            // its nodes are the only way to ask the controller for elections and reassignments
	ELR           bool            // knows eligible leader replicas (KIP-966)
	Idempotent    bool            // knows idempotent producers (KIP-98) and DeleteRecords (KIP-107)
	FollowerFetch bool            // lets consumers read from followers (KIP-392)
	Startup       time.Duration   // about how long a broker takes from its start until it takes part again, beside others on a small machine
	// Quick is its configuration with shorter times, so that a minute holds many failures. What a run sets itself goes over it.
	Quick map[string]string

	configure func(Site, Node) (Process, error)
}

// Process is what runs in a container.
type Process struct {
	Command []string // the whole of it: the image's own entry point is not used
	Env     map[string]string
	Files   map[string]string // written before the first start, by absolute path
}

// Node is a broker of a site, or one of its controllers.
type Node struct {
	ID        int32
	Address   string // on the cluster's network
	Published string // host:port at which clients on the engine's machine reach ExternalPort
	Voter     bool   // of the controller quorum, where there is one
	Apart     bool   // it is no broker: a controller alone
	Rack      string // "" is none
}

// Site is a cluster, as its brokers are told of it.
type Site struct {
	Cluster  string            // its id: 22 characters, as Kafka makes them
	Nodes    []Node            // the brokers, ascending by id
	Quorum   []Node            // controllers that are no brokers, ascending by id; none where brokers are the quorum
	Keeper   string            // address of the ZooKeeper, "" where there is none
	ELR      bool              // elect from the eligible leader replicas, too
	Settings map[string]string // what a run configures, Kafka's keys
}

// The ports at which every target's broker listens, in its network namespace, and a ZooKeeper in its own.
const (
	BrokerPort     = 9092
	ControllerPort = 9093
	ExternalPort   = 9094
	KeeperPort     = 2181
)

// Where a broker of every target finds its files.
const (
	DataPath     = "/data"     // its partitions; a volume
	MetadataPath = "/metadata" // its controller log; a volume
	ConfigPath   = "/etc/tidemark"
)

// ErrUnknown marks a target that nobody knows.
var ErrUnknown = errors.New("no such target")

// The makes that are known by name.
const (
	kafkaMake       = "apache-kafka"           // made here: KRaft from 3.3 on, before that with a ZooKeeper
	kafkaKeeperMake = "apache-kafka-zookeeper" // the same with a ZooKeeper, where the release has both
	isolatedMake    = "apache-kafka-isolated"  // the same with controllers that are no brokers
	kafkaImageMake  = "apache/kafka"           // the project's own image
)

// Find returns the target of a name. The error is ErrUnknown, and says which there are.
func Find(name string) (Target, error) {
	make, version, ok := strings.Cut(name, ":")
	if !ok {
		return Target{}, fmt.Errorf("%w: %q, expected a make and its version, such as %s:4.1.0", ErrUnknown, name, kafkaMake)
	}
	switch make {
	case kafkaMake, kafkaKeeperMake, isolatedMake, kafkaImageMake:
	default:
		return Target{}, fmt.Errorf("%w: %q, expected %s", ErrUnknown, name, strings.Join(Makes(), ", "))
	}
	r, err := ParseRelease(version)
	if err != nil {
		return Target{}, fmt.Errorf("%w: %s: %w", ErrUnknown, name, err)
	}
	t := apacheKafka(r, make == kafkaKeeperMake || r.before(kraft))
	t.Isolated = make == isolatedMake
	switch t.Name = name; {
	case t.Isolated && t.Keeper:
		return Target{}, fmt.Errorf("%w: %s: before %s ZooKeeper takes the place of controllers", ErrUnknown, name, kraft)
	case make == kafkaImageMake && t.Keeper:
		return Target{}, fmt.Errorf("%w: %s: the project's images begin with 3.7.0", ErrUnknown, name)
	case make == kafkaImageMake:
		t.Image, t.Release = name, Release{}
	case t.Keeper && !r.before(withoutKeeper):
		return Target{}, fmt.Errorf("%w: %s: ZooKeeper is gone from %s on", ErrUnknown, name, withoutKeeper)
	}
	return t, nil
}

// Makes lists how targets are named.
func Makes() []string {
	return []string{kafkaMake + ":RELEASE", kafkaKeeperMake + ":RELEASE", isolatedMake + ":RELEASE", kafkaImageMake + ":RELEASE"}
}

// Process is what runs in a broker's container, of a site whose addresses are known.
func (t Target) Process(s Site, n Node) (Process, error) {
	p, err := t.configure(s, n)
	if err != nil {
		return p, fmt.Errorf("target %s: %w", t.Name, err)
	}
	return p, nil
}
