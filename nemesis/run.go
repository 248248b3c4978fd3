package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Runner carries out a plan on a cluster.
type Runner struct {
	Env     world.Env
	Cluster world.Cluster
	Record  *history.Recorder
	Budget  Budget
	Parts   []history.Partition
	Factor  int           // replicas of each partition, which a reassignment keeps; 0: any
	Bound   time.Duration // longest wait for a probe, a start or an undo
}

// Run carries out the plan until every fault is verified undone or the time until has come (on Env's clock; what is in force
// is then undone early); it starts what is down and probes every broker and link. Times in the plan count from the call, and
// so should until leave the load some time to recover. The error lists what could not be verified undone.
func (r *Runner) Run(p Plan, until time.Duration) error {
	if err := p.Check(r.Cluster.Abilities(), r.Cluster.Brokers(), r.Parts); err != nil {
		return err
	}
	x := newRun(r, until)
	x.observe()
	x.listen(p)
	x.ports = p.ports()
	lives := make([]*life, len(p.Lines))
	seen := make(map[string]int)
	for i, l := range p.Lines {
		text := l.String()
		lives[i] = x.newLife(i, l, text, seen[text])
		seen[text]++
	}
	x.each("nemesis", len(lives), func(i int) { lives[i].live() })
	err := x.end(lives)
	x.locked(func() { x.over = true })
	x.changed.Notify()
	x.wait(func() bool { return !x.watching }, -1)
	return err
}

// run is one Run under way. What several lines touch is guarded by mu, which is never held across a call that may block or
// that records.
type run struct {
	*Runner
	start, until time.Duration
	brokers      []history.BrokerID
	nodes        []history.BrokerID // the brokers, and the controllers that are none
	changed      world.Signal       // any of the below changed
	links        gate               // orders cuts and heals
	ports        []world.Port       // at which the plan cuts

	mu          sync.Mutex
	unclean     Unclean
	process     map[history.BrokerID]int // plan line that holds the broker down or paused
	clocks      map[history.BrokerID]int // plan line that lets its clock drift
	slow        map[history.BrokerID]int // plan line that lets its disk be slow
	memberships memberships
	cuts        map[gap]int              // how many faults cut it
	lossy       map[link]int             // plan line that loses packets on it
	lagged      map[link]int             // plan line that delays packets on it
	inForce     int                      // faults that are being done, not yet being undone
	strikes     int                      // faults ever in force
	open        int                      // faults that have begun and are not yet verified undone
	calm        time.Duration            // when the last fault ended
	known       []history.PartitionState // the newest observed, in order of Partition.Compare
	waiting     []*waiter
	shrinks     map[history.Partition]int64         // times that a member was seen to have left the ISR
	expands     map[history.Partition]int64         // times that one was seen to have joined it
	catches     map[Messages]int64                  // faults on such messages that have met one; zero: on any
	releases    map[Messages]int64                  // of them, those that have let go of what they kept
	stirred     bool                                // a leader or an ISR has changed since the watcher last looked
	base        map[history.Partition]history.Epoch // leader epochs at the start
	watching    bool
	over        bool
}

func newRun(r *Runner, until time.Duration) *run {
	nodes := r.Cluster.Brokers()
	if c, ok := r.Cluster.(world.Isolated); ok {
		nodes = slices.Concat(nodes, c.Controllers())
	}
	return &run{
		Runner:  r,
		start:   r.Env.Now(),
		calm:    r.Env.Now(),
		until:   until,
		brokers: r.Cluster.Brokers(),
		nodes:   nodes,
		changed: r.Env.NewSignal(),
		links:   gate{free: r.Env.NewSignal()},
		process: make(map[history.BrokerID]int),
		clocks:  make(map[history.BrokerID]int),
		slow:    make(map[history.BrokerID]int),
		cuts:    make(map[gap]int),
		lossy:   make(map[link]int),
		lagged:  make(map[link]int),
		shrinks: make(map[history.Partition]int64),
		expands: make(map[history.Partition]int64),
		catches: make(map[Messages]int64), releases: make(map[Messages]int64),
	}
}

