package docker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tidemark/docker/watch"
	"tidemark/history"
)

// outside observes brokers of any make from outside: what they tell whoever asks by Kafka's protocol, and what ZooKeeper holds, becomes the
// cluster's state and protocol steps. Every broker is visited again and again, by itself, so that one that hangs holds up no other.
type outside struct {
	cluster *Cluster
	seats   []*seat   // by machine
	keeper  *standing // nil where there is no ZooKeeper

	mu    sync.Mutex
	watch *watch.Watch
	heard chan struct{} // closed and replaced when a visit is over
}

// seat is where one broker is asked.
type seat struct {
	machine *machine
	asker   *watch.Asker
	kick    chan struct{} // asks for a visit now
	visited time.Duration // when the last visit that is over began; -1 if none is
}

// standing is where ZooKeeper is looked into.
type standing struct {
	keeper  *watch.Keeper
	kick    chan struct{}
	visited time.Duration
}

// Times of visits.
const (
	visitEvery  = 100 * time.Millisecond // between two visits that nobody asked for
	visitGap    = 20 * time.Millisecond  // between any two
	visitBound  = 500 * time.Millisecond // of one; a broker that does not answer within it counts as down
	patience    = 250 * time.Millisecond // of a look, which then takes what is known of those who have not answered
	processLook = 200 * time.Millisecond // how often the engine is asked whether a broker has been started anew
)

// newOutside returns an observer of a cluster whose brokers register in the ZooKeeper at an address, host:port, "" for none. Addresses are
// asked for when the first look begins.
func newOutside(c *Cluster) *outside {
	o := &outside{cluster: c, heard: make(chan struct{})}
	o.watch = watch.New(c.Brokers())
	return o
}

// open begins to visit. The lock is held.
func (o *outside) open() error {
	c := o.cluster
	for _, m := range c.machines {
		asker, err := watch.NewAsker(m.id, o.cluster.straight(m))
		if err != nil {
			return err
		}
		o.seats = append(o.seats, &seat{machine: m, asker: asker, kick: make(chan struct{}, 1), visited: -1})
	}
	for _, s := range o.seats {
		c.env.Go(fmt.Sprintf("visits to broker %d", s.machine.id), func() { o.repeat(s.kick, func() { o.visit(s) }) })
	}
	return nil
}

// openKeeper begins to look into the ZooKeeper at an address, host:port.
func (o *outside) openKeeper(address string) error {
	k, err := watch.NewKeeper([]string{address})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keeper = &standing{keeper: k, kick: make(chan struct{}, 1), visited: -1}
	o.cluster.env.Go("visits to ZooKeeper", func() { o.repeat(o.keeper.kick, o.visitKeeper) })
	return nil
}

// repeat does something again and again until the run is over.
func (o *outside) repeat(kick <-chan struct{}, do func()) {
	for o.cluster.env.ctx.Err() == nil {
		do()
		o.cluster.env.Sleep(visitGap)
		select {
		case <-kick:
		case <-time.After(visitEvery - visitGap):
		case <-o.cluster.env.ctx.Done():
		}
	}
}

// visit asks one broker how things stand.
func (o *outside) visit(s *seat) {
	c := o.cluster
	ctx, cancel := context.WithTimeout(c.env.ctx, visitBound)
	defer cancel()
	began := c.env.Now()
	told, err := s.asker.Ask(ctx)
	told.From, told.To = began, c.env.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.watch.Down(s.machine.id)
	} else {
		o.record(o.watch.Tell(told))
		s.machine.mu.Lock()
		clear(s.machine.last)
		for _, r := range told.Replicas {
			s.machine.last[r.Partition] = r.ReplicaState
		}
		s.machine.mu.Unlock()
	}
	s.visited = began
	o.tell()
}

