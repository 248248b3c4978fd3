package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"tidemark/checker"
	"tidemark/harness"
)

// onTerminal reports whether progress may be shown: stderr is a terminal that can move its cursor.
func onTerminal() bool {
	return term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb"
}

// progressEvery is how often progress is told where it cannot be shown.
const progressEvery = 30 * time.Second

// progress is a bar on a terminal, elsewhere a line now and then.
type progress struct {
	p   *mpb.Progress
	bar *mpb.Bar

	log    io.Writer
	unit   string        // what is carried out, one of it
	budget time.Duration // 0 is no limit
	begun  time.Time

	mu             sync.Mutex
	last           time.Time
	total          int // 0 where the budget alone ends it
	done, failures int
	acked          int64  // by all clients of all runs
	run            string // how far a run in containers is, "" in the simulated world
}

// seedsUnbounded is how many seeds a search has that its budget alone ends.
const seedsUnbounded = 1_000_000

func startProgress(log io.Writer, total int, budget time.Duration, unit string) *progress {
	now := time.Now()
	if total >= seedsUnbounded && budget > 0 {
		total = 0
	}
	p := &progress{log: log, unit: unit, total: total, budget: budget, begun: now, last: now}
	if !onTerminal() {
		return p
	}
	p.p = mpb.New(mpb.WithOutput(os.Stderr), mpb.WithRefreshRate(200*time.Millisecond))
	length := int64(total)
	if total == 0 {
		length = int64(budget)
	}
	p.bar = p.p.AddBar(length, mpb.BarWidth(24),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.counted() })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.told(time.Now()) })))
	return p
}

// step says that one more run is over.
func (p *progress) step(res *harness.Result, err error) {
	p.mu.Lock()
	p.done++
	if err != nil || res.Verdict.Status == checker.Invalid {
		p.failures++
	}
	if err == nil {
		p.acked += res.Verdict.Stats.Acked
	}
	now, line := time.Now(), ""
	if p.bar == nil && now.Sub(p.last) >= progressEvery {
		p.last = now
		line = fmt.Sprintf("%s after %s\n", p.runs(), p.text(now))
	}
	p.mu.Unlock()
	if p.bar != nil && p.total == 0 {
		p.bar.SetCurrent(int64(now.Sub(p.begun)))
	} else if p.bar != nil {
		p.bar.Increment()
	} else if line != "" {
		fmt.Fprint(p.log, line)
	}
}

// counted is what stands before the bar.
func (p *progress) counted() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs()
}

// runs is how many are done, of how many. The lock is held.
func (p *progress) runs() string {
	if p.total == 0 {
		return counted(p.done, p.unit)
	}
	return fmt.Sprintf("%d of %s", p.done, counted(p.total, p.unit))
}

// unitOf is what a hunt carries out: seeds, the scenarios of a corpus, or runs of both.
func unitOf(h harness.Hunt) string {
	switch {
	case len(h.Corpus) == 0:
		return "seed"
	case h.Seeds == 0:
		return "scenario"
	default:
		return "run"
	}
}

// tell says how far a run in containers is.
func (p *progress) tell(now harness.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run = progressText(now, 0)
}

// told is what stands behind the bar.
func (p *progress) told(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := " " + p.text(now)
	if p.run != "" && (p.total == 0 || p.done < p.total) {
		text += "; " + p.run
	}
	return text
}

// text is how long the hunt has gone on, of how long it may, and what came of it. The lock is held.
func (p *progress) text(now time.Time) string {
	took := now.Sub(p.begun)
	text := took.Round(time.Second).String()
	if p.budget > 0 {
		text += fmt.Sprintf(" of %v", p.budget.Round(time.Second))
	}
	text += fmt.Sprintf(", %d failed", p.failures)
	if s := took.Seconds(); s >= 1 && p.acked > 0 {
		text += fmt.Sprintf(", %.0f acknowledged writes a second", float64(p.acked)/s)
	}
	return text
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(false)
		p.p.Wait()
	}
}
