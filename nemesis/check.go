package nemesis

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/history"
	"tidemark/world"
)

// Check reports what of the plan the world cannot do or the cluster does not have (a broker or partition that does not exist).
func (p Plan) Check(can []world.Ability, brokers []history.BrokerID, parts []history.Partition) error {
	c := checker{can, brokers, parts}
	for i, l := range p.Lines {
		if err := c.line(l); err != nil {
			return fmt.Errorf("fault %d of the plan (%v): %w", i+1, l, err)
		}
	}
	return nil
}

// ErrCannot is in the error about a plan that needs more than the world can do.
var ErrCannot = errors.New("this world cannot")

type checker struct {
	can     []world.Ability
	brokers []history.BrokerID
	parts   []history.Partition
}

func (c checker) line(l Line) error {
	f := l.Fault
	if !slices.Contains(c.can, f.Kind) || kindOf(f.Kind) == nil {
		return fmt.Errorf("%w do %s, expected one of %v", ErrCannot, f.Kind, c.can)
	}
	if t := l.Trigger; t.Partition != (history.Partition{}) {
		if err := c.partition(t.Partition); err != nil {
			return err
		}
	}
	if t := l.Trigger; t.Kind == WhenLeader && t.Broker != history.NoBroker {
		if err := c.broker(t.Broker); err != nil {
			return err
		}
	}
	for _, t := range slices.Concat(f.Targets, f.Others) {
		if err := c.target(t); err != nil {
			return err
		}
	}
	if k := kindOf(f.Kind); k.check != nil {
		return k.check(c, f)
	}
	return nil
}

func (c checker) target(t Target) error {
	switch t.Role {
	case Number:
		return c.broker(t.Broker)
	case Keeper:
		if !slices.Contains(c.can, world.CanZooKeeper) {
			return fmt.Errorf("%w strike a ZooKeeper: none stands beside the brokers", ErrCannot)
		}
	case Leader, Follower, ISR, OSR:
		return c.partition(t.Partition)
	}
	return nil
}

func (c checker) broker(b history.BrokerID) error {
	if !slices.Contains(c.brokers, b) {
		return fmt.Errorf("there is no broker %d, expected one of %s", b, brokers(c.brokers))
	}
	return nil
}

func (c checker) partition(p history.Partition) error {
	if !slices.Contains(c.parts, p) {
		return fmt.Errorf("there is no partition %v, expected one of %v", p, c.parts)
	}
	return nil
}

func (c checker) sides(f Fault) error {
	if (f.Shape == Ring || f.Shape == Bridge) && len(c.brokers) < 3 {
		return fmt.Errorf("a ring or a bridge needs 3 brokers, this cluster has %d", len(c.brokers))
	}
	for _, t := range f.Targets {
		if slices.Contains(f.Others, t) && t.Role != Random && t.Role != Follower {
			return fmt.Errorf("%v is on both sides of the %s", t, f.Kind)
		}
	}
	for _, side := range [][]Target{f.Targets, f.Others} {
		if len(side) == len(c.brokers) && !slices.ContainsFunc(side, func(t Target) bool { return t.Role != Number }) {
			return fmt.Errorf("every broker is on one side of the %s", f.Kind)
		}
	}
	return nil
}
