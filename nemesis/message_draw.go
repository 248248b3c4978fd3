package nemesis

import (
	"time"

	"tidemark/history"
	"tidemark/world"
)

// route is messages that brokers and clients send each other, by the roles of their ends.
type route struct {
	weight    float64
	api       world.API
	responses bool
	from, to  Role
}

// routes are what generated faults on messages choose from: replication most of all, then what moves ISRs and leaders, then the rest.
var routes = []route{
	{6, "fetch", true, Leader, Follower},
	{4, "fetch", false, Follower, Leader},
	{3, "fetch", true, Follower, Leader}, // that is for when they have changed places
	{2, "fetch", false, Leader, Follower},
	{2, "alter-partition", false, Leader, Controller},
	{4, "alter-partition", false, Rest, Controller},
	{2, "alter-partition", true, Controller, Leader},
	{4, "alter-partition", true, Controller, Rest},
	{3, "produce", true, Leader, Clients},
	{3, "produce", false, Clients, Leader},
	{2, world.RaftAPI, false, Controller, Rest},
	{2, world.RaftAPI, false, Rest, Controller},
	{1, "broker-heartbeat", false, Leader, Controller},
	{1, "broker-heartbeat", false, Follower, Controller},
	{1, "broker-heartbeat", true, Controller, Follower},
	{1, "broker-registration", false, Rest, Controller},
	{1, "broker-registration", true, Controller, Rest},
	{1, "fetch", true, Leader, Clients},
	{1, "list-offsets", true, Leader, Clients},
	{1, "init-producer-id", true, Rest, Clients},
	{1, "init-producer-id", false, Clients, Rest},
	{1, "allocate-producer-ids", true, Controller, Rest},
	{1, world.AnyAPI, false, Leader, Rest},
	{1, world.AnyAPI, false, Rest, Leader},
	{1, world.AnyAPI, true, Leader, Rest},
	{1, world.AnyAPI, true, Controller, Rest},
}

// messages draws a fault on messages around a partition: which, and whether it meets one of them or all.
func (d *drawer) messages(a world.Ability, p history.Partition) Fault {
	r := d.route()
	target := func(role Role) []Target {
		t := Target{Role: role}
		if role == Leader || role == Follower {
			t.Partition = p
		}
		return []Target{t}
	}
	f := Fault{Kind: a, Shape: OneWay, API: r.api, Responses: r.responses, Targets: target(r.from), Others: target(r.to)}
	switch a {
	case world.CanDelay: // all of them
		f.By = d.span(min(delayMin, d.longest), min(delayMax, d.longest))
		return f
	case world.CanThrottle:
		f.Bytes = int64(d.log(throttleLow, throttleHigh))
		return f
	}
	switch x := d.rnd.Float64(); {
	case x < 0.5:
		f.Nth = 1
	case x < 0.7:
		f.Nth = 2
		for d.chance(0.5) {
			f.Nth++
		}
	}
	if a == world.CanLate {
		f.By = d.span(min(50*time.Millisecond, d.longest), min(lateMax, d.longest))
	}
	return f
}

// fetches makes a fault on messages one on fetches between brokers, most of the time on all of them: whoever fetches stands still, and all but
// replication goes on.
func (d *drawer) fetches(f Fault, p history.Partition) Fault {
	ends := [][]Role{{Leader, Follower}, {Leader, Follower}, {Leader, Rest}, {Follower, Leader}, {Follower, Rest}}[d.rnd.IntN(5)]
	side := func(role Role) []Target {
		if role == Rest {
			return []Target{{Role: Rest}}
		}
		return []Target{{Role: role, Partition: p}}
	}
	f.API, f.Responses, f.Targets, f.Others, f.Nth = "fetch", true, side(ends[0]), side(ends[1]), 0
	if d.chance(0.3) {
		f.Responses, f.Targets, f.Others = false, f.Others, f.Targets
	}
	if d.chance(0.2) {
		f.Nth = 1 + int64(d.rnd.IntN(3))
	}
	return f
}

