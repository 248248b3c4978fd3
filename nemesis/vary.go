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
// knows nothing of what nearly happened.
func Vary(rnd *rand.Rand, s Space, p Plan, at time.Duration, about Concern) Plan {
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
	v := variation{drawer: d, lines: slices.Clone(p.Lines), at: at, about: about.Brokers}
	v.change()
	for n := 1; n < changesMax && d.chance(0.7); n++ {
		v.change()
	}
	v.lines = slices.DeleteFunc(v.lines, func(l Line) bool { return l.Trigger.At >= s.Duration })
	return Plan{Lines: v.lines[:min(len(v.lines), generateMax)]}
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
	lines []Line
	at    time.Duration
	about []history.BrokerID
}

// change makes one change.
func (v *variation) change() {
	i, found := v.near()
	switch x := v.rnd.Float64(); {
	case x < 0.05: // what comes behind is drawn anew
		v.lines = slices.DeleteFunc(v.lines, func(l Line) bool { return l.Trigger.At > v.at })
		v.scene(v.at + v.span(100*time.Microsecond, time.Second))
		v.keep()
	case x < 0.5 || !found:
		v.insert(v.moment())
	case x < 0.6: // it comes a little sooner or later
		v.lines[i].Trigger.At = neat(max(0, v.lines[i].Trigger.At+v.signed(time.Millisecond, v.telling)))
	case x < 0.72 && v.lines[i].For > 0:
		v.lines[i].For = v.until(v.lines[i])
	case x < 0.86:
		v.lines = slices.Delete(v.lines, i, i+1)
	default:
		v.exchange(i)
	}
}

// near draws a line that strikes, or begins to look for its event, before the time, and not long before.
func (v *variation) near() (i int, found bool) {
	var close []int
	for i, l := range v.lines {
		if l.Trigger.At >= v.at-4*v.telling && l.Trigger.At <= v.at {
			close = append(close, i)
		}
	}
	if len(close) == 0 {
		return 0, false
	}
	i, other := close[v.rnd.IntN(len(close))], close[v.rnd.IntN(len(close))] // the closer one of two
	if v.lines[other].Trigger.At > v.lines[i].Trigger.At {
		i = other
	}
	return i, true
}

// moment is a little before or behind the time, or the beginning or the end of a line that is near: what matters is what comes first.
func (v *variation) moment() time.Duration {
	t := v.at
	if i, found := v.near(); found && v.chance(0.6) {
		if t = v.lines[i].Trigger.At; v.chance(0.5) {
			t += v.lines[i].For
		}
	}
	if t += v.signed(time.Millisecond, time.Second); t > v.at && v.chance(0.7) {
		t = v.at - (t - v.at)
	}
	return max(0, t)
}

// until draws how long a line lasts: until such a moment, or as ever.
func (v *variation) until(l Line) time.Duration {
	if t := v.moment(); t > l.Trigger.At && v.chance(0.7) {
		return neat(t - l.Trigger.At)
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
	case x < 0.65:
		f = v.aside(v.one(), v.one(), p)
	case x < 0.8 && slices.Contains(v.kinds, world.CanElect):
		f = Fault{Kind: world.CanElect, Partition: p, Targets: []Target{v.one()}}
	default:
		f = v.strike(p)
		if isOutage(f.Kind) && v.chance(0.5) {
			f.Targets = []Target{v.one()}
		}
	}
	covers := v.chance(0.4) // it is in force at the time
	if covers {
		t = max(0, v.at-v.span(10*time.Millisecond, 4*v.telling))
	}
	v.add(t, f, v.length(f.Kind))
	for i := range v.drawer.lines {
		switch l := &v.drawer.lines[i].Line; {
		case l.For == 0:
		case covers:
			l.For = neat(max(0, v.at-l.Trigger.At) + v.span(time.Millisecond, v.telling))
		default:
			l.For = v.until(*l)
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

// keep takes over what was drawn.
func (v *variation) keep() {
	for _, l := range v.drawer.lines {
		v.lines = append(v.lines, l.Line)
	}
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
