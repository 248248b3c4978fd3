package live_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// docker runs the engine's own program: a look, or a hand, that is not what is being tested.
func dockerSays(t testing.TB, args ...string) string {
	t.Helper()
	text, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %v: %v: %s", args, err, text)
	}
	return strings.TrimSpace(string(text))
}

// container is the name of a broker's container.
func (c *cluster) container(b history.BrokerID) string { return c.Name() + "-" + itoa(int(b)) }

// TestAFrozenBrokerIsSilent freezes a broker by its cgroup and thaws it: it is silent meanwhile, which is told from a pause, and the
// kernel says so too.
func TestAFrozenBrokerIsSilent(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.do(c.Freeze(3))
	if s := c.ProbeProcess(3); s != world.ProcessFrozen || c.ProbeServing(3, probing) {
		t.Errorf("a frozen broker is %s, or serves", s)
	}
	if status := dockerSays(t, "inspect", "-f", "{{.State.Status}}", c.container(3)); status != "paused" {
		t.Errorf("the engine says %q, expected paused, which is its word for frozen", status)
	}
	if says := ofKernel(t, c.container(3), "freezer.state", "cgroup.events"); says != "" && says != "FROZEN" && !strings.Contains(says, "frozen 1") {
		t.Errorf("the kernel's freezer says %q", says)
	}
	for what, err := range map[string]error{"freeze": c.Freeze(3), "pause": c.Pause(3), "resume": c.Resume(3), "start": c.Start(3), "stop": c.Stop(3, time.Second)} {
		if err == nil {
			t.Errorf("%s of a frozen broker was taken", what)
		}
	}
	c.do(c.Thaw(3))
	if s := c.ProbeProcess(3); s != world.ProcessRunning || c.Thaw(3) == nil {
		t.Errorf("a thawed broker is %s, or was thawed twice", s)
	}
	c.eventually("broker 3 serves", func() bool { return c.ProbeServing(3, probing) })
	c.do(c.Pause(3))
	if s := c.ProbeProcess(3); s != world.ProcessPaused || c.Freeze(3) == nil || c.Thaw(3) == nil {
		t.Errorf("a paused broker is %s, or was frozen or thawed", s)
	}
	c.do(c.Resume(3))
	c.do(c.Freeze(3))
	c.do(c.Kill(3)) // a power cut to a machine that stands still
	if s := c.ProbeProcess(3); s != world.ProcessGone {
		t.Errorf("a frozen broker that was killed is %s", s)
	}
	c.do(c.Start(3))
	c.eventually("all in sync", func() bool { return len(c.Observe().Partitions[0].ISR) == 3 })
}

// ofKernel reads a file of a container's cgroup, by the name that it has in version 1 or 2; "" where it is not to be found from here.
func ofKernel(t testing.TB, name, one, two string) string {
	t.Helper()
	id := dockerSays(t, "inspect", "-f", "{{.Id}}", name)
	for _, pattern := range []string{"/sys/fs/cgroup/*/docker/" + id + "/" + one, "/sys/fs/cgroup/*/*" + id + "*/" + two} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				return strings.TrimSpace(string(text))
			}
		}
	}
	return ""
}

