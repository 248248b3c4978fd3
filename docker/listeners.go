package docker

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-connections/nat"

	"tidemark/broker/config"
	"tidemark/docker/agent"
	"tidemark/docker/targets"
	"tidemark/history"
)

// A broker's listeners. Who asks at one is told the addresses that all brokers have at it, so that clients on this machine and those on
// the cluster's network each get addresses that they reach.
const (
	brokerListener     = "BROKER"     // for the brokers, and for clients on their network
	controllerListener = "CONTROLLER" // for the quorum, brokers that are no voters among them, and for what brokers ask the controller
	externalListener   = "EXTERNAL"   // published on 127.0.0.1
)

// Ports within a broker's network namespace, beside those of the agent.
const (
	externalPort = targets.ExternalPort
	debugPort    = 9192
)

// introduce fills in each broker's configuration with the addresses of all.
func (c *Cluster) introduce() error {
	for _, m := range c.machines {
		published, err := netip.ParseAddrPort(m.published)
		if err != nil {
			return fmt.Errorf("broker %d is published at %q, expected address:port", m.id, m.published)
		}
		m.cfg.Listeners = []config.Listener{
			{Name: brokerListener, Port: agent.BrokerPort}, {Name: externalListener, Port: externalPort}, {Name: controllerListener, Port: agent.ControllerPort},
		}
		m.cfg.AdvertisedListeners = []config.Listener{
			{Name: brokerListener, Host: m.address, Port: agent.BrokerPort},
			{Name: externalListener, Host: published.Addr().String(), Port: int32(published.Port())},
		}
		if !m.cfg.Controller { // so that a cut at the controller's port holds for what the voters send it, too
			m.cfg.AdvertisedListeners = append(m.cfg.AdvertisedListeners, config.Listener{Name: controllerListener, Host: m.address, Port: agent.ControllerPort})
		}
		m.cfg.InterBrokerListener, m.cfg.ControllerListeners = brokerListener, []string{controllerListener}
		m.cfg.PlaintextListeners = []string{brokerListener, controllerListener, externalListener}
		m.cfg.Voters = slices.Clone(m.cfg.Voters)
		for i := range m.cfg.Voters {
			if to, err := c.machine(history.BrokerID(m.cfg.Voters[i].ID)); err == nil {
				m.cfg.Voters[i].Host, m.cfg.Voters[i].Port = to.address, agent.ControllerPort
			}
		}
		m.cfg.Shell.LogDir, m.cfg.Shell.MetadataLogDir = dataPath, metadataPath
		m.cfg.Shell.DebugListener = fmt.Sprintf(":%d", debugPort)
	}
	return nil
}

// published lists the ports of a machine that are published on 127.0.0.1: that of its clients, and where this process has no other way all
// that it talks to.
func (c *Cluster) published(m *machine) []int {
	first, _ := c.ports(m)
	if c.direct {
		return []int{first}
	}
	return []int{first, debugPort, agent.ControlPort}
}

// ports are where a machine listens to clients: to those on the engine's machine, and to those on the cluster's network.
func (c *Cluster) ports(m *machine) (outside, inside int) {
	switch {
	case m == c.keeper:
		return targets.KeeperPort, targets.KeeperPort
	case slices.Contains(c.quorum, m):
		return agent.ControllerPort, agent.ControllerPort
	}
	return externalPort, agent.BrokerPort
}

// locate fills in where the parts of a machine are reached, of a sidecar that runs.
func (c *Cluster) locate(m *machine, sidecar container.InspectResponse) error {
	if n := sidecar.NetworkSettings.Networks[c.network]; n != nil {
		m.address = n.IPAddress
	}
	if _, err := netip.ParseAddr(m.address); err != nil {
		return fmt.Errorf("container %s has address %q on network %s, expected an IP address", m.sidecar, m.address, c.network)
	}
	at := make(map[int]string)
	for _, port := range c.published(m) {
		bound := sidecar.NetworkSettings.Ports[nat.Port(strconv.Itoa(port)+"/tcp")]
		if len(bound) == 0 {
			return fmt.Errorf("port %d of container %s is not published", port, m.sidecar)
		}
		at[port] = net.JoinHostPort(bound[0].HostIP, bound[0].HostPort)
	}
	outside, within := c.ports(m)
	m.published = at[outside]
	m.kafka, m.debug, m.agent.Base = m.published, "http://"+at[debugPort], "http://"+at[agent.ControlPort]
	if c.direct {
		inside := func(port int) string { return net.JoinHostPort(m.address, strconv.Itoa(port)) }
		m.kafka, m.debug, m.agent.Base = inside(within), "http://"+inside(debugPort), "http://"+inside(agent.ControlPort)
	}
	m.agent.HTTP = c.http
	return nil
}
