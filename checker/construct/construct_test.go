package construct_test

import (
	"reflect"
	"testing"

	"tidemark/checker"
	"tidemark/checker/construct"
	"tidemark/history"
)

// TestEqualConfigurationsMakeEqualHistories makes the same twice, and one with another seed.
func TestEqualConfigurationsMakeEqualHistories(t *testing.T) {
	cfg := construct.Random(5, 500)
	a, b := construct.Make(cfg), construct.Make(cfg)
	if !reflect.DeepEqual(a, b) {
		t.Error("equal configurations made different histories")
	}
	cfg.Seed++
	if reflect.DeepEqual(a.History, construct.Make(cfg).History) {
		t.Error("another seed made the same history")
	}
}

// TestHistoriesHoldWhatARunHolds makes one of everything and looks for each part: a history that lacks one tests nothing of it.
func TestHistoriesHoldWhatARunHolds(t *testing.T) {
	cfg := construct.Config{Seed: 1, Ops: 3000, Partitions: 3, Producers: 20, Consumers: 4, Unknown: 0.4, Failed: 0.05, NoOffset: 0.05, Lost: 0.1,
		Restarts: 0.05, Seeks: 0.2, Lists: 0.1, Gaps: 0.05, LeaderChanges: 6, Trims: 3, Deletes: 8, Retries: true, Detail: true}
	c := construct.Make(cfg)
	has := map[string]bool{}
	for i := range c.History.Ops {
		op := &c.History.Ops[i]
		has["a send that is "+[]string{"pending", "acknowledged", "failed", "unknown"}[op.Outcome]] = true
		has["an acknowledgement without an offset"] = has["an acknowledgement without an offset"] || op.Kind == history.Send && op.Outcome == history.OK && op.Offset < 0
		has["a seek"] = has["a seek"] || op.Kind == history.Seek
		has["an out-of-range answer"] = has["an out-of-range answer"] || op.Error == "OFFSET_OUT_OF_RANGE"
		has["a poll of an old leader"] = has["a poll of an old leader"] || op.Error == "NOT_LEADER_OR_FOLLOWER" && op.Kind == history.Poll
		has["a ListOffsets of the end"] = has["a ListOffsets of the end"] || op.Kind == history.ListOffsets && op.Position == history.Latest && op.Offset > 0
		has["a ListOffsets of the start"] = has["a ListOffsets of the start"] || op.Kind == history.ListOffsets && op.Position == history.Earliest && op.Offset > 0
		if op.Kind == history.DeleteRecords {
			has["a DeleteRecords that is "+[]string{"pending", "answered", "refused", "unknown"}[op.Outcome]] = true
		}
		has["a log start"] = has["a log start"] || op.LogStart > 0
		has["a marker"] = has["a marker"] || op.Marker
		has["a final read"] = has["a final read"] || op.Final
	}
	for i := range c.History.Steps {
		has["step "+string(c.History.Steps[i].Kind)] = true
	}
	for i := range c.History.Faults {
		has["fault "+string(c.History.Faults[i].Phase)] = true
	}
	for _, log := range c.Logs {
		copies := map[string]bool{}
		for _, e := range log {
			has["a gap"] = has["a gap"] || e.Value == ""
			has["a copy"] = has["a copy"] || e.Value != "" && copies[e.Value]
			copies[e.Value] = true
		}
	}
	for _, part := range []string{"a send that is pending", "a send that is acknowledged", "a send that is failed", "a send that is unknown",
		"an acknowledgement without an offset", "a seek", "an out-of-range answer", "a poll of an old leader", "a log start", "a ListOffsets of the end", "a ListOffsets of the start", "a DeleteRecords that is answered",
		"a DeleteRecords that is refused", "a DeleteRecords that is unknown", "a marker", "a final read",
		"a gap", "a copy", "step election", "step follow", "step isr", "step hw", "step append", "step truncate", "step start", "step down",
		"fault requested", "fault applied", "fault observed", "fault undone", "fault verified"} {
		if !has[part] {
			t.Errorf("no history holds %s", part)
		}
	}
	if len(c.History.States) == 0 || len(c.History.Dumps) != 9 || len(c.History.Marks) != 6 {
		t.Errorf("%d states, %d dumps, %d marks", len(c.History.States), len(c.History.Dumps), len(c.History.Marks))
	}
}

// TestTheSmallestHistory has one operation, a marker, its reading back and a final read.
func TestTheSmallestHistory(t *testing.T) {
	c := construct.Make(construct.Config{Ops: 1})
	if len(c.History.Ops) != 4 {
		t.Fatalf("%d operations", len(c.History.Ops))
	}
	if v := checker.Check(c.Run, c.History, checker.Options{}); len(v.Findings) > 0 {
		t.Errorf("%s", tell(v))
	}
}

// counting is a sink that keeps nothing.
type counting struct{ entries int64 }

func (s *counting) Invoke(history.Op) int64    { s.entries++; return s.entries }
func (s *counting) Complete(int64, history.Op) { s.entries++ }
func (s *counting) Fault(history.FaultEvent)   { s.entries++ }
func (s *counting) State(history.ClusterState) { s.entries++ }
func (s *counting) Step(history.Step)          { s.entries++ }
func (s *counting) Dump(history.Dump)          { s.entries++ }
func (s *counting) Mark(string, bool, string)  { s.entries++ }

// BenchmarkPlay makes a million operations, and ten million, for a sink that keeps nothing.
func BenchmarkPlay(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		b.Run(map[int]string{1_000_000: "1M", 10_000_000: "10M"}[n], func(b *testing.B) {
			for b.Loop() {
				construct.New(construct.Config{Seed: 1, Ops: n, Partitions: 8, Producers: 5, Consumers: 5, Unknown: 0.01, LeaderChanges: 4}).Play(&counting{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/op-of-history")
		})
	}
}
