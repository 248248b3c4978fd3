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

// fakeCluster is a crude model of a cluster: sessions of 3 s, a lag limit of 2 s, and a controller that the lowest broker of a
// majority is. It moves on whenever somebody looks, in steps of 100 ms.
type fakeCluster struct {
	env   world.Env
	mu    sync.Mutex
	at    time.Duration // how far it has moved
	node  map[history.BrokerID]*fakeNode
	ids   []history.BrokerID
	cuts  map[gap]bool
	loss  map[link]float64
	lost  map[link]float64
	lags  map[link]world.Lag
	disks map[history.BrokerID]*fakeDisk
	parts []*fakePartition
	holds []*fakeCatch

	broken map[string]bool // calls that return an error, by name, such as "Kill"
	deaf   map[string]bool // calls that return nil and do nothing
	up     time.Duration   // in which orders/0 could acknowledge writes
	change int             // ISR and leader changes
}

type fakeNode struct {
	state   world.ProcessState
	rate    float64
	origin  time.Duration // clock's reading at since
	since   time.Duration
	absent  time.Duration // how long it has not reached the controller
	behind  time.Duration // how long it has not reached the leader
	caught  time.Duration // how long it has followed
	boots   int
	reborn  bool // restarted, the controller does not know it yet
	serving time.Duration
	data    bool
	ends    time.Duration // when a shutdown that took too long ends all the same; 0: none does
}

type fakePartition struct {
	name     history.Partition
	replicas []history.BrokerID
	isr      []history.BrokerID
	leader   history.BrokerID
	epoch    history.Epoch
}

const (
	fakeStep    = 100 * time.Millisecond
	fakeSession = 3 * time.Second
	fakeLag     = 2 * time.Second
	fakeJoin    = 500 * time.Millisecond
	fakeMinISR  = 2
)

func newFakeCluster(env world.Env, brokers int, parts ...history.Partition) *fakeCluster {
	c := &fakeCluster{env: env, node: make(map[history.BrokerID]*fakeNode), cuts: make(map[gap]bool), loss: make(map[link]float64), lost: make(map[link]float64), lags: make(map[link]world.Lag), disks: make(map[history.BrokerID]*fakeDisk), broken: make(map[string]bool), deaf: make(map[string]bool)}
	for i := range brokers {
		b := history.BrokerID(i + 1)
		c.ids = append(c.ids, b)
		c.node[b] = &fakeNode{state: world.ProcessRunning, rate: 1, data: true}
	}
	for i, p := range parts {
		var rs []history.BrokerID
		for j := range min(3, brokers) {
			rs = append(rs, c.ids[(i+j)%brokers])
		}
		c.parts = append(c.parts, &fakePartition{name: p, replicas: rs, isr: slices.Clone(rs), leader: rs[0], epoch: 1})
	}
	return c
}

func (c *fakeCluster) runs(b history.BrokerID) bool { return c.node[b].state == world.ProcessRunning }

// linked reports whether requests and answers go back and forth at a port; a link that loses much is as good as cut.
func (c *fakeCluster) linked(a, b history.BrokerID, at world.Port) bool {
	if a == b {
		return true
	}
	for _, l := range []link{{a, b}, {b, a}} {
		if c.closed(gap{l, at}) || c.loss[l] >= shareTelling {
			return false
		}
	}
	return c.runs(a) && c.runs(b)
}

func (c *fakeCluster) closed(g gap) bool { return c.cuts[g] || c.cuts[gap{g.link, world.AnyPort}] }

func (c *fakeCluster) controller() history.BrokerID {
	for _, a := range c.ids {
		n := 0
		for _, b := range c.ids {
			if c.runs(a) && c.linked(a, b, world.ControllerPort) && c.runs(b) {
				n++
			}
		}
		if 2*n > len(c.ids) {
			return a
		}
	}
	return history.NoBroker
}

// move lets the model catch up with time. The lock is held.
func (c *fakeCluster) move() {
	for now := c.env.Now(); c.at+fakeStep <= now; c.at += fakeStep {
		c.step()
	}
}

