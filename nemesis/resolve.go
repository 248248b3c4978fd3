package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tidemark/history"
)

// scene is what roles are resolved against, at the moment that a line strikes.
type scene struct {
	brokers []history.BrokerID // all, ascending
	nodes   []history.BrokerID // the brokers, and the controllers that are none
	state   history.ClusterState
	held    []history.BrokerID // down or paused by a fault in force
	rnd     *rand.Rand
}

func (s *scene) partition(p history.Partition) (*history.PartitionState, error) {
	for i := range s.state.Partitions {
		if s.state.Partitions[i].Partition == p {
			return &s.state.Partitions[i], nil
		}
	}
	return nil, fmt.Errorf("%v was not observed", p)
}

// all resolves a list of targets, without repeating a broker.
func (s *scene) all(ts []Target) ([]history.BrokerID, error) {
	var bs []history.BrokerID
	for _, t := range ts {
		more, err := s.target(t)
		if err != nil {
			return nil, err
		}
		for _, b := range more {
			if !slices.Contains(bs, b) {
				bs = append(bs, b)
			}
		}
	}
	if len(bs) == 0 {
		return nil, fmt.Errorf("%s is nobody now", list(ts, Target.String))
	}
	return bs, nil
}

func (s *scene) target(t Target) ([]history.BrokerID, error) {
	switch t.Role {
	case Number:
		return []history.BrokerID{t.Broker}, nil
	case Controller:
		if s.state.Controller == history.NoBroker {
			return nil, fmt.Errorf("no controller is known")
		}
		return []history.BrokerID{s.state.Controller}, nil
	case Random:
		return s.draw(slices.Clone(s.brokers), "a broker")
	case Clients:
		return []history.BrokerID{history.NoBroker}, nil
	case Keeper:
		return []history.BrokerID{history.ZooKeeper}, nil
	}
	p, err := s.partition(t.Partition)
	if err != nil {
		return nil, err
	}
	switch t.Role {
	case ISR:
		return slices.Clone(p.ISR), nil
	case OSR:
		return s.replicas(p, func(b history.BrokerID) bool { return !slices.Contains(p.ISR, b) }), nil
	}
	if p.Leader == history.NoBroker {
		return nil, fmt.Errorf("%v has no leader now", p.Partition)
	}
	if t.Role == Leader {
		return []history.BrokerID{p.Leader}, nil
	}
	return s.draw(s.replicas(p, func(b history.BrokerID) bool { return b != p.Leader }), t.String())
}

func (s *scene) replicas(p *history.PartitionState, want func(history.BrokerID) bool) []history.BrokerID {
	var bs []history.BrokerID
	for _, r := range p.Replicas {
		if want(r.Broker) {
			bs = append(bs, r.Broker)
		}
	}
	return bs
}

// draw picks one of the brokers that no fault holds down.
func (s *scene) draw(from []history.BrokerID, what string) ([]history.BrokerID, error) {
	from = slices.DeleteFunc(from, func(b history.BrokerID) bool { return slices.Contains(s.held, b) })
	if len(from) == 0 {
		return nil, fmt.Errorf("%s: all of them are down now", what)
	}
	i := s.rnd.IntN(len(from))
	return from[i : i+1 : i+1], nil
}

// link is one direction between two brokers.
type link struct{ from, to history.BrokerID }

func (l link) String() string { return fmt.Sprintf("%d->%d", l.from, l.to) }

// cut resolves a partition, a loss or a lag into the brokers that its roles mean, those of rest left out, and the links that it concerns.
func (s *scene) cut(f Fault) (targets []history.BrokerID, links []link, err error) {
	switch f.Shape {
	case Ring:
		return nil, ring(s.shuffled(s.nodes)), nil
	case Bridge:
		if targets, err = s.target(f.Targets[0]); err != nil {
			return nil, nil, err
		}
		others := s.shuffled(slices.DeleteFunc(slices.Clone(s.nodes), func(b history.BrokerID) bool { return b == targets[0] }))
		half := len(others) / 2
		return targets, between(others[:half], others[half:], true), nil
	}
	left, right, err := s.sides(f)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range left {
		if slices.Contains(right, b) {
			return nil, nil, fmt.Errorf("broker %d is on both sides of the %s now", b, f.Kind)
		}
	}
	for i, side := range [][]history.BrokerID{left, right} {
		if [][]Target{f.Targets, f.Others}[i][0].Role != Rest {
			targets = append(targets, side...)
		}
	}
	return targets, between(left, right, f.Shape == Split), nil
}

func (s *scene) sides(f Fault) (left, right []history.BrokerID, err error) {
	rest := func(others []history.BrokerID) ([]history.BrokerID, error) {
		bs := slices.DeleteFunc(slices.Clone(s.nodes), func(b history.BrokerID) bool { return slices.Contains(others, b) })
		if len(bs) == 0 {
			return nil, fmt.Errorf("no broker is left for the rest")
		}
		return bs, nil
	}
	if f.Targets[0].Role == Rest {
		if right, err = s.all(f.Others); err == nil {
			left, err = rest(right)
		}
		return left, right, err
	}
	if left, err = s.all(f.Targets); err != nil {
		return nil, nil, err
	}
	if f.Others[0].Role == Rest {
		right, err = rest(left)
	} else {
		right, err = s.all(f.Others)
	}
	return left, right, err
}

func (s *scene) shuffled(bs []history.BrokerID) []history.BrokerID {
	bs = slices.Clone(bs)
	s.rnd.Shuffle(len(bs), func(i, j int) { bs[i], bs[j] = bs[j], bs[i] })
	return bs
}

// ring cuts what each broker hears from all but itself and the next ones around the ring that make up a majority.
func ring(order []history.BrokerID) []link {
	var links []link
	n := len(order)
	for i := range order {
		for away := n/2 + 1; away < n; away++ {
			links = append(links, link{from: order[(i+away)%n], to: order[i]})
		}
	}
	return sorted(links)
}

func between(left, right []history.BrokerID, both bool) []link {
	var links []link
	for _, a := range left {
		for _, b := range right {
			links = append(links, link{a, b})
			if both {
				links = append(links, link{b, a})
			}
		}
	}
	return sorted(links)
}

func sorted(links []link) []link {
	slices.SortFunc(links, func(a, b link) int {
		if a.from != b.from {
			return int(a.from) - int(b.from)
		}
		return int(a.to) - int(b.to)
	})
	return links
}
