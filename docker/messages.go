package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"tidemark/docker/agent"
	"tidemark/docker/proxy"
	"tidemark/history"
	"tidemark/world"
)

// catches is the faults on messages of a run.
type catches struct {
	mu      sync.Mutex
	last    int
	inForce map[int]*catch
}

// catch is a fault on messages in force: at the sidecars that see such messages, each of which is watched. Where there are several, and the fault
// waits for the nth message, they ask here which one that is.
type catch struct {
	fault proxy.Fault
	at    []*machine
	stop  context.CancelFunc
	met   func()         // of whoever wants to be told; or nil
	all   sync.WaitGroup // the watchers

	mu   sync.Mutex
	seen int            // messages that asked
	done []world.Caught // at each sidecar, as last told
	err  error          // why one can be watched no longer
}

// errUnintercepted is for faults on messages of a run without such lines in its plan.
var errUnintercepted = errors.New("connections are not intercepted in this run, as no line of its plan asked for that")

// intercept puts the sidecars' proxies in force, which is before the brokers open their first connection.
func (c *Cluster) intercept() error {
	if !c.opt.Messages {
		return nil
	}
	return c.each(func(m *machine) error {
		if m == c.keeper {
			return nil
		}
		ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
		defer cancel()
		if err := m.agent.Intercept(ctx, c.interception(m)); err != nil {
			return fmt.Errorf("messages of broker %d cannot be intercepted: %w", m.id, err)
		}
		return nil
	})
}

// interception is which connections a sidecar's proxy stands on. Its patience is that of a broker's own connections: of the shortest-lived, those
// between controllers, at the controllers' port.
func (c *Cluster) interception(m *machine) agent.Interception {
	patience := min(m.cfg.ReplicaSocketTimeout, m.cfg.Shell.FrameTimeout)
	what := agent.Interception{
		Between: []agent.Between{
			{Port: agent.BrokerPort, Patience: patience},
			{Port: agent.ControllerPort, Quorum: true, Patience: min(2*m.cfg.QuorumElectionTimeout, patience)},
			{Port: agent.ProbePort, Unread: true},
		},
		Clients: []uint16{agent.BrokerPort, externalPort},
	}
	if slices.Contains(c.quorum, m) {
		what.Clients = []uint16{agent.ControllerPort}
	}
	for _, o := range c.kafkas() {
		if o != m {
			what.Peers = append(what.Peers, agent.Peer{ID: o.id, Address: o.ip()})
		}
	}
	return what
}

// straight is where this process reaches a broker past its proxy: for probes and elections, which no fault on messages concerns, and to see
// whether it listens, where a proxy takes every connection.
func (c *Cluster) straight(m *machine) string {
	if !c.opt.Messages || !c.direct || m == c.keeper {
		return m.kafka
	}
	return net.JoinHostPort(m.address, strconv.Itoa(agent.StraightPort))
}

// own is the cluster to the harness's own clients.
type own struct{ *Cluster }

// Dial connects one of them past the proxy.
func (o own) Dial(client string, to history.BrokerID, timeout time.Duration) (world.Conn, error) {
	m, err := o.machine(to)
	if err != nil {
		return nil, err
	}
	return o.dialAt(client, m, o.straight(m), timeout)
}

// Catch lets messages meet a fault from now on.
func (c *Cluster) Catch(f world.MessageFault) (number int, err error) {
	wrong := func(err error) (int, error) { return 0, fmt.Errorf("%s %s messages: %w", f.Kind, f.API, err) }
	k := &catch{fault: proxy.Of(f), met: f.Met}
	if err := k.fault.Check(); err != nil {
		return 0, err
	}
	if !c.opt.Messages {
		return wrong(errUnintercepted)
	}
	if k.at, err = c.seenBy(f); err == nil && !f.Match.Any() {
		k.fault.Topic, err = c.topicID(f.Match.Partition.Topic)
	}
	if err != nil {
		return wrong(err)
	}
	c.catches.mu.Lock()
	defer c.catches.mu.Unlock()
	c.catches.last++
	k.fault.Number, k.fault.Asks = c.catches.last, f.Nth > 0 && len(k.at) > 1
	k.done = make([]world.Caught, len(k.at))
	err = c.eachOf(k.at, func(ctx context.Context, m *machine) error { return m.agent.Catch(ctx, k.fault) })
	if err != nil {
		_ = c.endAt(k) // where it was put in force: the others have none
		return wrong(err)
	}
	ctx, stop := context.WithCancel(c.env.ctx)
	k.stop = stop
	for i := range k.at {
		k.all.Go(func() { c.watch(ctx, k, i) })
	}
	c.catches.inForce[k.fault.Number] = k
	return k.fault.Number, nil
}

