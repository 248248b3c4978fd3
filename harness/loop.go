package harness

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/workloads"
	"tidemark/world"
)

// Bounds within a run's life, on the run's clock.
const (
	createBound   = 30 * time.Second // topic created, every replica in sync
	requestBound  = 2 * time.Second  // of one client request
	probeBound    = 10 * time.Second // of one fault: a probe, a start, an undo
	finalBound    = 30 * time.Second // the final reads
	comebackBound = 5 * time.Minute  // of brokers in containers that are being started still, and may never listen
	observeEvery  = 250 * time.Millisecond
	tailOfNemesis = time.Second // the load goes on for so long after the last fault may still be in force
)

// loop is one run on any world: create, load under faults, heal, settle, final reads, dumps. It is blocking code over Env and
// Cluster; what it saw is in the recorder.
type loop struct {
	run     history.Run
	env     world.Env
	cluster world.Cluster
	record  *history.Recorder
	tell    *teller
}

// errHarness marks an error of the harness or the world, as against a finding about the log.
var errHarness = errors.New("harness")

func (l *loop) execute() error {
	plan, err := nemesis.Parse(l.run.Plan)
	if err != nil {
		return fmt.Errorf("%w: plan: %w", errHarness, err)
	}
	work := &workloads.Append{
		Env: l.env, Cluster: l.cluster, Record: l.record,
		Topic: l.run.Topic, Parts: l.run.Parts, Factor: l.run.Factor, Acks: l.run.Acks, Idempotent: l.run.Idempotent,
		Writers: l.run.Writers, Readers: l.run.Readers, Rate: l.run.Rate, Timeout: requestBound,
		Lossy: !durable(l.run), Nearby: l.run.FollowerFetch, Trims: l.run.Removes(), Trim: l.run.Trim,
		Placed: l.run.Target != "",
	}
	if work.ForeignWriters, work.ForeignReaders = l.run.Franz(); work.ForeignWriters > 0 {
		if work.Foreign, err = franzClients(l.cluster); err != nil {
			return fmt.Errorf("%w: %w", errHarness, err)
		}
	}
	var visit *workloads.Visitor
	if l.run.Recreated != "" {
		visit = &workloads.Visitor{Append: work, Topic: l.run.Recreated}
	}
	l.tell.watch(l.record, l.env.Now, plan)
	l.tell.enter(PhaseCreate)
	l.record.Mark("create", false, "")
	if err := work.Create(createBound); err != nil {
		l.record.Mark("create", true, err.Error())
		return fmt.Errorf("%w: topic %s: %w", errHarness, l.run.Topic, err)
	}
	if visit != nil {
		if err := visit.Create(createBound); err != nil {
			l.record.Mark("create", true, err.Error())
			return fmt.Errorf("%w: topic %s: %w", errHarness, l.run.Recreated, err)
		}
	}
	if l.run.World != Simulated {
		l.awaitSight()
	}
	var done atomic.Bool
	l.env.Go("observer", func() {
		for !done.Load() {
			l.record.State(l.cluster.Observe())
			l.tell.tick()
			l.env.Sleep(observeEvery)
		}
	})
	defer done.Store(true)
	if err := l.loadUnderFaults(work, visit, plan); err != nil {
		return err
	}
	l.settle(work, visit)
	l.tell.enter(PhaseLogs)
	last := l.cluster.Observe()
	if l.run.World != Simulated {
		l.record.State(last) // on a busy machine the observer's own last look may be from before the cluster came to rest
	}
	for _, b := range l.cluster.Brokers() {
		for _, d := range l.cluster.Dump(b) {
			if !stray(last, d) {
				l.record.Dump(d)
			}
		}
	}
	l.record.Mark("end", false, "")
	return l.record.Err()
}

// sightBound is how long the load waits until the observer knows every partition: what a plan strikes by its role has to be known by then.
const sightBound = 15 * time.Second

