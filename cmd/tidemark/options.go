package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/bug"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/nemesis"
)

// faultless, as --faults, asks for a run without faults, a baseline; noFaults is its plan, as "" has one drawn.
const (
	faultless = "none"
	noFaults  = "# no faults\n"
)

// options are the flags that describe a run.
type options struct {
	run      history.Run
	seed     string
	acks     string
	planFile string
	memory   string
	classic  bool
	out      string
	told     string                 // the file of the scenario that is carried out, "" for none
	expected string                 // what it tells of the run, "" for nothing
	given    func(flag string) bool // whether the command line has a flag
}

func (o *options) register(c *cobra.Command) {
	o.run = harness.Defaults()
	f := c.Flags()
	o.given = f.Changed
	f.StringVar(&o.run.World, "world", o.run.World, "the world to run in: sim, docker (containers), or auto (docker if an engine answers, else sim)")
	f.StringVar(&o.run.Target, "target", "", "whose brokers run, such as apache-kafka:4.1.0 or a FILE.yaml, in containers; see tidemark help targets (default: this program's own)")
	f.StringVar(&o.run.Like, "like", "", "simulate brokers with the times, the elections and the faults of such a target, so that a plan can be carried over to it\n(--world sim; judged by what clients and logs tell)")
	f.DurationVar(&o.run.Duration, "duration", o.run.Duration, "how long clients work under faults, in the world's time")
	f.DurationVar(&o.run.Settle, "settle", o.run.Settle, "bound on settling after the last fault")
	f.IntVar(&o.run.Brokers, "brokers", o.run.Brokers, "number of brokers")
	f.StringVar(&o.run.Topic, "topic", o.run.Topic, "name of the topic")
	f.IntVar(&o.run.Parts, "partitions", o.run.Parts, "number of partitions")
	f.IntVar(&o.run.Factor, "replication-factor", o.run.Factor, "replicas of each partition")
	f.IntVar(&o.run.MinISR, "min-insync-replicas", o.run.MinISR, "min.insync.replicas")
	f.StringVar(&o.acks, "acks", "all", "what producers wait for: 0, 1 or all")
	f.BoolVar(&o.run.Unclean, "unclean", false, "unclean.leader.election.enable")
	f.BoolVar(&o.classic, "classic", false, "elect from the ISR alone, as Kafka before 4.0 (eligible.leader.replicas.enable=false)")
	f.IntVar(&o.run.Writers, "producers", o.run.Writers, fmt.Sprintf("number of producers; %d with --target, unless it is given", harness.TargetWriters))
	f.IntVar(&o.run.Readers, "consumers", o.run.Readers, "number of consumers")
	f.StringVar(&o.run.Client, "client", history.ClientRaw, "whose clients make the load: raw (the workload's own, which never retry), franz (franz-go, which retries; --world docker alone)\nor both")
	f.StringVar(&o.run.Recreated, "recreated-topic", "", "a second topic, of one partition, which the plan may delete and create again (--world sim)")
	f.BoolVar(&o.run.FollowerFetch, "follower-fetch", false, "consumers read from the replica in their rack, which may be a follower (KIP-392)")
	f.BoolVar(&o.run.Idempotent, "idempotence", false, "idempotent producers, which send again what was not acknowledged; takes --acks all")
	f.Float64Var(&o.run.Rate, "rate", o.run.Rate, fmt.Sprintf("target of operations a second, all clients together; %v with --target, unless it is given. Clients that wait for an answer\nfall short of it", harness.TargetRate))
	f.StringToStringVar(&o.run.Config, "config", nil, "further broker configuration, such as log.segment.bytes=65536; run.json shows all that holds, with the\nshorter times that a run sets (tidemark help options)")
	f.StringVar(&o.run.Bug, "bug", "", "switch on a known bug of the broker; tidemark bugs --list tells of each, and with --beyond of further ones:\n"+strings.TrimSpace(folded(bugNames())))
	f.StringVar(&o.planFile, "plan", "", "file with the plan of faults, see tidemark help plan (default: drawn from the seed)")
	f.StringVar(&o.run.Faults, "faults", "", "kinds of faults that a drawn plan may have, such as kill,partition,hold, by their names in plans; none is a baseline, without\nfaults (default: all that the world can do, but lag)")
	f.StringVar(&o.memory, "memory", "", "memory limit of each broker's container, such as 512m; without one it is 1g (--world docker)")
	f.Float64Var(&o.run.CPUs, "cpus", 0, "processors that each broker's container may use, such as 0.5; without a limit it is all (--world docker)")
	f.DurationVar(&o.run.Trim, "trim", 0, "how often, on average, somebody asks for a partition's oldest records to be removed (DeleteRecords; default: never)")
	f.DurationVar(&o.run.ReadBound, "read-bound", 0, "how long after its acknowledgement a write may still be missing for a consumer at the log's end, before that is a violation;\nKafka promises nothing (default: never; what is missing for 10s is told, as information)")
	f.BoolVar(&o.run.Beyond, "beyond-budget", false, "let faults go beyond what the contract allows for")
}

