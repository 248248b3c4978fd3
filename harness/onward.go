package harness

import (
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
)

// A plan's end is an event of its own: what is held is let go then, and who is cut off meets the others. To go on from what nearly happened by that needs a
// longer run, in which the same ends at the same time.

// onward is a run to go on from, with when each line of its plan struck, less than 0 for one that never did. If what is to follow a time needs room behind the
// plan's end, the run is longer, and its plan ends what that end has ended, and lacks what that kept from striking. What such a line draws is drawn anew.
func onward(res *Result, needs time.Duration) (run history.Run, struck []time.Duration) {
	run = res.Run
	plan, last := planOf(run), LastFault(run)
	began, _ := loadBegan(res.History)
	struck = make([]time.Duration, len(plan.Lines))
	for i := range struck {
		struck[i] = -1
	}
	ends := make([]time.Duration, len(plan.Lines))
	for _, e := range res.History.Faults {
		switch at := e.Time - began; {
		case e.Fault >= len(plan.Lines):
		case e.Phase == history.FaultRequested:
			struck[e.Fault] = at
		case e.Phase == history.FaultApplied:
			ends[e.Fault] = last - at
		case e.Phase == history.FaultUndone && at < last:
			ends[e.Fault] = 0
		}
	}
	if needs <= last {
		return run, struck
	}
	var lines []nemesis.Line
	kept := struck[:0]
	for i, l := range plan.Lines {
		if struck[i] < 0 {
			continue
		}
		if end := ends[i].Truncate(time.Microsecond); end > 0 && !checker.AtOnce(string(l.Fault.Kind)) && (l.For == 0 || l.For > end) {
			l.For = end
		}
		lines, kept = append(lines, l), append(kept, struck[i])
	}
	run.Duration = (needs + tailOfNemesis).Round(time.Second)
	return planned(run, lines), kept
}

// beyond is a run to go on from at whatever it nearly did.
func beyond(res *Result) (run history.Run, struck []time.Duration) {
	var needs time.Duration
	for _, near := range res.Near {
		needs = max(needs, near.At+splitTail)
	}
	return onward(res, needs)
}
