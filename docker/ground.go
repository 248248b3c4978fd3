package docker

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"tidemark/broker/config"
	"tidemark/docker/agent"
	"tidemark/history"
)

// Ground tells what a cluster that was started stands on.
func (c *Cluster) Ground() (*history.Ground, error) {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	info, err := c.engine.api.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("the engine's machine: %w", err)
	}
	g := &history.Ground{
		Engine: c.engine.Version, Kernel: info.KernelVersion, Cgroups: info.CgroupVersion, Processors: info.NCPU, Memory: info.MemTotal, Image: c.image, Zero: c.env.started.UTC(),
	}
	for _, m := range c.machines {
		at := history.Listeners{ID: m.id, Container: m.broker, Broker: net.JoinHostPort(m.address, strconv.Itoa(agent.BrokerPort)), External: m.published}
		if slices.ContainsFunc(m.cfg.Listeners, func(l config.Listener) bool { return l.Name == controllerListener }) {
			at.Controller = net.JoinHostPort(m.address, strconv.Itoa(agent.ControllerPort))
		}
		g.Brokers = append(g.Brokers, at)
	}
	return g, nil
}
