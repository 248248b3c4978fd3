// Package harness is one run and many: options and seeds, the run loop, replay, and the search over seeds.
package harness

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/workloads"
	"tidemark/world"
)

// The worlds, as run.json names them.
const (
	Simulated = "sim"
	Contained = "docker"
)

// Defaults returns a run as `tidemark run` starts it, without seed, plan and start.
func Defaults() history.Run {
	return history.Run{
		Format: 1, Tool: Version, Build: BuildHash(), World: Simulated,
		Duration: 60 * time.Second, Settle: 30 * time.Second,
		Brokers: 3, Topic: "orders", Parts: 3, Factor: 3, MinISR: 2, Acks: -1, ELR: true,
		Writers: 5, Readers: 4, Rate: 100,
		Config: map[string]string{},
	}
}

// quick is Kafka's configuration with shorter times and smaller segments, so that a minute holds many failures. What a run sets itself
// goes over it.
var quick = map[string]string{
	"replica.lag.time.max.ms":                         "2000",
	"replica.fetch.backoff.ms":                        "200",
	"replica.socket.timeout.ms":                       "2000",
	"replica.high.watermark.checkpoint.interval.ms":   "1000",
	"log.flush.offset.checkpoint.interval.ms":         "5000",
	"broker.session.timeout.ms":                       "3000",
	"broker.heartbeat.interval.ms":                    "500",
	"controller.socket.timeout.ms":                    "2000",
	"controller.quorum.auto.join.enable":              "true",
	"metadata.log.max.record.bytes.between.snapshots": "1000",
	"log.segment.bytes":                               "32768",
	"auto.leader.rebalance.enable":                    "false",
	"auto.create.topics.enable":                       "false", // a run creates its own
	"tidemark.producer.id.block.size":                 "1",
}

// Quick lists what a run's configuration differs in from Kafka's where its options leave it open: key=value, sorted by key.
func Quick() []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(quick)) {
		out = append(out, key+"="+quick[key])
	}
	return out
}