func (c *fakeCluster) step() {
	q := c.controller()
	for _, b := range c.ids {
		n := c.node[b]
		heard := q != history.NoBroker && c.runs(b) && c.linked(q, b, world.ControllerPort)
		slow := n.rate < 0.5*500/3000*2 // its heartbeats come less often than the session lasts
		fast := q != history.NoBroker && c.node[q].rate > 6
		n.absent += fakeStep
		if heard && !slow && !fast {
			n.absent = 0
		}
	}
	if q == history.NoBroker {
		return
	}
	for _, p := range c.parts {
		c.partition(p)
	}
	for _, b := range c.ids {
		if c.node[b].absent == 0 {
			c.node[b].reborn = false
		}
	}
	p := c.parts[0]
	synced := p.leader != history.NoBroker && c.runs(p.leader) && len(p.isr) >= fakeMinISR
	for _, b := range p.isr {
		synced = synced && c.linked(b, p.leader, world.BrokerPort) && c.runs(b)
	}
	if synced {
		c.up += fakeStep
	}
}

func (c *fakeCluster) partition(p *fakePartition) {
	for _, b := range p.replicas {
		n := c.node[b]
		fenced := n.absent >= fakeSession || n.reborn && n.absent == 0
		follows := p.leader != history.NoBroker && c.runs(b) && c.linked(b, p.leader, world.BrokerPort)
		n.behind, n.caught = n.behind+fakeStep, n.caught+fakeStep
		if follows {
			n.behind = 0
		} else {
			n.caught = 0
		}
		in := slices.Contains(p.isr, b)
		leaderLives := p.leader != history.NoBroker && c.node[p.leader].absent < fakeSession
		switch {
		case in && fenced && len(p.isr) > 1, in && b != p.leader && n.behind >= fakeLag && leaderLives && c.node[p.leader].absent == 0:
			p.isr = slices.DeleteFunc(p.isr, func(o history.BrokerID) bool { return o == b })
			c.change++
		case !in && !fenced && n.caught >= fakeJoin && n.absent == 0:
			p.isr = append(p.isr, b)
			slices.Sort(p.isr)
			c.change++
		}
	}
	lead := p.leader
	if lead != history.NoBroker && (!slices.Contains(p.isr, lead) || c.node[lead].absent >= fakeSession) {
		p.leader = history.NoBroker
	}
	for _, b := range p.isr {
		if p.leader == history.NoBroker && c.node[b].absent == 0 {
			p.leader = b
			if b != lead || c.node[b].reborn {
				p.epoch++
				c.change++
			}
		}
	}
}

// call guards and moves the model; ok is false when the call shall do nothing.
func (c *fakeCluster) call(name string) (ok bool, err error) {
	c.move()
	if c.broken[name] {
		return false, errors.New(name + " is broken")
	}
	return !c.deaf[name], nil
}

func (c *fakeCluster) Brokers() []history.BrokerID { return slices.Clone(c.ids) }

// everything is what is drawn without having been asked for.
var everything = []world.Ability{
	world.CanPartition, world.CanKill, world.CanPause, world.CanPowerFail, world.CanStop, world.CanElect, world.CanClock,
	world.CanFreeze, world.CanWipe, world.CanLoss, world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle, world.CanReassign,
	world.CanIOError, world.CanShortWrite, world.CanFailSync, world.CanSlowDisk, world.CanBitFlip, world.CanPowerOff,
}

func (c *fakeCluster) Abilities() []world.Ability {
	return append(slices.Clone(everything), world.CanLag)
}

func (c *fakeCluster) Dial(string, history.BrokerID, time.Duration) (world.Conn, error) {
	return nil, world.ErrRefused
}

func (c *fakeCluster) Cut(from, to history.BrokerID, at world.Port) error {
	return c.setCut("Cut", gap{link{from, to}, at}, true)
}
func (c *fakeCluster) Heal(from, to history.BrokerID, at world.Port) error {
	return c.setCut("Heal", gap{link{from, to}, at}, false)
}

func (c *fakeCluster) setCut(name string, g gap, on bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call(name)
	if ok && c.cuts[g] == on {
		return fmt.Errorf("%s %v: it is so already", name, g)
	}
	if ok {
		c.cuts[g] = on
	}
	return err
}

