package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// cgroups is where cgroups are mounted.
const cgroups = "/sys/fs/cgroup"

// frozen asks the kernel whether a process's cgroup is frozen. The error is that it cannot be asked from here.
func frozen(pid int) (bool, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return false, err
	}
	file, word, err := freezerOf(string(text))
	if err != nil {
		return false, fmt.Errorf("process %d: %w", pid, err)
	}
	state, err := os.ReadFile(filepath.Join(cgroups, file))
	return strings.Contains(string(state), word), err
}

// freezerOf reads /proc/PID/cgroup: the file that tells whether that process's cgroup is frozen, and what it says then.
func freezerOf(text string) (file, word string, err error) {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && fields[1] == "freezer" {
			return filepath.Join("freezer", fields[2], "freezer.state"), "FROZEN", nil
		}
	}
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(path, "cgroup.events"), "frozen 1", nil
		}
	}
	return "", "", fmt.Errorf("no freezer in its cgroups %q, expected one of version 1 or 2", text)
}
