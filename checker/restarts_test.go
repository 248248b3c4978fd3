package checker

import (
	"testing"
	"time"

	"tidemark/history"
)

// TestARestartAfterDeletion kills a broker whose file of high watermarks says nothing any more of a topic that was deleted: the log that is still
// there starts at 0, which is nobody's concern. Of a topic that still stands it is an anomaly.
func TestARestartAfterDeletion(t *testing.T) {
	for topic, wrong := range map[string]bool{"again@1f3a09c2": false, "orders": true} {
		p := history.Partition{Topic: topic}
		step := func(at int64, kind history.StepKind, from, to history.Offset, detail string) history.Step {
			s := history.Step{Index: at, Time: time.Duration(at) * time.Second, Kind: kind, Broker: 3, Partition: p, From: from, To: to, Detail: detail}
			if kind == history.StepDown {
				s.Partition = history.Partition{}
			}
			return s
		}
		h := &history.History{
			Ops: []history.Op{{Kind: history.Poll, Outcome: history.OK, Process: 1, Partition: p, Broker: 1, HW: 10, InvokeIndex: 1, ReturnIndex: 2}},
			Steps: []history.Step{
				step(3, history.StepStart, 10, 12, ""),
				step(4, history.StepDown, 0, 0, endedByKill),
				step(5, history.StepStart, 0, 12, ""),
			},
		}
		v := Check(history.Run{World: "sim", Topic: "orders", Recreated: "again", Acks: -1, Factor: 3, MinISR: 2, ELR: true}, h, Options{})
		if got := len(v.Findings) > 0 && v.Findings[0].Class == HWBack; got != wrong {
			t.Errorf("%s: %+v, expected a high watermark that goes back: %v", topic, v.Findings, wrong)
		}
	}
}