func (c *fakeCluster) Lose(from, to history.BrokerID, share float64) error {
	return c.setLoss("Lose", link{from, to}, share)
}
func (c *fakeCluster) EndLoss(from, to history.BrokerID) error {
	return c.setLoss("EndLoss", link{from, to}, 0)
}

func (c *fakeCluster) setLoss(name string, l link, share float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call(name)
	if ok && (c.loss[l] > 0) == (share > 0) {
		return fmt.Errorf("%s %v: it is so already", name, l)
	}
	if ok {
		c.loss[l] = share
	}
	return err
}

func (c *fakeCluster) Lost(from, to history.BrokerID) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.call("Lost")
	return int64(c.lost[link{from, to}]), err
}

func (c *fakeCluster) Lag(from, to history.BrokerID, l world.Lag) (string, error) {
	return "", c.setLag("Lag", link{from, to}, l)
}
func (c *fakeCluster) EndLag(from, to history.BrokerID) error {
	return c.setLag("EndLag", link{from, to}, world.Lag{})
}

func (c *fakeCluster) setLag(name string, l link, lag world.Lag) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call(name)
	if ok && (c.lags[l] == world.Lag{}) == (lag == world.Lag{}) {
		return fmt.Errorf("%s %v: it is so already", name, l)
	}
	if ok {
		c.lags[l] = lag
	}
	return err
}

// Transit takes 1 ms and the lag.
func (c *fakeCluster) Transit(from, to history.BrokerID, timeout time.Duration) (time.Duration, bool) {
	c.mu.Lock()
	c.move()
	l := link{from, to}
	took := time.Millisecond + c.lags[l].By
	passes := c.runs(from) && c.runs(to) && !c.closed(gap{l, world.AnyPort}) && took <= timeout
	c.mu.Unlock()
	c.env.Sleep(min(took, timeout))
	return took, passes
}

func (c *fakeCluster) become(name string, b history.BrokerID, from []world.ProcessState, to world.ProcessState) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call(name)
	if ok && !slices.Contains(from, c.node[b].state) {
		return fmt.Errorf("%s broker %d: it is %s", name, b, c.node[b].state)
	}
	if ok {
		c.node[b].state, c.node[b].ends = to, 0
	}
	return err
}

func (c *fakeCluster) Kill(b history.BrokerID) error {
	return c.become("Kill", b, []world.ProcessState{world.ProcessRunning, world.ProcessPaused}, world.ProcessGone)
}

func (c *fakeCluster) PowerFail(b history.BrokerID) (string, error) {
	err := c.become("PowerFail", b, []world.ProcessState{world.ProcessRunning, world.ProcessPaused, world.ProcessGone}, world.ProcessGone)
	return "lost 3 of 8 unsynced pages", err
}

func (c *fakeCluster) Wipe(b history.BrokerID) (string, error) {
	err := c.become("Wipe", b, []world.ProcessState{world.ProcessRunning, world.ProcessPaused}, world.ProcessGone)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.node[b].data = c.broken["Remove"]
	return "removed 9 files of 4096 bytes", err
}

func (c *fakeCluster) Stop(b history.BrokerID, timeout time.Duration) error {
	if c.broken["Stop"] {
		c.env.Sleep(timeout)
		c.mu.Lock()
		c.node[b].ends = c.env.Now() + time.Second
		c.mu.Unlock()
		return fmt.Errorf("broker %d did not stop in %v", b, timeout)
	}
	if err := c.become("Stop", b, []world.ProcessState{world.ProcessRunning}, world.ProcessGone); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.parts {
		if slices.Contains(p.isr, b) && len(p.isr) > 1 {
			p.isr = slices.DeleteFunc(p.isr, func(o history.BrokerID) bool { return o == b })
			c.change++
		}
	}
	return nil
}

func (c *fakeCluster) Start(b history.BrokerID) error {
	err := c.become("Start", b, []world.ProcessState{world.ProcessGone}, world.ProcessRunning)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.node[b].boots++
		c.node[b].reborn = true
		c.node[b].data = true
		c.node[b].serving = c.env.Now() + 200*time.Millisecond
	}
	return err
}

