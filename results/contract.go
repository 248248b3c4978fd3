package results

import (
	"slices"
	"strconv"
	"strings"

	"tidemark/checker"
)

// promise is one thing that a contract may hold a run to.
type promise struct {
	Name   string
	Kept   bool // it is promised
	Text   string
	Broken []int // the findings that break it
}

// heldView is a finding as the contract sees it.
type heldView struct {
	Numbers                         []int // of the findings, from 1
	Class, Means, Promise, Severity string
}

// promises lists what a contract may promise, and which findings break what it does.
func promises(c checker.Contract, findings []checker.Finding) []promise {
	out := []promise{
		{Name: "Durable", Kept: c.Durable, Text: "what was acknowledged is never lost"},
		{Name: "Ordered", Kept: c.Ordered, Text: "what was acknowledged before another was sent stands before it"},
		{Name: "Exactly once", Kept: c.ExactlyOnce, Text: "a retry does not repeat a message; one that was sent once stands at most once, whatever the contract"},
		{Name: "Committed reads stay", Kept: c.CommittedReads, Text: "what a consumer has read stays"},
	}
	for i, f := range findings[:min(len(findings), findingsMax)] {
		for k := range out {
			if f.Severity == checker.Violation && out[k].Kept && breaks(f, strings.ToLower(out[k].Name)) {
				out[k].Broken = append(out[k].Broken, i+1)
			}
		}
	}
	return out
}

// breaks reports whether a finding, or what follows from it, is of a class that a promise rules out.
func breaks(f checker.Finding, promise string) bool {
	classes := []checker.Class{f.Class}
	for _, m := range f.Implied {
		classes = append(classes, m.Class)
	}
	return slices.ContainsFunc(classes, func(class checker.Class) bool {
		rule, _ := ruleOf(class)
		return strings.Contains(rule.Promise.Words, promise)
	})
}

func ruleOf(class checker.Class) (checker.Rule, bool) {
	i := slices.IndexFunc(checker.Rules, func(r checker.Rule) bool { return r.Class == class })
	if i < 0 {
		return checker.Rule{}, false
	}
	return checker.Rules[i], true
}

// heldViews tells of each class that was found, and how it counts here, what it means, under which promise it is a violation, and which findings are
// of it.
func heldViews(findings []checker.Finding) []heldView {
	var out []heldView
	for i, f := range findings[:min(len(findings), findingsMax)] {
		rule, known := ruleOf(f.Class)
		view := heldView{Numbers: []int{i + 1}, Class: clip(string(f.Class), 80), Means: rule.Means, Promise: rule.Promise.Words, Severity: severityWord(f.Severity)}
		if n := slices.IndexFunc(out, func(v heldView) bool { return v.Class == view.Class && v.Severity == view.Severity }); n >= 0 {
			out[n].Numbers = append(out[n].Numbers, i+1)
			continue
		}
		if rule.Unless != "" {
			view.Promise += "; or if " + rule.Unless
		}
		if !known {
			view.Promise = "–"
		}
		out = append(out, view)
	}
	return out
}

func contractFacts(c checker.Contract) []fact {
	return []fact{
		{"acks", acksWord(c.Acks)},
		{"min.insync.replicas", strconv.Itoa(c.MinISR)},
		{"replication factor", strconv.Itoa(c.Factor)},
		{"unclean.leader.election.enable", strconv.FormatBool(c.Unclean)},
		{"eligible.leader.replicas.enable", strconv.FormatBool(c.ELR)},
		{"idempotent producers", strconv.FormatBool(c.Idempotent)},
		{"faults within the budget", yesNo(c.WithinBudget)},
		{"producers that send again", yesNo(c.Retries)},
		{"old records are removed", yesNo(c.Removes)},
		{"bound on stale reads", boundWord(c.ReadBound)},
	}
}
