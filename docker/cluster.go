package docker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/kafka"
	"tidemark/docker/agent"
	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// Cluster is the brokers of a run: a world.Cluster.
type Cluster struct {
	opt      Options
	env      *Env
	engine   *Engine
	owner    owner
	brokers  subject
	image    string // of this program: the sidecars'
	inside   string // of the brokers
	network  string
	direct   bool            // this machine reaches the containers at their own addresses
	machines []*machine      // ascending by id
	quorum   []*machine      // the controllers that are no brokers, ascending by id
	keeper   *machine        // the ZooKeeper beside them, nil where there is none
	speaks   map[int16]int16 // the newest version of each API that the brokers speak; nil: all
	http     *http.Client
	probed   counter
	losses   ledger
	late     late
	catches  catches

	observing sync.Mutex // one look at the cluster at a time
	recording sync.Mutex // orders what is recorded of all brokers
	isr       map[history.Partition]int32
}

var (
	_ world.Cluster  = (*Cluster)(nil)
	_ world.Together = (*Cluster)(nil)
	_ world.Isolated = (*Cluster)(nil)
)

// machine is one broker and its sidecar.
type machine struct {
	id        history.BrokerID
	cfg       config.Config
	sidecar   string // names of the containers
	broker    string
	address   string // on the private network
	kafka     string // where this process dials, host:port
	published string // where the engine publishes the external listener on 127.0.0.1
	debug     string // base of the debug endpoint
	agent     agent.Client
	steps     stepReader
	node      int // index among the target's

	acting sync.Mutex // one act on the broker's process at a time

	mu   sync.Mutex
	last map[history.Partition]history.ReplicaState
}

// Start removes what dead harnesses left and starts the containers of a new cluster. What was started is taken down again if it
// fails. It returns when every broker listens.
func Start(env *Env, engine *Engine, opt Options) (*Cluster, error) {
	c, err := newCluster(env, engine, opt)
	if err != nil {
		return nil, err
	}
	if err := engine.CheckLimits(env.ctx, opt.Memory, opt.CPUs); err != nil {
		return nil, err
	}
	if err := c.makeReady(); err != nil {
		return nil, err
	}
	if err := c.bringUp(); err != nil {
		return nil, errors.Join(err, c.takeDown())
	}
	for _, m := range c.machines {
		env.Go(fmt.Sprintf("steps of broker %d", m.id), func() { c.follow(m) })
	}
	return c, nil
}

// makeReady removes what dead harnesses left, and meanwhile makes the image.
func (c *Cluster) makeReady() error {
	made := make(chan error, 1)
	go func() {
		var err error
		if c.image, err = c.engine.image(c.env.ctx, c.opt.Binary, c.opt.Say); err == nil {
			c.inside, err = c.brokers.images(c.env.ctx)
		}
		made <- err
	}()
	removed, err := c.engine.Cleanup(c.env.ctx, false)
	tellRemoved(removed, c.opt.Say)
	if err != nil {
		err = fmt.Errorf("removing what earlier runs left: %w", err)
	}
	return errors.Join(err, <-made)
}