// locked runs fn under the lock.
func (x *run) locked(fn func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fn()
}

// wait blocks until cond, which is called under the lock, or until timeout has passed.
func (x *run) wait(cond func() bool, timeout time.Duration) bool {
	return x.changed.Until(func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return cond()
	}, timeout)
}

// view is the cluster as the nemesis knows it: an observation, and for decisions the newest state of each partition, as an
// observer may for a time see none at all (nobody is up) or one of long ago (everybody has just been started).
type view struct {
	raw   history.ClusterState
	known history.ClusterState
	held  []history.BrokerID // down or paused by a fault in force
}

// observe looks at the cluster and takes in what is new.
func (x *run) observe() view {
	began := x.Env.Now()
	v := view{raw: x.Cluster.Observe()}
	x.locked(func() {
		fresh := x.learn(v.raw)
		x.unclean.See(fresh, began)
		v.known = history.ClusterState{Controller: v.raw.Controller, Partitions: slices.Clone(x.known)}
		v.held = x.heldNow()
	})
	return v
}

// learn updates what is known and returns the part of an observation that is not behind it. The lock is held.
func (x *run) learn(s history.ClusterState) (fresh history.ClusterState) {
	for _, p := range s.Partitions {
		x.known = slices.DeleteFunc(x.known, func(old history.PartitionState) bool { return superseded(old.Partition, p.Partition) })
		i, found := slices.BinarySearchFunc(x.known, p, func(a, b history.PartitionState) int { return a.Partition.Compare(b.Partition) })
		switch {
		case !found:
			x.known = slices.Insert(x.known, i, p)
		case p.Epoch < x.known[i].Epoch, p.Epoch == x.known[i].Epoch && p.PartitionEpoch < x.known[i].PartitionEpoch:
			continue
		default:
			x.count(&x.known[i], &p)
			x.known[i] = p
		}
		fresh.Partitions = append(fresh.Partitions, p)
	}
	return fresh
}

// count follows the ISR from one state of a partition to a newer one. The lock is held.
func (x *run) count(before, now *history.PartitionState) {
	if slices.ContainsFunc(before.ISR, func(b history.BrokerID) bool { return !slices.Contains(now.ISR, b) }) {
		x.shrinks[now.Partition]++
	}
	if slices.ContainsFunc(now.ISR, func(b history.BrokerID) bool { return !slices.Contains(before.ISR, b) }) {
		x.expands[now.Partition]++
	}
}

// unknown names a partition of the run that was never observed, "" if there is none.
func unknown(parts []history.Partition, s history.ClusterState) string {
	for _, p := range parts {
		if !slices.ContainsFunc(s.Partitions, func(o history.PartitionState) bool { return o.Partition == p }) {
			return p.String()
		}
	}
	return ""
}

// strike asks for a fault to begin now. The lock is held.
func (x *run) strike(kind world.Ability, targets []history.BrokerID) Strike {
	return Strike{Kind: kind, Targets: targets, Others: x.open, Calm: x.Env.Now() - x.calm}
}

// heldNow lists the brokers that a fault holds down or paused. The lock is held.
func (x *run) heldNow() []history.BrokerID {
	var held []history.BrokerID
	for _, b := range x.nodes {
		if _, ok := x.process[b]; ok {
			held = append(held, b)
		}
	}
	return held
}

// alive reports whether a broker's process runs and no fault holds it.
func (x *run) alive(b history.BrokerID) bool {
	held := false
	x.locked(func() { _, held = x.process[b] })
	return !held && x.Cluster.ProbeProcess(b) == world.ProcessRunning
}

// pollEvery is the pause between two looks at something that takes its time.
const pollEvery = 50 * time.Millisecond

// poll looks until look returns nil, at least once and at most for the bound, and returns the last look's error.
func (x *run) poll(bound time.Duration, look func() error) error {
	deadline := x.Env.Now() + bound
	for {
		err := look()
		if err == nil || x.Env.Now()+pollEvery > deadline {
			return err
		}
		x.Env.Sleep(pollEvery)
	}
}

