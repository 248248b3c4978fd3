package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// The kinds that take brokers' processes away.
var (
	killKind      = outageOf(kind{ability: world.CanKill, crashes: true, weight: 2})
	wipeKind      = outageOf(kind{ability: world.CanWipe, crashes: true, loses: true, weight: 0.6})
	powerFailKind = outageOf(kind{ability: world.CanPowerFail, crashes: true, loses: true, weight: 2})
	bitFlipKind   = outageOf(kind{ability: world.CanBitFlip, crashes: true, loses: true, weight: rareDisk})
	stopKind      = outageOf(kind{ability: world.CanStop})
	powerOffKind  = outageOf(kind{ability: world.CanPowerOff, draw: (*drawer).powerOff})
	pauseKind     = outageOf(kind{ability: world.CanPause, bites: longEnough})
	freezeKind    = outageOf(kind{ability: world.CanFreeze, bites: longEnough, weight: 0.6})
)

// longEnough is when a broker that stands still is missed.
func longEnough(d *drawer, l Line) bool { return hitsReplica(d, l) && l.For >= d.telling }

// isOutage reports whether a kind takes brokers' processes away.
func isOutage(a world.Ability) bool {
	switch a {
	case world.CanKill, world.CanWipe, world.CanPowerFail, world.CanStop, world.CanPause, world.CanFreeze:
		return true
	}
	return false
}

// outageOf fills in what the kinds of outages have in common.
func outageOf(k kind) kind {
	a, loses := k.ability, k.loses
	k.read, k.write = readTargets, writeTargets
	k.act = func(l *life, _ []link) action { return &outage{life: l} }
	if k.draw == nil {
		k.draw = func(d *drawer, p history.Partition) Fault { return d.outage(a, p, loses) }
	}
	k.opener = leaderAlone(a)
	if k.bites == nil { // a broker that restarts at once is as telling as one that stays away until its session ends
		k.length = func(d *drawer) time.Duration { return d.lasting(0.5) }
	}
	if k.bites == nil {
		k.bites = hitsReplica
	}
	return k
}

// outage takes brokers' processes away: kill, wipe, power failure, bit flip, controlled stop, power off, pause, freeze.
type outage struct {
	*life
	done    []history.BrokerID // those that were reached
	leaving []history.BrokerID // those whose shutdown did not end in time, and may end yet
}

// claim refuses brokers that are down already. A replica counts as unclean from here on, so that two faults at once cannot both
// be allowed. The lock is held.
func (o *outage) claim(s history.ClusterState) string {
	if taken := claim(o.process, o.event.Fault, o.event.Targets); len(taken) > 0 {
		return fmt.Sprintf("%s down by another fault", named(taken, "is", "are"))
	}
	if kind := o.line.Fault.Kind; crashes(kind) {
		for _, b := range o.event.Targets {
			o.unclean.Down(s, b, loses(kind))
		}
	}
	return ""
}

func (o *outage) ready() string {
	for _, b := range o.event.Targets {
		if state := o.Cluster.ProbeProcess(b); state != world.ProcessRunning {
			return fmt.Sprintf("broker %d is %s already", b, state)
		}
	}
	return ""
}

// strays finds brokers that died without a fault's doing: a failed write stops a broker and counts as a power failure.
func (x *run) strays(s history.ClusterState) {
	for _, b := range x.brokers {
		gone := x.Cluster.ProbeProcess(b) == world.ProcessGone
		x.locked(func() {
			if _, held := x.process[b]; gone && !held {
				x.unclean.Down(s, b, true)
			}
		})
	}
}

func (o *outage) apply() (string, error) {
	var details []string
	for _, b := range o.event.Targets {
		detail, err := o.hit(b)
		if err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		o.done = append(o.done, b)
		if detail != "" {
			details = append(details, fmt.Sprintf("broker %d: %s", b, detail))
		}
	}
	return strings.Join(details, "; "), nil
}

func (o *outage) hit(b history.BrokerID) (detail string, err error) {
	switch o.line.Fault.Kind {
	case world.CanPause:
		return "", o.Cluster.Pause(b)
	case world.CanFreeze:
		return "", o.Cluster.Freeze(b)
	case world.CanWipe:
		return o.Cluster.Wipe(b)
	case world.CanNewDisk:
		return quorumOf(o.Cluster).NewDisk(b)
	case world.CanPowerFail:
		return o.Cluster.PowerFail(b)
	case world.CanBitFlip:
		return o.Cluster.FlipBit(b)
	case world.CanStop:
		return o.stop(b)
	case world.CanPowerOff:
		return o.powerOff(b)
	default:
		return "", o.Cluster.Kill(b)
	}
}

