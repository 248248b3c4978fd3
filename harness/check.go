package harness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/broker/bug"
	"tidemark/history"
)

// Bounds of a run's options: the limit on everything that grows.
const (
	durationMax   = 24 * time.Hour
	brokersMax    = 31
	partitionsMax = 1000
	clientsMax    = 1000
	rateMax       = 1e6
	cpusMax       = 1024
	topicMax      = 249 // Kafka's: Topic.MAX_NAME_LENGTH
)

// check looks at the options of a run that are its own; the error names the option, its value and what was expected.
func check(run history.Run) error {
	for _, o := range []struct {
		name          string
		value, lo, hi time.Duration
	}{
		{"duration", run.Duration, time.Second, durationMax},
		{"settle", run.Settle, time.Second, durationMax},
		{"trim", run.Trim, 0, durationMax},
		{"read bound", run.ReadBound, 0, durationMax},
	} {
		if o.value < o.lo || o.value > o.hi {
			return fmt.Errorf("%s: %v, expected %v to %v", o.name, o.value, o.lo, o.hi)
		}
	}
	for _, o := range []struct {
		name          string
		value, lo, hi float64
	}{
		{"brokers", float64(run.Brokers), 1, brokersMax},
		{"partitions", float64(run.Parts), 1, partitionsMax},
		{"replication factor", float64(run.Factor), 1, float64(run.Brokers)},
		{"min.insync.replicas", float64(run.MinISR), 1, float64(run.Factor)},
		{"acks", float64(run.Acks), -1, 1},
		{"producers", float64(run.Writers), 1, clientsMax},
		{"consumers", float64(run.Readers), 0, clientsMax},
		{"rate", run.Rate, 0.1, rateMax},
	} {
		if !(o.value >= o.lo && o.value <= o.hi) {
			return fmt.Errorf("%s: %s, expected %s to %s", o.name, decimal(o.value), decimal(o.lo), decimal(o.hi))
		}
	}
	if run.Idempotent && run.Acks != -1 {
		return fmt.Errorf("idempotence with acks %d, expected acks all: less acknowledges what is not known to stay", run.Acks)
	}
	if run.World != Simulated && run.World != Contained {
		return fmt.Errorf("world %q, expected %s or %s", run.World, Simulated, Contained)
	}
	if err := checkLimits(run); err != nil {
		return err
	}
	if err := checkClient(run); err != nil {
		return err
	}
	if !topicName(run.Topic) {
		return fmt.Errorf("topic: %q, expected 1 to %d of a-z, A-Z, 0-9, '.', '_' and '-', and neither \".\" nor \"..\"",
			run.Topic[:min(len(run.Topic), 300)], topicMax)
	}
	if run.Recreated != "" && (!topicName(run.Recreated) || run.Recreated == run.Topic || run.World != Simulated) {
		return fmt.Errorf("recreated topic: %q, expected another topic's name than %q, and --world %s", run.Recreated[:min(len(run.Recreated), 300)], run.Topic, Simulated)
	}
	if _, err := bug.Parse(run.Bug); err != nil {
		return err
	}
	if err := checkTarget(run); err != nil {
		return err
	}
	if err := checkFaults(run); err != nil {
		return err
	}
	return checkConfig(run)
}

// decimal is a number in digits alone, as people type it: 1000000, not 1e+06.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// checkLimits looks at the limits of a broker's container; what a machine can give is for the container world to say.
func checkLimits(run history.Run) error {
	switch {
	case run.Memory < 0:
		return fmt.Errorf("memory: %d bytes, expected a limit above 0, or 0 for the usual one", run.Memory)
	case !(run.CPUs >= 0 && run.CPUs <= cpusMax):
		return fmt.Errorf("cpus: %s, expected above 0 to %d, or 0 for no limit", decimal(run.CPUs), cpusMax)
	case run.World == Simulated && (run.Memory != 0 || run.CPUs != 0):
		return fmt.Errorf("memory %d, cpus %s: limits of containers, expected --world %s: simulated brokers have none", run.Memory, decimal(run.CPUs), Contained)
	}
	return nil
}

// checkClient refuses clients that a run's world does not have, and halves of what cannot be halved.
func checkClient(run history.Run) error {
	switch run.Client {
	case "", history.ClientRaw:
		return nil
	case history.ClientFranz, history.ClientBoth:
	default:
		return fmt.Errorf("client: %q, expected %s, %s or %s", run.Client, history.ClientRaw, history.ClientFranz, history.ClientBoth)
	}
	if run.World == Simulated {
		return fmt.Errorf("client: %s, expected %s, or --world %s: franz-go needs real connections", run.Client, history.ClientRaw, Contained)
	}
	if run.Client == history.ClientBoth && (run.Writers < 2 || run.Readers < 2) {
		return fmt.Errorf("client: %s with %d producers and %d consumers, expected 2 of each at least: one of each kind",
			run.Client, run.Writers, run.Readers)
	}
	return nil
}

// topicName reports whether Kafka takes a name for a topic's (org.apache.kafka.common.internals.Topic).
func topicName(name string) bool {
	const legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return name != "" && len(name) <= topicMax && name != "." && name != ".." && strings.Trim(name, legal) == ""
}

// ownFlag names the flag that sets a key of the configuration: a run sets the key from it, over what the configuration says.
var ownFlag = map[string]string{
	"min.insync.replicas":             "--min-insync-replicas",
	"unclean.leader.election.enable":  "--unclean",
	"eligible.leader.replicas.enable": "--classic",
	"default.replication.factor":      "--replication-factor",
	"num.partitions":                  "--partitions",
	"tidemark.bug":                    "--bug",
	"node.id":                         "--brokers",
	"controller.quorum.voters":        "--brokers",
}

// given lists the keys that follow from where a broker of a run lives.
var given = []string{
	"process.roles", "listeners", "advertised.listeners", "inter.broker.listener.name", "controller.listener.names",
	"listener.security.protocol.map", "log.dirs", "metadata.log.dir", "tidemark.debug.listener",
}

// processOnly lists the keys of a broker's process: its sockets and queues, of which a simulated broker has none.
var processOnly = []string{
	"max.connections", "connections.max.idle.ms", "socket.connection.setup.timeout.ms", "socket.request.max.bytes",
	"queued.max.requests", "queued.max.request.bytes",
	"tidemark.queued.max.response.bytes", "tidemark.frame.timeout.ms", "tidemark.debug.steps.max",
}

// checkConfig refuses keys that would do nothing.
func checkConfig(run history.Run) error {
	for _, key := range slices.Sorted(maps.Keys(run.Config)) {
		switch flag := ownFlag[key]; {
		case flag != "":
			return fmt.Errorf("configuration %s=%s: the key has a flag of its own, %s", key, run.Config[key], flag)
		case slices.Contains(given, key):
			return fmt.Errorf("configuration %s=%s: each broker of a run is given its own", key, run.Config[key])
		case run.World == Simulated && slices.Contains(processOnly, key):
			return fmt.Errorf("configuration %s=%s: the key is of a broker's process, expected --world %s: simulated brokers have none", key, run.Config[key], Contained)
		}
	}
	return nil
}
