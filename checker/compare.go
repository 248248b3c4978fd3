package checker

import (
	"fmt"
	"strings"

	"tidemark/history"
	"tidemark/history/plain"
)

// differencesMax bounds the findings that Differences tells of on each side.
const differencesMax = 20

// Differences tells how two verdicts on one history differ, with the version of the checker that gave each; "" if they say the same: the
// same status, the same contract, and the same anomalies of the same severity at the same places.
func Differences(before, after Verdict) string {
	gone, come := only(before.Findings, after.Findings), only(after.Findings, before.Findings)
	was, is := before.Contract, after.Contract
	was.Because, is.Because = "", "" // words may change from version to version
	if before.Status == after.Status && was == is && len(gone) == 0 && len(come) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("the stored verdict differs from this one\n")
	if was != is {
		fmt.Fprintf(&out, "  the stored one is under another contract: %s; now: %s\n", was.terms(), is.terms())
	}
	side(&out, "stored", before, gone)
	side(&out, "now", after, come)
	return out.String()
}

func side(out *strings.Builder, when string, v Verdict, alone []Finding) {
	fmt.Fprintln(out, " ", plain.Line(fmt.Sprintf("%s, by checker %s: %s: %s", when, v.Checker, v.Status, v.Reason)))
	for i := range alone[:min(len(alone), differencesMax)] {
		f := &alone[i]
		at := ""
		if f.Offset != history.UnknownOffset {
			at = fmt.Sprintf(" at offset %d", f.Offset)
		}
		fmt.Fprintln(out, "   ", plain.Line(fmt.Sprintf("only %s: %s: %s%s%s", when, f.Severity, f.Class, where(f.Partition), at)))
	}
	if left := len(alone) - differencesMax; left > 0 {
		fmt.Fprintf(out, "    and %s more\n", count(left, "finding"))
	}
}

// only lists the findings of a verdict that another has not.
func only(these, those []Finding) []Finding {
	type key struct {
		class     Class
		severity  Severity
		partition history.Partition
		offset    history.Offset
		value     string
		invariant string
	}
	of := func(f *Finding) key { return key{f.Class, f.Severity, f.Partition, f.Offset, f.Value, f.Invariant} }
	has := map[key]bool{}
	for i := range those {
		has[of(&those[i])] = true
	}
	var out []Finding
	for i := range these {
		if !has[of(&these[i])] {
			out = append(out, these[i])
		}
	}
	return out
}
