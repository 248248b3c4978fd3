package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
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

	log                   io.Writer
	total, done, failures int
	begun, last           time.Time
}

func startProgress(log io.Writer, total int) *progress {
	if !onTerminal() {
		now := time.Now()
		return &progress{log: log, total: total, begun: now, last: now}
	}
	p := mpb.New(mpb.WithOutput(os.Stderr), mpb.WithRefreshRate(200*time.Millisecond))
	bar := p.AddBar(int64(total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d seeds")),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO)))
	return &progress{p: p, bar: bar}
}

// step says that one more run is over, and whether it failed.
func (p *progress) step(failed bool) {
	if p.bar != nil {
		p.bar.Increment()
		return
	}
	p.done++
	if failed {
		p.failures++
	}
	if time.Since(p.last) >= progressEvery {
		p.last = time.Now()
		fmt.Fprintf(p.log, "%d of %d seeds after %v, %d failed\n", p.done, p.total, p.last.Sub(p.begun).Round(time.Second), p.failures)
	}
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(false)
		p.p.Wait()
	}
}