// newCluster names the parts of a cluster; nothing is started yet.
func newCluster(env *Env, engine *Engine, opt Options) (*Cluster, error) {
	own, err := thisOwner(opt.Keep)
	if err != nil {
		return nil, fmt.Errorf("naming the run: %w", err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second}
	c := &Cluster{
		opt: opt, env: env, engine: engine, owner: own, network: "tidemark-" + own.run,
		http: &http.Client{Transport: transport}, isr: map[history.Partition]int32{},
		losses: ledger{shares: map[link]float64{}, ended: map[link]int64{}}, catches: catches{inForce: map[int]*catch{}},
		late: late{links: map[link][]*machine{}},
	}
	if opt.Target != nil {
		for i, n := range opt.Site.Nodes {
			c.add(history.BrokerID(n.ID)).node = i
		}
		for i, n := range opt.Site.Quorum {
			m := newMachine(history.BrokerID(n.ID), fmt.Sprintf("%s-%d", c.network, n.ID))
			m.node = i
			c.quorum = append(c.quorum, m)
		}
		if opt.Target.Keeper {
			c.keeper = newMachine(history.ZooKeeper, c.network+"-zookeeper")
		}
		c.brokers = newTargetBrokers(c, *opt.Target, opt.Site)
		return c, nil
	}
	for _, cfg := range opt.Configs {
		c.add(history.BrokerID(cfg.NodeID)).cfg = cfg
	}
	c.brokers = ownBrokers{c}
	return c, nil
}

// add names the parts of a broker's machine.
func (c *Cluster) add(b history.BrokerID) *machine {
	m := newMachine(b, fmt.Sprintf("%s-%d", c.network, b))
	c.machines = append(c.machines, m)
	return m
}

func newMachine(b history.BrokerID, name string) *machine {
	return &machine{id: b, sidecar: name + "-agent", broker: name, last: map[history.Partition]history.ReplicaState{}}
}

// kafkas are the machines on which Kafka runs: the brokers, and the controllers beside them.
func (c *Cluster) kafkas() []*machine { return slices.Concat(c.machines, c.quorum) }

// everything is every machine, whatever runs on it.
func (c *Cluster) everything() []*machine {
	if c.keeper == nil {
		return c.kafkas()
	}
	return append(c.kafkas(), c.keeper)
}

// bringUp starts everything: the network, then every sidecar, then, with the addresses known, every broker.
func (c *Cluster) bringUp() error {
	if err := c.makeNetwork(); err != nil {
		return err
	}
	err := c.each(func(m *machine) error {
		if err := c.prepare(m); err != nil {
			return err
		}
		return c.reach(m)
	})
	if err != nil {
		return err
	}
	if err := c.brokers.introduce(); err != nil {
		return err
	}
	if err := c.prepareLags(); err != nil {
		return err
	}
	if err := c.intercept(); err != nil {
		return err
	}
	for _, wave := range c.waves() {
		if err := among(wave, c.startBroker); err != nil {
			return err
		}
		if err := among(wave, func(m *machine) error { return c.listens(m, "") }); err != nil {
			return err
		}
	}
	return c.brokers.greet()
}

// waves is in which order the machines' processes start: at once, but beside a ZooKeeper, where the first broker to register becomes the
// controller. There it is the last, so that the same plan finds the same broker in that role.
func (c *Cluster) waves() [][]*machine {
	last := len(c.machines) - 1
	if c.keeper == nil || last == 0 {
		return [][]*machine{c.everything()}
	}
	return [][]*machine{{c.keeper, c.machines[last]}, c.machines[:last]}
}

// properties is a configuration as the broker reads it: what differs from the defaults.
func properties(cfg config.Config) string {
	var out strings.Builder
	stock := config.Default()
	plain := stock.Pairs()
	for i, p := range cfg.Pairs() {
		if p != plain[i] {
			fmt.Fprintf(&out, "%s=%s\n", p.Key, p.Value)
		}
	}
	return out.String()
}

// each does something for every machine at the same time.
func (c *Cluster) each(do func(*machine) error) error { return among(c.everything(), do) }

// among does something for some machines at the same time.
func among(machines []*machine, do func(*machine) error) error {
	errs := make([]error, len(machines))
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() { errs[i] = do(m) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *Cluster) machine(b history.BrokerID) (*machine, error) {
	if b == history.ZooKeeper && c.keeper != nil {
		return c.keeper, nil
	}
	all := c.kafkas()
	i := slices.IndexFunc(all, func(m *machine) bool { return m.id == b })
	if i < 0 {
		return nil, fmt.Errorf("broker %d does not exist, expected one of %v", b, c.Brokers())
	}
	return all[i], nil
}

// volumes are the names of a broker's volumes: of its partitions, and of its controller log.
func (m *machine) volumes() (data, metadata string) {
	return m.broker + "-data", m.broker + "-metadata"
}

// Close takes the cluster down, unless it was to be kept.
func (c *Cluster) Close() error {
	defer c.http.CloseIdleConnections()
	c.tellUnread()
	c.brokers.close()
	if c.opt.Keep {
		return nil
	}
	return c.takeDown()
}

// takeDown removes everything of the run, and what others have left since it started.
func (c *Cluster) takeDown() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.env.ctx), cleanupBound)
	defer cancel()
	_, err := c.engine.removeAll(ctx, func() ([]thing, error) { return c.engine.things(ctx, c.owner.run) })
	removed, others := c.engine.Cleanup(ctx, false)
	tellRemoved(removed, c.opt.Say)
	return errors.Join(err, others)
}

