package edn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tidemark/history"
)

// TestRead tells, in testdata/read, how Jepsen's operations become ours, and in testdata/refused what is said of input that is wrong.
func TestRead(t *testing.T) {
	for _, path := range []string{"testdata/read", "testdata/refused"} {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "read" {
				return "unknown command " + d.Cmd
			}
			run, h, err := Read(strings.NewReader(d.Input))
			if err != nil {
				return err.Error()
			}
			return told(run, h)
		})
	}
}

// told is a history, one line an entry.
func told(run history.Run, h *history.History) string {
	var out strings.Builder
	fmt.Fprintf(&out, "topic %s, partitions %d, acks %d\n", run.Topic, run.Parts, run.Acks)
	for i := range h.Ops {
		op := &h.Ops[i]
		fmt.Fprintf(&out, "%d process %d: %s", op.ID, op.Process, [...]string{"send", "poll", "seek"}[op.Kind])
		if op.Kind == history.Send {
			fmt.Fprintf(&out, " %s to %s", op.Value, op.Partition)
		} else if op.Partition != (history.Partition{}) {
			fmt.Fprintf(&out, " %s", op.Partition)
			if op.Position >= 0 {
				fmt.Fprintf(&out, " from %d", op.Position)
			}
		}
		fmt.Fprintf(&out, ", %s", [...]string{"pending", "ok", "failed", "unknown"}[op.Outcome])
		if op.Offset >= 0 {
			fmt.Fprintf(&out, " at %d", op.Offset)
		}
		for _, r := range op.Records {
			fmt.Fprintf(&out, " %d=%s", r.Offset, r.Value)
		}
		fmt.Fprintf(&out, "; index %d to %d, time %d to %d", op.InvokeIndex, op.ReturnIndex, op.Invoke, op.Return)
		if op.Final {
			out.WriteString(", final")
		}
		if op.Error != "" {
			fmt.Fprintf(&out, ", error %s", op.Error)
		}
		out.WriteString("\n")
	}
	for _, f := range h.Faults {
		fmt.Fprintf(&out, "fault %d %s %s: %s; index %d, time %d %s\n", f.Fault, f.Kind, f.Phase, f.Line, f.Index, f.Time, f.Detail)
	}
	return out.String()
}
