package nemesis

import (
	"errors"
	"fmt"
	"strings"

	"tidemark/history"
	"tidemark/world"
)

// The kinds that let the next operation on a partition's log fail. A broker whose log directory fails stops, as Kafka does when its only one
// goes offline; it counts as one that lost its power.
var (
	ioErrorKind = brokenDiskOf(kind{
		ability: world.CanIOError,
		read:    readIOError,
		write: func(f Fault) string {
			if f.OnRead {
				return writeTargets(f) + " on read"
			}
			return writeTargets(f)
		},
		also: func(f Fault) string {
			if f.OnRead {
				return ""
			}
			return `"on read", `
		},
		bites: func(d *drawer, l Line) bool { return d.hasReplica(l.Fault.Targets) && !l.Fault.OnRead },
	})
	shortWriteKind = brokenDiskOf(kind{ability: world.CanShortWrite, bites: hitsReplica})
	failSyncKind   = brokenDiskOf(kind{ability: world.CanFailSync})
)

// brokenDiskOf fills in what these kinds have in common.
func brokenDiskOf(k kind) kind {
	a := k.ability
	if k.read == nil {
		k.read, k.write = readTargets, writeTargets
	}
	k.crashes, k.loses, k.weight = true, true, rareDisk
	k.act = func(l *life, _ []link) action { return &brokenDisk{outage: outage{life: l}} }
	k.draw = func(d *drawer, p history.Partition) Fault { return d.brokenDisk(a, p) }
	k.opener = leaderAlone(a)
	return k
}

// rareDisk is how often faults of disks are drawn: there are many kinds, and to the cluster most are a power failure.
const rareDisk = 0.4

// readIOError reads targets, and whether it is a read that fails.
func readIOError(w *words, f *Fault) (err error) {
	if err = readTargets(w, f); err != nil || !w.take("on") {
		return err
	}
	f.OnRead = true
	return w.want("read")
}

// brokenDisk lets the next operation of brokers on their logs fail. From then on it is an outage.
type brokenDisk struct {
	outage
	before []world.DiskState // of each target
	marks  []map[replica]mark
}

// errIdle is in a probe's error when the brokers asked nothing of the disk that it concerns.
var errIdle = errors.New("not observed, as no such operation came")

// how is what the disk is to do.
func (d *brokenDisk) how() world.DiskFault {
	switch f := d.line.Fault; {
	case f.Kind == world.CanShortWrite:
		return world.ShortWrite
	case f.Kind == world.CanFailSync:
		return world.FailSync
	case f.OnRead:
		return world.FailRead
	default:
		return world.FailWrite
	}
}

// claim remembers how clean the targets were: one that meets no fault stays as clean. The lock is held.
func (d *brokenDisk) claim(s history.ClusterState) string {
	marks := make([]map[replica]mark, len(d.event.Targets))
	for i, b := range d.event.Targets {
		marks[i] = d.unclean.of(b)
	}
	d.marks = marks
	return d.outage.claim(s)
}

func (d *brokenDisk) apply() (string, error) {
	for _, b := range d.event.Targets {
		state, err := d.Cluster.ProbeDisk(b)
		if err == nil {
			err = d.Cluster.BreakDisk(b, d.how())
		}
		if err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		d.done, d.before = append(d.done, b), append(d.before, state)
	}
	return fmt.Sprintf("the next such operation on a log of brokers %s meets a %s", brokers(d.done), d.how()), nil
}

// hits tells which brokers have met the fault, and what each met.
func (d *brokenDisk) hits() (hit []bool, what []string, err error) {
	hit = make([]bool, len(d.done))
	for i, b := range d.done {
		state, err := d.Cluster.ProbeDisk(b)
		if err != nil {
			return nil, nil, fmt.Errorf("broker %d: %w", b, err)
		}
		if hit[i] = state.Failed > d.before[i].Failed; hit[i] {
			what = append(what, fmt.Sprintf("broker %d, now %s: %s", b, d.Cluster.ProbeProcess(b), state.Last))
		}
	}
	return hit, what, nil
}

func (d *brokenDisk) probe() (string, error) {
	_, what, err := d.hits()
	if err == nil && len(what) < len(d.done) {
		err = fmt.Errorf("%w: %d of %d brokers met a %s", errIdle, len(what), len(d.done), d.how())
	}
	return strings.Join(what, "; "), err
}

// still asks nothing: a broker that met the fault stays down, unless it did not care for the error.
func (d *brokenDisk) still() error { return nil }

func (d *brokenDisk) undo() error {
	var errs []error
	for _, b := range d.done {
		if err := d.Cluster.MendDisk(b); err != nil {
			errs = append(errs, fmt.Errorf("broker %d: %w", b, err))
		}
	}
	return errors.Join(append(errs, d.outage.undo())...)
}

func (d *brokenDisk) release() {
	hit, _, err := d.hits()
	d.outage.release()
	if err != nil {
		return
	}
	d.locked(func() {
		for i, b := range d.event.Targets {
			if i >= len(hit) || !hit[i] {
				d.unclean.restore(b, d.marks[i])
			}
		}
	})
}

// of returns the marks of a broker's replicas.
func (u *Unclean) of(b history.BrokerID) map[replica]mark {
	marks := make(map[replica]mark)
	for r, m := range u.marks {
		if r.broker == b {
			marks[r] = m
		}
	}
	return marks
}

// restore makes a broker's replicas as unclean as they were, and no more.
func (u *Unclean) restore(b history.BrokerID, marks map[replica]mark) {
	for r := range u.marks {
		if r.broker != b {
			continue
		}
		if m, ok := marks[r]; ok {
			u.marks[r] = m
		} else {
			delete(u.marks, r)
		}
	}
}

// brokenDisk draws a disk that fails, on one broker: two at once would mostly be outside the budget.
func (d *drawer) brokenDisk(a world.Ability, p history.Partition) Fault {
	return Fault{Kind: a, Targets: []Target{d.target(p)}, OnRead: a == world.CanIOError && d.chance(0.2)}
}
