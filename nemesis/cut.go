package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// A partition cuts links between brokers, in one direction or both, whole or at one port.
var cutKind = kind{
	ability: world.CanPartition,
	weight:  2,
	read:    readCut,
	write:   writeCut,
	check:   checkSides,
	also: func(f Fault) string {
		if f.Others == nil || f.Port != world.AnyPort {
			return ""
		}
		return `"on port", `
	},
	resolve: resolveLinks,
	act:     func(l *life, links []link) action { return &cut{life: l, gaps: at(l.line.Fault.Port, links)} },
	useful:  twoBrokers,
	draw:    (*drawer).cut,
	opener: func(p history.Partition) Fault {
		return Fault{Kind: world.CanPartition, Targets: []Target{{Role: Leader, Partition: p}}, Others: []Target{{Role: Rest}}}
	},
	bites: func(d *drawer, l Line) bool {
		return d.hasReplica(l.Fault.Targets) && l.For >= d.telling && l.Fault.Shape == Split
	},
}

// readCut reads sides with or without a port, a ring or a bridge.
func readCut(w *words, f *Fault) (err error) {
	switch {
	case w.take("ring"):
		f.Shape = Ring
		return nil
	case w.take("bridge"):
		f.Shape = Bridge
		t, err := w.target(one)
		f.Targets = []Target{t}
		return err
	}
	if err = w.sides(f, true); err != nil || !w.take("on") {
		return err
	}
	if err = w.want("port"); err != nil {
		return err
	}
	f.Port = world.Port(w.peek())
	if f.Port != world.ControllerPort && f.Port != world.BrokerPort {
		return w.expected(fmt.Sprintf("%q or %q", world.ControllerPort, world.BrokerPort))
	}
	w.next++
	return nil
}

func writeCut(f Fault) string {
	switch f.Shape {
	case Ring:
		return "ring"
	case Bridge:
		return "bridge " + list(f.Targets, Target.String)
	}
	return f.sides() + onPort(f.Port)
}

// cut is a network partition: a set of links that nothing passes, whole or at one port. Faults may cut the same; it opens when the last
// one heals.
type cut struct {
	*life
	gaps []gap
	done []gap // those that this fault holds cut
}

func (c *cut) ready() string {
	if len(c.meaningful(c.gaps)) == 0 {
		return "no link of the partition has both ends up: " + text(c.gaps)
	}
	return ""
}

func (c *cut) claim(history.ClusterState) string { return "" }

func (c *cut) apply() (string, error) {
	c.run.links.lock()
	defer c.run.links.unlock()
	for _, g := range c.gaps {
		first := false
		c.locked(func() { first = c.cuts[g] == 0 })
		if first {
			if err := c.Cluster.Cut(g.from, g.to, g.at); err != nil {
				return "", fmt.Errorf("cut %v: %w", g, err)
			}
		}
		c.locked(func() { c.cuts[g]++ })
		c.done = append(c.done, g)
	}
	return "cut " + text(c.done), nil
}

// probe sends across the cut, where nothing may arrive, and between brokers that no fault parts, where it must: a network that
// is down altogether is no partition. What is cut at one port alone must pass at the other.
func (c *cut) probe() (string, error) {
	across := c.meaningful(c.done)
	open := c.passable(c.others())
	arrived := c.probeLinks(slices.Concat(across, open), c.probeTime(c.line.For))
	for i, g := range across {
		if arrived[i] {
			return "", fmt.Errorf("link %v still passes", g)
		}
	}
	if len(c.meaningful(across)) == 0 {
		return "", fmt.Errorf("%w: no link of the partition has both ends up", errHidden)
	}
	still := c.passable(open)
	for i, g := range open {
		if !arrived[len(across)+i] && slices.Contains(still, g) {
			return "", fmt.Errorf("link %v, which is not cut, does not pass", g)
		}
	}
	if c.line.Fault.Port != world.AnyPort {
		return fmt.Sprintf("nothing passes %s; %d other ports of links pass", text(across), len(still)), nil
	}
	return fmt.Sprintf("nothing passes %s; %d other links pass", text(across), len(still)), nil
}

// others lists what might pass beside the cut.
func (c *cut) others() []gap {
	if c.line.Fault.Port == world.AnyPort {
		return at(world.AnyPort, c.every())
	}
	return slices.Concat(at(world.BrokerPort, c.every()), at(world.ControllerPort, c.every()))
}

// look is how long the last look takes: what comes across must be waited for.
func (c *cut) look() time.Duration { return c.probeTime(c.line.For) / 2 }

func (c *cut) still() error {
	across := c.meaningful(c.done)
	arrived := c.probeLinks(across, c.look())
	if i := slices.Index(arrived, true); i >= 0 {
		return fmt.Errorf("link %v passes", across[i])
	}
	return nil
}

func (c *cut) undo() error {
	c.run.links.lock()
	defer c.run.links.unlock()
	var errs []error
	var left []gap
	for _, g := range c.done {
		last := false
		c.locked(func() { last = c.cuts[g] == 1 })
		if last {
			if err := c.Cluster.Heal(g.from, g.to, g.at); err != nil {
				errs, left = append(errs, fmt.Errorf("heal %v: %w", g, err)), append(left, g)
				continue
			}
		}
		c.locked(func() {
			if c.cuts[g]--; c.cuts[g] == 0 {
				delete(c.cuts, g)
			}
		})
	}
	c.done = left
	return errors.Join(errs...)
}

// verify probes the links that no other fault still cuts and whose ends are up; the end of the run probes all.
func (c *cut) verify() (string, error) { return c.reopened(c.gaps) }

func (c *cut) release() {}

// cut draws a partition; a target on its own is the most common.
func (d *drawer) cut(p history.Partition) Fault {
	one, rest := []Target{d.target(p)}, []Target{{Role: Rest}}
	f := Fault{Kind: world.CanPartition, Targets: one, Others: rest}
	many := len(d.Brokers) > 2
	switch x := d.rnd.Float64(); {
	case x < 0.4:
	case x < 0.5:
		f.Shape = OneWay
	case x < 0.6:
		f.Shape, f.Targets, f.Others = OneWay, rest, one
	case x < 0.72:
		f.Targets, f.Others = []Target{{Role: Leader, Partition: p}}, []Target{{Role: Follower, Partition: p}}
		if d.chance(0.4) { // the ISR shrinks, and all sessions last
			f.Port = world.BrokerPort
			return f
		}
	case x < 0.8: // the leader replicates and serves, and hears of no decision
		one, rest = []Target{{Role: Leader, Partition: p}}, []Target{{Role: Controller}}
		if d.chance(0.5) {
			one, rest = rest, one
		}
		f.Targets, f.Others, f.Port = one, rest, world.ControllerPort
		f.Shape = Shape(d.rnd.IntN(2))
		return f
	case x < 0.84 && many:
		if one[0].Role == OSR {
			one[0].Role = Leader // a bridge is one broker
		}
		return Fault{Kind: world.CanPartition, Shape: Bridge, Targets: one}
	case x < 0.86 && many:
		return Fault{Kind: world.CanPartition, Shape: Ring}
	case x < 0.93 && many:
		f.Targets = []Target{{Role: Leader, Partition: p}, {Role: Controller}}
	case many:
		f.Targets, f.Others = d.halves()
	}
	switch x := d.rnd.Float64(); {
	case x < 0.15:
		f.Port = world.ControllerPort
	case x < 0.3:
		f.Port = world.BrokerPort
	}
	return f
}
