package docker

import (
	"context"
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

// checkLimits holds the limits that were asked for to what the engine's machine has.
func (e *Engine) checkLimits(ctx context.Context, opt Options) error {
	if opt.Memory == 0 && opt.CPUs == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineBound)
	defer cancel()
	info, err := e.api.Info(ctx)
	if err != nil {
		return fmt.Errorf("the limits of the engine's machine: %w", err)
	}
	return checkLimits(opt, info)
}

func checkLimits(opt Options, info system.Info) error {
	switch {
	case opt.Memory != 0 && !info.MemoryLimit:
		return fmt.Errorf("memory limit %d bytes: the engine's kernel limits no memory (it takes the cgroup controller memory)", opt.Memory)
	case opt.Memory != 0 && (opt.Memory < memoryMin || opt.Memory > info.MemTotal):
		return fmt.Errorf("memory limit %d bytes, expected %d, which a broker needs to start, to %d, which the engine's machine has", opt.Memory, memoryMin, info.MemTotal)
	case opt.CPUs != 0 && !info.CPUCfsQuota:
		return fmt.Errorf("limit of %v processors: the engine's kernel has no quotas of them (it takes CONFIG_CFS_BANDWIDTH)", opt.CPUs)
	case opt.CPUs != 0 && !(opt.CPUs >= cpusMin && opt.CPUs <= float64(info.NCPU)):
		return fmt.Errorf("limit of %v processors, expected %v to %d, which the engine's machine has", opt.CPUs, cpusMin, info.NCPU)
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
