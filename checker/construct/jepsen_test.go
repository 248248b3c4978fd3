package construct_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/checker"
	"tidemark/checker/construct"
	"tidemark/history"
	"tidemark/history/edn"
)

// TestWrittenAsEDNAndReadBack writes histories as Jepsen's checker reads them, reads them back, and requires the same verdict and findings. Three
// in five have an anomaly, planted in each way in turn, so that half are invalid at least.
// More: go test ./checker/construct -run ReadBack -args -histories 1000
func TestWrittenAsEDNAndReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(master(t), 3))
	n := max(2*len(construct.Planters), *histories)
	invalid, plants := 0, 0
	for i := range n {
		cfg := construct.Random(rng.Uint64(), operations/2)
		what := "valid"
		var c *construct.Case
		if i%5 < 2 {
			cfg.Retries, cfg.Trims, cfg.Deletes = i%2 == 0, i%3, i%4
			c = construct.Make(cfg)
		} else {
			p := &construct.Planters[plants%len(construct.Planters)]
			plants++
			what = p.Class + "/" + p.How
			for tries := 0; c == nil; tries++ {
				if tries == 200 {
					t.Fatalf("%s: no place in %d histories", what, tries)
				}
				cfg = construct.Random(rng.Uint64(), operations/2)
				c, _ = p.Plant(cfg)
			}
		}
		var out bytes.Buffer
		if err := edn.Write(&out, c.Run, c.History); err != nil {
			t.Fatalf("%s, %+v: %v", what, cfg, err)
		}
		run, h, err := edn.Read(&out)
		if err != nil {
			t.Fatalf("%s, %+v: %v", what, cfg, err)
		}
		want, got := told(c.Run, c.History), told(run, h)
		if want != got {
			t.Errorf("%s, %+v\nread back: %s\nexpected: %s", what, cfg, got, want)
		}
		if strings.HasPrefix(got, string(checker.Invalid)) {
			invalid++
		}
	}
	t.Logf("%d histories, %d invalid", n, invalid)
	if invalid < n/2 {
		t.Errorf("%d of %d histories are invalid, expected half at least", invalid, n)
	}
}

// byInvocation numbers a history's operations in the order in which they were invoked, as reading does.
func byInvocation(h *history.History) map[int64]int64 {
	ops := slices.Clone(h.Ops)
	slices.SortStableFunc(ops, func(a, b history.Op) int { return cmp.Compare(a.InvokeIndex, b.InvokeIndex) })
	numbers := map[int64]int64{}
	for i := range ops {
		numbers[ops[i].ID] = int64(i)
	}
	return numbers
}

// told is what a verdict says, but for words and the numbers of values.
func told(run history.Run, h *history.History) string {
	numbers := byInvocation(h)
	v := checker.Check(run, h, checker.Options{PorcupineSteps: 1_000_000})
	line := func(class checker.Class, o history.Offset, count int, ops []int64) string {
		named := make([]int64, len(ops))
		for i, id := range ops {
			named[i] = numbers[id]
		}
		return fmt.Sprintf("%s at %d, %d times, operations %d", class, o, count, named)
	}
	var lines []string
	for i := range v.Findings {
		f := &v.Findings[i]
		text := fmt.Sprintf("%s, %v: %s", f.Severity, f.Partition, line(f.Class, f.Offset, f.Count, f.Ops))
		text += fmt.Sprintf("\n  signature: %s\n  held by %v of %v, then %v, in %d steps", f.Signature, f.Witness.HeldBy, f.Witness.ISR, f.Witness.RemovedBy, len(f.Witness.Steps))
		for _, m := range f.Implied {
			text += "\n  implied: " + line(m.Class, m.Offset, m.Count, m.Ops)
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	s := &v.Stats
	return fmt.Sprintf("%s: sends %d, %d acknowledged, %d failed, %d unknown of which %d in the log, polls %d, records %d; second judge %s\n%s",
		v.Status, s.Sends, s.Acked, s.Failed, s.Unknown, s.UnknownInLog, s.Polls, s.Records, v.Porcupine.Outcome, strings.Join(lines, "\n"))
}
