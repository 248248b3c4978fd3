package workloads

import (
	"math/rand/v2"
	"time"

	"tidemark/world"
)

// pace spaces one client's operations: gaps drawn from half to one and a half times the mean.
type pace struct {
	env  world.Env
	rnd  *rand.Rand
	mean time.Duration
	next time.Duration // when the next operation is due
}

// newPace starts within one mean gap, so that clients do not move in step.
func newPace(env world.Env, rnd *rand.Rand, mean time.Duration) *pace {
	return &pace{env: env, rnd: rnd, mean: mean, next: env.Now() + time.Duration(rnd.Int64N(int64(mean)))}
}

// wait sleeps until the next operation is due; false when the end comes first. A client that is late catches up by at most one
// operation: a burst after every fault would be a load of its own.
func (p *pace) wait(until time.Duration) bool {
	now := p.env.Now()
	if p.next >= until || now >= until {
		p.env.Sleep(until - now)
		return false
	}
	p.env.Sleep(p.next - now)
	p.next = max(p.next, now-p.mean) + p.mean/2 + time.Duration(p.rnd.Int64N(int64(p.mean)))
	return true
}