// Unusual lists the options of an expanded run that are not the defaults, as the flags that set them. The topic, acks, replication factor,
// min.insync.replicas and the bug are not among them: whoever names a run names them all.
func Unusual(run history.Run) []string {
	var out []string
	d := Defaults()
	stock := quickOf(run)
	add := func(differs bool, format string, args ...any) {
		if differs {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(run.Target != "", "--target %s", run.Target)
	add(run.Like != "", "--like %s", run.Like)
	add(run.Unclean, "--unclean")
	add(run.ELR != fitTarget(history.Run{Target: run.Target, Like: run.Like, Template: run.Template, ELR: true}).ELR, "--classic")
	add(run.Parts != d.Parts, "--partitions %d", run.Parts)
	add(run.Writers != d.Writers, "--producers %d", run.Writers)
	add(run.Readers != d.Readers, "--consumers %d", run.Readers)
	add(run.Client != "" && run.Client != history.ClientRaw, "--client %s", run.Client)
	add(run.Recreated != "", "--recreated-topic %s", run.Recreated)
	add(run.FollowerFetch, "--follower-fetch")
	add(run.Rate != d.Rate, "--rate %v", run.Rate)
	add(run.Idempotent, "--idempotence")
	add(run.Settle != d.Settle, "--settle %v", run.Settle)
	add(run.Beyond, "--beyond-budget")
	add(run.Faults != "", "--faults %s", run.Faults)
	add(run.Trim != 0, "--trim %v", run.Trim)
	add(run.ReadBound != 0, "--read-bound %v", run.ReadBound)
	add(run.Memory != 0, "--memory %s", Bytes(run.Memory))
	add(run.CPUs != 0, "--cpus %v", run.CPUs)
	for _, key := range slices.Sorted(maps.Keys(run.Config)) {
		add(run.Config[key] != stock[key], "--config %s=%s", key, run.Config[key])
	}
	return out
}

// Late lists the lines of a run's plan whose time comes after the last moment at which the load still gives a fault time to show.
func Late(run history.Run) []string {
	plan, err := nemesis.Parse(run.Plan)
	if err != nil {
		return nil // who carries it out will say so
	}
	var out []string
	for _, l := range plan.Lines {
		if l.Trigger.Kind == nemesis.AtTime && l.Trigger.At >= run.Duration-tailOfNemesis {
			out = append(out, l.String())
		}
	}
	return out
}

// LastFault is when the last fault of a run may begin, counted from the start of the load.
func LastFault(run history.Run) time.Duration { return run.Duration - tailOfNemesis }

// Expand fills in what the options leave open and checks the whole; the plan is drawn from the seed unless there is one. The error names
// the option, its value and what was expected.
func Expand(run history.Run, plan string) (history.Run, error) {
	if err := check(run); err != nil {
		return run, err
	}
	run = fitTarget(run)
	filled := maps.Clone(quickOf(run))
	maps.Copy(filled, run.Config)
	run.Config = filled
	if _, err := Configs(run); err != nil {
		return run, err
	}
	if plan == "" {
		run.Plan = nemesis.Generate(world.Stream(run.Seed, "plan", 0), Space(run)).String()
		return run, nil
	}
	parsed, err := nemesis.Parse(plan)
	if err != nil {
		return run, fmt.Errorf("plan: %w", err)
	}
	run.Plan = parsed.String()
	return run, checkPlan(run, parsed)
}

// Verify checks a run that was expanded before and stored: its options, configuration and plan. The error names what is wrong and what was
// expected.
func Verify(run history.Run) error {
	if err := check(run); err != nil {
		return err
	}
	if _, err := Configs(run); err != nil {
		return err
	}
	plan, err := nemesis.Parse(run.Plan)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return checkPlan(run, plan)
}

// checkPlan looks whether a run's world can do its plan.
func checkPlan(run history.Run, plan nemesis.Plan) error {
	can := abilities(run)
	if run.World == Simulated {
		can = likeAbilities(run, simAbilities) // a topic to recreate is looked for below
	}
	err := plan.Check(can, BrokerIDs(run), Partitions(run))
	if (run.World == Contained || run.Like != "") && errors.Is(err, nemesis.ErrCannot) {
		return fmt.Errorf("%w: %s", err, cannot(run))
	}
	for _, l := range plan.Lines {
		switch topic := l.Fault.Topic; {
		case err != nil || topic == "" || topic == run.Recreated:
		case run.Recreated == "":
			err = fmt.Errorf("plan: %v: the run has no topic to recreate, expected one beside %q by --recreated-topic NAME, and recreate NAME", l, run.Topic)
		default:
			err = fmt.Errorf("plan: %v: expected recreate %s, the topic of --recreated-topic", l, run.Recreated)
		}
	}
	return err
}

// Tour draws from the seed a plan that shows what faults do: a leader cut off, one killed, one powered off, then some others. Without a
// plan of its own a run that is expanded draws any.
func Tour(run history.Run) (plan string, err error) {
	if err := check(run); err != nil {
		return "", err
	}
	space := Space(run)
	space.Tour = true
	return nemesis.Generate(world.Stream(run.Seed, "plan", 0), space).String(), nil
}

// What the worlds can do, in a fixed order: a plan is checked before its world exists, also by a program that was built without it.
var (
	simAbilities = []world.Ability{
		world.CanPartition, world.CanKill, world.CanPause, world.CanPowerFail, world.CanStop, world.CanElect, world.CanReassign, world.CanRecreate, world.CanClock,
		world.CanFreeze, world.CanWipe, world.CanNewDisk, world.CanVoters, world.CanLoss, world.CanLag, world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle,
		world.CanIOError, world.CanShortWrite, world.CanFailSync, world.CanSlowDisk, world.CanBitFlip, world.CanPowerOff,
	}
	containedAbilities = []world.Ability{
		world.CanPartition, world.CanKill, world.CanPause, world.CanStop, world.CanElect, world.CanReassign, world.CanFreeze, world.CanWipe, world.CanLoss, world.CanLag,
		world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle,
	}
)

// abilities is what a run's world can do: a plan that needs more is refused before the run.
func abilities(run history.Run) []world.Ability {
	if run.Target != "" {
		return targetAbilities(run)
	}
	if run.World == Contained {
		return containedAbilities
	}
	can := simAbilities
	if run.Recreated == "" {
		can = slices.DeleteFunc(slices.Clone(can), func(a world.Ability) bool { return a == world.CanRecreate })
	}
	return likeAbilities(run, can)
}

// drawable is what a drawn plan may do to a run: what it was asked for, else all but what wants to be asked for.
func drawable(run history.Run) []world.Ability {
	can := abilities(run)
	if run.Faults == "" {
		return slices.DeleteFunc(slices.Clone(can), nemesis.Asked)
	}
	wanted := strings.Split(run.Faults, ",")
	return slices.DeleteFunc(slices.Clone(can), func(a world.Ability) bool { return !slices.Contains(wanted, string(a)) })
}

// checkFaults looks whether a run's world can do the kinds of faults that its plan may have.
func checkFaults(run history.Run) error {
	if run.Faults == "" {
		return nil
	}
	can := abilities(run)
	for _, kind := range strings.Split(run.Faults, ",") {
		if !slices.Contains(can, world.Ability(kind)) {
			return fmt.Errorf("faults: %q, expected some of %v, with commas between them, or none for a run without faults", kind, slices.Sorted(slices.Values(can)))
		}
	}
	return nil
}

// Space is what the generator draws a run's plan from; it does not tell the bug.
func Space(run history.Run) nemesis.Space {
	return nemesis.Space{
		Startup: startup(run),
		Can:     drawable(run), Brokers: BrokerIDs(run), Partitions: Partitions(run),
		Factor: run.Factor, MinISR: run.MinISR, Duration: run.Duration, Recreated: run.Recreated,
		Session: max(span(run, "broker.session.timeout.ms"), span(run, "zookeeper.session.timeout.ms")), Lag: span(run, "replica.lag.time.max.ms"),
	}
}

// span is a key of a run's configuration that is a time; 0 where the run leaves it open.
func span(run history.Run, key string) time.Duration {
	ms, err := strconv.ParseInt(run.Config[key], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// BrokerIDs lists a run's brokers: 1 to n.
func BrokerIDs(run history.Run) []history.BrokerID {
	out := make([]history.BrokerID, run.Brokers)
	for i := range out {
		out[i] = history.BrokerID(i + 1)
	}
	return out
}

// Partitions lists a run's partitions.
func Partitions(run history.Run) []history.Partition {
	out := make([]history.Partition, run.Parts)
	for i := range out {
		out[i] = history.Partition{Topic: run.Topic, Index: int32(i)}
	}
	return out
}

// Configs is the configuration of each of a run's brokers, none if they are a target's; the first three (or all, if fewer) are the controller
// quorum.
func Configs(run history.Run) ([]config.Config, error) {
	if run.Target != "" {
		return nil, nil
	}
	base := config.Default()
	base.MinInsyncReplicas, base.UncleanLeaderElection = run.MinISR, run.Unclean
	base.EligibleLeaderReplicas, base.DefaultReplicationFactor = run.ELR, run.Factor
	base.NumPartitions, base.Bug = run.Parts, bug.On(bug.Name(run.Bug))
	for id := 1; id <= min(run.Brokers, votersMax); id++ {
		base.Voters = append(base.Voters, config.Voter{ID: kafkaID(id), Host: host(id), Port: port})
	}
	if run.FollowerFetch {
		base.ReplicaSelector = config.RackAware
	}
	base, err := base.With(run.Config)
	if err != nil {
		return nil, err
	}
	out := make([]config.Config, run.Brokers)
	for i := range out {
		c := base
		c.NodeID = kafkaID(i + 1)
		c.OneListener(host(i+1), port)
		if run.FollowerFetch {
			c.Rack = workloads.RackOf(history.BrokerID(i + 1))
		}
		c.Controller = i < votersMax
		if err := c.Check(); err != nil {
			return nil, fmt.Errorf("configuration of broker %d: %w", i+1, err)
		}
		out[i] = c
	}
	return out, nil
}
