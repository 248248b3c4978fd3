package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemark/history"
)

// ContainedRest is about how long a run in containers takes beside its load: to start the cluster, settle, read, and clear away.
const ContainedRest = 50 * time.Second

// errSpent is why a run was cut off whose hunt's budget was over.
var errSpent = errors.New("the budget was over")

// pace keeps a hunt within its budget. A simulated run is cut off when the budget is over: it can be had again. One in containers, which takes minutes to
// have again, is not begun unless it is to end before that, by the longest that came before it; the first is begun in any case.
type pace struct {
	until     time.Time // zero for no budget
	contained bool

	mu      sync.Mutex
	longest time.Duration // that a run took; what to expect as long as none has ended
	begun   int
	ended   int
	refused time.Duration // that was left of the budget when no further run was begun for it; 0 if none was refused
}

func newPace(begun time.Time, budget time.Duration, run history.Run) *pace {
	p := &pace{contained: run.World == Contained, longest: run.Duration + ContainedRest}
	if budget > 0 {
		p.until = begun.Add(budget)
	}
	return p
}

// within is a context that ends with the budget, where runs are cut off then.
func (p *pace) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.until.IsZero() || p.contained {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, p.until, errSpent)
}

// more reports whether another run may begin.
func (p *pace) more(now time.Time) bool {
	if p.until.IsZero() {
		return true
	}
	left := p.until.Sub(now)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.contained && p.begun > 0 && left > 0 && left < p.longest {
		p.refused = left
		return false
	}
	p.begun++
	return left > 0
}

// took says that a run has ended, and after how long.
func (p *pace) took(length time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended++; p.ended == 1 {
		p.longest = 0
	}
	p.longest = max(p.longest, length)
}

// stopped is why no further run was begun before the budget was over; "" if that is not so.
func (p *pace) stopped() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == 0 {
		return ""
	}
	return fmt.Sprintf("no further run was begun: %v of the budget were left, and one took up to %v", p.refused.Round(time.Second), p.longest.Round(time.Second))
}

// ending says what the end of the budget did to a hunt; "" if nothing.
func (t Tally) ending() string {
	switch {
	case t.Stopped != "":
		return t.Stopped
	case t.Cut == 1:
		return "the end of the budget cut off 1 run, which counts for nothing"
	case t.Cut > 1:
		return fmt.Sprintf("the end of the budget cut off %d runs, which count for nothing", t.Cut)
	default:
		return ""
	}
}
