package live_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/checker"
	"tidemark/harness"
	"tidemark/results"
	"tidemark/results/browser"
)

// pastTries is how often TestAPublishedLoss tries: it is found in nine runs of ten on a quiet machine, and a busy one may keep a broker from coming back in time.
var pastTries = flag.Int("past-tries", 4, "runs in which a published loss must be found once")

// TestAPublishedLoss finds the loss of acknowledged writes that Apache Kafka 0.10.2.2 really has, KIP-101, by its scenario of eight lines, and
// reads its page.
func TestAPublishedLoss(t *testing.T) {
	engine(t)
	all, err := harness.Defects()
	if err != nil {
		t.Fatal(err)
	}
	d := all[0]
	for n := range *pastTries {
		d.Run.Seed = uint64(n + 1)
		dir, res := carryOut(t, d.Run)
		v := res.Verdict
		if v.Status == checker.Invalid && res.Shows(d.Class) {
			if err := harness.Save(dir, res); err != nil {
				t.Fatal(err)
			}
			browser.Open(t, "light").Tour(t, dir.ReportPath(), "Invalid: "+string(v.Findings[0].Class))
			return
		}
		t.Logf("try %d: %s", n+1, harness.Summary(v))
	}
	t.Errorf("%s was found in none of %d runs of %s", d.Name, *pastTries, d.Release)
}

// TestABrokerThatDoesNotComeBack spoils the configuration of a broker while it is down: it exits whenever it is started again, and that is what the
// run finds, not trouble of the harness.
func TestABrokerThatDoesNotComeBack(t *testing.T) {
	e := engine(t)
	r := run(t, nil, "at 1s kill broker 1 for 3s\n")
	d, err := results.Create(t.TempDir(), r)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := filepath.Join(t.TempDir(), "broker.properties")
	if err := os.WriteFile(spoilt, []byte("node.id=nobody\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := false
	spoil := func(p harness.Progress) {
		if done || len(p.Force) == 0 {
			return
		}
		done = true
		own, err := e.Own(t.Context())
		if err != nil {
			t.Error(err)
		}
		for _, what := range own {
			if name, is := strings.CutPrefix(what, "container "); is && strings.HasSuffix(name, "-1") {
				if said, err := exec.Command("docker", "cp", spoilt, name+":/etc/tidemark/broker.properties").CombinedOutput(); err != nil {
					t.Errorf("docker cp: %v: %s", err, said)
				}
			}
		}
	}
	begun := time.Now()
	res, err := harness.Contain(t.Context(), r, d, harness.Look{Binary: tool(t), Say: func(line string) { t.Log(line) }, Progress: spoil})
	if err != nil {
		t.Fatal(err)
	}
	if v := res.Verdict; v.Status != checker.Invalid || v.Findings[0].Class != checker.BrokerNotBack || !strings.Contains(v.Findings[0].Text, "exited with code") {
		t.Errorf("after %v: %s", time.Since(begun), harness.Summary(v))
	}
}
