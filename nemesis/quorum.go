package nemesis

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/history"
	"tidemark/world"
)

// A new disk takes all that a broker has, its controller log too. The voter that it was is gone for good; with
// controller.quorum.auto.join.enable the broker takes its place once it follows the metadata again. Until then the quorum has a voter that never
// answers, so that there is one new disk at a time, and none while voters are taken out.
var newDiskKind = newDiskOf(outageOf(kind{ability: world.CanNewDisk, crashes: true, loses: true}))

func newDiskOf(k kind) kind {
	k.useful = threeBrokers
	k.act = func(l *life, _ []link) action { return &newDisk{outage: &outage{life: l}} }
	return k
}

// Voters that are taken out of the quorum are put back at the end. Several leave at once, as far as the controller lets them.
var votersKind = kind{
	ability: world.CanVoters,
	read: func(w *words, f *Fault) error {
		if err := w.want("remove"); err != nil {
			return err
		}
		return readTargets(w, f)
	},
	write:  func(f Fault) string { return "remove " + writeTargets(f) },
	act:    func(l *life, _ []link) action { return &unseating{life: l} },
	useful: threeBrokers,
	draw: func(d *drawer, p history.Partition) Fault {
		f := Fault{Kind: world.CanVoters, Targets: []Target{d.target(p)}}
		if d.chance(0.6) { // two at once, neither of them the controller most of the time
			order := d.rnd.Perm(len(d.Brokers))
			f.Targets = []Target{{Role: Number, Broker: d.Brokers[order[0]]}, {Role: Number, Broker: d.Brokers[order[1]]}}
		}
		return f
	},
}

// threeBrokers is how many it takes for a majority that lives without one.
func threeBrokers(s Space) bool { return len(s.Brokers) >= 3 }

// memberships is which plan lines change the quorum.
type memberships struct {
	newDisk int  // lines under way that gave a broker a new disk, and it is no voter yet
	unseats int  // lines under way that took voters out
	unsure  bool // a voter was asked to be taken out, and nobody knows whether it yet will be
}

// newDisk kills brokers and gives them new disks.
type newDisk struct {
	*outage
	voted []history.BrokerID // those that are to be voters again
}

func (n *newDisk) ready() string {
	var rest []history.BrokerID // the voters that keep their disks
	n.voted = nil
	for _, b := range n.brokers {
		switch votes, hit := quorumOf(n.Cluster).ProbeVoter(b), slices.Contains(n.event.Targets, b); {
		case votes && hit:
			n.voted = append(n.voted, b)
		case votes:
			rest = append(rest, b)
		}
	}
	if len(n.voted) > 0 && len(rest) <= len(n.voted) {
		return fmt.Sprintf("voters that keep their disks are no majority: %d of %d", len(rest), len(rest)+len(n.voted))
	}
	return n.outage.ready()
}

func (n *newDisk) claim(s history.ClusterState) string {
	if q := n.memberships; q.newDisk+q.unseats > 0 || q.unsure || len(n.event.Targets) > 1 {
		return "a quorum that is being changed, or loses several disks at once, may never have a majority again"
	}
	if why := n.outage.claim(s); why != "" {
		return why
	}
	n.memberships.newDisk++
	return ""
}

func (n *newDisk) verify() (string, error) {
	detail, err := n.outage.verify()
	if err != nil {
		return "", err
	}
	for _, b := range n.voted {
		if !quorumOf(n.Cluster).ProbeVoter(b) {
			return "", fmt.Errorf("broker %d is no voter yet on its new disk", b)
		}
	}
	return detail, nil
}

func (n *newDisk) release() {
	n.locked(func() { n.memberships.newDisk-- })
	n.outage.release()
}

// unseating takes voters out of the quorum.
type unseating struct{ *life }

func (u *unseating) ready() string {
	for _, b := range u.event.Targets {
		switch {
		case !u.alive(b):
			return fmt.Sprintf("broker %d is down", b)
		case !quorumOf(u.Cluster).ProbeVoter(b):
			return fmt.Sprintf("broker %d is no voter", b)
		}
	}
	return ""
}

func (u *unseating) claim(history.ClusterState) string {
	if u.memberships.newDisk > 0 {
		return "a voter's disk was replaced, and a majority without it must stay"
	}
	u.memberships.unseats++
	return ""
}

// apply asks for all at once. The controller takes them one after the other, and refuses the last voter: what was done counts.
func (u *unseating) apply() (string, error) {
	errs := make([]error, len(u.event.Targets))
	u.each("nemesis voters", len(errs), func(i int) {
		errs[i] = quorumOf(u.Cluster).RemoveVoter(u.event.Targets[i], u.Bound)
	})
	err := errors.Join(errs...)
	if err == nil {
		return "", nil
	}
	u.locked(func() { u.memberships.unsure = true })
	if slices.Contains(errs, nil) {
		return err.Error(), nil
	}
	return "", err
}

func (u *unseating) probe() (string, error) {
	var out []history.BrokerID
	for _, b := range u.event.Targets {
		if u.alive(b) && !quorumOf(u.Cluster).ProbeVoter(b) {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return "", fmt.Errorf("%w: brokers %s are down or do not know that they vote no more", errHidden, brokers(u.event.Targets))
	}
	return fmt.Sprintf("brokers %s vote no more", brokers(out)), nil
}

func (u *unseating) undo() error {
	var errs []error
	for _, b := range u.event.Targets {
		if !quorumOf(u.Cluster).ProbeVoter(b) {
			errs = append(errs, quorumOf(u.Cluster).AddVoter(b, u.Bound))
		}
	}
	return errors.Join(errs...)
}

func (u *unseating) verify() (string, error) {
	for _, b := range u.event.Targets {
		if !quorumOf(u.Cluster).ProbeVoter(b) {
			return "", fmt.Errorf("broker %d is no voter", b)
		}
	}
	return fmt.Sprintf("brokers %s vote", brokers(u.event.Targets)), nil
}

func (u *unseating) release() { u.locked(func() { u.memberships.unseats-- }) }

// quorumOf is what a world with the abilities does; one without is refused the plan.
func quorumOf(c world.Cluster) world.Quorum { return c.(world.Quorum) }
