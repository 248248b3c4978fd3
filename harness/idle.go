package harness

import (
	"fmt"
	"strings"
	"time"

	"tidemark/history"
)

// loadBegan is when the load began, from which a plan's times count.
func loadBegan(h *history.History) (time.Duration, bool) {
	for _, m := range h.Marks {
		if m.Name == "load" {
			return m.Time, true
		}
	}
	return 0, false
}

// idleMax bounds the faults that idle tells of.
const idleMax = 5

// idle tells of the faults that did not come about, a line each, and why: refused, failed, or applied and never seen to take effect. Times
// count from the load, as the plan's do.
func idle(faults []history.FaultEvent, load time.Duration) string {
	observed := map[int]bool{}
	for _, e := range faults {
		if e.Phase == history.FaultObserved {
			observed[e.Fault] = true
		}
	}
	var out strings.Builder
	told, budget := 0, false
	for _, e := range faults {
		fate := "  " + string(e.Phase) + " %.2fs into the load"
		switch {
		case e.Phase == history.FaultRefused || e.Phase == history.FaultFailed:
		case e.Phase == history.FaultUndone && !observed[e.Fault]:
			fate = "  by %.2fs into the load it had not been seen to take effect"
		default:
			continue
		}
		budget = budget || strings.Contains(e.Detail, "outside the fault budget")
		if told++; told <= idleMax {
			fmt.Fprintf(&out, fate+": %s\n    %s\n", (e.Time - load).Seconds(), e.Line, e.Detail)
		}
	}
	if told > idleMax {
		fmt.Fprintf(&out, "  and %d more faults that did not come about (report.html tells of each)\n", told-idleMax)
	}
	if budget {
		out.WriteString("  --beyond-budget lets faults go beyond the budget; the contract then promises less (tidemark help plan)\n")
	}
	return out.String()
}
