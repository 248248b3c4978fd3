package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/history"
)

// options are the flags that describe a run.
type options struct {
	run      history.Run
	seed     string
	acks     string
	planFile string
	classic  bool
	out      string
}

func (o *options) register(c *cobra.Command) {
	o.run = harness.Defaults()
	f := c.Flags()
	f.StringVar(&o.run.World, "world", o.run.World, "the world to run in: sim, docker, or auto (docker if an engine answers, else sim)")
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
	f.IntVar(&o.run.Writers, "producers", o.run.Writers, "number of producers")
	f.IntVar(&o.run.Readers, "consumers", o.run.Readers, "number of consumers")
	f.Float64Var(&o.run.Rate, "rate", o.run.Rate, "operations a second, all clients together")
	f.StringToStringVar(&o.run.Config, "config", nil, "further broker configuration, key=value with Kafka's keys")
	f.StringVar(&o.run.Bug, "bug", "", "switch on a known bug of the broker")
	f.StringVar(&o.planFile, "plan", "", "file with the plan of faults (default: drawn from the seed)")
	f.BoolVar(&o.run.Beyond, "beyond-budget", false, "let faults go beyond what the contract allows for")
}

// complete turns the flags into a run, without its seed; plan is the text of --plan, "" if the seed is to draw it.
func (o *options) complete() (run history.Run, plan string, err error) {
	run = o.run
	run.Started = time.Now().UTC()
	run.ELR = !o.classic
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
	if o.planFile != "" {
		text, err := os.ReadFile(o.planFile)
		if err != nil {
			return run, "", usage(fmt.Errorf("--plan: %w", err))
		}
		if plan = string(text); plan == "" {
			plan = "# no faults\n"
		}
	}
	return run, plan, nil
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
