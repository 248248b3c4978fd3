package nemesis

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Space is what a generator draws from. It knows nothing of any known bug.
type Space struct {
	Can        []world.Ability
	Brokers    []history.BrokerID
	Partitions []history.Partition
	Factor     int
	MinISR     int
	Recreated  string        // the topic that may be deleted and created again; "" is none
	Duration   time.Duration // of the load; every fault is undone before its end
	Session    time.Duration // broker.session.timeout.ms; 0 is sessionUsual
	Lag        time.Duration // replica.lag.time.max.ms; 0 is lagUsual
	Startup    time.Duration // about how long a broker takes from its start until it takes part again; 0 is too short to matter
	Tour       bool          // begin with a leader cut off, one killed and one powered off, well apart, and wait for no events
	// Due lists kinds that the plan has in any case, as far as the world can do them: in each third of it, at a time, as telling as that kind can be.
	Due []world.Ability
}

// The shape of a generated plan.
const (
	warmMax     = 3 * time.Second  // nothing happens at first, at most so long
	tailMax     = 10 * time.Second // nothing happens at last, so that the run settles
	tailPart    = 6                // or for this part of the load, if that is shorter
	longestMax  = time.Minute      // no fault lasts longer
	generateMax = 250              // lines of a plan, about

	// What a space has where it says nothing.
	sessionUsual = 3 * time.Second
	lagUsual     = 2 * time.Second
)

// Generate draws a plan (swarm: some runs have one kind only, some all; some quiet, some dense). Its lines are in order of time
// as far as they have one; every fault with a time is undone before the last sixth, or the last 10 s, of the load. The plan is
// empty if the world can do nothing that such a cluster would notice.
func Generate(rnd *rand.Rand, s Space) Plan {
	s.Can = s.Useful()
	if len(s.Can) == 0 || len(s.Partitions) == 0 {
		return Plan{}
	}
	d := newDrawer(rnd, s)
	t := d.begin
	if s.Tour {
		t = d.tour()
	}
	for t < d.end && len(d.lines) < generateMax {
		before := d.catches
		over := d.scene(t)
		for range 2 {
			if d.catches > before && d.chance(0.5) {
				over = max(over, d.echo(t, over))
			}
		}
		if d.chance(d.calm) {
			t = max(over, d.whole) + d.upTo(d.rejoin())
		}
		gap := time.Duration(float64(over-t) * d.pace * d.log(0.5, 2))
		t += max(min(gap, d.longest*2), 100*time.Millisecond, s.Duration/generateMax)
	}
	if !slices.ContainsFunc(d.lines, d.bites) {
		d.bite()
	}
	for _, a := range d.Due {
		if slices.Contains(d.Can, a) {
			d.owe(a)
		}
	}
	slices.SortStableFunc(d.lines, func(a, b drawn) int { return int(a.at - b.at) })
	var p Plan
	for _, l := range d.lines {
		p.Lines = append(p.Lines, l.Line)
	}
	return p
}

// Useful lists the abilities that make sense here, in a fixed order: links need two ends, elections two replicas, and below two
// in-sync replicas no budget allows to lose data.
func (s Space) Useful() []world.Ability {
	can := slices.DeleteFunc(slices.Clone(s.Can), func(a world.Ability) bool {
		k := kindOf(a)
		return k == nil || len(s.Brokers) == 0 || k.useful != nil && !k.useful(s) || k.loses && s.MinISR < 2
	})
	slices.Sort(can)
	return can
}

// drawer holds what one run was given, and the lines drawn so far.
type drawer struct {
	Space
	rnd     *rand.Rand
	kinds   []world.Ability
	parts   []history.Partition
	begin   time.Duration
	end     time.Duration // of the last fault
	longest time.Duration
	telling time.Duration // from which length on a fault outlasts sessions and lags: the ISR shrinks, a leader is elected, clients time out
	pace    float64       // the next scene begins when this part of the last one is over; from 1 on one follows the other
	calm    float64       // how often all is over, and the cluster whole again, before the next scene
	logical float64       // how often a trigger is an event
	lonely  bool          // faults come one or two at a time
	taste   []float64     // how much more than usual the run has of each of the scenes
	lines   []drawn
	catches int           // of them, faults on messages
	caught  drawn         // the last of those
	whole   time.Duration // when those that crashed are back in the ISR, about
	synced  time.Duration // when those that lost data are
	started time.Duration // when those whose process ended take part again, about
}

// drawn is a line with the time for which it was meant, whatever its trigger.
type drawn struct {
	Line
	at time.Duration
}

