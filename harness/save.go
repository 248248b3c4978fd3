package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/history"
	"tidemark/results"
)

// ReplayWord says what the replay line of a run does in its world.
func ReplayWord(run history.Run) string {
	if run.World == Contained {
		return "again (not exact, in containers)"
	}
	return "replay"
}

// ReplayLine is the line to paste that carries out a stored run again: exactly in the simulated world.
func ReplayLine(d results.Dir) string { return Line("replay", d) }

// Save writes a finished run: history, trail, logs, results.json and report.html. run.json is in dir already.
func Save(d results.Dir, res *Result) error {
	if !res.journaled {
		if err := d.WriteHistory(res.History); err != nil {
			return err
		}
	}
	if res.Trail != nil {
		if err := d.WriteTrail(res.Trail); err != nil {
			return err
		}
	}
	if err := saveLogs(d, res); err != nil {
		return err
	}
	return d.Finish(res.Outcome(d), res.History)
}

// NoteShrunk tells in a finished run's results and report what shrinking left of it.
func NoteShrunk(d results.Dir, s results.Shrunk) error {
	o, err := d.Outcome()
	if err != nil {
		return err
	}
	h, _, err := d.History()
	if err != nil {
		return err
	}
	o.Shrunk = &s
	return d.Finish(o, h)
}

// saveLogs writes what each broker did and said, and each controller that is no broker.
func saveLogs(d results.Dir, res *Result) error {
	nodes := BrokerIDs(res.Run)
	for _, b := range slices.Sorted(maps.Keys(res.logs)) {
		if !slices.Contains(nodes, b) {
			nodes = append(nodes, b)
		}
	}
	for _, b := range nodes {
		if err := d.WriteLog(b, append(brokerLog(b, res.History), res.logs[b]...)); err != nil {
			return err
		}
	}
	return nil
}

// Outcome is the result as the run directory holds it.
func (r *Result) Outcome(d results.Dir) results.Outcome {
	o := results.Outcome{Run: r.Run, Verdict: r.Verdict, Replay: ReplayLine(d), Wall: r.Wall.Seconds(), Ground: r.Ground}
	if r.Run.World == Simulated {
		o.Hash = fmt.Sprintf("%016x", r.Hash)
	}
	return o
}

// joined lists brokers as 1,2,3.
func joined(bs []history.BrokerID) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(bs), " ", ","), "[]")
}

// brokerLog is what one broker did, a line a step.
func brokerLog(b history.BrokerID, h *history.History) []byte {
	var out strings.Builder
	for i := range h.Steps {
		s := &h.Steps[i]
		if s.Broker != b {
			continue
		}
		fmt.Fprintf(&out, "%13.6f %s", s.Time.Seconds(), s.Kind)
		if s.Partition.Topic != "" {
			fmt.Fprintf(&out, " %s epoch %d", s.Partition, s.Epoch)
		}
		if s.Peer != history.NoBroker && s.Peer != b {
			fmt.Fprintf(&out, " peer %d", s.Peer)
		}
		if s.From != s.To {
			fmt.Fprintf(&out, " %d -> %d", s.From, s.To)
		}
		if len(s.ISR) > 0 {
			fmt.Fprintf(&out, " isr %s", joined(s.ISR))
		}
		if s.Detail != "" {
			fmt.Fprintf(&out, " (%s)", s.Detail)
		}
		out.WriteByte('\n')
	}
	return []byte(out.String())
}