// complete turns the flags into a run, without its seed; plan is the text of --plan, "" if the seed is to draw it.
func (o *options) complete() (run history.Run, plan string, err error) {
	run = o.run
	run.Started = time.Now().UTC()
	run.ELR = !o.classic
	if run.Target != "" && !o.given("world") {
		run.World = harness.Contained
	}
	if run.Target != "" && !o.given("rate") {
		run.Rate = harness.TargetRate
	}
	if run.Target != "" && !o.given("producers") {
		run.Writers = harness.TargetWriters
	}
	named := &run.Target
	if run.Target == "" {
		named = &run.Like
	}
	if *named, run.Template, err = readTarget(*named); err != nil {
		return run, "", usage(err)
	}
	switch o.acks {
	case "all", "-1":
		run.Acks = -1
	case "0":
		run.Acks = 0
	case "1":
		run.Acks = 1
	default:
		return run, "", usage(fmt.Errorf("--acks %q, expected 0, 1 or all", o.acks))
	}
	if w := run.World; w != harness.Simulated && w != harness.Contained && w != worldAuto {
		return run, "", usage(fmt.Errorf("--world %q, expected %s, %s or %s", w, harness.Simulated, harness.Contained, worldAuto))
	}
	if o.memory != "" {
		if run.Memory, err = harness.ParseBytes(o.memory); err != nil {
			return run, "", usage(fmt.Errorf("--memory %w", err))
		}
	}
	if err := o.replicas(); err != nil {
		return run, "", usage(err)
	}
	if o.planFile != "" {
		text, err := readBounded(o.planFile)
		if err != nil {
			return run, "", usage(fmt.Errorf("--plan: %w", err))
		}
		plan = string(text)
		if _, _, _, err := harness.ReadScenario(plan); err == nil {
			return run, "", usage(fmt.Errorf("--plan: %s is a scenario, which has options and an outcome beside its plan; %s", o.planFile, scenarioHint))
		}
		if parsed, err := nemesis.Parse(plan); err == nil && len(parsed.Lines) == 0 {
			return run, "", usage(fmt.Errorf("--plan: %s has no fault, expected one a line: nothing could go wrong (--faults %s is a run without faults, on purpose)", o.planFile, faultless))
		}
	}
	if run.Faults == faultless {
		if o.planFile != "" {
			return run, "", usage(fmt.Errorf("--plan and --faults %s exclude each other: each is the plan of the run", faultless))
		}
		run.Faults, plan = "", noFaults
	}
	return run, plan, nil
}

// replicas looks whether defaults that nobody gave go with the number of brokers and replicas that somebody did.
func (o *options) replicas() error {
	r := &o.run
	if r.Brokers < 1 || r.Factor < 1 {
		return nil // wrong in themselves
	}
	if !o.given("replication-factor") && r.Factor > r.Brokers {
		hint := fmt.Sprintf("--replication-factor %d", r.Brokers)
		if !o.given("min-insync-replicas") && r.MinISR > r.Brokers {
			hint += fmt.Sprintf(" --min-insync-replicas %d", r.Brokers)
		}
		return fmt.Errorf("--brokers %d with the default replication factor %d, expected at most %d: add %s", r.Brokers, r.Factor, r.Brokers, hint)
	}
	if !o.given("min-insync-replicas") && r.Factor <= r.Brokers && r.MinISR > r.Factor {
		return fmt.Errorf("--replication-factor %d with the default min.insync.replicas %d, expected at most %d: add --min-insync-replicas %d", r.Factor, r.MinISR, r.Factor, r.Factor)
	}
	return nil
}

// bugNames lists the known bugs.
func bugNames() string {
	var names []string
	for _, e := range bug.Registry {
		names = append(names, string(e.Name))
	}
	return strings.Join(names, ", ")
}

// parseSeed reads a seed, or draws one where there is none.
func parseSeed(flag, text string) (uint64, error) {
	if text == "" {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return 0, trouble(err)
		}
		return binary.LittleEndian.Uint64(b[:]), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, usage(fmt.Errorf("--%s %q, expected a whole number from 0 to 2^64-1", flag, text))
	}
	return seed, nil
}

// textMax bounds a plan or a configuration that is read from a file, in bytes.
const textMax = 1 << 20

// readBounded reads a small text file.
func readBounded(path string) ([]byte, error) {
	// A pipe that nobody writes to would stand still here, deaf to signals; one of /dev/fd has its writer, the shell.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !strings.HasPrefix(path, "/dev/") {
		return nil, fmt.Errorf("%s: %v, expected a file", path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, textMax+1))
	if err == nil && len(text) > textMax {
		return nil, fmt.Errorf("%s has more than %d bytes", path, textMax)
	}
	return text, err
}
