package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark/checker"
)

// Signature names what a run failed of, so that failures can be told apart and grouped: of its first violation, which ranks before all others
// as their cause, the anomaly's class and the protocol steps that touched the witness's offset, each kind once in order of its first
// (election, truncation, ISR change, HW move, restart). Seeds, brokers, offsets and the bug that is on are not in it. A run that is not
// invalid has none.
func Signature(v checker.Verdict) string {
	if v.Status != checker.Invalid || len(v.Findings) == 0 {
		return ""
	}
	return v.Findings[0].Signature
}

// Group is the failures of a hunt that have one signature.
type Group struct {
	Signature string   `json:"signature"`
	Count     int      `json:"count"`
	First     Failure  `json:"first"`               // by number
	Numbers   []int    `json:"numbers"`             // the runs, ascending, up to a limit
	Seeds     []string `json:"seeds"`               // theirs
	Scenarios []string `json:"scenarios,omitempty"` // where those of them stand that are of the corpus
}

// groupNumbersMax bounds the runs that a group lists.
const groupNumbersMax = 20

// groups sorts the violations among failures by signature, the most frequent first.
func groups(failures []Failure) []Group {
	var out []Group
	for _, f := range failures {
		if f.Signature == "" {
			continue
		}
		i := slices.IndexFunc(out, func(g Group) bool { return g.Signature == f.Signature })
		if i < 0 {
			i = len(out)
			out = append(out, Group{Signature: f.Signature, First: f})
		}
		g := &out[i]
		g.Count += 1 + f.More
		if len(g.Numbers) < groupNumbersMax {
			g.Numbers = append(g.Numbers, f.Number)
			g.Seeds = append(g.Seeds, fmt.Sprint(f.Seed))
			if f.Scenario != "" {
				g.Scenarios = append(g.Scenarios, f.Scenario)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// groupTable is groups for people.
func groupTable(all []Group) string {
	if len(all) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("failures by signature:\n")
	for _, g := range all {
		fmt.Fprintf(&out, "  %s\n    in %d, the first: %s, seed %d\n", g.Signature, g.Count, g.First.Name(), g.First.Seed)
		switch {
		case g.First.Known != "":
			fmt.Fprintf(&out, "    known: %s\n", g.First.Known)
		case g.First.Expired != "":
			fmt.Fprintf(&out, "    no longer known: %s\n", g.First.Expired)
		}
	}
	return out.String()
}
