package nemesis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/history"
	"tidemark/world"
)

// How many times longer a slow disk may take. From slowTelling on an fsync, of a few milliseconds, takes as long as timeouts last.
const (
	slowMin     = 2.0
	slowTelling = 200.0
	slowMax     = 1000.0
)

// A disk takes long to write and to sync.
var slowDiskKind = kind{
	ability: world.CanSlowDisk,
	read:    readSlowDisk,
	write:   func(f Fault) string { return writeTargets(f) + " at " + decimal(f.Rate) },
	act:     func(l *life, _ []link) action { return &slowDisk{life: l} },
	draw: func(d *drawer, p history.Partition) Fault {
		return Fault{Kind: world.CanSlowDisk, Targets: []Target{d.target(p)}, Rate: math.Round(d.log(10, slowMax))}
	},
	opener: func(history.Partition) Fault {
		return Fault{Kind: world.CanSlowDisk, Targets: []Target{{Role: Controller}}, Rate: slowMax}
	},
	useful: func(s Space) bool { return len(s.Can) > 1 }, // it may pass unnoticed
	weight: 2 * rareDisk,
}

// readSlowDisk reads targets and how many times longer the disk takes.
func readSlowDisk(w *words, f *Fault) (err error) {
	if err = readTargets(w, f); err != nil {
		return err
	}
	if err = w.want("at"); err != nil {
		return err
	}
	times, err := strconv.ParseFloat(w.peek(), 64)
	if err != nil || !(times >= slowMin && times <= slowMax) {
		return w.expected(fmt.Sprintf("how many times longer the disk takes, from %v to %v", slowMin, slowMax))
	}
	w.next++
	f.Rate = times
	return nil
}

// slowDisk lets what brokers flush take longer.
type slowDisk struct {
	*life
	done   []history.BrokerID
	before []world.DiskState // of each of them
}

func (d *slowDisk) ready() string {
	for _, b := range d.event.Targets {
		if !d.alive(b) {
			return fmt.Sprintf("broker %d is down", b)
		}
	}
	return ""
}

func (d *slowDisk) claim(history.ClusterState) string {
	if taken := claim(d.slow, d.event.Fault, d.event.Targets); len(taken) > 0 {
		return fmt.Sprintf("the disks of brokers %s are slow already", brokers(taken))
	}
	return ""
}

func (d *slowDisk) apply() (string, error) {
	for _, b := range d.event.Targets {
		state, err := d.Cluster.ProbeDisk(b)
		if err == nil {
			err = d.Cluster.SlowDisk(b, d.line.Fault.Rate)
		}
		if err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		d.done, d.before = append(d.done, b), append(d.before, state)
	}
	return "", nil
}

func (d *slowDisk) probe() (string, error) {
	var counts []string
	for i, b := range d.done {
		state, err := d.Cluster.ProbeDisk(b)
		if err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		n := state.Slowed - d.before[i].Slowed
		if n == 0 {
			return "", fmt.Errorf("%w: broker %d flushed nothing", errIdle, b)
		}
		counts = append(counts, fmt.Sprintf("broker %d: %d writes and syncs took longer", b, n))
	}
	return strings.Join(counts, ", "), nil
}

func (d *slowDisk) undo() error {
	var errs []error
	var left []history.BrokerID
	for _, b := range d.done {
		if err := d.Cluster.SlowDisk(b, 1); err != nil {
			errs, left = append(errs, fmt.Errorf("broker %d: %w", b, err)), append(left, b)
		}
	}
	d.done = left
	return errors.Join(errs...)
}

// verify looks twice whether anything still takes longer.
func (d *slowDisk) verify() (string, error) {
	slowed := make([]int64, len(d.event.Targets))
	for i, b := range d.event.Targets {
		state, err := d.Cluster.ProbeDisk(b)
		if err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		slowed[i] = state.Slowed
	}
	d.Env.Sleep(pollEvery)
	for i, b := range d.event.Targets {
		if state, err := d.Cluster.ProbeDisk(b); err != nil || state.Slowed > slowed[i] {
			return "", errors.Join(err, fmt.Errorf("the disk of broker %d still slows: %d writes and syncs in %v", b, state.Slowed-slowed[i], pollEvery))
		}
	}
	return fmt.Sprintf("the disks of brokers %s slow nothing any more", brokers(d.event.Targets)), nil
}

func (d *slowDisk) release() {
	d.locked(func() {
		for _, b := range d.event.Targets {
			delete(d.slow, b)
		}
	})
}
