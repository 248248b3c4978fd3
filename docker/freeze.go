package docker

import (
	"context"
	"strings"

	"tidemark/history"
	"tidemark/world"
)

// Freeze stops every process of a broker's container by the cgroup freezer, by way of the engine's pause.
func (c *Cluster) Freeze(b history.BrokerID) error {
	return c.act("freeze", b, func(m *machine) error {
		return c.turn(m, c.engine.api.ContainerPause, world.ProcessFrozen)
	}, world.ProcessRunning)
}

// Thaw ends a freeze.
func (c *Cluster) Thaw(b history.BrokerID) error {
	return c.act("thaw", b, func(m *machine) error {
		return c.turn(m, c.engine.api.ContainerUnpause, world.ProcessRunning)
	}, world.ProcessFrozen)
}

// turn lets the engine do something to a broker's container and waits until its process is as it should be then.
func (c *Cluster) turn(m *machine, do func(context.Context, string) error, want world.ProcessState) error {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	if err := do(ctx, m.broker); err != nil {
		return err
	}
	return c.await(m, want, startBound)
}

// frozen asks the kernel whether a process's cgroup is frozen. The error is that it cannot be asked from here.
func frozen(pid int) (bool, error) {
	says, err := cgroupSays(pid, "freezer", "freezer.state", "cgroup.events")
	return says == "FROZEN" || strings.Contains(says, "frozen 1"), err
}
