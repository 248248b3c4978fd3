package checker

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestTheVerdictDoesNotDependOnTheProcessors checks histories that are wrong on many partitions on one processor and on many.
func TestTheVerdictDoesNotDependOnTheProcessors(t *testing.T) {
	run := testRun(8)
	told := 0
	for seed := range uint64(20) {
		h := bigHistory(2000)
		rng := rand.New(rand.NewPCG(seed, 1))
		for range 12 {
			if d := &h.Dumps[rng.IntN(len(h.Dumps))]; len(d.Records) > 0 {
				rewriteEnd(h, d.Partition, d.Records[rng.IntN(len(d.Records))].Offset, "nobody's")
			}
			cutEnd(h, h.Dumps[rng.IntN(len(h.Dumps))].Partition)
		}
		before := runtime.GOMAXPROCS(1)
		one := Check(run, h, Options{})
		for range 3 {
			runtime.GOMAXPROCS(8)
			many := Check(run, h, Options{})
			if !reflect.DeepEqual(one, many) {
				t.Errorf("seed %d: on one processor\n%+v\non many\n%+v", seed, one, many)
			}
		}
		runtime.GOMAXPROCS(before)
		told += len(one.Findings)
	}
	if told < 200 {
		t.Errorf("%d findings, expected many in each history", told)
	}
}

func TestInParallelCallsEachNumberOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		calls := make([]atomic.Int32, n)
		inParallel(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if got := calls[i].Load(); got != 1 {
				t.Errorf("of %d numbers %d was called %d times, expected once", n, i, got)
			}
		}
	}
}

// TestMemoryFollowsTheOperations: twice the operations, twice the memory, and less than 100 bytes for each.
func TestMemoryFollowsTheOperations(t *testing.T) {
	run := testRun(8)
	run.Plan, run.World = "", ""
	spent := func(ops int) float64 {
		h := bigHistory(ops)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if v := Check(run, h, Options{}); v.Status != Valid {
			t.Fatalf("%s (%s)", v.Status, v.Reason)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(ops)
	}
	for ops := 50_000; ops <= 200_000; ops *= 2 {
		if bytes := spent(ops); bytes > 100 {
			t.Errorf("%d operations: %.1f bytes each, expected at most 100", ops, bytes)
		}
	}
}
