package nemesis

import (
	"fmt"
	"slices"

	"tidemark/history"
	"tidemark/world"
)

// An election makes a replica the leader of a partition; a follower is drawn from the ISR, as no other can be elected cleanly.
var electKind = kind{
	ability: world.CanElect,
	read:    readElect,
	write:   func(f Fault) string { return writeTargets(f) + " on " + f.Partition.String() },
	check:   func(c checker, f Fault) error { return c.partition(f.Partition) },
	instant: true,
	resolve: func(s *scene, f Fault) (bs []history.BrokerID, _ []link, err error) {
		bs, err = s.elect(f)
		return bs, nil, err
	},
	act:    func(l *life, _ []link) action { return &election{life: l} },
	useful: func(s Space) bool { return s.Factor > 1 },
	draw: func(d *drawer, p history.Partition) Fault {
		f := electFollower(p)
		if d.chance(0.1) {
			f.Targets[0] = Target{Role: Number, Broker: d.anyBroker()}
		}
		return f
	},
	opener: electFollower,
	weight: 2.5, // it takes nothing away, and lasts no time
	bites: func(_ *drawer, l Line) bool {
		return l.Fault.Targets[0].Role == Follower && l.Fault.Targets[0].Partition == l.Fault.Partition
	},
}

func electFollower(p history.Partition) Fault {
	return Fault{Kind: world.CanElect, Partition: p, Targets: []Target{{Role: Follower, Partition: p}}}
}

// readElect reads a target and a partition.
func readElect(w *words, f *Fault) (err error) {
	f.Targets = make([]Target, 1)
	if f.Targets[0], err = w.target(one); err != nil {
		return err
	}
	if err = w.want("on"); err != nil {
		return err
	}
	f.Partition, err = w.partition()
	return err
}

// elect resolves the target of a clean election; a follower is drawn from the ISR, as no other can be elected cleanly.
func (s *scene) elect(f Fault) ([]history.BrokerID, error) {
	p, err := s.partition(f.Partition)
	if err != nil {
		return nil, err
	}
	t := f.Targets[0]
	bs, err := s.target(t)
	if t.Role == Follower && t.Partition == f.Partition && p.Leader != history.NoBroker {
		in := s.replicas(p, func(b history.BrokerID) bool { return b != p.Leader && slices.Contains(p.ISR, b) })
		bs, err = s.draw(in, "a follower in the ISR")
	}
	switch {
	case err != nil:
		return nil, err
	case p.Leader == bs[0]:
		return bs, fmt.Errorf("broker %d leads %v already", bs[0], p.Partition)
	case !slices.Contains(p.ISR, bs[0]):
		return bs, fmt.Errorf("broker %d is not in the ISR of %v, which is %s", bs[0], p.Partition, brokers(p.ISR))
	}
	return bs, nil
}

// election makes a given replica the leader, cleanly and with nobody crashing. There is nothing to undo.
type election struct {
	*life
	before history.Epoch
}

func (e *election) ready() string {
	if b := e.event.Targets[0]; !e.alive(b) {
		return fmt.Sprintf("broker %d is down", b)
	}
	return ""
}

func (e *election) claim(s history.ClusterState) string {
	for i := range s.Partitions {
		if s.Partitions[i].Partition == e.line.Fault.Partition {
			e.before = s.Partitions[i].Epoch
		}
	}
	return ""
}

func (e *election) apply() (string, error) {
	return "", e.Cluster.Elect(e.line.Fault.Partition, e.event.Targets[0], e.Bound)
}

func (e *election) probe() (string, error) {
	s := e.observe().known
	for i := range s.Partitions {
		p := &s.Partitions[i]
		switch {
		case p.Partition != e.line.Fault.Partition:
		case p.Epoch > e.before && p.Leader == e.event.Targets[0]:
			return fmt.Sprintf("broker %d leads %v in epoch %d", p.Leader, p.Partition, p.Epoch), nil
		case p.Epoch > e.before:
			return "", fmt.Errorf("%w: by now broker %d leads %v in epoch %d", errHidden, p.Leader, p.Partition, p.Epoch)
		default:
			return "", fmt.Errorf("broker %d leads %v in epoch %d, expected broker %d after epoch %d",
				p.Leader, p.Partition, p.Epoch, e.event.Targets[0], e.before)
		}
	}
	return "", fmt.Errorf("%v was not observed", e.line.Fault.Partition)
}

func (e *election) undo() error { return nil }

func (e *election) verify() (string, error) { return "nothing to undo", nil }

func (e *election) release() {}
