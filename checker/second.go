package checker

import (
	"fmt"
	"io"
	"slices"
	"time"

	"tidemark/checker/linear"
	"tidemark/history"
)

// What the second judge may say. OutOfBudget is never a pass.
const (
	Agrees      = "agrees"
	Objects     = "objects"
	OutOfBudget = "unknown"
	NotAsked    = "not asked"
)

// Second is what the second judge said.
type Second struct {
	Outcome string `json:"outcome"` // Agrees, Objects, OutOfBudget or NotAsked
	Windows int    `json:"windows"`
	Unknown int    `json:"unknown"` // windows that it gave no answer on
	Budget  string `json:"budget"`
	// Where lists the windows that it objects to, and the first without an answer of each partition where its budget ran out; at most secondWhere.
	Where []linear.Stretch `json:"where,omitempty"`
}

// secondWhere bounds what a verdict lists of windows.
const secondWhere = 32

// secondTime bounds porcupine's time on one window. Its steps run out long before, but for what nobody thought of.
const secondTime = time.Minute

// askSecond asks the second judge about a history. It is told what the contract promises, and nothing that the log checker found.
func askSecond(p *premises, steps int) Second {
	if steps <= 0 || !p.contract.CommittedReads {
		return Second{Outcome: NotAsked}
	}
	a := linear.Judge(p.h, p.question(), linear.Budget{Steps: int64(steps), Window: secondTime})
	s := Second{Outcome: Agrees, Windows: a.Windows, Unknown: a.Unjudged, Budget: fmt.Sprintf("%d model steps, %d or %v a window", steps, linear.WindowSteps, secondTime)}
	switch {
	case len(a.Objects) > 0:
		s.Outcome = Objects
	case a.Unjudged > 0:
		s.Outcome = OutOfBudget
	}
	s.Where = append(a.Objects, a.Unknown...)
	s.Where = slices.Clip(s.Where[:min(len(s.Where), secondWhere)])
	return s
}

// question is what the second judge must know of the contract.
func (p *premises) question() linear.Question {
	return linear.Question{Durable: p.contract.Durable, Dense: p.dense, Repeats: p.repeatable()}
}

// Picture is the window that Draw draws: the first that the second judge objects to, false if there is none or it is too large.
func (v Verdict) Picture() (linear.Stretch, bool) {
	if v.Porcupine.Outcome != Objects || len(v.Porcupine.Where) == 0 {
		return linear.Stretch{}, false
	}
	s := v.Porcupine.Where[0]
	return s, s.Drawable()
}

// Draw writes porcupine's picture of the window that Verdict.Picture tells, with the faults and the changes of leader in it, as one HTML page of
// a few megabytes at most. The verdict must be this build's on the history.
func Draw(w io.Writer, run history.Run, h *history.History, v Verdict) error {
	at, ok := v.Picture()
	if !ok {
		return fmt.Errorf("the second judge %s: there is nothing to draw, or too much", v.Porcupine.Outcome)
	}
	return linear.Draw(w, h, newLogCheck(run, h, ContractOf(run)).question(), at)
}

// secondFindings are the objections on partitions where the log checker found nothing that explains them.
func (v *Verdict) secondFindings() []Finding {
	if v.Porcupine.Outcome != Objects {
		return nil
	}
	var out []Finding
	for i := range v.Porcupine.Where {
		s := &v.Porcupine.Where[i]
		explained := func(f Finding) bool {
			return f.Partition == s.Partition && f.Severity == Violation && v.Contract.Sees(f.Class) != Blind
		}
		if slices.ContainsFunc(v.Findings, explained) || slices.ContainsFunc(out, func(f Finding) bool { return f.Partition == s.Partition }) {
			continue
		}
		w := nobody()
		w.Offset = s.Offset
		out = append(out, Finding{Class: Nonlinearizable, Severity: Violation, Partition: s.Partition, Offset: s.Offset, Count: 1,
			Ops: s.Ops[:min(len(s.Ops), witnessOps)], Signature: string(Nonlinearizable), Witness: w,
			Text: fmt.Sprintf("No order of the %d operations on %v from offset %d to %d makes a log in real time; the log checker saw nothing wrong.",
				s.Count, s.Partition, s.Offset, s.End)})
	}
	return out
}

// SecondJudge says in a sentence what porcupine adds to a verdict, "" where its outcome is none of those it may have.
func (v Verdict) SecondJudge() string {
	p := v.Porcupine
	switch p.Outcome {
	case Agrees:
		switch {
		case p.Windows == 0:
			return "The second judge (porcupine) had nothing to judge."
		case v.Status == Valid:
			return "The second judge (porcupine) confirms it: the history is linearizable, in " + eachOf(p.Windows) + "."
		case v.Status != Invalid:
			return "The second judge (porcupine) finds what there is of the history linearizable, in " + eachOf(p.Windows) + "."
		}
		for i := range v.Findings {
			if f := &v.Findings[i]; f.Severity == Violation && v.Contract.Sees(f.Class) == Sees {
				return "The second judge (porcupine) does not confirm it: it finds every operation in an order that a log could have."
			}
		}
		return "The second judge (porcupine) adds nothing: it finds every operation in an order that a log could have, so what is wrong lies elsewhere."
	case Objects:
		for i := range v.Findings {
			if v.Findings[i].Class == Nonlinearizable {
				return "The second judge (porcupine) alone objects to a part of the history: the log checker saw nothing wrong there."
			}
		}
		return "The second judge (porcupine) confirms it: the history is not linearizable."
	case OutOfBudget:
		return fmt.Sprintf("The second judge (porcupine) adds nothing: its budget (%s) ran out, and it says nothing of %d of %d windows%s.",
			p.Budget, p.Unknown, p.Windows, v.firstUnknown())
	case NotAsked:
		if v.Contract.CommittedReads {
			return "The second judge (porcupine) was not asked: it was given no budget."
		}
		return "The second judge (porcupine) was not asked: linearizability is promised only where what was read stays."
	}
	return ""
}

// eachOf writes of all windows.
func eachOf(windows int) string {
	if windows == 1 {
		return "its one window"
	}
	return fmt.Sprintf("each of its %d windows", windows)
}

// firstUnknown says where the second judge's budget ran out.
func (v Verdict) firstUnknown() string {
	if len(v.Porcupine.Where) == 0 {
		return ""
	}
	s := v.Porcupine.Where[0]
	if s.Offset == history.UnknownOffset {
		return fmt.Sprintf(", the first on %v", s.Partition)
	}
	return fmt.Sprintf(", the first on %v from offset %d on", s.Partition, s.Offset)
}
