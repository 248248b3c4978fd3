package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/docker/watch"
	"tidemark/history"
)

// administerEvery is the pause between two steps of an administrator, each of which the controller takes up in its own time.
const administerEvery = 50 * time.Millisecond

func (t *targetBrokers) elect(p history.Partition, b history.BrokerID, timeout time.Duration) error {
	if !t.target.KeeperAdmin {
		return t.cluster.electByRequest(p, b, timeout)
	}
	err := t.administer(timeout, func(nodes watch.AdminNodes) (bool, error) { return watch.ElectStep(nodes, p, b) })
	if err != nil {
		return fmt.Errorf("electing broker %d leader of %v: %w", b, p, err)
	}
	return nil
}

func (t *targetBrokers) reassign(p history.Partition, to []history.BrokerID, timeout time.Duration) error {
	if !t.target.KeeperAdmin {
		return t.cluster.reassignByRequest(p, to, timeout)
	}
	err := t.administer(timeout, func(nodes watch.AdminNodes) (bool, error) { return watch.ReassignStep(nodes, p, to) })
	if err != nil {
		return fmt.Errorf("reassigning %v to %v: %w", p, to, err)
	}
	return nil
}

// administer takes an administrator's steps in ZooKeeper until they have led where they should, at most for timeout; the error is what stood in
// the way last.
func (t *targetBrokers) administer(timeout time.Duration, step func(watch.AdminNodes) (bool, error)) error {
	env := t.cluster.env
	ctx, cancel := context.WithTimeout(env.ctx, timeout)
	defer cancel()
	last := errors.New("the controller has not taken it up")
	for {
		done, err := t.keeper.keeper.Administer(ctx, step)
		switch {
		case done:
			return nil
		case errors.Is(err, watch.ErrNotReplica):
			return err
		case err != nil && ctx.Err() == nil:
			last = err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("not within %v: %w", timeout, last)
		}
		env.Sleep(administerEvery)
	}
}
