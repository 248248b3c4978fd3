package harness

import (
	"context"
	"fmt"
	"time"

	"tidemark/broker"
	"tidemark/checker"
	"tidemark/history"
	"tidemark/sim"
)

// Result is all that came of one run.
type Result struct {
	Run     history.Run
	History *history.History
	Verdict checker.Verdict
	Hash    uint64 // of the simulated trace
	Events  uint64
	Virtual time.Duration // simulated time
	Wall    time.Duration // of the run and the check
	Differs int64         // decisions that the bug which is on changed (package bug)
	Lead    []string      // the lines that were added to the plan, see pursue
	Tries   int           // runs that pursued its leads
	Near    []Near        // what nearly happened, kept on request
	From    Descent       // how it came about, of a run of a hunt
	Trail   []uint32      // of each event, the low half of the trace hash up to it; kept on request

	Ground *history.Ground // what a run in containers stood on
	Kept   []string        // where the brokers of a cluster that was kept are found, a line each

	journaled bool                        // the history was written to the run's directory as it went
	logs      map[history.BrokerID]string // what each broker's process wrote, of a run in containers
}

// FirstAck is when the first write was acknowledged, on the run's clock, which begins with its first container; 0 if none was.
func (r *Result) FirstAck() time.Duration {
	var first time.Duration
	for i := range r.History.Ops {
		if op := &r.History.Ops[i]; op.Kind == history.Send && op.Outcome == history.OK && (first == 0 || op.Return < first) {
			first = op.Return
		}
	}
	return first
}

// Watch says what to keep or show of a simulated run besides its result.
type Watch struct {
	Trail bool
	Trace func(sim.Event)
	// Progress, if set, is told now and then how far the run is, and of every phase and fault.
	Progress func(Progress)
	// Blind leaves the invariants out: what clients saw, and the logs at the end, alone are judged. Runs that are like a target are always judged so.
	Blind bool
	// Leads, if set, is given the invariants that were broken, also where they are left out of the judgement.
	Leads *[]checker.Broken
	// Near keeps what nearly happened: what the brokers refused, and the invariants that were broken.
	Near bool
	// After, if set, looks at the world after every event that touched a broker.
	After func(now time.Duration, b history.BrokerID, w *sim.World)
}

// secondSteps is the second judge's budget for one history.
const secondSteps = 100_000_000

// Judge judges a history under run's contract.
func Judge(run history.Run, h *history.History) checker.Verdict {
	return checker.Check(run, h, checker.Options{PorcupineSteps: secondSteps})
}

// Simulate carries out a run in the simulated world and judges it. The error is the harness's own trouble or ctx's end, never a
// finding.
func Simulate(ctx context.Context, run history.Run, watch Watch) (*Result, error) {
	begun := time.Now()
	configs, err := Configs(run)
	if err != nil {
		return nil, err
	}
	contract := checker.ContractOf(run)
	watch.Blind = watch.Blind || run.Like != ""
	inv := checker.NewInvariants(contract)
	eye := newWatcher(inv, run)
	var record *history.Recorder
	res := &Result{Run: run}
	opt := sim.Options{
		Seed: run.Seed, Configs: configs, Until: virtualBound(run), Recreated: run.Recreated,
		Record: func(s history.Step) { record.Step(s) },
	}
	opt.Trace = watch.Trace
	if !watch.Blind || watch.Leads != nil || watch.Near {
		opt.AfterEvent = eye.afterEvent
	}
	if watch.Trail {
		opt.EventHash = func(h uint64) { res.Trail = append(res.Trail, uint32(h)) }
	}
	var w *sim.World
	if watch.After != nil {
		look := opt.AfterEvent
		opt.AfterEvent = func(now time.Duration, b history.BrokerID) {
			if look != nil {
				look(now, b)
			}
			watch.After(now, b, w)
		}
	}
	eye.node = func(b history.BrokerID) *broker.Node {
		if w == nil {
			return nil
		}
		return w.Node(b)
	}
	var near nearby
	if watch.Near {
		near.watch(&opt, eye.node)
	}
	record = history.NewRecorder(func() time.Duration { return clock(w) }, nil)
	record.Reserve(expected(run))
	if w, err = sim.New(opt); err != nil {
		return nil, fmt.Errorf("simulated world: %w", err)
	}
	l := &loop{run: run, env: w, cluster: likeCluster(run, w), record: record, tell: &teller{tell: watch.Progress}}
	err = w.Run(ctx, l.execute)
	res.Hash, res.Events, res.Virtual = w.Hash(), w.Events(), w.Now()
	res.Differs = configs[0].Bug.Differs()
	broken := inv.Broken()
	if watch.Leads != nil {
		*watch.Leads = broken
	}
	for _, b := range broken {
		if !watch.Blind {
			record.StepAt(b.Step(), time.Duration(b.Time))
		}
	}
	res.History = record.History()
	if watch.Near {
		near.broke(broken)
		res.Near = near.sinceLoad(res.History)
	}
	if err != nil {
		return res, fmt.Errorf("seed %d: %w", run.Seed, err)
	}
	l.tell.enter(PhaseJudge)
	res.Verdict = Judge(run, res.History)
	res.Wall = time.Since(begun)
	return res, nil
}

// reserveMax bounds the operations that room is made for in advance.
const reserveMax = 1 << 18

// expected is about how many operations and protocol steps a run will record: an acknowledged write makes some six steps.
func expected(run history.Run) (ops, steps int) {
	ops = int(min(1.1*run.Rate*run.Duration.Seconds()+100, reserveMax))
	return ops, 7 * ops / 2
}

// clock reads a world that may still be in the making: its brokers start at time 0.
func clock(w *sim.World) time.Duration {
	if w == nil {
		return 0
	}
	return w.Now()
}

// virtualBound is the latest virtual time that a run may come to.
func virtualBound(run history.Run) time.Duration {
	return run.Duration + run.Settle + createBound + finalBound + 30*time.Minute
}

// durable reports whether the contract promises that what was acknowledged is never lost.
func durable(run history.Run) bool { return checker.ContractOf(run).Durable }
