package harness

import (
	"fmt"
	"strings"

	"tidemark/broker/bug"
	"tidemark/checker"
	"tidemark/history"
	"tidemark/history/plain"
	"tidemark/results"
)

// Bounds on a verdict block, so that it fits a screen: the findings that it tells, and what each implies.
const (
	findingsTold = 3
	impliedTold  = 3
)

// Summary is the verdict block of a run, for a terminal.
func Summary(v checker.Verdict) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", strings.ToUpper(string(v.Status)), plain.Line(v.Reason))
	s := v.Stats
	fmt.Fprintf(&out, "  sends %d: %d acknowledged, %d failed, %d unknown; polls %d: %d records\n", s.Sends, s.Acked, s.Failed, s.Unknown, s.Polls, s.Records)
	fmt.Fprintf(&out, "  %d of %s took effect; leader changes %d, ISR shrinks %d, growths %d, truncations %d\n",
		s.FaultsObserved, faultsWord(s.Faults), s.LeaderChanges, s.ISRShrinks, s.ISRGrowths, s.Truncations)
	said := strings.ToLower(v.Reason) // so that it is said once only why the contract allows something
	for i := range v.Findings {
		if i == findingsTold {
			fmt.Fprintf(&out, "  and %d further findings, which report.html tells\n", len(v.Findings)-i)
			break
		}
		f := &v.Findings[i]
		text := f.Told()
		if strings.Contains(said, strings.ToLower(f.Why)) {
			text = f.Text
		}
		said += strings.ToLower(f.Why)
		fmt.Fprintf(&out, "  %s: %s%s%s\n    %s\n", plain.Line(string(f.Severity)), plain.Line(string(f.Class)), place(f.Partition), times(f.Count, f.Text), plain.Line(text))
		for j, m := range f.Implied {
			if j == impliedTold {
				fmt.Fprintf(&out, "    implies %d further classes of anomaly\n", len(f.Implied)-j)
				break
			}
			fmt.Fprintf(&out, "    implies: %s%s: %s\n", plain.Line(string(m.Class)), times(m.Count, m.Text), plain.Line(m.Text))
		}
	}
	if (v.Status == checker.Invalid || len(v.Findings) > 0) && !strings.Contains(said, strings.ToLower(v.Contract.Because)) {
		fmt.Fprintf(&out, "  contract: %s\n", plain.Line(v.Contract.Because))
	}
	for _, what := range v.Blind {
		fmt.Fprintf(&out, "  not looked at: %s\n", plain.Line(what))
	}
	return out.String()
}

// faultsWord is a number of faults.
func faultsWord(n int64) string {
	if n == 1 {
		return "1 fault"
	}
	return fmt.Sprintf("%d faults", n)
}

// times is how often a finding was made, if its text does not say so.
func times(count int, text string) string {
	if words := results.Times(count, text); words != "" {
		return ", " + words
	}
	return ""
}

// place says where a finding is; "" for one that is about no partition.
func place(p history.Partition) string {
	if p.Topic == "" {
		return ""
	}
	return " on " + plain.Line(p.String())
}

// Account is the verdict block of a run with what its history and options tell beside: the bug that was on, when the load began, and why
// faults did not come about.
func Account(res *Result) string {
	out := Summary(res.Verdict)
	if e, ok := bug.Find(bug.Name(res.Run.Bug)); ok {
		out += fmt.Sprintf("  bug on: %s (%s), %s\n", e.Name, e.Source, e.Mutation)
	}
	if res.History == nil {
		return out
	}
	load, begun := loadBegan(res.History)
	if begun {
		out += fmt.Sprintf("  the load began at %.3fs: the plan's times count from then, times in trace and report from the start of the run\n", load.Seconds())
	}
	if res.Run.Plan == "" {
		return out + "  no faults: a baseline\n"
	}
	return out + leadership(res.History, load) + idle(res.History.Faults, load)
}
