package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"
	"github.com/testcontainers/testcontainers-go"

	"tidemark/docker/agent"
)

func (c *Cluster) makeNetwork() error {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	_, err := c.engine.api.NetworkCreate(ctx, c.network, network.CreateOptions{Driver: "bridge", Labels: c.owner.labels()})
	if err != nil {
		return fmt.Errorf("network %s: %w", c.network, err)
	}
	return nil
}

// published lists the ports that are published on 127.0.0.1.
var published = []int{kafkaPort, debugPort, agent.ControlPort}

// startSidecar makes a broker's volumes and starts its sidecar, which has the address.
func (c *Cluster) startSidecar(m *machine) error {
	if err := c.makeVolumes(m); err != nil {
		return err
	}
	data, _ := m.volumes()
	ports, bindings := []string{}, nat.PortMap{}
	for _, p := range published {
		port := strconv.Itoa(p) + "/tcp"
		ports = append(ports, port)
		bindings[nat.Port(port)] = []nat.PortBinding{{HostIP: "127.0.0.1"}}
	}
	err := c.start(testcontainers.ContainerRequest{
		Name: m.sidecar, Image: c.image, Labels: c.owner.labels(), Networks: []string{c.network}, ExposedPorts: ports,
		Cmd: []string{"agent", "--broker", strconv.Itoa(int(m.id)), "--data", dataPath},
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = bindings
			h.CapDrop, h.CapAdd = []string{"ALL"}, []string{"NET_ADMIN"}
			h.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: data, Target: dataPath, ReadOnly: true}}
			h.ReadonlyRootfs = true
			confine(h)
		},
		NetworkAliases: map[string][]string{c.network: {fmt.Sprintf("broker-%d", m.id)}},
	})
	if err != nil {
		return fmt.Errorf("sidecar of broker %d: %w", m.id, err)
	}
	return c.locate(m)
}

// makeBroker starts a broker for the first time, in its sidecar's network namespace.
func (c *Cluster) makeBroker(m *machine) error {
	data, metadata := m.volumes()
	err := c.start(testcontainers.ContainerRequest{
		Name: m.broker, Image: c.image, Labels: c.owner.labels(),
		Cmd:   []string{"broker", "--config", configPath},
		Files: []testcontainers.ContainerFile{{Reader: strings.NewReader(properties(m.cfg)), ContainerFilePath: configPath, FileMode: 0o644}},
		HostConfigModifier: func(h *container.HostConfig) {
			h.NetworkMode = container.NetworkMode("container:" + m.sidecar)
			h.CapDrop = []string{"ALL"}
			h.Mounts = []mount.Mount{
				{Type: mount.TypeVolume, Source: data, Target: dataPath}, {Type: mount.TypeVolume, Source: metadata, Target: metadataPath},
			}
			confine(h)
		},
	})
	if err != nil {
		return fmt.Errorf("broker %d: %w", m.id, err)
	}
	return nil
}

// confine sets the limits that every container has.
func confine(h *container.HostConfig) {
	tasks := int64(brokerTasksMax)
	h.Resources = container.Resources{Memory: brokerMemoryMax, PidsLimit: &tasks}
	h.SecurityOpt = []string{"no-new-privileges"}
	h.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "16m", "max-file": "2"}}
}

func (c *Cluster) start(req testcontainers.ContainerRequest) error {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	made, err := c.engine.make.CreateContainer(ctx, req)
	if err != nil {
		return err
	}
	return made.Start(ctx)
}

// locate finds the address that the engine gave a sidecar.
func (c *Cluster) locate(m *machine) error {
	info, err := c.inspect(m.sidecar)
	if err != nil {
		return err
	}
	if n := info.NetworkSettings.Networks[c.network]; n != nil {
		m.address = n.IPAddress
	}
	if _, err := netip.ParseAddr(m.address); err != nil {
		return fmt.Errorf("container %s has address %q on network %s, expected an IP address", m.sidecar, m.address, c.network)
	}
	return nil
}

func (c *Cluster) inspect(name string) (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	return c.engine.api.ContainerInspect(ctx, name)
}

// reach waits for every agent and learns how this process gets to the containers: at their own addresses where this machine routes
// to them, else at the published ports.
func (c *Cluster) reach() error {
	return c.each(func(m *machine) error {
		direct := func(port int) (string, error) { return net.JoinHostPort(m.address, strconv.Itoa(port)), nil }
		err := c.reachBy(m, 2*time.Second, direct)
		if err != nil {
			err = c.reachBy(m, startBound, func(port int) (string, error) { return c.publishedAt(m, port) })
		}
		if err != nil {
			return errors.Join(fmt.Errorf("sidecar of broker %d does not answer: %w", m.id, err), c.lastWords(m.sidecar))
		}
		return nil
	})
}

func (c *Cluster) reachBy(m *machine, bound time.Duration, at func(port int) (string, error)) error {
	control, err := at(agent.ControlPort)
	if err != nil {
		return err
	}
	debug, err := at(debugPort)
	if err != nil {
		return err
	}
	if m.kafka, err = at(kafkaPort); err != nil {
		return err
	}
	m.debug, m.agent = "http://"+debug, agent.Client{Base: "http://" + control, HTTP: c.http}
	deadline := time.Now().Add(bound)
	for {
		ctx, cancel := context.WithTimeout(c.env.ctx, stateBound)
		err := m.agent.Health(ctx)
		cancel()
		if err == nil || time.Now().After(deadline) || c.env.ctx.Err() != nil {
			return err
		}
		time.Sleep(lookEvery)
	}
}

// publishedAt is where the engine publishes one of a machine's ports.
func (c *Cluster) publishedAt(m *machine, port int) (string, error) {
	info, err := c.inspect(m.sidecar)
	if err != nil {
		return "", err
	}
	bound := info.NetworkSettings.Ports[nat.Port(strconv.Itoa(port)+"/tcp")]
	if len(bound) == 0 {
		return "", fmt.Errorf("port %d of container %s is not published", port, m.sidecar)
	}
	return net.JoinHostPort(bound[0].HostIP, bound[0].HostPort), nil
}

// lookEvery is the pause between two looks at something that comes up or goes down.
const lookEvery = 10 * time.Millisecond

// logBytesMax bounds what of a container's log an error quotes.
const logBytesMax = 4096

// lastWords is the end of a container's log, as an error, to go with another.
func (c *Cluster) lastWords(name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.env.ctx), engineBound)
	defer cancel()
	logs, err := c.engine.api.ContainerLogs(ctx, name, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "10"})
	if err != nil {
		return fmt.Errorf("its log cannot be read: %w", err)
	}
	defer logs.Close() //nolint:errcheck // only read
	var text strings.Builder
	if _, err := stdcopy.StdCopy(&text, &text, logs); err != nil {
		return fmt.Errorf("its log cannot be read: %w", err)
	}
	said := strings.TrimSpace(text.String())
	return fmt.Errorf("its last words: %s", said[max(0, len(said)-logBytesMax):])
}
