package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"
	"github.com/testcontainers/testcontainers-go"

	"tidemark/docker/targets"
	"tidemark/history"
)

func (c *Cluster) makeNetwork() error {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	_, err := c.engine.api.NetworkCreate(ctx, c.network, network.CreateOptions{Driver: "bridge", Labels: c.owner.labels()})
	if err != nil {
		return fmt.Errorf("network %s: %w", c.network, err)
	}
	c.direct, err = c.routed()
	return err
}

// routed reports whether this machine is on the cluster's network itself, as the machine of an engine is that runs as root: then
// it reaches the containers at their own addresses, where a broker that is gone refuses connections at once. Otherwise the
// engine's proxy stands between, at ports that it publishes.
func (c *Cluster) routed() (bool, error) {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	info, err := c.engine.api.NetworkInspect(ctx, c.network, network.InspectOptions{})
	if err != nil {
		return false, fmt.Errorf("network %s: %w", c.network, err)
	}
	here, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("this machine's addresses: %w", err)
	}
	return slices.ContainsFunc(here, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && slices.ContainsFunc(info.IPAM.Config, func(i network.IPAMConfig) bool { return i.Gateway == own.IP.String() })
	}), nil
}

// prepare starts a broker's sidecar, which gives it its address.
func (c *Cluster) prepare(m *machine) error {
	sidecar, err := c.makeSidecar(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	if err := sidecar.Start(ctx); err != nil {
		return fmt.Errorf("sidecar of broker %d: %w", m.id, err)
	}
	return nil
}

// makeSidecar makes a broker's sidecar.
func (c *Cluster) makeSidecar(m *machine) (testcontainers.Container, error) {
	data, _ := m.volumes()
	ports, bindings := []string{}, nat.PortMap{}
	for _, p := range c.published(m) {
		port := strconv.Itoa(p) + "/tcp"
		ports = append(ports, port)
		bindings[nat.Port(port)] = []nat.PortBinding{{HostIP: "127.0.0.1"}}
	}
	made, err := c.make(testcontainers.ContainerRequest{
		Name: m.sidecar, Image: c.image, Labels: c.owner.labels(), Networks: []string{c.network}, ExposedPorts: ports,
		Cmd: []string{"agent", "--broker", strconv.Itoa(int(m.id)), "--data", dataPath},
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = bindings
			h.CapDrop, h.CapAdd = []string{"ALL"}, []string{"NET_ADMIN"}
			h.Mounts = []mount.Mount{c.volume(data, dataPath)} // to be dumped, and wiped
			h.ReadonlyRootfs = true
			confine(h)
		},
		NetworkAliases: map[string][]string{c.network: {c.alias(m)}},
	})
	if err != nil {
		return nil, fmt.Errorf("sidecar of broker %d: %w", m.id, err)
	}
	return made, nil
}

// alias is a machine's name on the cluster's network.
func (c *Cluster) alias(m *machine) string {
	switch {
	case m == c.keeper:
		return "zookeeper"
	case slices.Contains(c.quorum, m):
		return fmt.Sprintf("controller-%d", m.id)
	}
	return fmt.Sprintf("broker-%d", m.id)
}

// volume mounts a volume, which the engine makes with the container if it is not there yet.
func (c *Cluster) volume(name, target string) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: name, Target: target, VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: c.owner.labels()},
	}
}

// startBroker makes a broker's container, in its sidecar's network namespace, and starts it for the first time, on a configuration with
// everybody's addresses.
func (c *Cluster) startBroker(m *machine) error {
	data, metadata := m.volumes()
	p, err := c.brokers.process(m)
	if err != nil {
		return fmt.Errorf("broker %d: %w", m.id, err)
	}
	req := testcontainers.ContainerRequest{
		Name: m.broker, Image: c.inside, Labels: c.owner.labels(), Entrypoint: p.Command[:1], Cmd: p.Command[1:], Env: p.Env, User: "0", Files: filesOf(p),
		HostConfigModifier: func(h *container.HostConfig) {
			h.NetworkMode = container.NetworkMode("container:" + m.sidecar)
			h.CapDrop = []string{"ALL"}
			h.Mounts = []mount.Mount{c.volume(data, dataPath), c.volume(metadata, metadataPath)}
			confine(h)
			c.opt.limit(h)
		},
	}
	made, err := c.make(req)
	if err == nil {
		ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
		defer cancel()
		err = made.Start(ctx)
	}
	if err != nil {
		return fmt.Errorf("broker %d: %w", m.id, err)
	}
	return nil
}

// filesOf are a process's files as a container is given them.
func filesOf(p targets.Process) []testcontainers.ContainerFile {
	var files []testcontainers.ContainerFile
	for _, path := range slices.Sorted(maps.Keys(p.Files)) {
		files = append(files, testcontainers.ContainerFile{Reader: strings.NewReader(p.Files[path]), ContainerFilePath: path, FileMode: 0o644})
	}
	return files
}

func (c *Cluster) make(req testcontainers.ContainerRequest) (testcontainers.Container, error) {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	return c.engine.make.CreateContainer(ctx, req)
}

func (c *Cluster) inspect(name string) (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	return c.engine.api.ContainerInspect(ctx, name)
}

// reach finds out how this process gets to a sidecar that was started, and waits until its agent answers.
func (c *Cluster) reach(m *machine) error {
	info, err := c.inspect(m.sidecar)
	if err == nil {
		err = c.locate(m, info)
	}
	if err == nil {
		err = c.answers(m)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("sidecar of broker %d does not answer: %w", m.id, err), c.lastWords(m.sidecar))
	}
	return nil
}

// answers waits until a machine's agent does.
func (c *Cluster) answers(m *machine) error {
	deadline := time.Now().Add(startBound)
	for {
		ctx, cancel := context.WithTimeout(c.env.ctx, stateBound)
		err := m.agent.Health(ctx)
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if info, inspectErr := c.inspect(m.sidecar); inspectErr == nil && !info.State.Running {
			return fmt.Errorf("it exited with code %d", info.State.ExitCode)
		}
		if err := c.pause(lookEvery); err != nil {
			return err
		}
	}
}

// lookEvery is the pause between two looks at something that comes up or goes down.
const lookEvery = 10 * time.Millisecond

// Bounds of what is read of a container's log, in bytes.
const (
	wordsBytesMax = 4096 // by an error
	logBytesMax   = 16 << 20
)

// lastWords is the end of a container's log, as an error, to go with another.
func (c *Cluster) lastWords(name string) error {
	text, err := c.logOf(name, "10")
	if err != nil {
		return err
	}
	said := strings.TrimSpace(text)
	return fmt.Errorf("its last words: %s", said[max(0, len(said)-wordsBytesMax):])
}

// Log is what a broker's process has written, all incarnations.
func (c *Cluster) Log(b history.BrokerID) (string, error) {
	m, err := c.machine(b)
	if err != nil {
		return "", err
	}
	return c.logOf(m.broker, "all")
}

// logOf reads so many of the last lines of a container's log.
func (c *Cluster) logOf(name, tail string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.env.ctx), engineBound)
	defer cancel()
	logs, err := c.engine.api.ContainerLogs(ctx, name, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: tail})
	if err != nil {
		return "", fmt.Errorf("the log of container %s: %w", name, err)
	}
	defer logs.Close() //nolint:errcheck // only read
	var text strings.Builder
	if _, err := stdcopy.StdCopy(&text, &text, io.LimitReader(logs, logBytesMax)); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("the log of container %s: %w", name, err)
	}
	return text.String(), nil
}