// visitKeeper looks into ZooKeeper.
func (o *outside) visitKeeper() {
	c := o.cluster
	ctx, cancel := context.WithTimeout(c.env.ctx, visitBound)
	defer cancel()
	began := c.env.Now()
	kept, err := o.keeper.keeper.Look(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.record(o.watch.Keep(kept, max(0, o.keeper.visited)))
	}
	o.keeper.visited = began
	o.tell()
}

// record hands steps on. The lock is held.
func (o *outside) record(steps []history.Step) {
	o.cluster.recording.Lock()
	defer o.cluster.recording.Unlock()
	for _, s := range steps {
		o.cluster.opt.Record(s, s.Time)
	}
}

// tell says that a visit is over. The lock is held.
func (o *outside) tell() {
	close(o.heard)
	o.heard = make(chan struct{})
}

// look asks everybody now, and waits for the answers with patience. Who does not answer keeps its last known state, as down once a visit
// has failed.
func (o *outside) look() history.ClusterState {
	env := o.cluster.env
	began := env.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seats == nil {
		if err := o.open(); err != nil {
			o.cluster.opt.Say(err.Error())
			return history.ClusterState{Controller: history.NoBroker, Time: began}
		}
	}
	late := time.After(patience)
	for waiting := o.ask(began); waiting; waiting = o.behind(began) {
		heard := o.heard
		o.mu.Unlock()
		select {
		case <-heard:
		case <-late:
			waiting = false
		case <-env.ctx.Done():
			waiting = false
		}
		o.mu.Lock()
		if !waiting {
			break
		}
	}
	return o.watch.State(env.Now())
}

// ask asks for visits now, and reports whether any is to be waited for. The lock is held.
func (o *outside) ask(began time.Duration) bool {
	for _, s := range o.seats {
		prod(s.kick)
	}
	if o.keeper != nil {
		prod(o.keeper.kick)
	}
	return o.behind(began)
}

// prod asks for a visit, if none is asked for.
func prod(kick chan<- struct{}) {
	select {
	case kick <- struct{}{}:
	default:
	}
}

// behind reports whether somebody's last visit began before a look. The lock is held.
func (o *outside) behind(look time.Duration) bool {
	for _, s := range o.seats {
		if s.visited < look {
			return true
		}
	}
	return o.keeper != nil && o.keeper.visited < look
}

// news records that a broker has come up, as its container tells. What it does inside shows in visits.
func (o *outside) news(m *machine) error {
	c := o.cluster
	c.env.Sleep(processLook)
	info, err := c.inspect(m.broker)
	if err != nil {
		return err
	}
	if !info.State.Running {
		return fmt.Errorf("broker %d does not run", m.id)
	}
	began, err := time.Parse(time.RFC3339Nano, info.State.StartedAt)
	if err != nil {
		return err
	}
	if o.cameUp(m, began) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.watch.Restarted(m.id)
	}
	return nil
}

// cameUp records that a broker was started at a time of day, unless that is known.
func (o *outside) cameUp(m *machine, began time.Time) bool {
	c := o.cluster
	c.recording.Lock()
	defer c.recording.Unlock()
	r := &m.steps
	if began.UnixNano() == r.started {
		return false
	}
	if r.incarnation > 0 && !r.isDown && !r.awaited {
		c.down(m, history.ExitedByItself+", and was started by somebody else")
	}
	r.incarnation++
	r.started, r.isDown, r.ending, r.awaited = began.UnixNano(), false, "", false
	c.step(m, history.StepStart, fmt.Sprintf("incarnation %d", r.incarnation), c.env.Now()-time.Since(began))
	return true
}

// dump reads every replica of a broker of Apache Kafka's make from its own files.
func (o *outside) dump(ctx context.Context, m *machine) ([]history.Dump, error) {
	return m.agent.DumpKafka(ctx)
}

// close gives up the connections.
func (o *outside) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.seats {
		s.asker.Close()
	}
	if o.keeper != nil {
		o.keeper.keeper.Close()
	}
}
