package harness

import (
	"context"
	"fmt"
	"slices"

	"tidemark/results"
	"tidemark/sim"
)

// Replay is a run carried out again from its directory.
type Replay struct {
	Result  *Result
	Stored  results.Outcome
	Exact   bool   // the same build made it: the hash must match
	Matches bool   // the trace hash is the same
	Alike   bool   // no hash is stored, as results.json was lost, and every event is as the stored trail tells
	Differs string // the first event that differs, in words; "" if none does or it cannot be told
	Changed string // why the stored trail is not that of the stored hash, though this run's is; "" if it is
}

// Again carries out a stored run again. For the same build the trace hash must be the stored one; another build runs the stored plan and
// options and reports its own verdict.
func Again(ctx context.Context, d results.Dir, watch Watch) (*Replay, error) {
	stored, err := d.Outcome()
	if err != nil {
		return nil, err
	}
	run := stored.Run
	if run.World != Simulated {
		return nil, fmt.Errorf("%s: the run is of the world %q, expected %s", d.Path, run.World, Simulated)
	}
	watch.Trail = true
	res, err := Simulate(ctx, run, watch)
	if err != nil {
		return nil, err
	}
	rep := &Replay{Result: res, Stored: stored, Exact: run.Build == BuildHash()}
	rep.Matches = fmt.Sprintf("%016x", res.Hash) == stored.Hash
	if stored.Hash == "" {
		trail, err := d.Trail()
		rep.Alike = err == nil && len(trail) > 0 && slices.Equal(trail, res.Trail)
	}
	if rep.Alike {
		return rep, nil
	}
	if !rep.Matches {
		rep.Differs = firstDifference(ctx, d, res, watch)
		return rep, nil
	}
	switch trail, err := d.Trail(); {
	case err != nil:
		rep.Changed = err.Error()
	case !slices.Equal(trail, res.Trail):
		rep.Changed = fmt.Sprintf("the stored trail tells of %d events, the run with its hash has %d, or others", len(trail), len(res.Trail))
	}
	return rep, nil
}

// firstDifference finds the first event whose hash differs from the stored trail's, and runs once more to read it.
func firstDifference(ctx context.Context, d results.Dir, res *Result, watch Watch) string {
	trail, err := d.Trail()
	if err != nil {
		return err.Error()
	}
	at := 0
	for at < len(trail) && at < len(res.Trail) && trail[at] == res.Trail[at] {
		at++
	}
	if at == len(trail) && at == len(res.Trail) {
		return "no event differs: results.json holds another hash than the trail's run had"
	}
	if at == len(res.Trail) {
		return fmt.Sprintf("the stored run had %d events, this one ended after %d", len(trail), at)
	}
	text := fmt.Sprintf("event %d", at+1)
	watch.Trail = false
	watch.Trace = func(e sim.Event) {
		if e.Seq == uint64(at+1) {
			text = EventLine(e)
		}
	}
	if _, err := Simulate(ctx, res.Run, watch); err != nil {
		text += ": " + err.Error()
	}
	return text
}

// TraceHeader names the columns of EventLine.
const TraceHeader = "   event       seconds broker hash     what happened (seconds from the start of the run, - for no broker)"

// EventLine is one event of a trace, for people.
func EventLine(e sim.Event) string {
	who := "-"
	if e.Node >= 0 {
		who = fmt.Sprint(e.Node)
	}
	return fmt.Sprintf("%8d %13.6f %6s %08x %s", e.Seq, e.Time.Seconds(), who, uint32(e.Hash), e.Text)
}