func newDrawer(rnd *rand.Rand, s Space) *drawer {
	d := &drawer{Space: s, rnd: rnd}
	d.begin = min(warmMax, s.Duration/20)
	d.end = s.Duration - min(tailMax, s.Duration/tailPart)
	window := d.end - d.begin
	d.longest = max(time.Millisecond, min(longestMax, max(s.Duration/5, min(9*time.Second, window*6/10))))
	if d.Session <= 0 {
		d.Session = sessionUsual
	}
	if d.Lag <= 0 {
		d.Lag = lagUsual
	}
	d.telling = neat(max(d.Session, d.Lag*3/2) + 300*time.Millisecond) // a lag is looked for at every half of it
	d.kinds = d.someKinds()
	if d.chance(0.5) {
		d.one(loses, func(a world.Ability) bool { return crashes(a) && !loses(a) })
	}
	d.parts = s.Partitions
	if d.chance(0.7) {
		d.parts = d.parts[rnd.IntN(len(d.parts)):][:1]
	}
	for range scenes {
		d.taste = append(d.taste, d.log(0.2, 5))
	}
	d.pace, d.calm = d.log(0.15, 1.5), d.log(0.02, 0.5)
	if d.chance(0.7) {
		d.logical = d.log(0.1, 0.7)
	}
	if d.lonely = d.chance(0.15); d.lonely {
		d.pace = d.log(1, 8)
	}
	return d
}

// someKinds draws the kinds of this run: one, all, or some; or those that nobody dies of, and one other; or one that takes data away, and those under
// which messages still speak of it.
func (d *drawer) someKinds() []world.Ability {
	can := d.Can
	switch x := d.rnd.Float64(); {
	case x < 0.1:
		return []world.Ability{d.pick(can)}
	case x < 0.25:
		return can
	case x < 0.45:
		if kinds := d.gentle(); len(kinds) > 2 {
			return kinds
		}
	case x < 0.65:
		if kinds := d.brittle(); len(kinds) > 1 {
			return kinds
		}
	}
	can = slices.Clone(can)
	var kinds []world.Ability
	for range min(len(can), int(d.log(2, float64(len(can))))) { // few more often than many: what few do, they do again and again
		k := d.pick(can)
		kinds = append(kinds, k)
		can = slices.DeleteFunc(can, func(other world.Ability) bool { return other == k })
	}
	slices.Sort(kinds)
	return kinds
}

// gentle draws elections, faults on messages, one other kind and perhaps cuts: the cluster stays whole, leaders change, and what one broker tells
// another comes when it is no longer true.
func (d *drawer) gentle() []world.Ability {
	kinds := d.only(func(a world.Ability) bool { return a == world.CanElect || world.OfMessages(a) })
	others := d.only(func(a world.Ability) bool { return a != world.CanElect && !world.OfMessages(a) })
	if outages := slices.DeleteFunc(slices.Clone(others), func(a world.Ability) bool { return !isOutage(a) }); len(outages) > 0 && d.chance(0.6) {
		others = outages
	}
	if len(others) > 0 {
		kinds = append(kinds, d.pick(others))
	}
	return d.perhaps(kinds, 0.4, world.CanPartition)
}

// brittle draws one kind that takes data away, faults on messages, and perhaps elections, cuts and moves: who lost data comes back while what is under way
// speaks of what it had.
func (d *drawer) brittle() []world.Ability {
	losing := d.only(loses)
	if outages := slices.DeleteFunc(slices.Clone(losing), func(a world.Ability) bool { return !isOutage(a) }); len(outages) > 0 && d.chance(0.7) {
		losing = outages
	}
	if len(losing) == 0 {
		return nil
	}
	kinds := append(d.only(world.OfMessages), d.pick(losing))
	return d.perhaps(kinds, 0.4, world.CanElect, world.CanPartition, world.CanPause, world.CanStop, world.CanReassign)
}

// only lists those of the kinds that can be that are such.
func (d *drawer) only(such func(world.Ability) bool) []world.Ability {
	return slices.DeleteFunc(slices.Clone(d.Can), func(a world.Ability) bool { return !such(a) })
}

