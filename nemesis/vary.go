package nemesis

import (
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// Vary draws a plan that differs from p around a time: something nearly happened then, and what is a little different may make it happen. A few changes,
// each drawn by itself: faults around that time, or all behind it, come anew; one that is there moves, lasts another while, goes, or becomes another. It
// knows nothing of what nearly happened. Struck is when each line of p struck, less than 0 for one that never did; nil is when each begins to
// look for what it waits for.
func Vary(rnd *rand.Rand, s Space, p Plan, struck []time.Duration, at time.Duration, about Concern) Plan {
	s.Can = s.Useful()
	if len(s.Can) == 0 || len(s.Partitions) == 0 {
		return p
	}
	d := newDrawer(rnd, s)
	if kinds := p.Needs(); len(kinds) > 0 && d.chance(0.5) {
		d.kinds = slices.DeleteFunc(slices.Clone(s.Can), func(a world.Ability) bool { return !slices.Contains(kinds, a) })
		if len(d.kinds) == 0 {
			d.kinds = s.Can
		}
	}
	if slices.Contains(s.Partitions, about.Partition) && d.chance(0.7) {
		d.parts = []history.Partition{about.Partition}
	}
	v := variation{drawer: d, at: at, about: about.Brokers}
	for i, l := range p.Lines {
		v.lines = append(v.lines, drawn{l, l.Trigger.At})
		if struck != nil {
			v.lines[i].at = struck[i]
		}
	}
	if len(about.Brokers) > 1 && d.chance(0.3) {
		v.belie()
	} else {
		v.change()
		for n := 1; n < changesMax && d.chance(0.7); n++ {
			v.change()
		}
	}
	var out Plan
	for _, l := range v.lines {
		if l.Trigger.At < s.Duration && len(out.Lines) < generateMax {
			out.Lines = append(out.Lines, l.Line)
		}
	}
	return out
}

// Concern is whom something concerns.
type Concern struct {
	Partition history.Partition // zero if none
	Brokers   []history.BrokerID
}

// changesMax bounds the changes of one variation.
const changesMax = 8

// variation is a plan in the making.
type variation struct {
	*drawer
	lines []drawn // and when each strikes, less than 0 for never
	at    time.Duration
	about []history.BrokerID
}

// change makes one change.
func (v *variation) change() {
	i, found := v.near(whichever)
	switch x := v.rnd.Float64(); {
	case x < 0.05: // what comes behind is drawn anew
		v.lines = slices.DeleteFunc(v.lines, func(l drawn) bool { return l.at > v.at || l.Trigger.At > v.at })
		v.scene(v.at + v.span(100*time.Microsecond, time.Second))
		v.keep()
	case x < 0.25:
		v.cover()
	case x < 0.5 || !found:
		v.insert(v.moment())
	case x < 0.6: // it comes a little sooner or later
		v.shift(&v.lines[i], v.signed(time.Millisecond, v.telling))
	case x < 0.74 && v.lines[i].For > 0:
		v.lines[i].For = v.until(v.lines[i])
	case x < 0.85:
		v.lines = slices.Delete(v.lines, i, i+1)
	case x < 0.92:
		v.otherwise()
	default:
		v.exchange(i)
	}
}

// otherwise has a broker that goes away do so in another way, as by a loss of power where it was killed.
func (v *variation) otherwise() {
	i, found := v.near(func(l Line) bool { return isOutage(l.Fault.Kind) })
	if kinds := v.only(isOutage); found && len(kinds) > 0 {
		v.lines[i].Fault.Kind = v.pick(kinds)
	}
}

// whichever is any line.
func whichever(Line) bool { return true }

// shift has a line strike later, or sooner: behind its event, if it waits for one.
func (v *variation) shift(l *drawn, by time.Duration) {
	when := &l.Trigger.At
	if l.Trigger.Kind != AtTime {
		when = &l.Trigger.Plus
	}
	was := *when
	*when = neat(max(0, was+by))
	l.at += *when - was
}

// near draws a line that is such, and that strikes before the time, and not long before.
func (v *variation) near(such func(Line) bool) (i int, found bool) {
	var close []int
	for i, l := range v.lines {
		if l.at >= max(0, v.at-4*v.telling) && l.at <= v.at && such(l.Line) {
			close = append(close, i)
		}
	}
	if len(close) == 0 {
		return 0, false
	}
	i, other := close[v.rnd.IntN(len(close))], close[v.rnd.IntN(len(close))] // the closer one of two
	if v.lines[other].at > v.lines[i].at {
		i = other
	}
	return i, true
}

// moment is a little before or behind the time, or the beginning or the end of a line that is near: what matters is what comes first.
func (v *variation) moment() time.Duration {
	t := v.at
	if i, found := v.near(whichever); found && v.chance(0.6) {
		if t = v.lines[i].at; v.chance(0.5) {
			t += v.lines[i].For
		}
	}
	if t += v.signed(time.Millisecond, time.Second); t > v.at && v.chance(0.7) {
		t = v.at - (t - v.at)
	}
	return max(0, t)
}

// until draws how long a line lasts: until such a moment, some part more or less than before, or as ever.
func (v *variation) until(l drawn) time.Duration {
	switch t := v.moment(); {
	case t > l.at && v.chance(0.7):
		return neat(t - l.at)
	case l.For > 0 && v.chance(0.5):
		return neat(min(time.Duration(float64(l.For)*v.log(0.3, 3)), v.longest))
	}
	return neat(v.length(l.Fault.Kind))
}

func (v *variation) signed(low, high time.Duration) time.Duration {
	t := v.span(low, high)
	if v.chance(0.5) {
		return -t
	}
	return t
}

// insert adds what is drawn for a time: those that belong together, or one fault.
func (v *variation) insert(t time.Duration) {
	p, f := v.part(), Fault{}
	switch x := v.rnd.Float64(); {
	case x < 0.15:
		v.scene(t)
		v.keep()
		return
	case x < 0.3:
		f = v.apart(p)
	case x < 0.7:
		from, to := v.two()
		f = v.aside(from, to, p)
	case x < 0.83 && slices.Contains(v.kinds, world.CanElect):
		f = Fault{Kind: world.CanElect, Partition: p, Targets: []Target{v.one()}}
	default:
		f = v.strike(p)
		if isOutage(f.Kind) && v.chance(0.5) {
			f.Targets = []Target{v.one()}
		}
	}
	if v.chance(0.4) {
		v.during(f)
		return
	}
	v.add(t, f, v.length(f.Kind))
	for i := range v.drawer.lines {
		if l := &v.drawer.lines[i]; l.For > 0 {
			l.For = v.until(*l)
		}
	}
	v.keep()
}

// cover adds a fault by which one broker's word does not reach another at the time.
func (v *variation) cover() {
	from, to := v.two()
	v.during(v.aside(from, to, v.part()))
}

// belie makes untrue what was said at the time of a broker's log: that broker loses data before, and is not given it again by who said so.
func (v *variation) belie() {
	back := v.at - v.span(time.Millisecond, v.telling)
	gone := back - v.span(time.Millisecond, v.telling)
	kinds := v.only(func(a world.Ability) bool { return isOutage(a) && loses(a) })
	if len(v.about) < 2 || v.about[0] == v.about[len(v.about)-1] || len(kinds) == 0 || gone <= 0 {
		v.cover()
		return
	}
	whose, says := Target{Role: Number, Broker: v.about[0]}, Target{Role: Number, Broker: v.about[len(v.about)-1]}
	if i, found := v.near(func(l Line) bool { return isOutage(l.Fault.Kind) }); found && v.chance(0.6) {
		v.lines[i].Fault = Fault{Kind: v.pick(kinds), Targets: []Target{whose}}
		gone = v.lines[i].at
	} else {
		v.add(gone, Fault{Kind: v.pick(kinds), Targets: []Target{whose}}, back-gone)
	}
	f := Fault{Kind: world.CanPartition, Targets: []Target{says}, Others: []Target{whose}, Port: world.BrokerPort}
	if !slices.Contains(v.Can, world.CanPartition) || slices.Contains(v.Can, world.CanHold) && v.chance(0.6) {
		f = Fault{Kind: world.CanHold, Shape: OneWay, API: "fetch", Responses: true, Targets: f.Targets, Others: f.Others}
	}
	if !slices.Contains(v.Can, f.Kind) { // nothing keeps them apart here
		v.keep()
		return
	}
	v.add(gone, f, v.at-gone+v.span(time.Millisecond, v.telling))
	v.keep()
}

// during adds a fault that is in force at the time.
func (v *variation) during(f Fault) {
	t := max(0, v.at-v.span(10*time.Millisecond, 4*v.telling))
	v.add(t, f, v.length(f.Kind))
	for i := range v.drawer.lines {
		if l := &v.drawer.lines[i]; l.For > 0 {
			l.For = neat(max(0, v.at-l.at) + v.span(time.Millisecond, v.telling))
		}
	}
	v.keep()
}

// one is a broker, most of the time one that it concerns.
func (v *variation) one() Target {
	if len(v.about) > 0 && v.chance(0.6) {
		return Target{Role: Number, Broker: v.about[v.rnd.IntN(len(v.about))]}
	}
	return Target{Role: Number, Broker: v.anyBroker()}
}

// two are brokers of which one's word is not to reach the other: most of the time two that it concerns.
func (v *variation) two() (from, to Target) {
	if len(v.about) < 2 || v.chance(0.4) {
		return v.one(), v.one()
	}
	i := v.rnd.IntN(len(v.about))
	j := (i + 1 + v.rnd.IntN(len(v.about)-1)) % len(v.about)
	return Target{Role: Number, Broker: v.about[i]}, Target{Role: Number, Broker: v.about[j]}
}

// keep takes over what was drawn.
func (v *variation) keep() {
	v.lines = append(v.lines, v.drawer.lines...)
	v.drawer.lines = nil
}

// exchange puts another fault in the place of a line's.
func (v *variation) exchange(i int) {
	l := &v.lines[i]
	f := v.fault(v.kind(), v.part())
	if isOutage(l.Fault.Kind) && isOutage(f.Kind) {
		f.Targets = l.Fault.Targets // the same broker, in another way
	}
	l.Fault = f
	switch {
	case instant(f.Kind):
		l.For = 0
	case l.For == 0:
		l.For = neat(v.length(f.Kind))
	}
}