// stop shuts a broker down, and kills it if it does not stop in time, as service managers do, where the budget allows it.
func (o *outage) stop(b history.BrokerID) (detail string, err error) {
	err = o.Cluster.Stop(b, o.Bound)
	s := o.observe().known
	if err == nil {
		o.locked(func() { o.unclean.Stopped(s, b) })
		return "", nil
	}
	var why string
	o.locked(func() {
		if why = o.Budget.Refuse(s, &o.unclean, o.strike(world.CanKill, []history.BrokerID{b})); why == "" {
			o.unclean.Down(s, b, false)
		}
	})
	if why != "" {
		o.leaving = append(o.leaving, b)
		return "", errors.Join(err, errors.New(why))
	}
	if o.Cluster.ProbeProcess(b) != world.ProcessGone {
		if killed := o.Cluster.Kill(b); killed != nil {
			return "", errors.Join(err, killed)
		}
	}
	return fmt.Sprintf("%v; killed", err), nil
}

// powerOff shuts a broker down and then takes the power: what a clean end left is on the disk, so that nothing may be lost. One that had to
// be killed keeps its power, as it may have unsynced data.
func (o *outage) powerOff(b history.BrokerID) (detail string, err error) {
	if detail, err = o.stop(b); err != nil || detail != "" {
		return detail, err
	}
	return o.Cluster.PowerFail(b)
}

// powerOff draws one broker or, as often, a whole ISR: then what comes back first leads with what its disk kept.
func (d *drawer) powerOff(p history.Partition) Fault {
	f := Fault{Kind: world.CanPowerOff, Targets: []Target{d.target(p)}}
	if d.chance(0.5) {
		f.Targets[0] = Target{Role: ISR, Partition: p}
	}
	return f
}

// state is that of the processes while the fault is in force.
func (o *outage) state() world.ProcessState {
	switch o.line.Fault.Kind {
	case world.CanPause:
		return world.ProcessPaused
	case world.CanFreeze:
		return world.ProcessFrozen
	default:
		return world.ProcessGone
	}
}

func (o *outage) still() error {
	for _, b := range o.done {
		if state := o.Cluster.ProbeProcess(b); state != o.state() {
			return fmt.Errorf("broker %d is %s, expected %s", b, state, o.state())
		}
	}
	return nil
}

func (o *outage) probe() (string, error) {
	if err := o.still(); err != nil {
		return "", err
	}
	if k := o.line.Fault.Kind; k == world.CanWipe || k == world.CanNewDisk {
		return o.empty()
	}
	return fmt.Sprintf("%s %s", named(o.done, "", ""), o.state()), nil
}

// empty looks into the files of wiped brokers, where no replica may be left.
func (o *outage) empty() (string, error) {
	for _, b := range o.done {
		for _, d := range o.Cluster.Dump(b) {
			return "", fmt.Errorf("broker %d still has %v up to offset %d", b, d.Partition, d.LEO)
		}
	}
	return fmt.Sprintf("%s %s, without any replica", named(o.done, "", ""), world.ProcessGone), nil
}

func (o *outage) undo() error {
	var errs []error
	var gone []history.BrokerID
	for _, b := range o.event.Targets {
		switch o.Cluster.ProbeProcess(b) {
		case world.ProcessGone:
			o.leaving = slices.DeleteFunc(o.leaving, func(l history.BrokerID) bool { return l == b })
			gone = append(gone, b)
		case world.ProcessRunning:
			if slices.Contains(o.leaving, b) {
				errs = append(errs, fmt.Errorf("broker %d is still shutting down", b))
			}
		case world.ProcessPaused:
			errs = append(errs, o.Cluster.Resume(b))
		case world.ProcessFrozen:
			errs = append(errs, o.Cluster.Thaw(b))
		}
	}
	return errors.Join(append(errs, start(o.Cluster, gone))...)
}

// start starts brokers, at once in a world where one may wait for others.
func start(c world.Cluster, gone []history.BrokerID) error {
	if together, ok := c.(world.Together); ok {
		return together.StartTogether(gone)
	}
	var errs []error
	for _, b := range gone {
		errs = append(errs, c.Start(b))
	}
	return errors.Join(errs...)
}

func (o *outage) verify() (string, error) {
	errs := make([]error, len(o.event.Targets))
	o.each("nemesis probe", len(errs), func(i int) { errs[i] = o.back(o.event.Targets[i]) })
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return named(o.event.Targets, "serves", "serve"), nil
}

func (o *outage) release() {
	s := o.observe().known
	now := o.Env.Now()
	o.locked(func() {
		for _, b := range o.event.Targets {
			delete(o.process, b)
			o.unclean.Started(s, b, now)
		}
	})
}

// outage draws whom an outage strikes: one broker, or a few together if nothing is lost.
func (d *drawer) outage(a world.Ability, p history.Partition, loses bool) Fault {
	f := Fault{Kind: a, Targets: []Target{d.target(p)}}
	switch x := d.rnd.Float64(); {
	case loses:
	case x < 0.05:
		f.Targets[0] = Target{Role: ISR, Partition: p}
	case x < 0.1:
		f.Targets = []Target{{Role: Leader, Partition: p}, {Role: Controller}}
	}
	return f
}
