package nemesis

import (
	"math"
	"slices"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// rateSlow is a clock so slow that a broker's heartbeats (every 500 ms) come less often than its session (3 s) lasts.
const rateSlow = 0.15

// rateFast is a clock so fast that, on the controller, brokers' sessions end between two of their heartbeats. A slow one may be the
// controller's own and then measures its own heartbeats, so it is a fast controller that surely bites.
const rateFast = 8.0

// The shares of packets that generated losses take. From shareTelling on, retransmissions that double add up to a replica lag or a session
// within seconds.
const (
	shareLow     = 0.05
	shareTelling = 0.4
	shareHigh    = 0.6
)

// restart is about how long a broker takes to come back after a fault's end, rejoin until its replicas are back in the ISR too.
const (
	restart = 1500 * time.Millisecond
	rejoin  = 3500 * time.Millisecond
)

// scene draws the faults that belong together from time t on, and returns when they are over.
func (d *drawer) scene(t time.Duration) (over time.Duration) {
	switch x := d.rnd.Float64(); {
	case x < 0.4:
		return d.single(t)
	case x < 0.78:
		return d.pair(t)
	case x < 0.87:
		return d.squeeze(t)
	case x < 0.94:
		return d.roll(t)
	default:
		return d.flap(t)
	}
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
		length = d.span(telling, d.longest)
	}
	over := d.add(t, first, length)
	second := d.fault(d.kind(world.CanKill, world.CanPowerFail, world.CanWipe, world.CanElect, world.CanStop, world.CanPause, world.CanFreeze), p)
	at := t + d.upTo(over-t)
	if d.chance(0.5) {
		at = over + d.span(20*time.Millisecond, 3*time.Second)
	}
	if d.chance(d.logical) {
		return max(over, d.on(d.event(at, p), at, second, d.length(second.Kind)))
	}
	return max(over, d.add(at, second, d.length(second.Kind)))
}

