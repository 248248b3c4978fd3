package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/history"
	"tidemark/world"
)

// outage takes brokers' processes away: kill, power failure, controlled stop, pause.
type outage struct {
	*life
	done []history.BrokerID // those that were reached
}

func (o *outage) is(kind world.Ability) bool { return o.line.Fault.Kind == kind }

// claim refuses brokers that are down already. A replica counts as unclean from here on, so that two faults at once cannot both
// be allowed. The lock is held.
func (o *outage) claim(s history.ClusterState) string {
	if taken := claim(o.process, o.event.Fault, o.event.Targets); len(taken) > 0 {
		return fmt.Sprintf("brokers %s are down by another fault", brokers(taken))
	}
	if lost := o.is(world.CanPowerFail); lost || o.is(world.CanKill) {
		for _, b := range o.event.Targets {
			o.unclean.Down(s, b, lost)
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
	case world.CanPowerFail:
		return o.Cluster.PowerFail(b)
	case world.CanStop:
		return o.stop(b)
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
		return "", errors.Join(err, errors.New(why))
	}
	if o.Cluster.ProbeProcess(b) != world.ProcessGone {
		if killed := o.Cluster.Kill(b); killed != nil {
			return "", errors.Join(err, killed)
		}
	}
	return fmt.Sprintf("%v; killed", err), nil
}

func (o *outage) probe() (string, error) {
	want := world.ProcessGone
	if o.is(world.CanPause) {
		want = world.ProcessPaused
	}
	for _, b := range o.done {
		if state := o.Cluster.ProbeProcess(b); state != want {
			return "", fmt.Errorf("broker %d is %s, expected %s", b, state, want)
		}
	}
	return fmt.Sprintf("brokers %s %s", brokers(o.done), want), nil
}

func (o *outage) undo() error {
	var errs []error
	for _, b := range o.event.Targets {
		switch o.Cluster.ProbeProcess(b) {
		case world.ProcessGone:
			errs = append(errs, o.Cluster.Start(b))
		case world.ProcessPaused:
			errs = append(errs, o.Cluster.Resume(b))
		}
	}
	return errors.Join(errs...)
}

func (o *outage) verify() (string, error) {
	served := make([]bool, len(o.event.Targets))
	o.each("nemesis probe", len(served), func(i int) {
		b := o.event.Targets[i]
		served[i] = o.Cluster.ProbeProcess(b) == world.ProcessRunning && o.Cluster.ProbeServing(b, o.probeTime(0))
	})
	if i := slices.Index(served, false); i >= 0 {
		return "", fmt.Errorf("broker %d does not serve", o.event.Targets[i])
	}
	return fmt.Sprintf("brokers %s serve", brokers(o.event.Targets)), nil
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
