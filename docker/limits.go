package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"
)

// Limits of a container where Options name none, and the least that a broker can be given: in less memory it does not come up, with
// less of a processor it misses its sessions' heartbeats, and the kernel's shortest quota is a hundredth.
const (
	memoryStock = 1 << 30
	memoryMin   = 64 << 20
	cpusMin     = 0.01
	tasksMax    = 512
)

// ErrLimit marks a limit that the engine's machine cannot give.
var ErrLimit = errors.New("limit of a broker's container")

// CheckLimits holds the limits that were asked for, as Options has them, to what the engine's machine has. The error is ErrLimit if they
// are the trouble.
func (e *Engine) CheckLimits(ctx context.Context, memory int64, cpus float64) error {
	if memory == 0 && cpus == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineBound)
	defer cancel()
	info, err := e.api.Info(ctx)
	if err != nil {
		return fmt.Errorf("the limits of the engine's machine: %w", err)
	}
	return checkLimits(memory, cpus, info)
}

func checkLimits(memory int64, cpus float64, info system.Info) error {
	switch {
	case memory != 0 && !info.MemoryLimit:
		return fmt.Errorf("%w: memory %d bytes: the engine's kernel limits no memory (it takes the cgroup controller memory)", ErrLimit, memory)
	case memory != 0 && (memory < memoryMin || memory > info.MemTotal):
		return fmt.Errorf("%w: memory %d bytes, expected %d (64m), which a broker needs to start, to %d, which the engine's machine has", ErrLimit, memory, memoryMin, info.MemTotal)
	case cpus != 0 && !info.CPUCfsQuota:
		return fmt.Errorf("%w: %v processors: the engine's kernel has no quotas of them (it takes CONFIG_CFS_BANDWIDTH)", ErrLimit, cpus)
	case cpus != 0 && !(cpus >= cpusMin && cpus <= float64(info.NCPU)):
		return fmt.Errorf("%w: %v processors, expected %v to %d, which the engine's machine has", ErrLimit, cpus, cpusMin, info.NCPU)
	}
	return nil
}

// confine sets the limits that every container has.
func confine(h *container.HostConfig) {
	tasks := int64(tasksMax)
	h.Resources = container.Resources{Memory: memoryStock, MemorySwap: memoryStock, PidsLimit: &tasks}
	h.SecurityOpt = []string{"no-new-privileges"}
	h.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "16m", "max-file": "2"}}
}

// limit sets a broker's own limits beside those. A broker reads its memory's limit itself, and keeps its heap below it.
func (o Options) limit(h *container.HostConfig) {
	if o.Memory != 0 {
		h.Memory, h.MemorySwap = o.Memory, o.Memory
	}
	h.NanoCPUs = int64(o.CPUs * 1e9)
}