// seenBy lists the sidecars that see the messages of a fault: connections between brokers pass that of who opened them, those of clients that of
// the broker.
func (c *Cluster) seenBy(f world.MessageFault) (at []*machine, err error) {
	for _, l := range f.Links {
		opener, other := l.From, l.To
		if f.Responses {
			opener, other = l.To, l.From
		}
		if opener == history.NoBroker {
			opener, other = other, opener
		}
		m, err := c.machine(opener)
		if err != nil {
			return nil, err
		}
		if other != history.NoBroker {
			if _, err := c.machine(other); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(at, m) {
			at = append(at, m)
		}
	}
	return at, nil
}

// watch follows what becomes of a fault at one sidecar, and tells messages that ask there whether they are the one.
func (c *Cluster) watch(ctx context.Context, k *catch, at int) {
	ask := agent.Watch{Number: k.fault.Number}
	for {
		seen, err := k.at[at].agent.Watch(ctx, ask)
		if ctx.Err() != nil {
			return
		}
		for range seen.Messages - ask.Known.Messages {
			if k.met != nil {
				k.met()
			}
		}
		ask.Known, ask.Answers = seen.Caught, nil
		met := false
		k.mu.Lock()
		k.done[at] = seen.Caught
		if err != nil {
			k.err = err
		}
		for _, claim := range seen.Asking {
			k.seen++
			acts := k.seen == k.fault.Nth
			met = met || acts
			ask.Answers = append(ask.Answers, proxy.Answer{Claim: claim, Acts: acts})
		}
		k.mu.Unlock()
		if err != nil {
			return
		}
		if met {
			c.settle(ctx, k, k.at[at])
		}
	}
}

// settle ends the asking at the other sidecars, once the message has come that all waited for.
func (c *Cluster) settle(ctx context.Context, k *catch, but *machine) {
	others := slices.DeleteFunc(slices.Clone(k.at), func(m *machine) bool { return m == but })
	err := c.eachOf(others, func(_ context.Context, m *machine) error { return m.agent.Settle(ctx, k.fault.Number) })
	if err != nil && ctx.Err() == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.err = err
	}
}

// Caught tells what a fault has done to messages so far.
func (c *Cluster) Caught(number int) (sum world.Caught, err error) {
	k, err := c.catch(number)
	if err != nil {
		return sum, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.done {
		sum.Messages += d.Messages
		sum.UnderWay += d.UnderWay
	}
	return sum, k.err
}

func (c *Cluster) catch(number int) (*catch, error) {
	c.catches.mu.Lock()
	defer c.catches.mu.Unlock()
	k := c.catches.inForce[number]
	if k == nil {
		return nil, fmt.Errorf("fault %d on messages is not in force", number)
	}
	return k, nil
}

// EndCatch ends a fault; what it has under way goes on at once.
func (c *Cluster) EndCatch(number int) error {
	k, err := c.catch(number)
	if err != nil {
		return err
	}
	k.stop()
	k.all.Wait()
	if err := c.endAt(k); err != nil {
		return fmt.Errorf("end of fault %d on messages: %w", number, err)
	}
	c.catches.mu.Lock()
	defer c.catches.mu.Unlock()
	delete(c.catches.inForce, number)
	return nil
}

// endAt ends a fault at every sidecar.
func (c *Cluster) endAt(k *catch) error {
	return c.eachOf(k.at, func(ctx context.Context, m *machine) error {
		_, err := m.agent.EndCatch(ctx, k.fault.Number)
		return err
	})
}

// eachOf asks something of the sidecars of some machines at the same time.
func (c *Cluster) eachOf(machines []*machine, ask func(context.Context, *machine) error) error {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	errs := make([]error, len(machines))
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() { errs[i] = ask(ctx, m) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// tellUnread says what the proxies could not read.
func (c *Cluster) tellUnread() {
	if !c.opt.Messages {
		return
	}
	for _, m := range c.kafkas() {
		ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
		s, err := m.agent.Passed(ctx)
		cancel()
		if err == nil && s.Missed > 0 {
			c.opt.Say(fmt.Sprintf("%d messages at broker %d could not be read: faults on one partition's messages did not concern them", s.Missed, m.id))
		}
		if err == nil && s.Unread > 0 {
			c.opt.Say(fmt.Sprintf("%d of %d connections of broker %d could not be read: faults on messages did not concern them", s.Unread, s.Connections, m.id))
		}
	}
}
