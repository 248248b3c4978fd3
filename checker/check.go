package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
)

// Version names this checker in a verdict: a stored run may be checked again by a later one.
const Version = "tidemark-2"

// maxFindings bounds a verdict; what is beyond is counted in the last finding of its class.
const maxFindings = 200

// Check judges a history.
func Check(run history.Run, h *history.History, opt Options) Verdict {
	contract := ContractOf(run)
	v := Verdict{Format: 1, Checker: Version, Contract: contract}
	act := measure(run, h)
	v.Stats = act.stats
	c := newLogCheck(run, h, contract)
	c.check()
	act.changed = act.changed || c.repeatedAfter(act.fault)
	v.Stats.UnknownInLog = c.unknownInLog()
	v.Findings = c.findings()
	v.Porcupine = askSecond(&c.premises, opt.PorcupineSteps)
	v.Findings = append(v.Findings, v.secondFindings()...)
	v.Findings = append(v.Findings, exitFindings(h, contract)...)
	v.Findings = append(v.Findings, settleFindings(h, contract)...)
	v.Findings = c.differing(v.Findings)
	v.Findings = append(v.Findings, brokenFindings(h)...)
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Severity == Allowed {
			f.Why = contract.whyAllowed(f.Class)
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.order(), b.Severity.order()), cmp.Compare(rules[a.Class], rules[b.Class]))
	})
	nameFaults(h, v.Findings)
	v.Blind = blind(run, h)
	v.conclude(&act, c.undecided, cmp.Or(unfinished(run, h), c.unread()))
	return v
}

func (s Severity) order() int {
	switch s {
	case Violation:
		return 0
	case Allowed:
		return 1
	}
	return 2
}

// where names a partition in a sentence; "" for the zero partition, which stands for the cluster as a whole.
func where(p history.Partition) string {
	if p == (history.Partition{}) {
		return ""
	}
	return " on " + p.String()
}

// brokenFindings tells the invariants that were broken, those of one partition together: what breaks first breaks others soon.
func brokenFindings(h *history.History) []Finding {
	var out []Finding
	at := map[history.Partition]int{}
	for i := range h.Steps {
		s := &h.Steps[i]
		if s.Kind != history.StepInvariant {
			continue
		}
		name, detail, _ := strings.Cut(s.Detail, ": ")
		n, ok := at[s.Partition]
		if !ok {
			n = len(out)
			at[s.Partition] = n
			out = append(out, Finding{Class: InvariantBroken, Severity: Violation, Partition: s.Partition, Offset: s.From, Invariant: name,
				Signature: string(InvariantBroken) + ": " + name,
				Witness:   Witness{Offset: s.From, Producer: -1, Acked: -1, AckedBy: history.NoBroker, AckEpoch: -1},
				Text:      fmt.Sprintf("%s was broken%s at %s: %s", name, where(s.Partition), clock(int64(s.Time)), sentence(detail))})
		} else if out[n].Count < maxWitnessSteps {
			out[n].Text += fmt.Sprintf(" Then %s at %s: %s", name, clock(int64(s.Time)), sentence(detail))
		}
		f := &out[n]
		if f.Count++; f.Count <= maxWitnessSteps {
			f.Witness.Steps = append(f.Witness.Steps, *s)
		}
	}
	return out
}

// conclude sets status and reason: a violation outranks everything, then what could not be decided, then what means nothing.
func (v *Verdict) conclude(act *activity, undecided int64, unfinished string) {
	violations, allowed := 0, 0
	var why []string
	for i := range v.Findings {
		switch v.Findings[i].Severity {
		case Violation:
			violations++
		case Allowed:
			allowed += max(1, v.Findings[i].Count)
			if w := v.Contract.whyAllowed(v.Findings[i].Class); !slices.Contains(why, w) {
				why = append(why, w)
			}
		}
	}
	vacuous := act.vacuous()
	switch {
	case violations > 0:
		v.Status = Invalid
		v.Reason = upper(string(v.Findings[0].Class))
		if p := v.Findings[0].Partition; p != (history.Partition{}) {
			v.Reason += " on " + p.String()
		}
		if violations > 1 {
			v.Reason += ", and " + count(violations-1, "more violation")
		}
		v.Reason += "."
	case unfinished != "":
		v.Status, v.Reason = Unknown, unfinished
	case undecided > 0 && v.Contract.Durable:
		v.Status = Unknown
		v.Reason = fmt.Sprintf("%d acknowledged writes could not be judged: no final read and no full set of replica dumps tells about them.", undecided)
	case v.Porcupine.Outcome == OutOfBudget:
		v.Status = Unknown
		v.Reason = fmt.Sprintf("The log checker found nothing, and the second judge ran out of its budget (%s): it says nothing of %d of %d windows%s.",
			v.Porcupine.Budget, v.Porcupine.Unknown, v.Porcupine.Windows, v.firstUnknown())
	case vacuous != "":
		v.Status, v.Reason = Vacuous, vacuous
	default:
		v.Status = Valid
		v.Reason = v.agreement()
		if act.baseline {
			v.Reason = baseline + ": it says nothing of what they would do. " + v.Reason
		}
		if allowed > 0 {
			v.Reason += " The contract allows " + counted(allowed, "anomaly", "anomalies") + ": " + strings.Join(why, " ")
		}
	}
}

// agreement says what was compared with the log. Under acks=0 no producer hears of its writes; that they are found is all there is to tell.
func (v *Verdict) agreement() string {
	s := &v.Stats
	if v.Contract.Acks == 0 {
		return fmt.Sprintf("Of %d sends under acks=0, which nobody acknowledges, %d are in the log at the end, and the rest may be lost; %d records read agree with the log.",
			s.Unknown, s.UnknownInLog, s.Records)
	}
	return fmt.Sprintf("%d acknowledged writes and %d records read agree with the log at the end.", s.Acked, s.Records)
}