// perhaps adds each of some kinds with a chance.
func (d *drawer) perhaps(kinds []world.Ability, chance float64, more ...world.Ability) []world.Ability {
	for _, a := range more {
		if slices.Contains(d.Can, a) && !slices.Contains(kinds, a) && d.chance(chance) {
			kinds = append(kinds, a)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// one leaves the run with one of two groups of kinds that exclude each other within the budget.
func (d *drawer) one(a, b func(world.Ability) bool) {
	if !slices.ContainsFunc(d.kinds, a) || !slices.ContainsFunc(d.kinds, b) {
		return
	}
	gone := a
	if d.chance(0.5) {
		gone = b
	}
	d.kinds = slices.DeleteFunc(slices.Clone(d.kinds), gone)
}

func (d *drawer) chance(p float64) bool { return d.rnd.Float64() < p }

// log draws between two positive numbers, evenly on a logarithmic scale.
func (d *drawer) log(low, high float64) float64 {
	return low * math.Exp(d.rnd.Float64()*math.Log(max(high, low)/low))
}

func (d *drawer) span(low, high time.Duration) time.Duration {
	return neat(time.Duration(d.log(float64(low), float64(max(low, high)))))
}

// neat cuts a duration to the digits that a reader wants to see.
func neat(t time.Duration) time.Duration {
	switch {
	case t >= 10*time.Second:
		return t.Truncate(100 * time.Millisecond)
	case t >= time.Second:
		return t.Truncate(10 * time.Millisecond)
	case t >= time.Millisecond:
		return t.Truncate(time.Millisecond)
	}
	return t
}

// kind draws one of the run's kinds, from among the preferred ones if the run has any of those.
func (d *drawer) kind(preferred ...world.Ability) world.Ability {
	from := slices.DeleteFunc(slices.Clone(d.kinds), func(k world.Ability) bool { return !slices.Contains(preferred, k) })
	if len(from) == 0 {
		from = d.kinds
	}
	return d.pick(from)
}

// pick draws one of some kinds by their weights.
func (d *drawer) pick(from []world.Ability) world.Ability {
	var total float64
	for _, a := range from {
		total += kindOf(a).share()
	}
	x := d.rnd.Float64() * total
	for _, a := range from {
		if x -= kindOf(a).share(); x < 0 {
			return a
		}
	}
	return from[0]
}

// share is a kind's weight.
func (k *kind) share() float64 {
	if k.weight == 0 {
		return 1
	}
	return k.weight
}

func (d *drawer) part() history.Partition { return d.parts[d.rnd.IntN(len(d.parts))] }

// add puts a line at a time, cut short where the faults' time ends, and returns when it is over.
func (d *drawer) add(at time.Duration, f Fault, length time.Duration) (over time.Duration) {
	return d.on(Trigger{Kind: AtTime}, at, f, length)
}

// on is add with a trigger that is expected about the time at; the only trigger of a tour is the time.
func (d *drawer) on(t Trigger, at time.Duration, f Fault, length time.Duration) (over time.Duration) {
	at = neat(max(d.roomFor(f.Kind, at), 0))
	if d.Tour || t.Kind == AtTime {
		t = Trigger{Kind: AtTime, At: at}
	} else if t.Plus == 0 && d.chance(0.8) {
		t.Plus = d.span(time.Millisecond, 2*time.Second)
	}
	length = neat(min(length, d.longest, d.end-at))
	if length <= 0 {
		return at
	}
	l := Line{Trigger: t, Fault: f, For: length}
	if instant(f.Kind) {
		l.For, length = 0, 0
	}
	d.lines = append(d.lines, drawn{l, at})
	if world.OfMessages(f.Kind) {
		d.catches++
		d.caught = drawn{l, at}
	}
	over = at + length
	if crashes(f.Kind) {
		d.whole = max(d.whole, over+d.rejoin())
	}
	if loses(f.Kind) {
		d.synced = max(d.synced, over+d.rejoin())
	}
	if ends(f.Kind) {
		d.started = max(d.started, over+d.Startup)
	}
	return over
}

// restart is about how long a broker takes to come back after a fault's end: its old session must end first. After rejoin its replicas
// are back in the ISR too.
func (d *drawer) restart() time.Duration { return d.Session }
func (d *drawer) rejoin() time.Duration  { return d.Session + time.Second }

// roomFor puts a crash off, half of the time, until the budget is likely to allow it: a loss of data and another
// crash exclude each other until the first one's victims are back in the ISR. Where brokers take long to start, most ends of a process wait until the
// last one is over: else brokers would be starting all the time, and most faults find nobody to strike.
func (d *drawer) roomFor(kind world.Ability, at time.Duration) time.Duration {
	if d.Startup > 0 && ends(kind) && d.chance(0.8) {
		at = max(at, d.started)
	}
	switch {
	case !crashes(kind) || d.chance(0.5):
		return at
	case loses(kind):
		return max(at, d.whole)
	default:
		return max(at, d.synced)
	}
}

// bites reports whether a line surely changes a leader, an ISR or an outcome in a healthy cluster.
func (d *drawer) bites(l drawn) bool {
	k := kindOf(l.Fault.Kind)
	return l.Trigger.Kind == AtTime && k.bites != nil && k.bites(d, l.Line)
}

// owed is in how many parts of a plan a kind that is due comes: one may strike when what it is about is not there, or another has it.
const owed = 3

// owe sees to it that the plan has a line of a kind that surely bites in each of its parts.
func (d *drawer) owe(kind world.Ability) {
	part := (d.end - d.begin) / owed
	for i := range time.Duration(owed) {
		from := d.begin + i*part
		if !slices.ContainsFunc(d.lines, func(l drawn) bool {
			return l.Fault.Kind == kind && l.Trigger.Kind == AtTime && l.at >= from && l.at < from+part && d.bites(l)
		}) {
			d.surely(kind, from+d.upTo(max(0, part-d.telling)))
		}
	}
}

// surely puts a line of a kind that bites, if any of that kind does. It does not mind what others do to the budget.
func (d *drawer) surely(kind world.Ability, at time.Duration) (over time.Duration) {
	d.whole, d.synced, d.started = 0, 0, 0
	p := d.part()
	f := d.fault(kind, p)
	if open := kindOf(kind).opener; open != nil {
		f = open(p)
	}
	return d.add(at, f, d.span(d.telling, d.longest))
}

// bite puts a line that surely bites in the place of whatever comes first.
func (d *drawer) bite() {
	over := d.surely(d.kind(), d.begin)
	opener := d.lines[len(d.lines)-1]
	d.lines = slices.DeleteFunc(d.lines[:len(d.lines)-1], func(l drawn) bool { return l.at <= over })
	d.lines = append(d.lines, opener)
}
