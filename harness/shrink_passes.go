package harness

import (
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tidemark/history"
	"tidemark/nemesis"
	"tidemark/world"
)

// pass is one way to make a run smaller.
type pass struct {
	name   string
	reseed bool // try a proposal with other seeds too
	firmer bool // a proposal is no smaller: it is taken only if more of its neighbours fail alike
	// smaller proposes runs, the boldest first. A proposal need not make sense: what cannot be carried out is left out.
	smaller func(run history.Run) []history.Run
}

// passes lists them in their order: what is removed early need not be looked at later.
var passes = []pass{
	{name: "end", smaller: earlierEnd},
	{name: "lines", smaller: fewerLines},
	{name: "a line", reseed: true, smaller: eachLineLess},
	{name: "earlier", reseed: true, smaller: earlier},
	{name: "duration", smaller: shorterRun},
	{name: "partitions", reseed: true, smaller: fewerPartitions},
	{name: "brokers", reseed: true, smaller: fewerBrokers},
	{name: "clients", smaller: fewerClients},
	{name: "rate", smaller: lowerRate},
	{name: "options", smaller: plainerOptions},
	{name: "faults", reseed: true, smaller: plainerFaults},
	{name: "times", smaller: shorterTimes},
	{name: "firmer", reseed: true, firmer: true, smaller: firmer},
}

// planOf is a run's plan; one that cannot be read has no lines.
func planOf(run history.Run) nemesis.Plan {
	p, err := nemesis.Parse(run.Plan)
	if err != nil {
		return nemesis.Plan{}
	}
	return p
}

// planned is a run with another plan.
func planned(run history.Run, lines []nemesis.Line) history.Run {
	run.Plan = nemesis.Plan{Lines: lines}.String()
	return run
}

// earlierEnd proposes to end the load sooner, and with it all that the plan has at a later time: what came after the failure has nothing to do with it, and
// every try after this one costs less.
func earlierEnd(run history.Run) (out []history.Run) {
	for eighths := time.Duration(2); eighths < 8; eighths++ {
		end := (run.Duration * eighths / 8).Round(time.Second)
		if end < 2*time.Second || end >= run.Duration {
			continue
		}
		var lines []nemesis.Line
		for _, l := range planOf(run).Lines {
			if at := l.Trigger.At + l.Trigger.Plus; at < end {
				l.For = min(l.For, end-at)
				lines = append(lines, l)
			}
		}
		out = append(out, shortened(planned(run, lines), end))
	}
	return out
}

// fewerIdle proposes to leave out at once what never struck when the run was carried out, and first of all also what was never seen to take effect.
func fewerIdle(run history.Run, h *history.History) (out []history.Run) {
	lines := planOf(run).Lines
	for _, reached := range []history.FaultPhase{history.FaultObserved, history.FaultApplied} {
		var left []nemesis.Line
		for n, l := range lines {
			if slices.ContainsFunc(h.Faults, func(e history.FaultEvent) bool { return e.Fault == n && e.Phase == reached }) {
				left = append(left, l)
			}
		}
		if len(left) < len(lines) {
			out = append(out, planned(run, left))
		}
	}
	return out
}

// fewerLines proposes to leave out half of the plan, then a quarter, and so on down to two lines (delta debugging). Later lines go first:
// what came after the failure has nothing to do with it.
func fewerLines(run history.Run) (out []history.Run) {
	lines := planOf(run).Lines
	for size := (len(lines) + 1) / 2; size >= 2; size /= 2 {
		for end := len(lines); end > 0; end -= size {
			out = append(out, planned(run, slices.Concat(lines[:max(0, end-size)], lines[end:])))
		}
	}
	return out
}

// eachLineLess proposes to leave out one line.
func eachLineLess(run history.Run) (out []history.Run) {
	lines := planOf(run).Lines
	for i := len(lines) - 1; i >= 0; i-- {
		out = append(out, planned(run, slices.Concat(lines[:i], lines[i+1:])))
	}
	return out
}

// shorterRun proposes shorter loads, in whole seconds.
func shorterRun(run history.Run) (out []history.Run) {
	for _, d := range []time.Duration{run.Duration / 4, run.Duration / 2, run.Duration * 3 / 4, run.Duration - 2*time.Second, run.Duration - time.Second} {
		if d = d.Round(time.Second); d >= 2*time.Second && d < run.Duration {
			out = append(out, shortened(run, d))
		}
	}
	return out
}

func shortened(run history.Run, d time.Duration) history.Run {
	run.Duration = d
	return run
}

// fewerPartitions proposes fewer partitions; what the plan says of those that go it then says of the first.
func fewerPartitions(run history.Run) (out []history.Run) {
	names := regexp.MustCompile(regexp.QuoteMeta(run.Topic) + `/(\d+)`)
	for parts := 1; parts < run.Parts; parts++ {
		for keep := range run.Parts { // which of them becomes the first
			less := run
			less.Parts = parts
			less.Plan = names.ReplaceAllStringFunc(run.Plan, func(name string) string {
				n, err := strconv.Atoi(name[len(run.Topic)+1:])
				switch {
				case err != nil || n == keep:
					n = 0
				case n == 0:
					n = keep
				}
				if n >= parts {
					n = 0
				}
				return run.Topic + "/" + strconv.Itoa(n)
			})
			out = append(out, less)
		}
	}
	return out
}

