package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"tidemark/harness"
	"tidemark/history/plain"
)

// redrawEvery is how often the line that shows a run's progress is drawn anew.
const redrawEvery = 200 * time.Millisecond

// watching shows how a run goes on: on a terminal in one line that is drawn anew, elsewhere in a line a phase, and one when a fault is seen
// in force and one when it is undone.
type watching struct {
	log   io.Writer
	width int // of the terminal; 0 off one
	total time.Duration

	mu    sync.Mutex
	phase harness.Phase
	drawn time.Time
}

// watchRun shows the progress of a run whose load lasts for total.
func watchRun(log io.Writer, total time.Duration) *watching {
	w := &watching{log: log, total: total}
	if onTerminal() {
		w.width = 80
		if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 1 {
			w.width = width
		}
	}
	return w
}

// tell shows where the run is.
func (w *watching) tell(p harness.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	entered := p.Phase != w.phase
	w.phase = p.Phase
	if w.width == 0 {
		switch {
		case p.News != "":
			fmt.Fprintf(w.log, "%s %s\n", short(p.Load), p.News)
		case entered && p.Phase == harness.PhaseLoad:
			fmt.Fprintf(w.log, "%v of load…\n", w.total)
		case entered:
			fmt.Fprintf(w.log, "%s…\n", p.Phase)
		}
		return
	}
	if !entered && p.News == "" && time.Since(w.drawn) < redrawEvery {
		return
	}
	w.drawn = time.Now()
	line := []rune(progressText(p, w.total))
	fmt.Fprintf(plain.Raw(w.log), "\r%s\x1b[K", plain.Line(string(line[:min(len(line), w.width-1)]))) // a longer one would break, and could not be drawn over
}

// say writes a line that stays.
func (w *watching) say(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
	fmt.Fprintln(w.log, line)
}

// end takes the line away.
func (w *watching) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clear()
}

func (w *watching) clear() {
	if w.width > 0 {
		fmt.Fprint(plain.Raw(w.log), "\r\x1b[K")
	}
}

// progressText is where a run is, in one line. total is how long its load is to be, 0 if that is not told.
func progressText(p harness.Progress, total time.Duration) string {
	text := string(p.Phase) + "…"
	if p.Phase == harness.PhaseLoad {
		text = short(p.Load)
		if total > 0 {
			text += fmt.Sprintf(" of %v", total)
		}
		text += fmt.Sprintf(" of load, %d acknowledged", p.Acked)
		if s := p.Load.Seconds(); s >= 1 {
			text += fmt.Sprintf(", %.0f a second", float64(p.Acked)/s)
		}
	}
	if len(p.Force) > 0 {
		text += "; " + strings.Join(p.Force, ", ") + " in force"
	}
	return text
}

// short is a length of time in whole seconds.
func short(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
