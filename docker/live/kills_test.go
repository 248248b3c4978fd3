package live_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/docker"
	"tidemark/docker/targets"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/results"
	"tidemark/world"
)

// allKills names the variable that makes TestKills take every moment; without it three stand for all.
const allKills = "TIDEMARK_KILLS"

// killedOf is whose brokers the harnesses run that TestKills kills.
var killedOf = flag.String("killed-of", "", "target of the runs that are killed; without it they have this program's own brokers")

// moment is when a harness is killed.
type moment struct {
	name, plan string
	reached    func(*testing.T, *harnessed) // nil: its fault is in force, as the history tells
	short      bool                         // among those that are taken without allKills
}

// possible reports whether a target's brokers can be given the moment's fault.
func (m moment) possible(t *testing.T, target string) bool {
	t.Helper()
	plan, err := nemesis.Parse(m.plan)
	if err != nil {
		t.Fatal(err)
	}
	can := docker.Abilities()
	if target != "" {
		admitted, err := targets.Find(target)
		if err != nil {
			t.Fatal(err)
		}
		can = admitted.Abilities
	}
	return !slices.ContainsFunc(plan.Needs(), func(a world.Ability) bool { return !slices.Contains(can, a) })
}

// moments are: during the start, with each kind of fault in force, during the end.
var moments = []moment{
	{name: "as it starts", plan: "", reached: starting, short: true},
	{name: "while a broker is dead", plan: "after 20 acks on orders/0 plus 1s kill leader(orders/0)\n"},
	{name: "while a broker is stopped", plan: "after 20 acks on orders/0 plus 1s stop leader(orders/0)\n"},
	{name: "during a pause", plan: "after 20 acks on orders/0 plus 1s pause leader(orders/0)\n"},
	{name: "during a freeze", plan: "after 20 acks on orders/0 plus 1s freeze leader(orders/0)\n", short: true},
	{name: "after a wipe", plan: "after 20 acks on orders/0 plus 1s wipe leader(orders/0)\n"},
	{name: "under a cut", plan: "after 20 acks on orders/0 plus 1s partition leader(orders/0) | rest\n"},
	{name: "under a cut at a port", plan: "after 20 acks on orders/0 plus 1s partition leader(orders/0) | rest on port controller\n"},
	{name: "under a loss", plan: "after 20 acks on orders/0 plus 1s loss leader(orders/0) | rest at 0.3\n"},
	{name: "while messages are held", plan: "after 20 acks on orders/0 plus 1s hold fetch responses leader(orders/0) -> rest\n"},
	{name: "as it ends", plan: "", reached: ending, short: true},
}

func starting(t *testing.T, h *harnessed) {
	h.until(t, func() bool { return len(ofRun(t, h.label())) > 2 })
}

func ending(t *testing.T, h *harnessed) {
	h.untilHistory(t, func(h *history.History) bool { return len(h.Ops) > 0 })
	running := func() int { return len(strings.Fields(dockerSays(t, "ps", "-q", "--filter", "label="+h.label()))) }
	whole := running()
	if err := h.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	h.until(t, func() bool { return running() < whole })
}

// TestKills kills a harness with SIGKILL at many moments. What it left is there, the next one's start removes all of it, and the history
// is readable up to its last whole frame.
func TestKills(t *testing.T) {
	e := engine(t)
	before := ""
	for _, m := range moments {
		if !m.short && os.Getenv(allKills) == "" || !m.possible(t, *killedOf) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			h := launch(t, m.plan)
			if m.reached == nil {
				h.untilHistory(t, underFault)
			} else {
				m.reached(t, h)
			}
			if before != "" {
				if left := ofRun(t, before); len(left) > 0 {
					t.Errorf("this start left %q of the harness that was killed before", left)
				}
			}
			_ = h.cmd.Process.Signal(syscall.SIGKILL)
			_ = h.cmd.Wait()
			if len(ofRun(t, h.label())) == 0 {
				t.Error("a killed harness left nothing: nothing is shown")
			}
			h.readable(t, m.reached == nil)
			before = h.label()
		})
	}
	removed, err := e.Cleanup(t.Context(), false)
	t.Logf("removed %q", removed)
	if err != nil {
		t.Error(err)
	}
	if left := ofRun(t, before); len(left) > 0 {
		t.Errorf("left after the cleanup: %q", left)
	}
}

// harnessed is a tidemark that runs by itself.
type harnessed struct {
	cmd  *exec.Cmd
	dir  string
	said string // name of the file of what it says
}

func launch(t *testing.T, plan string) *harnessed {
	t.Helper()
	dir := t.TempDir()
	faults := []string{"--faults", "none"}
	if plan != "" {
		file := filepath.Join(dir, "plan")
		if err := writeFile(file, plan); err != nil {
			t.Fatal(err)
		}
		faults = []string{"--plan", file}
	}
	h := &harnessed{dir: dir, said: filepath.Join(dir, "said")}
	said, err := os.Create(h.said)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close() //nolint:errcheck // the other process writes to it
	words := []string{"run", "--world", "docker", "--duration", "60s", "--out", dir}
	words = append(words, faults...)
	if *killedOf != "" {
		words = append(words, "--target", *killedOf)
	}
	h.cmd = exec.Command(tool(t), words...)
	h.cmd.Stdout, h.cmd.Stderr = said, said
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a moment that was not reached leaves one that must be gone for the next start, not a zombie
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	return h
}

func (h *harnessed) label() string { return "tidemark.pid=" + itoa(h.cmd.Process.Pid) }

// momentBound is how long a harness may take to reach the moment at which it is killed: three brokers on Java start in ten seconds, or thirty beside others.
const momentBound = 90 * time.Second

func (h *harnessed) until(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(momentBound); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(h.said)
			t.Fatalf("not within %v; it said: %s", momentBound, text)
		}
	}
}

// untilHistory waits until the history tells something, as far as the journal on disk goes.
func (h *harnessed) untilHistory(t *testing.T, tells func(*history.History) bool) {
	t.Helper()
	h.until(t, func() bool {
		files, _ := filepath.Glob(filepath.Join(h.dir, "runs", "*", "history.ndjson.zst"))
		if len(files) == 0 {
			return false
		}
		read, _, err := history.ReadJournalFile(files[0])
		return err == nil && tells(read)
	})
}

// underFault is that a fault was observed.
func underFault(h *history.History) bool {
	return slices.ContainsFunc(h.Faults, func(f history.FaultEvent) bool { return f.Phase == history.FaultObserved })
}

// readable reads the history as far as it was written: whole frames, and the fault that was in force.
func (h *harnessed) readable(t *testing.T, faulty bool) {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(h.dir, "runs", "*"))
	if len(dirs) != 1 {
		t.Fatalf("run directories %q, expected one", dirs)
	}
	d, _, err := results.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	read, truncated, err := d.History()
	switch {
	case errors.Is(err, fs.ErrNotExist) && !faulty: // it had not begun
	case err != nil:
		t.Errorf("the history: %v, %s", err, truncated)
	case faulty && (len(read.Ops) == 0 || !underFault(read)):
		t.Errorf("the history has %d operations and faults %+v, expected some, and one observed", len(read.Ops), read.Faults)
	}
}
