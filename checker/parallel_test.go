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
		one := Check(run, h, nil, Options{})
		for range 3 {
			runtime.GOMAXPROCS(8)
			many := Check(run, h, nil, Options{})
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
