// Package live_test holds the container world to its word with a real engine. Where none answers its tests are skipped, unless
// CI=true or TIDEMARK_DOCKER=1: then that is a failure. `make test-docker` runs them.
package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/docker/targets"
	"tidemark/harness"
	"tidemark/history"
	"tidemark/workloads"
)

// binary is a static tidemark, built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "tidemark")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "tidemark/cmd/tidemark")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building tidemark: %w: %s", err, text)
	}
	return path, nil
})

// scratch is a directory for what all tests share.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "tidemark-live-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch) // only a temporary directory would be left
	os.Exit(code)
}

// tool is a static tidemark.
func tool(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// engine is the container engine; a test without one is skipped or, where one must be, fails.
func engine(t testing.TB) *docker.Engine {
	t.Helper()
	e, err := docker.Connect(t.Context())
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("TIDEMARK_DOCKER") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// run is a short run with the shorter times of all runs.
func run(t testing.TB, change func(*history.Run), plan string) history.Run {
	t.Helper()
	r := harness.Defaults()
	r.World, r.Duration, r.Parts, r.Started = harness.Contained, 5*time.Second, 1, time.Now().UTC()
	if change != nil {
		change(&r)
	}
	r, err := harness.Expand(r, plan)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cluster is three brokers with a topic, taken down after the test.
type cluster struct {
	*docker.Cluster
	t      testing.TB
	env    *docker.Env
	engine *docker.Engine
	run    history.Run
	record *history.Recorder

	mu    sync.Mutex
	steps []history.Step
}

func start(t testing.TB) *cluster { return startAs(t, nil) }

// startAs starts a cluster of a run that was changed.
func startAs(t testing.TB, change func(*history.Run)) *cluster {
	t.Helper()
	return startWith(t, change, docker.Options{})
}

// startWith starts a cluster of a run that was changed; of opt what it can do beyond what every run can is taken.
func startWith(t testing.TB, change func(*history.Run), opt docker.Options) *cluster {
	t.Helper()
	c := &cluster{t: t, engine: engine(t), run: run(t, change, "# no faults\n")}
	configs, err := harness.Configs(c.run)
	if err != nil {
		t.Fatal(err)
	}
	c.env = docker.NewEnv(context.Background(), 1)
	c.record = history.NewRecorder(c.env.Now, nil)
	opt = docker.Options{
		Configs: configs, Binary: tool(t), Memory: c.run.Memory, CPUs: c.run.CPUs, Messages: opt.Messages, Lags: opt.Lags, Say: func(line string) { t.Log(line) },
		Record: func(s history.Step, _ time.Duration) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.steps = append(c.steps, s)
		},
	}
	if c.run.Target != "" {
		target, err := targets.Find(c.run.Target)
		if err != nil {
			t.Fatal(err)
		}
		opt.Target, opt.Site = &target, harness.Site(c.run)
	}
	c.Cluster, err = docker.Start(c.env, c.engine, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.env.Run(func() error { return nil }); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if left := ofRun(t, "tidemark.run="+strings.TrimPrefix(c.Name(), "tidemark-")); len(left) > 0 {
			t.Errorf("the cluster left %q", left)
		}
	})
	if err := c.work(1).Create(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	return c
}

// work is the workload append.
func (c *cluster) work(writers int) *workloads.Append {
	return &workloads.Append{
		Env: c.env, Cluster: c, Record: c.record, Topic: c.run.Topic, Parts: c.run.Parts, Factor: c.run.Factor, Acks: -1,
		Writers: writers, Readers: 1, Rate: 100, Timeout: 2 * time.Second,
	}
}

// eventually waits for something that comes about within 15 s.
func (c *cluster) eventually(what string, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: not within 15s; the cluster is %+v", what, c.Observe())
		}
	}
}

// saw reports whether a step of that kind was recorded of a broker.
func (c *cluster) saw(kind history.StepKind, b history.BrokerID, detail string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.steps, func(s history.Step) bool {
		return s.Kind == kind && s.Broker == b && strings.Contains(s.Detail, detail)
	})
}

// do fails the test on an error.
func (c *cluster) do(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// ofRun lists the containers, networks and volumes with a label, by the engine's own program: not by what is being tested.
func ofRun(t testing.TB, label string) []string {
	t.Helper()
	var found []string
	for _, list := range [][]string{{"ps", "-a"}, {"network", "ls"}, {"volume", "ls"}} {
		text, err := exec.Command("docker", append(list, "-q", "--filter", "label="+label)...).Output()
		if err != nil {
			t.Fatalf("docker %v: %v", list, err)
		}
		for name := range strings.FieldsSeq(string(text)) {
			found = append(found, list[0]+" "+name)
		}
	}
	return found
}
