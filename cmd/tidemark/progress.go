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
	budget time.Duration // 0 is no limit
	begun  time.Time

	mu             sync.Mutex
	last           time.Time
	total          int
	done, failures int
	acked          int64  // by all clients of all runs
	run            string // how far a run in containers is, "" in the simulated world
}

func startProgress(log io.Writer, total int, budget time.Duration) *progress {
	now := time.Now()
	p := &progress{log: log, total: total, budget: budget, begun: now, last: now}
	if !onTerminal() {
		return p
	}
	p.p = mpb.New(mpb.WithOutput(os.Stderr), mpb.WithRefreshRate(200*time.Millisecond))
	p.bar = p.p.AddBar(int64(total), mpb.BarWidth(24),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d seeds")),
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
		line = fmt.Sprintf("%d of %d seeds after %s\n", p.done, p.total, p.text(now))
	}
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.Increment()
	} else if line != "" {
		fmt.Fprint(p.log, line)
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
	if p.run != "" && p.done < p.total {
		text += "; " + p.run
	}
	return text
}

// text is how long the hunt has gone on, of how long it may, and what came of it. The lock is held.
func (p *progress) text(now time.Time) string {
	took := now.Sub(p.begun)
	text := took.Round(time.Second).String()
	if p.budget > 0 {
		text += fmt.Sprintf(" of %v", p.budget)
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
