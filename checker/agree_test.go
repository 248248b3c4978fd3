package checker_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/checker"
	"tidemark/checker/construct"
	"tidemark/history"
)

var (
	judged     = flag.Int("judged", 400, "histories that both judges judge in TestJudgesAgree")
	judgedSeed = flag.Uint64("judged-seed", 0, "master seed of TestJudgesAgree; 0 draws one")
)

// inPart names the ways to plant an anomaly of a class that the second judge sees in part which it does see.
var inPart = map[string]bool{
	"it stands in place of an acknowledged write":   true,
	"one consumer reads it":                         true,
	"the log ends before it":                        true,
	"an unknown write stands in its place":          true,
	"every log has a hole":                          true,
	"an unknown write that is not in the log":       true,
	"two final reads differ":                        true,
	"the answer begins before the offset asked for": true,
	"two records of an answer change places":        true,
	"a record is missing inside an answer":          true,
	"the log start moved, and nobody had asked":     true,
	"DeleteRecords removed more than was asked for": true,
}

// TestJudgesAgree lets both judges judge random histories of 200 to 1,000 operations by 5 clients, 2 % of the writes unknown: two of five
// valid, in the others one anomaly, of each class in turn; one of seven is under acks=1. Where porcupine answers, it must object where the
// planted anomaly is one that it sees, and to nothing else; and on each partition where one judge objects the other must too.
//
//	go test ./checker -run '^TestJudgesAgree$' -args -judged 10000
func TestJudgesAgree(t *testing.T) {
	seed := *judgedSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("master seed %d (repeat with -args -judged %d -judged-seed %d)", seed, *judged, seed)
	rng := rand.New(rand.NewPCG(seed, 211))
	answered, expressed, objected, ops := 0, 0, 0, 0
	for n := range *judged {
		cfg := construct.Random(rng.Uint64(), 200+rng.IntN(801))
		cfg.Consumers = 1 + rng.IntN(3)
		cfg.Producers = 5 - cfg.Consumers
		cfg.Unknown = 0.02
		var c *construct.Case
		var pl *construct.Planter
		if n%5 >= 2 {
			pl = &construct.Planters[(n/5*3+n%5-2)%len(construct.Planters)]
			c, _ = pl.Plant(cfg)
		}
		if c == nil {
			pl = nil
			cfg.Retries, cfg.Trims, cfg.Deletes = n%3 == 1, n%3/2*3, n%2*3
			c = construct.Make(cfg)
		}
		ops += len(c.History.Ops)
		if n%7 == 6 {
			acksOne(c)
		}
		v := checker.Check(c.Run, c.History, checker.Options{PorcupineSteps: 100_000_000})
		if err := v.Credible(c.Run); err != nil {
			t.Errorf("%s: %v", label(cfg, pl), err)
		}
		if v.Porcupine.Outcome == checker.OutOfBudget {
			continue
		}
		answered++
		want, certain := sees(v.Contract, cfg, pl)
		if want {
			expressed++
		}
		if v.Porcupine.Outcome == checker.Objects {
			objected++
		}
		if got := v.Porcupine.Outcome == checker.Objects; got != want && certain {
			t.Errorf("%s: the second judge %s", label(cfg, pl), v.Porcupine.Outcome)
		}
		for _, p := range disagree(v) {
			t.Errorf("%s: on %v the judges differ: %s: %+v, porcupine %+v", label(cfg, pl), p, v.Reason, brief(v), v.Porcupine)
		}
		if t.Failed() && n > *judged/2 {
			t.FailNow()
		}
	}
	t.Logf("%d histories, %d operations: porcupine answered in %d, %d had an anomaly that it sees, it objected to %d", *judged, ops, answered, expressed, objected)
	if answered*10 < *judged*9 {
		t.Errorf("porcupine answered in %d of %d histories, expected nine of ten", answered, *judged)
	}
	if expressed*5 < *judged {
		t.Errorf("%d of %d histories had an anomaly that porcupine sees, expected one in five", expressed, *judged)
	}
}

// acksOne makes a history one of producers that do not wait for the in-sync replicas: what was acknowledged may be lost, what was read may not.
func acksOne(c *construct.Case) {
	c.Run.Acks = 1
	for i := range c.History.Ops {
		if op := &c.History.Ops[i]; op.Kind == history.Send {
			op.Acks = 1
		}
	}
}

// sees reports whether the second judge must object to what a planter planted, none for a valid history. Two things are not certain beforehand,
// and left to what the judges say of the partition: a write that the contract lets go may have been read, which it does not allow; and where
// an offset that no record has may be the log's last, no read comes to its end, so that replicas alone tell of what is missing behind.
func sees(c checker.Contract, cfg construct.Config, pl *construct.Planter) (want, certain bool) {
	if pl == nil {
		return false, true
	}
	class := checker.Class(pl.Class)
	s := c.Sees(class)
	certain = class != checker.LostWrite || c.Durable && (pl.How != "the log ends before it" || cfg.Gaps == 0)
	return certain && (s == checker.Sees || s == checker.InPart && inPart[pl.How]), certain
}

// disagree lists the partitions on which one judge objects to what the other would have to see.
func disagree(v checker.Verdict) []history.Partition {
	var out []history.Partition
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Class == checker.Nonlinearizable {
			out = append(out, f.Partition)
		} else if f.Severity == checker.Violation && v.Contract.Sees(f.Class) == checker.Sees && !objects(v, f.Partition) {
			out = append(out, f.Partition)
		}
	}
	return out
}

func objects(v checker.Verdict, p history.Partition) bool {
	if v.Porcupine.Outcome != checker.Objects {
		return false
	}
	for _, s := range v.Porcupine.Where {
		if s.Partition == p {
			return true
		}
	}
	return false
}

func label(cfg construct.Config, pl *construct.Planter) string {
	if pl == nil {
		return fmt.Sprintf("valid, %+v", cfg)
	}
	return fmt.Sprintf("%s, %s, %+v", pl.Class, pl.How, cfg)
}

func brief(v checker.Verdict) (out []string) {
	for i := range v.Findings {
		out = append(out, string(v.Findings[i].Severity)+": "+v.Findings[i].Text)
	}
	return slices.Clip(out)
}
