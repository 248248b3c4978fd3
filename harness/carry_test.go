package harness

import (
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/workloads"
)

// TestAPlanCrossesWorlds carries a run of the simulator with a known bug over to releases of Apache Kafka: the plan, the seed and what was set by
// hand stay; the bug, what this program's brokers alone have, and their shorter times do not.
func TestAPlanCrossesWorlds(t *testing.T) {
	run := Defaults()
	run.Seed, run.Bug, run.Parts = 7, "truncate-to-hw", 1
	run.Config = map[string]string{"replica.fetch.wait.max.ms": "600", "tidemark.producer.id.block.size": "9", "replica.lag.time.max.ms": "4000"}
	stored, err := Expand(run, "at 5s hold fetch responses broker 1 -> broker 3 nth 2 for 10s\nwhen leader(orders/0) = 2 kill broker 2 for 9s\n")
	if err != nil {
		t.Fatal(err)
	}
	old, err := Carried(stored, Where{World: Contained, Target: "apache-kafka:0.10.2.2"})
	if err != nil {
		t.Fatal(err)
	}
	if old.Plan != stored.Plan || old.Seed != 7 || old.Parts != 1 || old.World != Contained || old.Bug != "" || old.ELR {
		t.Errorf("carried over as %+v", old)
	}
	for key, want := range map[string]string{
		"replica.fetch.wait.max.ms": "600", "replica.lag.time.max.ms": "4000", "tidemark.producer.id.block.size": "",
		"zookeeper.session.timeout.ms": "6000", "broker.session.timeout.ms": "", "log.segment.bytes": "65536",
	} {
		if old.Config[key] != want {
			t.Errorf("%s=%q, expected %q", key, old.Config[key], want)
		}
	}
	own, err := Carried(stored, Where{World: Contained})
	if err != nil || own.Bug != stored.Bug || own.Config["tidemark.producer.id.block.size"] != "9" {
		t.Errorf("to this program's own brokers: %+v, %v", own, err)
	}
	back, err := Carried(old, Where{World: Simulated})
	if err != nil || back.Plan != stored.Plan || back.Config["broker.session.timeout.ms"] != "3000" || back.Config["replica.lag.time.max.ms"] != "4000" {
		t.Errorf("back to the simulator: %+v, %v", back, err)
	}
	stored.Plan = ""
	if none, err := Carried(stored, Where{World: Contained}); err != nil || none.Plan != "" {
		t.Errorf("a run without faults has the plan %q, %v", none.Plan, err)
	}
}

// TestAPlanThatCannotCross asks a target for what it does not have: the error names it.
func TestAPlanThatCannotCross(t *testing.T) {
	run := Defaults()
	stored, err := Expand(run, "at 5s powerfail broker 1 for 3s\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Carried(stored, Where{World: Contained, Target: "apache-kafka:4.1.0"}); err == nil || !strings.Contains(err.Error(), "cannot do powerfail") {
		t.Errorf("%v", err)
	}
	if _, err := Carried(stored, Where{World: Contained, Target: "kafka"}); err == nil || !strings.Contains(err.Error(), "no such target") {
		t.Errorf("%v", err)
	}
}

// TestKOfN counts runs as they stand to the one that was stored.
func TestKOfN(t *testing.T) {
	found := func(class checker.Class, signature string) checker.Verdict {
		return checker.Verdict{Status: checker.Invalid, Findings: []checker.Finding{{Class: class, Severity: checker.Violation, Signature: signature}}}
	}
	lost := Alike{Stored: found(checker.LostWrite, "lost: election, truncation")}
	behind := found(checker.TwoValues, "two values: election")
	behind.Findings = append(behind.Findings, found(checker.LostWrite, "lost: restart").Findings...)
	implied := found(checker.TwoValues, "two values: restart")
	implied.Findings[0].Implied = []checker.Implied{{Class: checker.LostWrite}}
	for _, v := range []checker.Verdict{
		found(checker.LostWrite, "lost: election, truncation"), found(checker.LostWrite, "lost: restart"), behind, implied,
		found(checker.NotSettled, "not settled"), {Status: checker.Valid}, {Status: checker.Vacuous},
	} {
		lost.Add(v)
	}
	lost.Errors = 1
	want := `4 of 7 runs fail of the stored run's class, lost acknowledged write; 1 with its whole signature
  1: invalid: not settled
  1: vacuous
  1: valid
  1 came to no verdict`
	if got := lost.String(); got != want || lost.Worst() != checker.Invalid {
		t.Errorf("%s\n%s", lost.Worst(), got)
	}
	valid := Alike{Stored: checker.Verdict{Status: checker.Valid}}
	valid.Add(checker.Verdict{Status: checker.Valid})
	if got := valid.String(); got != "1 of 1 runs are valid, as the stored one" || valid.Worst() != checker.Valid {
		t.Errorf("%s %s", valid.Worst(), got)
	}
	valid.Add(checker.Verdict{Status: checker.Vacuous})
	if valid.Worst() != checker.Vacuous {
		t.Errorf("the worst is %s", valid.Worst())
	}
}

// TestPlacementIsThatOfTheSimulator compares where replicas are asked to go on brokers of another make with where this program's own put them.
func TestPlacementIsThatOfTheSimulator(t *testing.T) {
	for _, of := range [][3]int{{1, 1, 1}, {3, 3, 3}, {4, 5, 3}, {5, 7, 2}} {
		run := Defaults()
		run.Brokers, run.Parts, run.Factor, run.Duration, run.MinISR = of[0], of[1], of[2], 2*1e9, 1
		run, err := Expand(run, "# none\n")
		if err != nil {
			t.Fatal(err)
		}
		res, err := Simulate(t.Context(), run, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		last := res.History.States[len(res.History.States)-1]
		want := workloads.Placement(BrokerIDs(run), run.Parts, run.Factor)
		for i, p := range last.Partitions {
			var got []history.BrokerID
			for _, r := range p.Replicas {
				got = append(got, r.Broker)
			}
			if len(got) != of[2] || joined(got) != joined(want[i]) {
				t.Errorf("%d brokers: %v is on %v, expected %v", of[0], p.Partition, got, want[i])
			}
		}
	}
}
