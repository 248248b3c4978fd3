// Package results is what people get of a run: the run directory and the HTML report.
package results

import (
	"tidemark/checker"
	"tidemark/history"
)

// Dir is a run's directory: run.json, history.ndjson.zst, plan.txt, broker-N.log, results.json, report.html.
type Dir struct{ Path string }

// Create makes runs/<time>-<seed>/ under root and writes run.json and plan.txt first.
func Create(root string, run history.Run) (Dir, error) { panic("not built") }

// Open reads what Create wrote.
func Open(path string) (Dir, history.Run, error) { panic("not built") }

// History reads the directory's journal; truncated says what a cut tail left out.
func (d Dir) History() (h *history.History, truncated string, err error) { panic("not built") }

// WriteHistory writes the journal of a run that kept it in memory.
func (d Dir) WriteHistory(h *history.History) error { panic("not built") }

// WriteLog writes a broker's log.
func (d Dir) WriteLog(b history.BrokerID, text []byte) error { panic("not built") }

// Outcome is all that a report tells.
type Outcome struct {
	Run       history.Run
	Verdict   checker.Verdict
	Hash      string  // the trace hash of a simulated run, hex; "" elsewhere
	Replay    string  // the line to paste that replays the run
	Wall      float64 // seconds of real time that the run took
	Truncated string  // what is missing of the journal
}

// Finish writes results.json and report.html.
func (d Dir) Finish(o Outcome, h *history.History) error { panic("not built") }

// Outcome reads results.json back.
func (d Dir) Outcome() (Outcome, error) { panic("not built") }
