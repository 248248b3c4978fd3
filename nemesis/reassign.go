package nemesis

import (
	"fmt"
	"slices"

	"tidemark/history"
	"tidemark/world"
)

// A reassignment moves a partition to other replicas (KIP-455): the new ones are added, and when all that are to stay are in the ISR the others
// leave. It strikes when the controller has taken it up; it ends by itself, at the latest when every broker is back and the run settles.
var reassignKind = kind{
	ability: world.CanReassign,
	read:    readReassign,
	write:   func(f Fault) string { return f.Partition.String() + " to " + list(f.Targets, Target.short) },
	check:   func(c checker, f Fault) error { return c.reassign(f) },
	instant: true,
	resolve: func(s *scene, f Fault) (bs []history.BrokerID, _ []link, err error) {
		bs, err = s.reassign(f)
		return bs, nil, err
	},
	act:    func(l *life, _ []link) action { return &reassignment{life: l} },
	useful: func(s Space) bool { return len(s.Brokers) > s.Factor },
	draw:   (*drawer).reassign,
}

// readReassign reads a partition and its new replicas.
func readReassign(w *words, f *Fault) (err error) {
	if f.Partition, err = w.partition(); err != nil {
		return err
	}
	if err = w.want("to"); err != nil {
		return err
	}
	f.Targets, err = w.targets(accept{numbers: true})
	return err
}

func (c checker) reassign(f Fault) error {
	if len(f.Targets) > len(c.brokers) {
		return fmt.Errorf("%d replicas, expected at most one on each of %d brokers", len(f.Targets), len(c.brokers))
	}
	for i, t := range f.Targets {
		if t.Role == Number && slices.Contains(f.Targets[:i], t) {
			return fmt.Errorf("broker %d twice among the replicas", t.Broker)
		}
	}
	return c.partition(f.Partition)
}

// reassign resolves the new replicas, in order: each a broker that is not among those before it.
func (s *scene) reassign(f Fault) ([]history.BrokerID, error) {
	p, err := s.partition(f.Partition)
	if err != nil {
		return nil, err
	}
	var to []history.BrokerID
	for _, t := range f.Targets {
		fresh := *s
		fresh.held = slices.Concat(s.held, to) // whoever is drawn is another one
		bs, err := fresh.target(t)
		if err != nil {
			return nil, err
		}
		if slices.Contains(to, bs[0]) {
			return nil, fmt.Errorf("broker %d is twice among the replicas %s now", bs[0], brokers(append(to, bs[0])))
		}
		to = append(to, bs[0])
	}
	if slices.Equal(to, assignment(p)) {
		return to, fmt.Errorf("%v is on %s already", p.Partition, brokers(to))
	}
	return to, nil
}

// assignment is a partition's replicas in order.
func assignment(p *history.PartitionState) []history.BrokerID {
	bs := make([]history.BrokerID, len(p.Replicas))
	for i, r := range p.Replicas {
		bs[i] = r.Broker
	}
	return bs
}

// reassign draws other replicas: any, or the leader and some others.
func (d *drawer) reassign(p history.Partition) Fault {
	f := Fault{Kind: world.CanReassign, Partition: p}
	if d.chance(0.3) {
		f.Targets = append(f.Targets, Target{Role: Leader, Partition: p})
		for len(f.Targets) < d.Factor {
			f.Targets = append(f.Targets, Target{Role: Random})
		}
		return f
	}
	order := slices.Clone(d.Brokers)
	d.rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, b := range order[:d.Factor] {
		f.Targets = append(f.Targets, Target{Role: Number, Broker: b})
	}
	return f
}

// reassignment is one that the controller is asked for. There is nothing to undo.
type reassignment struct{ *life }

func (r *reassignment) ready() string { return "" }

// claim asks for as many replicas as the run's partitions have: Kafka would let a reassignment change that.
func (r *reassignment) claim(history.ClusterState) string {
	if want := r.Factor; want > 0 && len(r.event.Targets) != want {
		return fmt.Sprintf("%d replicas, expected %d as before", len(r.event.Targets), want)
	}
	return ""
}

func (r *reassignment) apply() (string, error) {
	return "", r.Cluster.Reassign(r.line.Fault.Partition, r.event.Targets, r.Bound)
}

func (r *reassignment) probe() (string, error) {
	s := r.observe().known
	for i := range s.Partitions {
		if p := &s.Partitions[i]; p.Partition == r.line.Fault.Partition {
			if is := assignment(p); len(is) >= len(r.event.Targets) && slices.Equal(is[:len(r.event.Targets)], r.event.Targets) {
				return fmt.Sprintf("%v is on %s, in sync are %s", p.Partition, brokers(is), brokers(p.ISR)), nil
			}
			return "", fmt.Errorf("%v is on %s, expected %s", p.Partition, brokers(assignment(p)), brokers(r.event.Targets))
		}
	}
	return "", fmt.Errorf("%v was not observed", r.line.Fault.Partition)
}

func (r *reassignment) undo() error { return nil }

func (r *reassignment) verify() (string, error) { return "nothing to undo", nil }

func (r *reassignment) release() {}
