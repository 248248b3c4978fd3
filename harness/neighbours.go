package harness

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"tidemark/checker"
	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// A run's neighbours are the runs whose plan strikes a little later, each line by its own, whose brokers take a while to start again, and whose
// clients and network are drawn from another seed. How many of them fail of the same class tells how much of a failure is the plan's doing and how much is luck: real brokers, whose faults
// take a moment to come into force, are neighbours at best.

// lateMax is by how much a line of a neighbour's plan is late, at most.
const lateMax = time.Second

// startMax is how long a neighbour's broker takes to start again, at most: a simulated one is there at once, a real one has to load its classes
// and its logs first.
const startMax = 8 * time.Second

// crashes reports whether brokers have to start again when a fault is over.
func crashes(kind world.Ability) bool {
	return slices.Contains([]world.Ability{world.CanKill, world.CanStop, world.CanWipe, world.CanPowerFail, world.CanPowerOff, world.CanNewDisk}, kind)
}

// neighbour is the nth of a run's neighbours.
func neighbour(run history.Run, n int) history.Run {
	rnd := world.Stream(run.Seed, "neighbour", n)
	run.Seed = rnd.Uint64()
	lines := planOf(run).Lines
	for i := range lines {
		late := time.Duration(rnd.Int64N(int64(lateMax))).Truncate(time.Millisecond)
		if l := &lines[i]; l.For > 0 && crashes(l.Fault.Kind) {
			l.For += time.Duration(rnd.Int64N(int64(startMax))).Truncate(time.Millisecond)
		}
		if t := &lines[i].Trigger; t.Kind == nemesis.AtTime {
			t.At += late
		} else {
			t.Plus += late
		}
	}
	return planned(run, lines)
}

// AlikeNeighbours is how many of a failing run's neighbours, of so many, fail of the class of its first finding.
func AlikeNeighbours(ctx context.Context, res *Result, of, workers int) int {
	alike, _ := neighboursAlike(ctx, res.Run, storedClass(res.Verdict), of, 0, workers)
	return alike
}

// neighboursAlike counts the neighbours, of so many, that show a class, and whether they are least or more; it gives up where they cannot be.
func neighboursAlike(ctx context.Context, run history.Run, class checker.Class, of, least, workers int) (alike int, enough bool) {
	var found, missed atomic.Int64
	more := func() bool { return int(missed.Load()) <= of-least }
	race(ctx, 0, of, workers, more, func(ctx context.Context, n int) bool {
		res, err := Simulate(ctx, neighbour(run, n), Watch{Blind: true})
		if err != nil {
			missed.Add(1)
			return false
		}
		if _, shown := shows(res.Verdict, class); shown {
			found.Add(1)
		} else {
			missed.Add(1)
		}
		return false
	})
	return int(found.Load()), int(found.Load()) >= least
}

// firmer proposes, line by line, faults that last longer or strike at another time, then a longer load: what a neighbour needs to fail alike, too.
func firmer(run history.Run) (out []history.Run) {
	lines := planOf(run).Lines
	for i, l := range lines {
		propose := func(change func(l *nemesis.Line)) {
			other := slices.Clone(lines)
			change(&other[i])
			out = append(out, planned(run, other))
		}
		if l.For > 0 {
			propose(func(l *nemesis.Line) { l.For = 0 })
			for _, more := range []time.Duration{time.Second, 3 * time.Second} {
				propose(func(l *nemesis.Line) { l.For += more })
			}
		}
		if l.Fault.Nth > 0 {
			propose(func(l *nemesis.Line) { l.Fault.Nth = 0 })
		}
		for _, later := range []time.Duration{-2 * time.Second, -time.Second, -500 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second} {
			switch {
			case l.Trigger.Kind == nemesis.AtTime && l.Trigger.At+later >= 0:
				propose(func(l *nemesis.Line) { l.Trigger.At += later })
			case l.Trigger.Kind != nemesis.AtTime && l.Trigger.Plus+later >= 0:
				propose(func(l *nemesis.Line) { l.Trigger.Plus += later })
			}
		}
	}
	for _, more := range []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second} {
		out = append(out, shortened(run, run.Duration+more))
	}
	return out
}

// certain proposes to see to what a failing run's plan leaves to luck, by what its finding tells: one line names the broker that it struck, or one
// more line keeps a broker that had to do with the finding from another at one of its moments. Where that line does nothing, shrinking takes it away
// again.
func certain(run history.Run, v checker.Verdict) (out []history.Run) {
	i := slices.IndexFunc(v.Findings, func(f checker.Finding) bool { return f.Severity == checker.Violation })
	if i < 0 {
		return nil
	}
	w := v.Findings[i].Witness
	lines := planOf(run).Lines
	for _, f := range w.Faults {
		n := f.Number - 1
		if n < 0 || n >= len(lines) || len(f.Brokers) != 1 || len(lines[n].Fault.Targets) != 1 || lines[n].Fault.Targets[0].Role == nemesis.Number {
			continue
		}
		named := slices.Clone(lines)
		named[n].Fault.Targets = []nemesis.Target{{Role: nemesis.Number, Broker: f.Brokers[0]}}
		out = append(out, planned(run, named))
	}
	can := Space(run).Useful()
	for _, at := range momentsOf(w) {
		for _, f := range between(concerned(w)) {
			if slices.Contains(can, f.Kind) {
				out = append(out, planned(run, append(slices.Clone(lines), coverOf(f, at))))
			}
		}
	}
	return out
}

// before and behind are by how much a line that covers a moment begins before it and ends after it: neighbours are up to lateMax late.
const (
	coverBefore = 2 * lateMax
	coverBehind = 3 * lateMax
)

// coverOf is a line that has a fault in force at a moment, of the run's clock.
func coverOf(f nemesis.Fault, at time.Duration) nemesis.Line {
	from := max(0, at-coverBefore).Truncate(100 * time.Millisecond)
	return nemesis.Line{Trigger: nemesis.Trigger{Kind: nemesis.AtTime, At: from}, Fault: f, For: (at + coverBehind - from).Truncate(100 * time.Millisecond)}
}

// between lists what keeps one of these brokers from another: what it fetches from it does not arrive, or is not asked for, or nothing passes at all.
func between(brokers []history.BrokerID) (out []nemesis.Fault) {
	one := func(b history.BrokerID) []nemesis.Target { return []nemesis.Target{{Role: nemesis.Number, Broker: b}} }
	for _, x := range brokers {
		for _, y := range brokers {
			if x == y {
				continue
			}
			for _, responses := range []bool{true, false} {
				out = append(out, nemesis.Fault{Kind: world.CanDrop, Shape: nemesis.OneWay, API: "fetch", Responses: responses, Targets: one(x), Others: one(y)})
			}
			if x < y {
				out = append(out, nemesis.Fault{Kind: world.CanPartition, Targets: one(x), Others: one(y), Port: world.BrokerPort})
			}
		}
	}
	return out
}

// momentsOf is when what a finding tells of came about: the acknowledgement, and the replicas' losses; in order and each once.
func momentsOf(w checker.Witness) (out []time.Duration) {
	at := []int64{w.Acked}
	for _, r := range w.RemovedBy {
		at = append(at, r.Time)
	}
	for _, nanos := range at {
		if nanos > 0 {
			out = append(out, time.Duration(nanos))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// concerned is the brokers that had the record of a finding, or lost it.
func concerned(w checker.Witness) []history.BrokerID {
	out := slices.Clone(w.HeldBy)
	for _, r := range w.RemovedBy {
		out = append(out, r.Broker)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
