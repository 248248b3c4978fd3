package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/history"
)

// TestPictureOfAnObjection checks that the second judge's picture lies beside the report, linked from it, as long as there is something to draw.
func TestPictureOfAnObjection(t *testing.T) {
	o, _ := invalidRun()
	o.Run.Acks, o.Run.MinISR, o.Run.Factor, o.Run.Unclean, o.Run.Beyond = -1, 2, 3, false, false
	p := history.Partition{Topic: "orders"}
	h := &history.History{Ops: []history.Op{
		{ID: 0, Kind: history.Send, Outcome: history.OK, Acks: -1, Partition: p, Value: "a", Offset: 0, InvokeIndex: 1, ReturnIndex: 2},
		{ID: 1, Kind: history.Poll, Outcome: history.OK, Partition: p, HW: 1, InvokeIndex: 3, ReturnIndex: 4, Records: []history.Record{{Offset: 0, Value: "b"}}},
	}}
	root := t.TempDir()
	d, err := Create(root, o.Run)
	if err != nil {
		t.Fatal(err)
	}
	for _, right := range []bool{false, true} {
		if right {
			h.Ops[1].Records[0].Value = "a"
		}
		o.Verdict = checker.Check(o.Run, h, checker.Options{PorcupineSteps: 1000})
		if err := d.Finish(o, h); err != nil {
			t.Fatal(err)
		}
		picture, err := os.ReadFile(filepath.Join(d.Path, "porcupine.html"))
		if drawn := err == nil; drawn == right {
			t.Errorf("right %v, second judge %s: a picture %v, %v", right, o.Verdict.Porcupine.Outcome, drawn, err)
		}
		if !right && !strings.Contains(string(picture), "read from 0: b at 0") {
			t.Error("the picture does not show the wrong answer")
		}
		report, err := os.ReadFile(d.ReportPath())
		if err != nil || strings.Contains(string(report), `<a href="porcupine.html">`) == right {
			t.Errorf("right %v: the report's link to the picture, %v", right, err)
		}
	}
}
