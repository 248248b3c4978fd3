package nemesis

import (
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// sketch is one way to put faults together.
type sketch struct {
	weight float64         // how often it is drawn, against the others that are possible
	needs  []world.Ability // one of these at least; none: it is always possible
	also   []world.Ability // and one of these
	draw   func(d *drawer, t time.Duration) (over time.Duration)
}

// scenes lists all of them.
var scenes = []sketch{
	{weight: 25, draw: (*drawer).single},
	{weight: 35, draw: (*drawer).pair},
	{weight: 35, draw: (*drawer).squeeze},
	{weight: 7, draw: (*drawer).roll},
	{weight: 15, draw: (*drawer).flap},
	{weight: 40, draw: (*drawer).burst},
	{weight: 60, draw: (*drawer).moment},
	{weight: 50, draw: (*drawer).churn},
	{weight: 30, draw: (*drawer).reflex},
	{weight: 40, needs: messageKinds, draw: (*drawer).race},
	{weight: 50, needs: messageKinds, draw: (*drawer).reentry},
	{weight: 70, draw: (*drawer).besiege},
	{weight: 90, needs: messageKinds, also: []world.Ability{world.CanElect}, draw: (*drawer).feud},
	{weight: 25, needs: []world.Ability{world.CanReassign}, draw: (*drawer).move},
	{weight: 25, needs: []world.Ability{world.CanRecreate}, draw: (*drawer).again},
	{weight: 20, needs: membershipKinds, draw: (*drawer).upheaval},
	{weight: 20, needs: comebackKinds, draw: (*drawer).comeback},
}

func (s sketch) possible(d *drawer) bool {
	has := func(a world.Ability) bool { return slices.Contains(d.kinds, a) }
	return (len(s.needs) == 0 || slices.ContainsFunc(s.needs, has)) && (len(s.also) == 0 || slices.ContainsFunc(s.also, has))
}

// scene draws the faults that belong together from time t on, and returns when they are over.
func (d *drawer) scene(t time.Duration) (over time.Duration) {
	var total float64
	for i, s := range scenes {
		if s.possible(d) {
			total += s.weight * d.taste[i]
		}
	}
	x := d.rnd.Float64() * total
	for i, s := range scenes {
		if !s.possible(d) {
			continue
		}
		if x -= s.weight * d.taste[i]; x < 0 {
			return s.draw(d, t)
		}
	}
	return d.single(t)
}

// single is one fault alone.
func (d *drawer) single(t time.Duration) time.Duration {
	f := d.fault(d.kind(), d.part())
	length := d.length(f.Kind)
	if d.chance(d.logical) {
		return d.on(d.event(t, d.part()), t, f, length)
	}
	return d.add(t, f, length)
}

// pair is a fault and a second one that strikes during it or shortly after its end, around the same partition: a leader cut off,
// deposed, healed and killed; an election during a cut; a kill while the controller is away.
func (d *drawer) pair(t time.Duration) time.Duration {
	p := d.part()
	first := d.fault(d.kind(world.CanPartition, world.CanLoss, world.CanPause, world.CanKill, world.CanPowerFail, world.CanClock), p)
	length := d.length(first.Kind)
	if d.chance(0.7) {
		length = d.span(min(d.telling, d.longest), min(3*d.telling, d.longest))
	}
	over := d.add(t, first, length)
	second := d.fault(d.kind(world.CanKill, world.CanPowerFail, world.CanWipe, world.CanElect, world.CanStop, world.CanPause, world.CanFreeze), p)
	at := t + d.upTo(over-t)
	if d.chance(0.5) {
		at = over + d.span(5*time.Millisecond, 3*time.Second)
	}
	if d.chance(d.logical) {
		return max(over, d.on(d.event(at, p), at, second, d.length(second.Kind)))
	}
	return max(over, d.add(at, second, d.length(second.Kind)))
}

// squeeze takes the followers of a partition away, together or one after the other, and strikes when the leader is about all that is left of
// the ISR; or it strikes the last follower, and the leader stands still or goes while that one comes back.
func (d *drawer) squeeze(t time.Duration) time.Duration {
	p := d.part()
	hold := max(min(4*d.telling, d.longest), d.telling)
	over := t
	at := t
	strike := d.fault(d.kind(world.CanKill, world.CanPowerFail, world.CanWipe), p)
	away := []world.Ability{world.CanStop, world.CanPause, world.CanFreeze, world.CanKill}
	if loses(strike.Kind) {
		away = away[:3] // the budget counts those that were killed
	}
	n := min(d.Factor-1, 4)
	swap := n > 1 && d.chance(0.4)
	if swap {
		n--
	} else if slices.Contains(d.kinds, world.CanPartition) && d.chance(0.3) { // or all at once
		n = 0
		f := Fault{Kind: world.CanPartition, Targets: []Target{{Role: Leader, Partition: p}}, Others: []Target{{Role: Rest}}, Port: world.BrokerPort}
		over, at = d.add(t, f, hold), t+d.telling
	}
	for range n {
		f := Fault{Kind: d.kind(away...), Targets: []Target{{Role: Follower, Partition: p}}}
		if !slices.Contains(away, f.Kind) {
			f = d.fault(f.Kind, p)
		}
		over = max(over, d.add(at, f, hold-(at-t)))
		at += min(d.span(50*time.Millisecond, d.telling+time.Second), hold/2)
	}
	at = max(at, t+min(d.telling, hold/2))
	if swap {
		last := strike
		if len(last.Targets) == 1 {
			last.Targets = []Target{{Role: Follower, Partition: p}}
		}
		goes := d.fault(d.kind(world.CanPause, world.CanFreeze, world.CanStop, world.CanPartition), p)
		if isOutage(goes.Kind) {
			goes.Targets = []Target{{Role: Leader, Partition: p}}
		}
		over = max(over, d.add(at, last, d.span(min(200*time.Millisecond, d.telling), d.telling)))
		return max(over, d.add(at+d.span(10*time.Millisecond, d.telling), goes, d.length(goes.Kind)))
	}
	alone := Trigger{Kind: WhenISR, Partition: p, Count: 1}
	if d.chance(0.5) {
		return max(over, d.on(alone, at, strike, d.length(strike.Kind)))
	}
	return max(over, d.add(at, strike, d.length(strike.Kind)))
}

// roll strikes every broker in turn, as a rolling restart does, sometimes faster than the last one can come back.
func (d *drawer) roll(t time.Duration) time.Duration {
	kind := d.kind(world.CanStop, world.CanKill, world.CanPowerFail, world.CanWipe, world.CanPause, world.CanFreeze)
	length, gap := d.span(200*time.Millisecond, d.longest/2), d.span(50*time.Millisecond, 3*time.Second)
	order := slices.Clone(d.Brokers)
	d.rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	p := d.part()
	over := t
	for _, b := range order[:min(len(order), 7)] {
		f := d.fault(kind, p)
		if kind != world.CanElect && len(f.Targets) == 1 && f.Targets[0].Role != Rest && (len(f.Others) == 0 || f.Others[0].Role == Rest) {
			f.Targets[0] = Target{Role: Number, Broker: b}
		}
		over = d.add(over, f, length) + gap
	}
	return over
}

// flap repeats a short fault; a clock that is wrong, or a network that loses packets, for a moment only would be none.
func (d *drawer) flap(t time.Duration) time.Duration {
	f := d.fault(d.kind(world.CanPartition, world.CanPause, world.CanElect), d.part())
	if kindOf(f.Kind).steady {
		return d.single(t)
	}
	length, gap := d.span(50*time.Millisecond, time.Second), d.span(50*time.Millisecond, time.Second)
	if crashes(f.Kind) || f.Kind == world.CanStop {
		gap += d.restart()
	}
	for range 3 + d.rnd.IntN(5) {
		t = d.add(t, f, length) + gap
	}
	return t
}

// burst is several faults of any kinds around one partition within seconds, none of which knows of the others.
func (d *drawer) burst(t time.Duration) time.Duration {
	if d.lonely {
		return d.single(t)
	}
	p, within := d.part(), d.span(500*time.Millisecond, 6*time.Second)
	over := t
	for range 3 + d.rnd.IntN(4) {
		f := d.fault(d.kind(), p)
		at := t + d.upTo(within)
		switch length := d.length(f.Kind); {
		case d.catches > 0 && d.chance(0.2):
			over = max(over, d.on(d.next(AfterCatches, d.caught.at), at, f, length))
		case d.chance(d.logical):
			over = max(over, d.on(d.event(at, p), at, f, length))
		default:
			over = max(over, d.add(at, f, length))
		}
	}
	return over
}

// length draws how long a fault of a kind lasts.
func (d *drawer) length(kind world.Ability) time.Duration {
	if k := kindOf(kind); k.length != nil {
		return k.length(d)
	}
	return d.lasting(0.2)
}

// lasting draws a length: with a chance short enough to pass unnoticed, else long enough to tell.
func (d *drawer) lasting(short float64) time.Duration {
	if d.chance(short) {
		return d.span(min(50*time.Millisecond, d.longest), min(d.telling, d.longest))
	}
	return d.span(min(d.telling, d.longest), min(3*d.telling, d.longest))
}

// event draws a trigger that is not a time, for about the time t.
func (d *drawer) event(t time.Duration, p history.Partition) Trigger {
	switch x := d.rnd.Float64(); {
	case x < 0.15:
		return Trigger{Kind: AfterAcks, Partition: p, Count: max(1, int64(d.log(1, max(2, 10*t.Seconds()))))}
	case x < 0.2:
		return Trigger{Kind: WhenLeader, Partition: p, Broker: history.NoBroker}
	default:
		return d.step(t, p)
	}
}

// step draws a trigger that is a step of the protocol's, the next from the time t on most of the time: an election, or an ISR that shrinks or grows.
func (d *drawer) step(t time.Duration, p history.Partition) (when Trigger) {
	switch x := d.rnd.Float64(); {
	case x < 0.2:
		return Trigger{Kind: WhenISR, At: neat(t), Partition: p, Count: 1 + int64(d.rnd.IntN(max(1, d.Factor-1)))}
	case x < 0.5:
		when = d.next(AfterElections, t)
	case x < 0.65:
		when = d.next(AfterShrinks, t)
	default:
		when = d.next(AfterExpands, t)
	}
	when.Partition = p
	return when
}

// next is the next event of a kind from a time on, or one of those behind it.
func (d *drawer) next(kind TriggerKind, since time.Duration) Trigger {
	when := Trigger{Kind: d.comes(kind), At: neat(since), Count: 1}
	when.Of = d.of(when.Kind)
	for d.chance(0.25) {
		when.Count++
	}
	return when
}

// of is what an event of messages is of: most of the time what the last fault on messages meets, as others meet theirs meanwhile.
func (d *drawer) of(kind TriggerKind) (m Messages) {
	if f := d.caught.Fault; (kind == AfterCatches || kind == AfterReleases && world.Keeps(f.Kind)) && d.chance(0.7) {
		m = f.Messages()
	}
	return m
}

// comes is an event that the plan so far may bring: what is dropped is never let go, and without faults on messages none is caught.
func (d *drawer) comes(kind TriggerKind) TriggerKind {
	if kind == AfterReleases && !slices.ContainsFunc(d.lines, func(l drawn) bool { return world.Keeps(l.Fault.Kind) }) {
		kind = AfterCatches
	}
	if kind == AfterCatches && d.catches == 0 {
		kind = AfterExpands
	}
	return kind
}

// moment is what strikes right after a step of the protocol's, when what was decided on old knowledge is not yet put right: one fault, or one
// that keeps replicas apart and another one, each so long after the step as it is drawn.
func (d *drawer) moment(t time.Duration) time.Duration {
	p := d.part()
	when := d.step(t, p)
	over := t
	if d.chance(0.6) {
		first := d.apart(p)
		over = max(over, d.on(when, t, first, d.length(first.Kind)))
	}
	second := d.strike(p)
	return max(over, d.on(when, t, second, d.length(second.Kind)))
}

// reflex is a fault that strikes after each of the next events of one kind, always as long after it: whatever they leave unfinished, there is a run in
// which a leadership ends then.
func (d *drawer) reflex(t time.Duration) time.Duration {
	p := d.part()
	kind := []TriggerKind{AfterExpands, AfterExpands, AfterReleases, AfterElections, AfterShrinks, AfterCatches}[d.rnd.IntN(6)]
	kind = d.comes(kind)
	of := d.of(kind)
	f := d.strike(p)
	if slices.Contains(d.kinds, world.CanElect) && d.chance(0.35) {
		f = electFollower(p)
	}
	length, plus := d.length(f.Kind), d.span(time.Millisecond, 500*time.Millisecond)
	for n := range 2 + d.rnd.IntN(5) {
		when := Trigger{Kind: kind, At: neat(t), Count: int64(1 + n), Of: of, Plus: plus}
		if when.ofState() {
			when.Partition = p
		}
		d.on(when, t, f, length)
	}
	return t + d.span(100*time.Millisecond, d.telling) // whatever else comes goes on at once
}

// churn keeps replicas apart, and lets them meet, again and again: they fall behind and catch up, leave the ISR and come back, and whatever
// else strikes meanwhile finds some of it under way. What leader and controller tell each other of that may be held, lost or late.
func (d *drawer) churn(t time.Duration) time.Duration {
	p := d.part()
	over := t
	victim, same := Target{Role: Number, Broker: d.anyBroker()}, d.chance(0.6)
	if f := d.messages(d.kind(messageKinds...), p); world.OfMessages(f.Kind) && d.chance(0.4) {
		f.aboutISR(d.chance(0.3))
		if d.chance(0.6) {
			f.Nth = 2 // the first takes a member out, the second lets it in again
		}
		if f.Kind == world.CanLate {
			f.By = d.span(min(d.telling, d.longest), min(4*d.telling, d.longest))
		}
		over = d.add(t, f, d.span(min(d.telling, d.longest), d.longest))
	}
	for range 2 + d.rnd.IntN(4) {
		f := d.apart(p)
		if same {
			f.meant(victim)
		}
		over = max(over, d.add(t, f, d.length(f.Kind)))
		t += d.span(100*time.Millisecond, 2*d.telling)
	}
	return over
}

// meant puts one broker in the place of the followers that a fault strikes, but where it stands on the other side.
func (f *Fault) meant(b Target) {
	sides := [2][]Target{f.Targets, f.Others}
	for i, side := range sides {
		if len(side) == 1 && side[0].Role == Follower && !slices.Contains(sides[1-i], b) {
			side[0] = b
		}
	}
}

// apart draws a fault that keeps replicas apart: often the leader and one follower, which goes on with everybody else.
func (d *drawer) apart(p history.Partition) Fault {
	f := d.fault(d.kind(world.CanPartition, world.CanHold, world.CanLate, world.CanPause, world.CanFreeze), p)
	switch {
	case world.OfMessages(f.Kind) && d.chance(0.8):
		f = d.fetches(f, p)
	case f.Kind == world.CanPartition && d.chance(0.5):
		f = Fault{Kind: world.CanPartition, Targets: []Target{{Role: Leader, Partition: p}}, Others: []Target{{Role: Follower, Partition: p}}, Port: world.BrokerPort}
	case len(f.Targets) == 1 && isOutage(f.Kind) && d.chance(0.5):
		f.Targets[0] = Target{Role: Follower, Partition: p}
	}
	return f
}

// strike draws a fault that ends a leadership, most of the time.
func (d *drawer) strike(p history.Partition) Fault {
	f := d.fault(d.kind(world.CanKill, world.CanPowerFail, world.CanElect, world.CanStop, world.CanPause, world.CanWipe), p)
	if len(f.Targets) == 1 && isOutage(f.Kind) {
		switch x := d.rnd.Float64(); {
		case x < 0.45:
			f.Targets[0] = Target{Role: Leader, Partition: p}
		case x < 0.65:
			f.Targets[0] = Target{Role: OSR, Partition: p}
		}
	}
	return f
}

// fault draws a fault of a kind, around a partition.
func (d *drawer) fault(kind world.Ability, p history.Partition) Fault {
	return kindOf(kind).draw(d, p)
}

// target draws one broker, by role more often than by number.
func (d *drawer) target(p history.Partition) Target {
	switch x := d.rnd.Float64(); {
	case x < 0.45:
		return Target{Role: Leader, Partition: p}
	case x < 0.7:
		return Target{Role: Follower, Partition: p}
	case x < 0.78:
		return Target{Role: OSR, Partition: p}
	case x < 0.88:
		return Target{Role: Controller}
	case x < 0.93:
		return Target{Role: Random}
	default:
		return Target{Role: Number, Broker: d.anyBroker()}
	}
}

func (d *drawer) anyBroker() history.BrokerID { return d.Brokers[d.rnd.IntN(len(d.Brokers))] }

// halves draws two sides by number.
func (d *drawer) halves() (left, right []Target) {
	order := slices.Clone(d.Brokers)
	d.rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, b := range order {
		side := &left
		if i >= len(order)/2 {
			side = &right
		}
		*side = append(*side, Target{Role: Number, Broker: b})
	}
	return left, right
}