// squeeze takes the followers of a partition away one after the other, far enough apart for the ISR to shrink in between, and
// strikes when the leader is all that is left of it.
func (d *drawer) squeeze(t time.Duration) time.Duration {
	p := d.part()
	hold := max(d.longest, telling)
	over := t
	at := t
	strike := d.fault(d.kind(world.CanKill, world.CanPowerFail, world.CanWipe), p)
	away := []world.Ability{world.CanStop, world.CanPause, world.CanFreeze, world.CanKill}
	if loses(strike.Kind) {
		away = away[:3] // the budget counts those that were killed
	}
	for range min(d.Factor-1, 4) {
		f := Fault{Kind: d.kind(away...), Targets: []Target{{Role: Follower, Partition: p}}}
		if !slices.Contains(away, f.Kind) {
			f = d.fault(f.Kind, p)
		}
		over = max(over, d.add(at, f, hold-(at-t)))
		at += min(d.span(telling, telling+time.Second), hold/2)
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
	if f.Kind == world.CanClock || f.Kind == world.CanLoss {
		return d.single(t)
	}
	length, gap := d.span(50*time.Millisecond, time.Second), d.span(50*time.Millisecond, time.Second)
	if crashes(f.Kind) || f.Kind == world.CanStop {
		gap += restart
	}
	for range 3 + d.rnd.IntN(5) {
		t = d.add(t, f, length) + gap
	}
	return t
}

// length draws how long a fault of a kind lasts: short enough to pass unnoticed, or long enough to tell.
func (d *drawer) length(kind world.Ability) time.Duration {
	short := 0.2
	switch kind {
	case world.CanClock:
		short = 0.1
	case world.CanLoss:
		return d.span(min(telling, d.longest), d.longest)
	}
	if d.chance(short) {
		return d.span(min(100*time.Millisecond, d.longest), min(1500*time.Millisecond, d.longest))
	}
	return d.span(min(telling, d.longest), d.longest)
}

// event draws a trigger that is not a time, for about the time t.
func (d *drawer) event(t time.Duration, p history.Partition) Trigger {
	switch x := d.rnd.Float64(); {
	case x < 0.4:
		return Trigger{Kind: AfterAcks, Partition: p, Count: max(1, int64(d.log(1, max(2, 10*t.Seconds()))))}
	case x < 0.65:
		return Trigger{Kind: WhenISR, Partition: p, Count: int64(max(1, d.Factor-1))}
	case x < 0.9:
		return Trigger{Kind: AfterElections, Partition: p, Count: 1 + int64(d.rnd.IntN(3))}
	default:
		return Trigger{Kind: WhenLeader, Partition: p, Broker: history.NoBroker}
	}
}

// fault draws a fault of a kind, around a partition.
func (d *drawer) fault(kind world.Ability, p history.Partition) Fault {
	f := Fault{Kind: kind}
	switch kind {
	case world.CanPartition:
		return d.cut(p)
	case world.CanLoss:
		return d.loss(p)
	case world.CanElect:
		f.Partition = p
		f.Targets = []Target{{Role: Follower, Partition: p}}
		if d.chance(0.1) {
			f.Targets[0] = Target{Role: Number, Broker: d.anyBroker()}
		}
	case world.CanClock:
		f.Targets, f.Rate = []Target{d.target(p)}, d.rate()
		if f.Rate >= rateFast && d.chance(0.5) {
			f.Targets[0] = Target{Role: Controller}
		}
	default:
		f.Targets = []Target{d.target(p)}
		switch x := d.rnd.Float64(); {
		case loses(kind):
		case x < 0.05:
			f.Targets[0] = Target{Role: ISR, Partition: p}
		case x < 0.1:
			f.Targets = []Target{{Role: Leader, Partition: p}, {Role: Controller}}
		}
	}
	return f
}

// target draws one broker, by role more often than by number.
func (d *drawer) target(p history.Partition) Target {
	switch x := d.rnd.Float64(); {
	case x < 0.5:
		return Target{Role: Leader, Partition: p}
	case x < 0.75:
		return Target{Role: Follower, Partition: p}
	case x < 0.87:
		return Target{Role: Controller}
	case x < 0.93:
		return Target{Role: Random}
	default:
		return Target{Role: Number, Broker: d.anyBroker()}
	}
}

func (d *drawer) anyBroker() history.BrokerID { return d.Brokers[d.rnd.IntN(len(d.Brokers))] }

// rate draws a clock rate: a few per cent off, as bad clocks are, or so far off that sessions end.
func (d *drawer) rate() float64 {
	digits := func(r float64) float64 { return math.Round(r*1000) / 1000 }
	switch x := d.rnd.Float64(); {
	case x < 0.15:
		return digits(1 + d.log(0.001, 0.3))
	case x < 0.3:
		return digits(1 - d.log(0.001, 0.3))
	case x < 0.65:
		return digits(d.log(rateMin, rateSlow))
	case x < 0.75:
		return digits(d.log(2, rateFast))
	default:
		return digits(d.log(rateFast, rateMax))
	}
}

// cut draws a partition; a target on its own is the most common.
func (d *drawer) cut(p history.Partition) Fault {
	one, rest := []Target{d.target(p)}, []Target{{Role: Rest}}
	f := Fault{Kind: world.CanPartition, Targets: one, Others: rest}
	many := len(d.Brokers) > 2
	switch x := d.rnd.Float64(); {
	case x < 0.55:
	case x < 0.65:
		f.Shape = OneWay
	case x < 0.75:
		f.Shape, f.Targets, f.Others = OneWay, rest, one
	case x < 0.83:
		f.Targets, f.Others = []Target{{Role: Leader, Partition: p}}, []Target{{Role: Follower, Partition: p}}
	case x < 0.9 && many:
		return Fault{Kind: world.CanPartition, Shape: Bridge, Targets: one}
	case x < 0.94 && many:
		return Fault{Kind: world.CanPartition, Shape: Ring}
	case many:
		f.Targets, f.Others = d.halves()
	}
	switch x := d.rnd.Float64(); {
	case x < 0.15:
		f.Port = world.ControllerPort
	case x < 0.3:
		f.Port = world.BrokerPort
	}
	return f
}

// loss draws packet loss, most of the time around one target in both directions.
func (d *drawer) loss(p history.Partition) Fault {
	one, rest := []Target{d.target(p)}, []Target{{Role: Rest}}
	f := Fault{Kind: world.CanLoss, Targets: one, Others: rest}
	switch x := d.rnd.Float64(); {
	case x < 0.6:
	case x < 0.7:
		f.Shape = OneWay
	case x < 0.8:
		f.Shape, f.Targets, f.Others = OneWay, rest, one
	case len(d.Brokers) > 1:
		f.Targets, f.Others = d.halves()
	}
	low := shareLow
	if d.chance(0.6) {
		low = shareTelling
	}
	f.Share = math.Round(100*d.log(low, shareHigh)) / 100
	return f
}

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