// awaitSight waits until the observer has seen a leader of every partition: on a busy machine brokers that have only just started answer it later than
// those who create the topic. Who is not seen within the bound is not waited for.
func (l *loop) awaitSight() {
	for until := l.env.Now() + sightBound; l.env.Now() < until; l.env.Sleep(observeEvery) {
		led := 0
		for _, p := range l.cluster.Observe().Partitions {
			if p.Partition.Topic == l.run.Topic && p.Leader != history.NoBroker {
				led++
			}
		}
		if led == l.run.Parts {
			return
		}
	}
}

// loadUnderFaults runs clients and nemesis side by side until both are done.
func (l *loop) loadUnderFaults(work *workloads.Append, visit *workloads.Visitor, plan nemesis.Plan) error {
	l.record.Mark("load", false, "")
	l.tell.enter(PhaseLoad)
	until := l.env.Now() + l.run.Duration
	runner := &nemesis.Runner{
		Env: l.env, Cluster: l.cluster, Record: l.record, Parts: Partitions(l.run), Factor: l.run.Factor, Bound: probeBound,
		Budget: nemesis.Budget{MinISR: l.run.MinISR, ELR: l.run.ELR, Ignored: l.run.Beyond},
	}
	var finished atomic.Bool
	var nemesisErr error
	over := l.env.NewSignal()
	l.env.Go("nemesis", func() {
		nemesisErr = runner.Run(plan, until-tailOfNemesis)
		finished.Store(true)
		over.Notify()
	})
	l.load(work, visit, until)
	l.record.Mark("heal", false, "")
	l.tell.enter(PhaseHeal)
	bound := time.Duration(len(plan.Lines)+1) * 2 * probeBound
	if l.run.World != Simulated {
		bound += comebackBound
	}
	if !over.Until(finished.Load, bound) {
		return fmt.Errorf("%w: the nemesis did not end within %v after the load", errHarness, bound)
	}
	switch {
	case nemesisErr == nil:
	case l.run.World == Simulated: // it does what it is told: whatever cannot be undone is the brokers' doing, and a finding
		l.record.Mark("heal", true, nemesisErr.Error())
	case world.NotBack(nemesisErr):
		l.record.Mark("heal", true, history.NotBack+": "+nemesisErr.Error())
	default:
		l.record.Mark("heal", true, nemesisErr.Error())
		return fmt.Errorf("%w: %w", errHarness, nemesisErr)
	}
	return nil
}

// load is all clients' work; it returns when every one of them is closed and drained.
func (l *loop) load(work *workloads.Append, visit *workloads.Visitor, until time.Duration) {
	var left atomic.Bool
	gone := l.env.NewSignal()
	if visit != nil {
		left.Store(true)
		l.env.Go("visitor", func() {
			visit.Load(until)
			left.Store(false)
			gone.Notify()
		})
	}
	work.Load(until)
	gone.Until(func() bool { return !left.Load() }, -1)
}

// stray reports whether a dump is of a replica that its broker is to have no longer, by the last observation: one that was away while the
// partition was moved removes it once it has heard of that.
func stray(last history.ClusterState, d history.Dump) bool {
	return slices.ContainsFunc(last.Partitions, func(p history.PartitionState) bool {
		return p.Partition == d.Partition && len(p.Replicas) > 0 &&
			!slices.ContainsFunc(p.Replicas, func(r history.ReplicaState) bool { return r.Broker == d.Broker })
	})
}

// settle waits for the cluster to come to rest and reads everything. What does not come about is a finding, not an error.
func (l *loop) settle(work *workloads.Append, visit *workloads.Visitor) {
	l.record.Mark("settle", false, "")
	l.tell.enter(PhaseSettle)
	err := work.Settle(l.run.Settle)
	if err == nil && visit != nil {
		err = visit.Settle(l.run.Settle)
	}
	if err != nil {
		l.record.Mark("settle", true, err.Error())
	}
	l.record.Mark("final", false, "")
	l.tell.enter(PhaseFinal)
	if err = work.Final(finalBound); err == nil && visit != nil {
		err = visit.Final(finalBound)
	}
	if err != nil {
		l.record.Mark("final", true, err.Error())
	}
}
