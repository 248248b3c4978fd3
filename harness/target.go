package harness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// rackAware is Kafka's selector of the replica that a consumer reads from, by rack (KIP-392).
const rackAware = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// targetGiven lists the keys that follow from where a broker of a target lives, beside those of this program's own brokers.
var targetGiven = []string{
	"broker.id", "broker.rack", "zookeeper.connect", "advertised.host.name", "advertised.port", "host.name", "port", "log.dir",
	"controller.quorum.bootstrap.servers", "security.inter.broker.protocol",
}

// targetOf is the target of a run, or the one that it is like: that of its file, where it has one, else the one of that name.
func targetOf(run history.Run) (targets.Target, error) {
	name := cmp.Or(run.Target, run.Like)
	if run.Template != "" {
		return targets.Parse(name, run.Template)
	}
	return targets.Find(name)
}

// checkTarget looks whether a run's target is known, and takes what the run asks for.
func checkTarget(run history.Run) error {
	switch {
	case run.Target == "" && run.Like == "":
		return nil
	case run.Target != "" && run.Like != "":
		return fmt.Errorf("target %s, and like %s, expected one of them", run.Target, run.Like)
	case run.Like != "" && run.World != Simulated:
		return fmt.Errorf("like %s: world %q, expected %s: elsewhere its brokers run themselves, as the target", run.Like, run.World, Simulated)
	case run.Target != "" && run.World != Contained:
		return fmt.Errorf("target %s: world %q, expected %s", run.Target, run.World, Contained)
	}
	if run.Target != "" && run.Bug != "" {
		return fmt.Errorf("bug: %s with target %s, expected none: bugs are switched on in this program's own brokers", run.Bug, run.Target)
	}
	for _, key := range targetGiven {
		if value, ok := run.Config[key]; ok {
			return fmt.Errorf("configuration %s=%s: each broker of a run is given its own", key, value)
		}
	}
	t, err := targetOf(run)
	switch name := cmp.Or(run.Target, run.Like); {
	case err != nil:
		return err
	case run.Idempotent && !t.Idempotent:
		return fmt.Errorf("idempotence with target %s, expected Apache Kafka 0.11 or newer (KIP-98)", name)
	case run.Trim != 0 && !t.Idempotent:
		return fmt.Errorf("trim %v with target %s, expected Apache Kafka 0.11 or newer (KIP-107)", run.Trim, name)
	case run.FollowerFetch && !t.FollowerFetch:
		return fmt.Errorf("follower fetch with target %s, expected Apache Kafka 2.4 or newer (KIP-392)", name)
	}
	return nil
}

// fitTarget fills in what a run's target decides: a broker without eligible leader replicas elects from the ISR alone.
func fitTarget(run history.Run) history.Run {
	if t, err := targetOf(run); err == nil {
		run.ELR = run.ELR && t.ELR
	}
	return run
}

// quickOf is what a run's configuration differs in from Kafka's where its options leave it open.
func quickOf(run history.Run) map[string]string {
	t, err := targetOf(run)
	switch {
	case err != nil:
		return quick
	case run.Like != "":
		return likeQuick(t)
	}
	return t.Quick
}

// startup is about how long brokers of a run's target take to start; 0 for this program's own.
func startup(run history.Run) time.Duration {
	if run.Target == "" && run.Like == "" {
		return 0
	}
	t, err := targetOf(run)
	if err != nil {
		return 0
	}
	return t.Startup
}

// targetAbilities is what a run's target admits.
func targetAbilities(run history.Run) []world.Ability {
	t, err := targetOf(run)
	if err != nil {
		return nil
	}
	return t.Abilities
}

// Site is the brokers of a run's target, but for their addresses; the first three (or all, if fewer) are the controller quorum, where the
// target has one, or three controllers beside them, where it has those.
func Site(run history.Run) targets.Site {
	s := targets.Site{ELR: run.ELR, Settings: maps.Clone(run.Config)}
	if s.Settings == nil {
		s.Settings = map[string]string{}
	}
	s.Settings["min.insync.replicas"] = strconv.Itoa(run.MinISR)
	s.Settings["unclean.leader.election.enable"] = strconv.FormatBool(run.Unclean)
	s.Settings["default.replication.factor"] = strconv.Itoa(run.Factor)
	s.Settings["num.partitions"] = strconv.Itoa(run.Parts)
	if run.FollowerFetch {
		s.Settings["replica.selector.class"] = rackAware
	}
	t, err := targetOf(run)
	isolated := err == nil && t.Isolated
	if isolated {
		for i := range int32(votersMax) {
			s.Quorum = append(s.Quorum, targets.Node{ID: firstController + i, Voter: true, Apart: true})
		}
	}
	for i, b := range BrokerIDs(run) {
		n := targets.Node{ID: int32(b), Voter: i < votersMax && !isolated}
		if run.FollowerFetch {
			n.Rack = workloads.RackOf(b)
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// The load that brokers of a target are offered where nobody says: they live in real time on a machine that they share, and answer each producer after
// tens of milliseconds. Only if many wait at once does a minute hold writes enough for faults to meet.
const (
	TargetRate    = 800.0 // operations a second, all clients together
	TargetWriters = 48    // producers
)

// votersMax is how many brokers are the controller quorum, or how many controllers beside them.
const votersMax = 3

// firstController is the id of the first controller that is no broker.
const firstController = 101

// cannot says why a run's world cannot do a plan, after the error that it cannot.
func cannot(run history.Run) string {
	if name := cmp.Or(run.Target, run.Like); name != "" {
		return fmt.Sprintf("%s admits %v", name, slices.Sorted(slices.Values(targetAbilities(run))))
	}
	return fmt.Sprintf("containers share the machine's page cache, disk and clock; --world %s can", Simulated)
}
