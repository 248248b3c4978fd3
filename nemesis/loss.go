package nemesis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// The least and the greatest share of packets that a plan may lose.
const (
	shareMin = 0.01
	shareMax = 0.99
)

// The shares of packets that generated losses take. From shareTelling on, retransmissions that double add up to a replica lag or a session
// within seconds.
const (
	shareLow     = 0.05
	shareTelling = 0.4
	shareHigh    = 0.6
)

// A loss drops a share of the packets on links between brokers.
var lossKind = kind{
	ability: world.CanLoss,
	weight:  0.5,
	read:    readLoss,
	write:   func(f Fault) string { return f.sides() + " at " + decimal(f.Share) },
	check:   checkSides,
	resolve: resolveLinks,
	act:     func(l *life, links []link) action { return &loss{life: l, links: links} },
	useful:  twoBrokers,
	draw:    (*drawer).loss,
	steady:  true,
	length:  func(d *drawer) time.Duration { return d.span(min(d.telling, d.longest), d.longest) },
	opener: func(p history.Partition) Fault {
		f := cutKind.opener(p)
		f.Kind, f.Share = world.CanLoss, shareHigh
		return f
	},
	bites: func(d *drawer, l Line) bool {
		return d.hasReplica(l.Fault.Targets) && l.For >= 2*d.telling && l.Fault.Shape == Split && l.Fault.Share >= shareTelling
	},
}

// readLoss reads two sides and a share.
func readLoss(w *words, f *Fault) (err error) {
	if err = w.sides(f, false); err != nil {
		return err
	}
	if err = w.want("at"); err != nil {
		return err
	}
	f.Share, err = w.share()
	return err
}

func (w *words) share() (float64, error) {
	s, err := strconv.ParseFloat(w.peek(), 64)
	if err != nil || !(s >= shareMin && s <= shareMax) {
		return 0, w.expected(fmt.Sprintf("a share of the packets from %v to %v", shareMin, shareMax))
	}
	w.next++
	return s, nil
}

// loss is a network that loses packets, on a set of links. A link loses for one fault at a time: two shares on it would be a third one.
type loss struct {
	*life
	links  []link
	done   []link  // those on which this fault loses packets
	before []int64 // packets that each of them had lost before
}

func (l *loss) gaps() []gap { return at(world.AnyPort, l.links) }

func (l *loss) ready() string {
	if len(l.meaningful(l.gaps())) == 0 {
		return "no link of the loss has both ends up: " + text(l.gaps())
	}
	return ""
}

func (l *loss) claim(history.ClusterState) string {
	if taken := claim(l.lossy, l.event.Fault, l.links); len(taken) > 0 {
		return "another fault loses packets already on " + text(at(world.AnyPort, taken))
	}
	return ""
}

func (l *loss) apply() (string, error) {
	for _, k := range l.links {
		before, err := l.Cluster.Lost(k.from, k.to)
		if err == nil {
			err = l.Cluster.Lose(k.from, k.to, l.line.Fault.Share)
		}
		if err != nil {
			return "", fmt.Errorf("loss on %v: %w", k, err)
		}
		l.done, l.before = append(l.done, k), append(l.before, before)
	}
	return fmt.Sprintf("losing %s of the packets on %s", decimal(l.line.Fault.Share), text(l.gaps())), nil
}

// probe makes some traffic of its own and looks whether packets were lost since the fault began.
func (l *loss) probe() (string, error) {
	uncut := l.uncut(l.gaps())
	l.probeLinks(uncut, l.probeTime(l.line.For))
	var lost int64
	for i, k := range l.done {
		now, err := l.Cluster.Lost(k.from, k.to)
		if err != nil {
			return "", fmt.Errorf("loss on %v: %w", k, err)
		}
		lost += now - l.before[i]
	}
	switch {
	case lost > 0:
		return fmt.Sprintf("%d packets lost on %s", lost, text(l.gaps())), nil
	case len(l.uncut(uncut)) == 0:
		return "", fmt.Errorf("%w: no link of the loss is uncut and has both ends up", errHidden)
	default:
		return "", fmt.Errorf("no packet was lost on %s", text(l.gaps()))
	}
}

func (l *loss) undo() error {
	var errs []error
	for i, k := range slices.Backward(l.done) {
		if err := l.Cluster.EndLoss(k.from, k.to); err != nil {
			errs = append(errs, fmt.Errorf("loss on %v: %w", k, err))
			continue
		}
		l.done, l.before = slices.Delete(l.done, i, i+1), slices.Delete(l.before, i, i+1)
	}
	if len(errs) == 0 {
		l.release()
	}
	return errors.Join(errs...)
}

func (l *loss) verify() (string, error) { return l.reopened(l.gaps()) }

// release gives the links back. It is called again after undo, when another fault may have them.
func (l *loss) release() {
	l.locked(func() {
		for _, k := range l.links {
			if l.lossy[k] == l.event.Fault {
				delete(l.lossy, k)
			}
		}
	})
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
