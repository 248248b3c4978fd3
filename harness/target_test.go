package harness

import (
	"slices"
	"strings"
	"testing"

	"tidemark/history"
	"tidemark/world"
)

// targeted is a run of a target.
func targeted(target string, change func(*history.Run)) history.Run {
	run := Defaults()
	run.World, run.Target = Contained, target
	if change != nil {
		change(&run)
	}
	return run
}

// TestRunsOfTargets expands runs of other brokers: their faults and configuration are the target's.
func TestRunsOfTargets(t *testing.T) {
	old, err := Expand(targeted("apache-kafka:0.10.2.2", nil), "")
	if err != nil {
		t.Fatal(err)
	}
	if old.ELR || old.Config["zookeeper.session.timeout.ms"] == "" || old.Config["broker.session.timeout.ms"] != "" || strings.Contains(old.Plan, "powerfail") {
		t.Errorf("expanded to %+v", old)
	}
	if can := abilities(old); !slices.Contains(can, world.CanElect) || !slices.Contains(can, world.CanZooKeeper) {
		t.Errorf("0.10.2.2 admits %v", can)
	}
	now, err := Expand(targeted("apache-kafka:4.1.0", func(r *history.Run) { r.Config = map[string]string{"log.segment.bytes": "2097152"} }), "at 1s elect follower(orders/0) on orders/0\n")
	if err != nil || !now.ELR {
		t.Fatalf("%v, ELR %t", err, now.ELR)
	}
	s := Site(now)
	if s.Settings["log.segment.bytes"] != "2097152" || s.Settings["min.insync.replicas"] != "2" || len(s.Nodes) != 3 || !s.Nodes[2].Voter {
		t.Errorf("the site is %+v", s)
	}
	if got := strings.Join(Unusual(now), " "); got != "--target apache-kafka:4.1.0 --config log.segment.bytes=2097152" {
		t.Errorf("told as %q", got)
	}
}

// TestTargetsRefuse asks for what a target or its world does not have.
func TestTargetsRefuse(t *testing.T) {
	for want, run := range map[string]history.Run{
		`world "sim"`:                targeted("apache-kafka:4.1.0", func(r *history.Run) { r.World = Simulated }),
		"no such target":             targeted("kafka", nil),
		"this program's own":         targeted("apache-kafka:4.1.0", func(r *history.Run) { r.Bug = "truncate-to-hw" }),
		"expected Apache Kafka 0.11": targeted("apache-kafka:0.10.2.2", func(r *history.Run) { r.Idempotent = true }),
		"expected Apache Kafka 2.4":  targeted("apache-kafka:1.1.1", func(r *history.Run) { r.FollowerFetch = true }),
		"each broker of a run":       targeted("apache-kafka:4.1.0", func(r *history.Run) { r.Config = map[string]string{"broker.rack": "a"} }),
		"image \"\", command []":     targeted("mine", func(r *history.Run) { r.Template = "faults: [kill]\n" }),
	} {
		if _, err := Expand(run, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if _, err := Expand(targeted("apache-kafka:4.1.0", nil), "at 1s kill zookeeper\n"); err == nil || !strings.Contains(err.Error(), "none stands beside") {
		t.Errorf("a ZooKeeper that is not there: %v", err)
	}
}