func (c *fakeCluster) Pause(b history.BrokerID) error {
	return c.become("Pause", b, []world.ProcessState{world.ProcessRunning}, world.ProcessPaused)
}

func (c *fakeCluster) Resume(b history.BrokerID) error {
	return c.become("Resume", b, []world.ProcessState{world.ProcessPaused}, world.ProcessRunning)
}

func (c *fakeCluster) Freeze(b history.BrokerID) error {
	return c.become("Freeze", b, []world.ProcessState{world.ProcessRunning}, world.ProcessFrozen)
}

func (c *fakeCluster) Thaw(b history.BrokerID) error {
	return c.become("Thaw", b, []world.ProcessState{world.ProcessFrozen}, world.ProcessRunning)
}

func (c *fakeCluster) SetClock(b history.BrokerID, rate float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("SetClock")
	if ok {
		n := c.node[b]
		n.origin, n.since, n.rate = c.clock(n), c.env.Now(), rate
	}
	return err
}

func (c *fakeCluster) clock(n *fakeNode) time.Duration {
	return n.origin + time.Duration(float64(c.env.Now()-n.since)*n.rate)
}

func (c *fakeCluster) Elect(p history.Partition, b history.BrokerID, _ time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, err := c.call("Elect")
	for _, s := range c.parts {
		if ok && s.name == p && slices.Contains(s.isr, b) {
			s.leader = b
			s.epoch++
			c.change++
		}
	}
	return err
}

// ProbeLink sends ten packets, of which one at least arrives.
func (c *fakeCluster) ProbeLink(from, to history.BrokerID, at world.Port, timeout time.Duration) bool {
	c.mu.Lock()
	c.move()
	l := link{from, to}
	passes := c.runs(from) && c.runs(to) && !c.closed(gap{l, at})
	if passes {
		c.lost[l] += 10 * c.loss[l]
	}
	c.mu.Unlock()
	if !passes {
		c.env.Sleep(timeout)
	}
	return passes
}

func (c *fakeCluster) ProbeProcess(b history.BrokerID) world.ProcessState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move()
	if n := c.node[b]; n.ends > 0 && c.env.Now() >= n.ends && n.state == world.ProcessRunning {
		n.state, n.ends = world.ProcessGone, 0
	}
	return c.node[b].state
}

func (c *fakeCluster) ProbeServing(b history.BrokerID, timeout time.Duration) bool {
	c.mu.Lock()
	c.move()
	wait := c.node[b].serving - c.env.Now()
	runs := c.runs(b) && !c.broken["Serve"]
	c.mu.Unlock()
	if !runs {
		wait = timeout
	}
	c.env.Sleep(min(wait, timeout))
	return runs && wait < timeout
}

// LastWords is what a broker that does not serve says of it.
func (c *fakeCluster) LastWords(b history.BrokerID) string {
	if !c.broken["Serve"] {
		return ""
	}
	return fmt.Sprintf(": FATAL broker %d will not truncate", b)
}

func (c *fakeCluster) ProbeClock(b history.BrokerID) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move()
	if !c.runs(b) {
		return 0, fmt.Errorf("broker %d is %s", b, c.node[b].state)
	}
	return c.clock(c.node[b]), nil
}

func (c *fakeCluster) Observe() history.ClusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.move()
	s := history.ClusterState{Controller: c.controller()}
	for _, p := range c.parts {
		ps := history.PartitionState{Partition: p.name, Leader: p.leader, Epoch: p.epoch, ISR: slices.Clone(p.isr)}
		for _, b := range p.replicas {
			ps.Replicas = append(ps.Replicas, history.ReplicaState{Broker: b, Up: c.runs(b), Leads: p.leader == b, Epoch: p.epoch})
		}
		s.Partitions = append(s.Partitions, ps)
	}
	return s
}

func (c *fakeCluster) Dump(b history.BrokerID) []history.Dump {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.node[b].data {
		return nil
	}
	return []history.Dump{{Broker: b, Partition: testParts[0], LEO: 7}}
}
