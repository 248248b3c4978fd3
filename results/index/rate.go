package index

import (
	"fmt"
	"math"
)

// rate is how often a violation was seen in random runs. By it is known how many runs without it tell that it is gone: had nothing changed, so many would
// have shown it with a probability of 95 % at least.
type rate struct{ seen, runs int }

// missedMost is the probability with which what is still there may be taken for resolved.
const missedMost = 0.05

// enough is how many runs without the violation tell that it is gone: the least n with (1-p)^n at most missedMost. One that no random run has shown can be
// told by none.
func (r rate) enough() int {
	switch {
	case r.seen <= 0 || r.runs <= 0:
		return math.MaxInt
	case r.seen >= r.runs:
		return 1
	}
	return int(math.Ceil(math.Log(missedMost) / math.Log1p(-float64(r.seen)/float64(r.runs))))
}

// String is the rate in words.
func (r rate) String() string {
	return fmt.Sprintf("%s of %s", grouped(r.seen), counted(r.runs, "run"))
}

// atRandom reports whether the problem is a violation that was found by its class, in runs that are drawn, and not by a scenario that was kept.
func (p *Problem) atRandom() bool { return p.Kind == Violation && p.Check == ClassOf(p.Signature) }
