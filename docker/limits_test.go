package docker

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"
)

// TestLimitsAreHeldToTheMachine asks for more and less than a machine of two processors and 1 GiB has.
func TestLimitsAreHeldToTheMachine(t *testing.T) {
	machine := system.Info{NCPU: 2, MemTotal: 1 << 30, MemoryLimit: true, CPUCfsQuota: true}
	for _, ok := range []Options{{}, {Memory: memoryMin}, {Memory: 1 << 30, CPUs: 2}, {CPUs: 0.01}} {
		if err := checkLimits(ok.Memory, ok.CPUs, machine); err != nil {
			t.Errorf("memory %d and %v processors: %v", ok.Memory, ok.CPUs, err)
		}
	}
	for _, bad := range []struct {
		opt   Options
		named string
	}{
		{Options{Memory: -1}, "-1 bytes, expected 67108864"}, {Options{Memory: 1 << 20}, "1048576 bytes"},
		{Options{Memory: 1<<30 + 1}, "to 1073741824"}, {Options{CPUs: -0.5}, "-0.5 processors, expected 0.01 to 2"},
		{Options{CPUs: 2.5}, "2.5 processors"}, {Options{CPUs: 0.001}, "0.001"}, {Options{CPUs: math.NaN()}, "NaN"},
	} {
		if err := checkLimits(bad.opt.Memory, bad.opt.CPUs, machine); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), bad.named) {
			t.Errorf("memory %d and %v processors gave %v, expected it to name %q", bad.opt.Memory, bad.opt.CPUs, err, bad.named)
		}
	}
	for _, opt := range []Options{{Memory: memoryMin}, {CPUs: 1}} {
		if checkLimits(opt.Memory, opt.CPUs, system.Info{NCPU: 2, MemTotal: 1 << 30}) == nil {
			t.Errorf("%+v was taken by a kernel that has no limits", opt)
		}
	}
}

func TestABrokerHasTheLimitsAskedFor(t *testing.T) {
	var h container.HostConfig
	confine(&h)
	Options{}.limit(&h)
	if h.Memory != memoryStock || h.NanoCPUs != 0 || *h.PidsLimit != tasksMax {
		t.Errorf("without limits: %+v", h.Resources)
	}
	Options{Memory: memoryMin, CPUs: 0.5}.limit(&h)
	if h.Memory != memoryMin || h.MemorySwap != memoryMin || h.NanoCPUs != 500_000_000 {
		t.Errorf("with limits: %+v", h.Resources)
	}
}
