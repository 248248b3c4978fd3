package checker_test

import (
	"context"
	"flag"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"tidemark/checker"
	"tidemark/checker/construct"
	"tidemark/history"
)

var (
	alone     = flag.Int("alone", 0, "how many of BenchmarkBadRead's histories porcupine gets whole, up to 30 s and some GiB each")
	aloneSeed = flag.Uint64("alone-seed", 0, "master seed of BenchmarkBadRead; 0 draws one")
)

// badReads is how many histories BenchmarkBadRead draws, and patience how long porcupine may look at one.
const (
	badReads = 200
	patience = 30 * time.Second
)

// badRead makes a history of 1,000 operations on one partition, 12 of its writes unknown and its consumer slow, in which an answer at a random
// place shows what nobody sent.
func badRead(rng *rand.Rand) (*construct.Case, *construct.Planted) {
	how := slices.IndexFunc(construct.Planters, func(p construct.Planter) bool {
		return p.Class == string(checker.Corrupted) && p.How == "one consumer reads it"
	})
	for {
		c, planted := construct.Planters[how].Plant(construct.Config{Seed: rng.Uint64(), Ops: 1000, Partitions: 1, Producers: 12, Consumers: 1,
			Unknown: 0.02, Lost: 0.99})
		if c == nil {
			continue
		}
		unknown := 0
		for i := range c.History.Ops {
			if op := &c.History.Ops[i]; op.Kind == history.Send && op.Outcome == history.Info {
				unknown++
			}
		}
		if unknown == 12 {
			return c, planted
		}
	}
}

// unseenBefore counts the unknown writes that were sent before an answer came, and that no earlier one showed.
func unseenBefore(h *history.History, answer *history.Op) int {
	unseen := map[string]bool{}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Kind == history.Send && op.Outcome == history.Info && op.InvokeIndex < answer.ReturnIndex {
			unseen[op.Value] = true
		}
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Outcome == history.OK && op.ReturnIndex < answer.ReturnIndex {
			for _, r := range op.Records {
				delete(unseen, r.Value)
			}
		}
	}
	return len(unseen)
}

// BenchmarkBadRead has the log checker judge each of the histories, and porcupine alone (a whole history, no windows, and of unknown writes only
// that they may take effect at any time) the first few that leave it something to try: eleven unknown writes when the bad read comes.
//
// Each history is judged five times by the log checker, of which the quickest counts: what else the machine does is not its own.
//
//	go test ./checker -run '^$' -bench BadRead -benchtime 1x -args -alone 3
func BenchmarkBadRead(b *testing.B) {
	seed := *aloneSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	b.Logf("master seed %d (repeat with -args -alone %d -alone-seed %d)", seed, *alone, seed)
	rng := rand.New(rand.NewPCG(seed, 223))
	var many []*history.History
	for b.Loop() {
		var times []time.Duration
		for range badReads {
			c, planted := badRead(rng)
			if len(many) < *alone && unseenBefore(c.History, &c.History.Ops[planted.Ops[0]]) >= 11 {
				many = append(many, c.History)
			}
			var v checker.Verdict
			quickest := time.Hour
			for range 5 {
				begun := time.Now()
				v = checker.Check(c.Run, c.History, checker.Options{})
				quickest = min(quickest, time.Since(begun))
			}
			times = append(times, quickest)
			if v.Status != checker.Invalid || !slices.Contains(v.Findings[0].Ops, planted.Ops[0]) || v.Findings[0].Offset != planted.Offset {
				b.Fatalf("operation %d read what nobody sent at %d: %s", planted.Ops[0], planted.Offset, v.Reason)
			}
		}
		slices.Sort(times)
		b.ReportMetric(times[len(times)/2].Seconds()*1e3, "log-checker-median-ms")
		b.ReportMetric(times[len(times)-1].Seconds()*1e3, "log-checker-most-ms")
	}
	if *alone == 0 {
		return
	}
	answers := 0
	for _, h := range many {
		steps := new(atomic.Int64)
		begun := time.Now()
		verdict := porcupine.CheckOperationsTimeout(plainModel(steps), plainly(h), patience)
		b.Logf("porcupine alone: %s after %.1f s and %d steps", verdict, time.Since(begun).Seconds(), steps.Load())
		if verdict != porcupine.Unknown {
			answers++
		}
		debug.FreeOSMemory()
	}
	b.ReportMetric(float64(len(many)), "porcupine-alone-asked")
	b.ReportMetric(float64(answers), "porcupine-alone-answers")
}

// plainLog is a log as anybody would give it to porcupine: appends at the end, answers that show a stretch of it.
type plainLog struct {
	end    history.Offset
	chain  uint64
	before *plainLog
	value  string
}

var plainSeed = maphash.MakeSeed()

func plainModel(steps *atomic.Int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return &plainLog{} },
		StepContext: func(_ context.Context, state, input, _ any) (bool, any) {
			steps.Add(1)
			s, op := state.(*plainLog), input.(*history.Op)
			if op.Kind == history.Send {
				if op.Outcome == history.OK && op.Offset != s.end {
					return false, s
				}
				chain := maphash.Comparable(plainSeed, struct {
					chain uint64
					value string
				}{s.chain, op.Value})
				return true, &plainLog{s.end + 1, chain, s, op.Value}
			}
			for i := len(op.Records) - 1; i >= 0; i-- {
				r := op.Records[i]
				if r.Offset >= s.end {
					return false, state
				}
				for s.end > r.Offset+1 {
					s = s.before
				}
				if s.value != r.Value {
					return false, state
				}
			}
			return true, state
		},
		Equal: func(a, b any) bool {
			x, y := a.(*plainLog), b.(*plainLog)
			return x.end == y.end && x.chain == y.chain
		},
		Hash: func(state any) uint64 { return state.(*plainLog).chain },
	}
}

// plainly gives porcupine a history as it is: whole, each operation with the time that it took, an unknown write with all the time there is.
func plainly(h *history.History) []porcupine.Operation {
	var out []porcupine.Operation
	for i := range h.Ops {
		switch op := &h.Ops[i]; {
		case op.Kind == history.Send && op.Outcome == history.Info:
			out = append(out, porcupine.Operation{Input: op, Call: op.InvokeIndex, Return: math.MaxInt64})
		case op.Outcome == history.OK && op.Kind != history.Seek:
			out = append(out, porcupine.Operation{Input: op, Call: op.InvokeIndex, Return: op.ReturnIndex})
		}
	}
	return out
}