// Addresses says where clients find the brokers, a line a broker, and how to ask them who they are.
func (c *Cluster) Addresses() []string {
	var out, published []string
	for _, m := range c.machines {
		out = append(out, fmt.Sprintf("broker %d: %s from this machine, %s:%d from the network %s, container %s", m.id, m.published, m.address, agent.BrokerPort, c.network, m.broker))
		published = append(published, m.published)
	}
	return append(out, "kcat -b "+strings.Join(published, ",")+" -L")
}

// Name names the cluster: its network, and the beginning of its containers' names.
func (c *Cluster) Name() string { return c.network }

// Published is where a broker's port is published on 127.0.0.1, for clients on this machine; "" if there is no such broker.
func (c *Cluster) Published(b history.BrokerID) string {
	m, err := c.machine(b)
	if err != nil {
		return ""
	}
	return m.published
}

// Brokers lists every broker, ascending.
func (c *Cluster) Brokers() []history.BrokerID { return idsOf(c.machines) }

// Controllers lists the controllers that are no brokers, ascending.
func (c *Cluster) Controllers() []history.BrokerID { return idsOf(c.quorum) }

func idsOf(machines []*machine) []history.BrokerID {
	ids := make([]history.BrokerID, len(machines))
	for i, m := range machines {
		ids[i] = m.id
	}
	return ids
}

// Abilities lists the faults that containers can do to brokers of this make.
func (c *Cluster) Abilities() []world.Ability { return c.brokers.abilities() }

// Elect makes a replica the partition's leader cleanly, as an administrator of brokers of this make does.
func (c *Cluster) Elect(p history.Partition, b history.BrokerID, timeout time.Duration) error {
	return c.brokers.elect(p, b, timeout)
}

// Reassign moves a partition to other replicas, as an administrator of brokers of this make does.
func (c *Cluster) Reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	return c.brokers.reassign(p, to, timeout)
}

// electByRequest makes a replica the leader by the admin requests of a client (KIP-455, KIP-460).
func (c *Cluster) electByRequest(p history.Partition, b history.BrokerID, timeout time.Duration) error {
	return workloads.Elect(c.env, own{c}, "elect", p, b, timeout)
}

// reassignByRequest moves a partition by the admin request of a client.
func (c *Cluster) reassignByRequest(p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	return workloads.Reassign(c.env, own{c}, "reassign", p, to, timeout)
}

// Recreate is not possible here: nobody tells a topic's incarnations apart.
func (c *Cluster) Recreate(string, time.Duration) (string, error) { return "", errNotHere }

// errNotHere answers what no container can do; a plan that needs it is refused before the run.
var errNotHere = errors.New("containers cannot do this: the simulator can")

// PowerFail is not possible here.
func (c *Cluster) PowerFail(b history.BrokerID) (string, error) {
	return "", fmt.Errorf("power failure of broker %d: %w", b, errNotHere)
}

// SetClock is not possible here.
func (c *Cluster) SetClock(b history.BrokerID, rate float64) error {
	return fmt.Errorf("clock of broker %d at %v: %w", b, rate, errNotHere)
}

// ProbeClock is not possible here.
func (c *Cluster) ProbeClock(b history.BrokerID) (time.Duration, error) {
	return 0, fmt.Errorf("clock of broker %d: %w", b, errNotHere)
}

// Dump reads every replica of a broker from its own files, by its sidecar.
func (c *Cluster) Dump(b history.BrokerID) []history.Dump {
	m, err := c.machine(b)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, dumpBound)
	defer cancel()
	dumps, err := c.brokers.dump(ctx, m)
	if err == nil {
		return dumps
	}
	// Whatever the broker holds could not be read: that is said of each of its replicas, as evidence of nothing.
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.last {
		dumps = append(dumps, history.Dump{Broker: b, Partition: p, LEO: history.UnknownOffset, HW: history.UnknownOffset, Start: history.UnknownOffset, Err: err.Error()})
	}
	slices.SortFunc(dumps, func(a, b history.Dump) int { return a.Partition.Compare(b.Partition) })
	return dumps
}

func brokersOf[T kafka.BrokerID | int32](ids []T) []history.BrokerID {
	var out []history.BrokerID
	for _, id := range ids {
		out = append(out, history.BrokerID(id))
	}
	return out
}