// lateMax is the longest by which a generated fault makes a message late.
const lateMax = 6 * time.Second

// The delays, and the rates in bytes a second, of generated faults: from what is hardly noticed to what ends a session or takes a replica out of the ISR.
const (
	delayMin     = 5 * time.Millisecond
	delayMax     = 3 * time.Second
	throttleLow  = 100
	throttleHigh = 20_000
)

func (d *drawer) route() route {
	var total float64
	for _, r := range routes {
		total += r.weight
	}
	x := d.rnd.Float64() * total
	for _, r := range routes {
		if x -= r.weight; x < 0 {
			return r
		}
	}
	return routes[0]
}

// messageLength draws how long a message is held, or how long the others strike.
func (d *drawer) messageLength(a world.Ability) time.Duration {
	if a != world.CanDrop && a != world.CanLate {
		return d.lasting(0.3)
	}
	return d.span(min(time.Second, d.longest), min(3*d.telling, d.longest))
}

// noAnswers is a fault after which a client that sends to the partition's leader does not know what became of it, or waits.
func noAnswers(a world.Ability, p history.Partition) Fault {
	f := Fault{
		Kind: a, Shape: OneWay, API: "produce", Responses: true,
		Targets: []Target{{Role: Leader, Partition: p}}, Others: []Target{{Role: Clients}},
	}
	switch a {
	case world.CanHold:
		f.API, f.Others[0] = "fetch", Target{Role: Follower, Partition: p}
	case world.CanLate:
		f.Responses, f.By = false, time.Second
		f.Targets, f.Others = f.Others, f.Targets
	case world.CanDelay:
		f.By = delayMax
	case world.CanThrottle:
		f.Bytes = throttleMin
	}
	return f
}

// unanswers reports whether a line keeps a follower out of the ISR, or a client from its answer.
func (d *drawer) unanswers(l Line) bool {
	f := l.Fault
	switch {
	case f.Kind == world.CanHold:
		return f.API == "fetch" && f.Nth == 0 && l.For >= d.telling && f.Others[0].Role != Clients && f.Targets[0].Role != Clients
	case f.Kind == world.CanDelay, f.Kind == world.CanThrottle, f.Nth > 1, l.For < time.Second:
		return false
	case f.Responses:
		return f.API == "produce" && f.Kind == world.CanDrop
	}
	return f.API == "produce"
}

// race is a fault on messages and a second fault that strikes when it has met one, while it lasts or shortly after: an election while the
// high watermark is held back, a power failure behind a request that is still under way.
func (d *drawer) race(t time.Duration) time.Duration {
	p := d.part()
	first := d.fault(d.kind(messageKinds...), p)
	length := d.length(first.Kind)
	over := d.add(t, first, length)
	if d.catches > 0 && d.chance(0.4) {
		return d.behind(p, t, over)
	}
	second := d.fault(d.kind(world.CanElect, world.CanKill, world.CanPowerFail, world.CanPartition, world.CanPause, world.CanStop), p)
	at := t + d.upTo(over-t)
	if d.chance(0.3) {
		at = over + d.span(5*time.Millisecond, 3*time.Second)
	}
	lasts := d.length(second.Kind)
	if d.catches > 0 && d.chance(0.5) {
		return max(over, d.on(d.next(AfterCatches, d.caught.at), at, second, lasts))
	}
	return max(over, d.add(at, second, lasts))
}