// fewerBrokers proposes fewer brokers and replicas. Lines that name a broker which goes cannot be carried out, so such a run is left out.
func fewerBrokers(run history.Run) (out []history.Run) {
	for brokers := min(3, run.Brokers); brokers <= run.Brokers; brokers++ {
		for factor := run.MinISR; factor <= min(run.Factor, brokers); factor++ {
			if brokers == run.Brokers && factor == run.Factor {
				continue
			}
			less := run
			less.Brokers, less.Factor = brokers, factor
			out = append(out, less)
		}
	}
	return out
}

// fewerClients proposes fewer producers and consumers.
func fewerClients(run history.Run) (out []history.Run) {
	for _, n := range fewer(run.Readers, 0) {
		less := run
		less.Readers = n
		out = append(out, less)
	}
	for _, n := range fewer(run.Writers, 1) {
		less := run
		less.Writers = n
		out = append(out, less)
	}
	return out
}

// fewer lists numbers below n, from the least that may be.
func fewer(n, least int) (out []int) {
	for _, m := range []int{least, least + 1, n / 2, n - 1} {
		if m >= least && m < n && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// lowerRate proposes round rates below the run's.
func lowerRate(run history.Run) (out []history.Run) {
	for _, rate := range []float64{20, 30, 40, 50, 60, 80, 100, 150} {
		if rate < run.Rate {
			less := run
			less.Rate = rate
			out = append(out, less)
		}
	}
	return out
}

// notPlain lists what plainerOptions leaves alone: it has a pass of its own, or says what the run is.
var notPlain = []string{"seed", "bug", "world", "like", "faults", "topic", "duration", "brokers", "partitions", "replicationFactor", "producers", "consumers", "rate"}

// plainerOptions proposes the defaults: for all options at once, then for each that differs. Of a run that is like a target they stay: they say for
// which brokers its plan is.
func plainerOptions(run history.Run) (out []history.Run) {
	if run.Like != "" {
		return nil
	}
	stock := quickOf(run)
	all := run
	all.Config = maps.Clone(stock)
	for i, name := range scenarioFields {
		if name == "" || slices.Contains(notPlain, name) {
			continue
		}
		less := run
		if toDefault(&less, i) {
			toDefault(&all, i)
			out = append(out, less)
		}
	}
	less := run
	less.Config = maps.Clone(stock)
	out = append(out, less)
	for _, key := range slices.Sorted(maps.Keys(run.Config)) {
		if run.Config[key] == stock[key] {
			continue
		}
		less := run
		less.Config = maps.Clone(run.Config)
		delete(less.Config, key) // Expand fills in what a run has
		out = append(out, less)
	}
	return append([]history.Run{all}, out...)
}

// toDefault gives a field of a run its default, and reports whether it had another value.
func toDefault(run *history.Run, field int) (differed bool) {
	d := Defaults()
	mine, plain := reflect.ValueOf(run).Elem().Field(field), reflect.ValueOf(d).Field(field)
	if mine.Equal(plain) {
		return false
	}
	mine.Set(plain)
	return true
}

// plainerFaults proposes, line by line, faults that say the same with less: one target for several, a role that explains itself for a number
// or a draw, a whole cut for one way or one port, an event counted from one.
func plainerFaults(run history.Run) (out []history.Run) {
	lines := planOf(run).Lines
	for i, l := range lines {
		for _, f := range plainerFault(run, l.Fault) {
			plain := slices.Clone(lines)
			plain[i].Fault = f
			out = append(out, planned(run, plain))
		}
		for _, t := range plainerTrigger(l.Trigger) {
			plain := slices.Clone(lines)
			plain[i].Trigger = t
			out = append(out, planned(run, plain))
		}
	}
	return out
}

func plainerFault(run history.Run, f nemesis.Fault) (out []nemesis.Fault) {
	if f.Port != world.AnyPort {
		whole := f
		whole.Port = world.AnyPort
		out = append(out, whole)
	}
	if f.Shape == nemesis.OneWay {
		both := f
		both.Shape = nemesis.Split
		out = append(out, both)
	}
	if f.Nth > 1 {
		next := f
		next.Nth = 1
		out = append(out, next)
	}
	if round := math.Round(f.Rate); f.Rate > 1 && round > 1 && round != f.Rate {
		plain := f
		plain.Rate = round
		out = append(out, plain)
	}
	if round := int64(math.Pow(10, math.Floor(math.Log10(float64(f.Bytes))))); f.Bytes > 0 && round != f.Bytes {
		plain := f
		plain.Bytes = round
		out = append(out, plain)
	}
	for _, by := range rounder(f.By, false) {
		plain := f
		plain.By = by
		out = append(out, plain)
	}
	if len(f.Others) > 0 && f.Others[0].Role != nemesis.Rest && (len(f.Targets) == 0 || f.Targets[0].Role != nemesis.Rest) {
		rest := f
		rest.Others = []nemesis.Target{{Role: nemesis.Rest}}
		out = append(out, rest)
	}
	for _, side := range []func(*nemesis.Fault) *[]nemesis.Target{
		func(f *nemesis.Fault) *[]nemesis.Target { return &f.Targets },
		func(f *nemesis.Fault) *[]nemesis.Target { return &f.Others },
	} {
		for _, targets := range plainerTargets(run, *side(&f)) {
			plain := f
			*side(&plain) = targets
			out = append(out, plain)
		}
	}
	return out
}

func plainerTargets(run history.Run, targets []nemesis.Target) (out [][]nemesis.Target) {
	if len(targets) > 1 {
		for _, t := range targets {
			out = append(out, []nemesis.Target{t})
		}
	}
	for i, t := range targets {
		for _, role := range plainerRoles(run, t) {
			plain := slices.Clone(targets)
			plain[i] = role
			out = append(out, plain)
		}
	}
	return out
}

// plainerRoles lists the roles that tell more than a target does. In a run that is like a target the controller is not one of them: which broker that
// is there depends on which of them was ready first.
func plainerRoles(run history.Run, t nemesis.Target) (out []nemesis.Target) {
	p := t.Partition
	switch t.Role {
	case nemesis.ISR, nemesis.OSR:
	case nemesis.Number, nemesis.Random:
		p = history.Partition{Topic: run.Topic}
		if run.Like == "" {
			out = append(out, nemesis.Target{Role: nemesis.Controller})
		}
	default:
		return nil
	}
	return append(out, nemesis.Target{Role: nemesis.Leader, Partition: p}, nemesis.Target{Role: nemesis.Follower, Partition: p})
}

// plainerTrigger proposes the event itself for a time after it, one that counts from the start, and an earlier one of its kind.
func plainerTrigger(t nemesis.Trigger) (out []nemesis.Trigger) {
	if t.Plus != 0 {
		event := t
		event.Plus = 0
		out = append(out, event)
		for _, plus := range rounder(t.Plus, false) {
			event.Plus = plus
			out = append(out, event)
		}
	}
	if t.Kind != nemesis.AtTime && t.At != 0 {
		event := t
		event.At = 0
		out = append(out, event)
	}
	if t.Kind == nemesis.AtTime || t.Kind == nemesis.WhenISR || t.Kind == nemesis.WhenLeader {
		return out
	}
	for _, n := range []int64{1, t.Count / 10, t.Count / 2} {
		if n >= 1 && n < t.Count {
			less := t
			less.Count = n
			out = append(out, less)
		}
	}
	return out
}

// shorterTimes proposes, line by line, a fault that is not undone before the plan's end, rounder and shorter lengths, rounder and earlier
// beginnings.
func shorterTimes(run history.Run) (out []history.Run) {
	lines := planOf(run).Lines
	for i, l := range lines {
		for _, d := range rounder(l.For, true) {
			plain := slices.Clone(lines)
			plain[i].For = d
			out = append(out, planned(run, plain))
		}
		for _, at := range rounder(l.Trigger.At, false) {
			plain := slices.Clone(lines)
			plain[i].Trigger.At = at
			out = append(out, planned(run, plain))
		}
	}
	return out
}

// earlier proposes to begin the plan, and end the run, so much sooner that the first line comes after a second.
func earlier(run history.Run) []history.Run {
	lines := planOf(run).Lines
	first := run.Duration
	for _, l := range lines {
		if l.Trigger.Kind == nemesis.AtTime || l.Trigger.At > 0 {
			first = min(first, l.Trigger.At)
		}
	}
	by := (first - time.Second).Truncate(time.Second)
	if by <= 0 || by >= run.Duration {
		return nil
	}
	soon := slices.Clone(lines)
	for i := range soon {
		if soon[i].Trigger.Kind == nemesis.AtTime || soon[i].Trigger.At > 0 {
			soon[i].Trigger.At -= by
		}
	}
	run = planned(run, soon)
	return []history.Run{shortened(run, run.Duration-by), run}
}

// rounder lists spans that are rounder than d, or half of it, the plainest first; of a length of time 0, which is none, before all.
func rounder(d time.Duration, length bool) (out []time.Duration) {
	if d == 0 {
		return nil
	}
	add := func(t time.Duration) {
		if t > 0 && t != d && digits(t) <= digits(d) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if length {
		out = append(out, 0)
	}
	if half := (d / 2).Round(500 * time.Millisecond); half < d {
		add(half)
	}
	for _, unit := range []time.Duration{5 * time.Second, time.Second, 500 * time.Millisecond, 100 * time.Millisecond} {
		if digits(d.Round(unit)) < digits(d) {
			add(d.Round(unit))
		}
	}
	return out
}

// digits is how many digits a span has in milliseconds, without zeros at the end.
func digits(d time.Duration) int {
	n := d.Milliseconds()
	for n != 0 && n%10 == 0 {
		n /= 10
	}
	return len(strconv.FormatInt(n, 10))
}
