package nemesis

import (
	"fmt"

	"tidemark/history"
	"tidemark/world"
)

// A recreation deletes a topic and creates it again under its name. It is over when the topic is there, and tried again until it is.
var recreateKind = kind{
	ability: world.CanRecreate,
	read:    readRecreate,
	write:   func(f Fault) string { return f.Topic },
	instant: true,
	resolve: func(*scene, Fault) ([]history.BrokerID, []link, error) { return nil, nil, nil },
	act:     func(l *life, _ []link) action { return &recreation{life: l} },
	useful:  func(s Space) bool { return s.Recreated != "" },
	draw: func(d *drawer, _ history.Partition) Fault {
		return Fault{Kind: world.CanRecreate, Topic: d.Recreated}
	},
}

// readRecreate reads the name of a topic.
func readRecreate(w *words, f *Fault) error {
	p, ok := partition(w.peek() + "/0")
	if !ok {
		return w.expected("a topic")
	}
	w.next++
	f.Topic = p.Topic
	return nil
}

// recreation is one topic that goes and comes.
type recreation struct {
	*life
	name string // of the new incarnation, "" while there is none
}

func (r *recreation) ready() string { return "" }

func (r *recreation) claim(history.ClusterState) string { return "" }

func (r *recreation) apply() (detail string, err error) {
	r.name, err = r.Cluster.Recreate(r.line.Fault.Topic, r.Bound)
	return r.name, err
}

func (r *recreation) probe() (string, error) {
	for _, p := range r.observe().known.Partitions {
		if p.Partition.Topic == r.name && p.Leader != history.NoBroker {
			return fmt.Sprintf("%v is led by %d", p.Partition, p.Leader), nil
		}
	}
	return "", fmt.Errorf("%w: %s was not observed with a leader", errHidden, r.name)
}

// undo creates the topic if it is gone.
func (r *recreation) undo() (err error) {
	if r.name == "" {
		r.name, err = r.Cluster.Recreate(r.line.Fault.Topic, r.Bound)
	}
	return err
}

func (r *recreation) verify() (string, error) { return "nothing to undo", nil }

func (r *recreation) release() {}

// superseded reports whether a partition is of an incarnation that gave way to another's.
func superseded(old, fresh history.Partition) bool {
	topic, ok := history.Incarnated(old.Topic)
	other, also := history.Incarnated(fresh.Topic)
	return ok && also && topic == other && old.Topic != fresh.Topic && old.Index == fresh.Index
}
