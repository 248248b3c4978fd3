package nemesis

import (
	"fmt"

	"tidemark/history"
)

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