// patiently is poll with a bound that starts anew as long as other faults are or come in force: a broker may not serve while
// others keep it from the controller.
func (x *run) patiently(look func() error) error {
	for {
		before := x.strikesIfCalm()
		err := x.poll(x.Bound, look)
		if err == nil || before >= 0 && before == x.strikesIfCalm() {
			return err
		}
	}
}

// strikesIfCalm is how many faults there were so far, or -1 while any is in force.
func (x *run) strikesIfCalm() (n int) {
	x.locked(func() {
		if n = x.strikes; x.inForce > 0 {
			n = -1
		}
	})
	return n
}

// each runs fn for every one of n at the same time and returns when all are done.
func (x *run) each(name string, n int, fn func(i int)) {
	left := n
	for i := range n {
		x.Env.Go(name, func() {
			fn(i)
			x.locked(func() { left-- })
			x.changed.Notify()
		})
	}
	x.wait(func() bool { return left == 0 }, -1)
}

// end makes sure that nothing is left of the plan: every fault undone, every broker running and serving, every link open.
func (x *run) end(lives []*life) error {
	var errs []error
	for _, f := range lives {
		if err := f.finish(); err != nil {
			errs = append(errs, fmt.Errorf("fault %d (%s): %w", f.event.Fault+1, f.event.Line, err))
		}
	}
	found := make([]error, len(x.nodes))
	x.each("nemesis end", len(x.nodes), func(i int) {
		found[i] = x.said(x.poll(x.Bound, func() error { return x.up(x.nodes[i]) }))
	})
	errs = append(errs, found...)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return x.poll(x.Bound, x.pass)
}

// up brings a broker up, whatever state it is in, and reports what is still missing.
func (x *run) up(b history.BrokerID) error {
	var err error
	switch x.Cluster.ProbeProcess(b) {
	case world.ProcessGone:
		err = x.Cluster.Start(b)
	case world.ProcessPaused:
		err = x.Cluster.Resume(b)
	case world.ProcessFrozen:
		err = x.Cluster.Thaw(b)
	}
	if err != nil {
		return fmt.Errorf("broker %d: %w", b, err)
	}
	return x.back(b)
}

// back looks whether a broker that nothing holds any more is back: one that is gone again or does not serve is so by its own doing, one that
// stands still is not.
func (x *run) back(b history.BrokerID) error {
	switch state := x.Cluster.ProbeProcess(b); {
	case state == world.ProcessGone:
		return &world.NotBackError{Broker: b, Why: notRunning}
	case state != world.ProcessRunning:
		return fmt.Errorf("broker %d is %s", b, state)
	case !x.Cluster.ProbeServing(b, x.probeTime(0)):
		return &world.NotBackError{Broker: b, Why: notServing}
	}
	return nil
}

// Why a broker that nothing holds is not back, as far as probes tell.
const (
	notRunning = "it does not run"
	notServing = "it does not serve"
)

// said adds to what probes tell of a broker that is not back what itself said last, where the world hears that.
func (x *run) said(err error) error {
	var back *world.NotBackError
	speaking, hears := x.Cluster.(world.Speaking)
	if hears && errors.As(err, &back) && (back.Why == notRunning || back.Why == notServing) {
		back.Why += speaking.LastWords(back.Broker)
	}
	return err
}

// probeTime is how long one probe may take during a fault of the given length, 0 if it has none.
func (x *run) probeTime(length time.Duration) time.Duration {
	t := min(x.Bound, 500*time.Millisecond)
	if length > 0 {
		t = min(t, max(length/2, pollEvery))
	}
	return t
}

// claim gives brokers or links to a plan line in one of the tables, all or none: it returns those that another line has.
func claim[T comparable](table map[T]int, line int, wanted []T) (taken []T) {
	for _, t := range wanted {
		if _, ok := table[t]; ok {
			taken = append(taken, t)
		}
	}
	if len(taken) == 0 {
		for _, t := range wanted {
			table[t] = line
		}
	}
	return taken
}