// TestAWipedBrokerStartsOnNothing wipes a follower that holds records: its partitions are gone, the controller's log is spared, and after its
// start it fetches everything from the leader.
func TestAWipedBrokerStartsOnNothing(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.work(1).Load(c.env.Now() + 2*time.Second)
	p := c.Observe().Partitions[0]
	victim := c.follower(p)
	if _, err := c.Wipe(9); err == nil {
		t.Error("a wipe of nobody was taken")
	}
	metadata := c.container(victim) + "-metadata"
	before := c.volume(metadata)
	detail, err := c.Wipe(victim)
	c.do(err)
	t.Log(detail)
	if s := c.ProbeProcess(victim); s != world.ProcessGone {
		t.Errorf("a wiped broker is %s", s)
	}
	if left := c.volume(c.container(victim) + "-data"); !slices.Equal(left, []string{".lock"}) {
		t.Errorf("the wipe left %q, expected the lock alone", left)
	}
	if after := c.volume(metadata); len(after) < 2 || len(after) < len(before) {
		t.Errorf("the controller's log had %q, has %q", before, after)
	}
	if !strings.Contains(detail, "removed ") || strings.Contains(detail, "removed 0 files") || !c.saw(history.StepDown, victim, "wiped: "+detail) {
		t.Errorf("the wipe told %q, or its step did not", detail)
	}
	if d := c.Dump(victim); len(d) != 0 {
		t.Errorf("a wiped broker holds %+v", d)
	}
	for _, r := range c.Observe().Partitions[0].Replicas {
		if r.Broker == victim && (r.Up || r.LEO > 0) {
			t.Errorf("a wiped replica is observed as %+v", r)
		}
	}
	if _, err := c.Wipe(victim); err == nil {
		t.Error("a broker was wiped that is gone")
	}
	c.do(c.Start(victim))
	c.eventually("all in sync", func() bool { return len(c.Observe().Partitions[0].ISR) == 3 })
	leo := map[history.Offset]bool{}
	for _, b := range c.Brokers() {
		for _, d := range c.Dump(b) {
			leo[d.LEO] = true
		}
	}
	if len(leo) != 1 || leo[0] {
		t.Errorf("the replicas end at %v, expected one end above 0", leo)
	}
}

func (c *cluster) follower(p history.PartitionState) history.BrokerID {
	for _, b := range p.ISR {
		if b != p.Leader {
			return b
		}
	}
	c.t.Fatalf("no follower in %+v", p)
	return history.NoBroker
}

// volume lists what lies on a volume, as the engine's machine has it.
func (c *cluster) volume(name string) []string {
	c.t.Helper()
	entries, err := os.ReadDir(dockerSays(c.t, "volume", "inspect", "-f", "{{.Mountpoint}}", name))
	if err != nil {
		c.t.Skipf("the volumes of the engine cannot be seen from here: %v", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestEveryStateIsTakenDown leaves a broker frozen, one paused and one wiped, links cut and lossy: the end of the test takes it all down.
func TestEveryStateIsTakenDown(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.do(c.Cut(1, 2, world.ControllerPort))
	c.do(c.Lose(1, 3, 0.3))
	_, err := c.Wipe(3)
	c.do(err)
	c.do(c.Freeze(1))
	c.do(c.Pause(2))
}

// TestLimitsAreTheKernels gives brokers the least memory and a part of a processor: the kernel holds them to it, they know it, and they
// serve all the same.
func TestLimitsAreTheKernels(t *testing.T) {
	t.Parallel()
	const memory = 64 << 20
	c := startAs(t, func(r *history.Run) { r.Memory, r.CPUs = memory, 0.3 })
	c.work(2).Load(c.env.Now() + 3*time.Second)
	if leo := c.Observe().Partitions[0].Replicas[0].LEO; leo < 20 {
		t.Errorf("%d records were written in 3 s, expected 20 or more", leo)
	}
	for _, b := range c.Brokers() {
		if got := dockerSays(t, "inspect", "-f", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}", c.container(b)); got != "67108864 300000000" {
			t.Errorf("broker %d has limits %s", b, got)
		}
		if log, err := c.Log(b); err != nil || !strings.Contains(log, "fits into the container's memory") || !strings.Contains(log, itoa(memory)) {
			t.Errorf("broker %d does not know its memory: %v", b, err)
		}
		if quota := ofKernel(t, c.container(b), "cpu.cfs_quota_us", "cpu.max"); quota != "" && !strings.HasPrefix(quota, "30000") {
			t.Errorf("the kernel gives broker %d %q µs of each 100 ms", b, quota)
		}
		if killed := dockerSays(t, "inspect", "-f", "{{.State.OOMKilled}} {{.State.Running}}", c.container(b)); killed != "false true" {
			t.Errorf("broker %d: killed for its memory, runs: %s", b, killed)
		}
	}
}
