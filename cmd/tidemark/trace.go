package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tidemark/harness"
	"tidemark/sim"
)

// traceFlags ask for a readable trace of events.
type traceFlags struct {
	on          bool
	from, until time.Duration
	broker      int
	given       func(flag string) bool // whether the command line has a flag
}

func (t *traceFlags) register(c *cobra.Command) {
	f := c.Flags()
	t.given = f.Changed
	f.BoolVar(&t.on, "trace", false, "print every event of the simulated run: number, time, broker, hash, what happened")
	f.DurationVar(&t.from, "from", 0, "with --trace: leave out what happened before; counted from the start of the run, as times in the report")
	f.DurationVar(&t.until, "until", 0, "with --trace: leave out what happened after (0: nothing); counted from the start of the run, not of\nthe load as the plan's times")
	f.IntVar(&t.broker, "broker", 0, "with --trace: leave out what did not happen on this broker (0: nothing)")
}

// check looks whether the flags ask for something that a run has.
func (t *traceFlags) check(world string, brokers int) error {
	for _, flag := range []string{"from", "until", "broker"} {
		if t.given(flag) && !t.on {
			return fmt.Errorf("--%s says what to leave out of a trace, expected --trace with it", flag)
		}
	}
	switch {
	case t.on && world != harness.Simulated:
		return fmt.Errorf("--trace is of the simulated world, this run is of the world %s", world)
	case t.from < 0:
		return fmt.Errorf("--from %v, expected 0s or more", t.from)
	case t.until < 0:
		return fmt.Errorf("--until %v, expected 0s or more", t.until)
	case t.until != 0 && t.from > t.until:
		return fmt.Errorf("--from %v is after --until %v", t.from, t.until)
	case t.on && t.given("broker") && (t.broker < 0 || t.broker > brokers):
		return fmt.Errorf("--broker %d, expected 1 to %d, or 0 for all", t.broker, brokers)
	}
	return nil
}

func (t *traceFlags) watch(w io.Writer) harness.Watch {
	watch := harness.Watch{Trail: true}
	if !t.on {
		return watch
	}
	fmt.Fprintln(w, harness.TraceHeader)
	watch.Trace = func(e sim.Event) {
		if e.Time >= t.from && (t.until == 0 || e.Time <= t.until) && (t.broker == 0 || int(e.Node) == t.broker) {
			fmt.Fprintln(w, harness.EventLine(e))
		}
	}
	return watch
}