// reentry keeps a follower from its leader until it is out of the ISR, and then a fault meets what leader and controller tell each other of
// the ISR: the follower's return, most of the time.
func (d *drawer) reentry(t time.Duration) time.Duration {
	p := d.part()
	follower := []Target{{Role: Follower, Partition: p}}
	first := Fault{Kind: d.kind(world.CanPartition, world.CanPause, world.CanKill, world.CanPowerFail, world.CanStop), Targets: follower}
	switch {
	case first.Kind == world.CanPartition:
		first.Others, first.Port = []Target{{Role: Leader, Partition: p}}, world.BrokerPort
	case !isOutage(first.Kind):
		first = d.fault(first.Kind, p)
	}
	over := d.add(t, first, d.span(min(d.telling, d.longest), min(3*d.telling, d.longest)))
	kinds := messageKinds
	if d.chance(0.5) {
		kinds = []world.Ability{world.CanHold, world.CanLate}
	}
	second := d.messages(d.kind(kinds...), p)
	if !world.OfMessages(second.Kind) {
		return over
	}
	second.aboutISR(d.chance(0.4))
	shrunk := Trigger{Kind: WhenISR, Partition: p, Count: int64(max(1, d.Factor-1))}
	length := d.length(second.Kind)
	if second.Kind == world.CanHold && d.chance(0.5) { // an old session ends, and a new one begins, meanwhile
		length = d.span(min(3*d.telling, d.longest), min(6*d.telling, d.longest))
	}
	return max(over, d.on(shrunk, t+min(d.telling, (over-t)/2), second, length))
}

// aboutISR makes a fault on messages one on what leaders ask of the controller, or on its answers.
func (f *Fault) aboutISR(answers bool) {
	f.API, f.Responses, f.Targets, f.Others = "alter-partition", false, []Target{{Role: Rest}}, []Target{{Role: Controller}}
	if answers {
		f.Responses, f.Targets, f.Others = true, f.Others, f.Targets
	}
}

// echo is a fault that strikes when the last fault on messages has met one, while it is under way or lost, or when it has let go of it: around the
// same partition, and most of the time one that keeps replicas apart, or that ends a leadership.
func (d *drawer) echo(t, over time.Duration) time.Duration {
	p := d.part()
	f := d.fault(d.kind(), p)
	switch x := d.rnd.Float64(); {
	case x < 0.15:
		f = d.apart(p)
	case x < 0.35:
		f = d.strike(p)
	case x < 0.9:
		return d.behind(p, t, over)
	}
	when := AfterCatches
	if d.chance(0.5) {
		when = AfterReleases
	}
	return d.on(d.next(when, d.caught.at), t+d.upTo(over-t), f, d.length(f.Kind))
}

// behind takes away whom the last fault on messages concerns, when it has met one or let go of it; who crashed is often back, as another incarnation, before a
// message that is held is let go.
func (d *drawer) behind(p history.Partition, t, over time.Duration) time.Duration {
	f := d.takeAway(d.concerned(p), p)
	length, when := d.length(f.Kind), d.next(AfterReleases, d.caught.at)
	if d.chance(0.65) {
		when = d.next(AfterCatches, d.caught.at)
		if crashes(f.Kind) && d.chance(0.7) {
			length = d.span(min(50*time.Millisecond, d.longest), min(d.telling, d.longest))
		}
	}
	return d.on(when, t+d.upTo(over-t), f, length)
}

// takeAway draws an outage of a broker, a crash most of the time.
func (d *drawer) takeAway(who Target, p history.Partition) Fault {
	f := d.fault(d.kind(world.CanPowerFail, world.CanKill, world.CanWipe, world.CanPause), p)
	if isOutage(f.Kind) {
		f.Targets = []Target{who}
	}
	return f
}

// concerned is whom the last fault on messages is likely to keep in the dark, or to speak of: who is outside of the ISR where it is about that,
// who follows or leads where it is about their log, the controller where it decides.
func (d *drawer) concerned(p history.Partition) Target {
	role := Leader
	switch api := d.caught.Fault.API; {
	case api == "alter-partition" && d.chance(0.7):
		role = OSR
	case api == "fetch" && d.chance(0.5), api == "broker-heartbeat", api == "broker-registration":
		role = Follower
	case api == world.RaftAPI, api == "allocate-producer-ids":
		return Target{Role: Controller}
	}
	return Target{Role: role, Partition: p}
}

// messageKinds are the kinds by which a message is under way when it is no longer true, or lost.
var messageKinds = []world.Ability{world.CanHold, world.CanDrop, world.CanLate}
