package nemesis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/history"
	"tidemark/world"
)

// The least and the greatest rate of a clock.
const (
	rateMin = 0.1
	rateMax = 10.0
)

// rateSlow is a clock so slow that a broker's heartbeats (every 500 ms) come less often than its session (3 s) lasts.
const rateSlow = 0.15

// rateFast is a clock so fast that, on the controller, brokers' sessions end between two of their heartbeats. A slow one may be the
// controller's own and then measures its own heartbeats, so it is a fast controller that surely bites.
const rateFast = 8.0

// A clock runs fast or slow.
var clockKind = kind{
	ability: world.CanClock,
	weight:  0.5,
	read:    readClock,
	write:   func(f Fault) string { return writeTargets(f) + " at " + decimal(f.Rate) },
	act:     func(l *life, _ []link) action { return &drift{life: l} },
	draw:    (*drawer).drift,
	steady:  true,
	length:  func(d *drawer) time.Duration { return d.lasting(0.1) },
	opener: func(history.Partition) Fault {
		return Fault{Kind: world.CanClock, Targets: []Target{{Role: Controller}}, Rate: rateMax}
	},
	bites: func(d *drawer, l Line) bool {
		return l.Fault.Targets[0].Role == Controller && l.For >= d.telling && l.Fault.Rate >= rateFast
	},
}

// readClock reads targets and a rate.
func readClock(w *words, f *Fault) (err error) {
	if f.Targets, err = w.targets(many); err != nil {
		return err
	}
	if err = w.want("at"); err != nil {
		return err
	}
	f.Rate, err = w.rate()
	return err
}

func (w *words) rate() (float64, error) {
	r, err := strconv.ParseFloat(w.peek(), 64)
	if err != nil || math.IsNaN(r) || r < rateMin || r > rateMax || r == 1 {
		return 0, w.expected(fmt.Sprintf("a clock rate from %v to %v other than 1", rateMin, rateMax))
	}
	w.next++
	return r, nil
}

// drift lets brokers' clocks run at a wrong rate.
type drift struct {
	*life
	set []history.BrokerID // those whose rate is wrong
}

// The pause between the two readings that give a clock's rate, a quarter of the fault at most, and by what share of the intended
// error the rate may be off.
const (
	readingPause = time.Second
	rateWithin   = 0.25
)

func (d *drift) ready() string {
	for _, b := range d.event.Targets {
		if !d.alive(b) {
			return fmt.Sprintf("broker %d is down", b)
		}
	}
	return ""
}

func (d *drift) claim(history.ClusterState) string {
	if taken := claim(d.clocks, d.event.Fault, d.event.Targets); len(taken) > 0 {
		return fmt.Sprintf("the clocks of brokers %s drift already", brokers(taken))
	}
	return ""
}

func (d *drift) apply() (string, error) {
	for _, b := range d.event.Targets {
		if err := d.Cluster.SetClock(b, d.line.Fault.Rate); err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		d.set = append(d.set, b)
	}
	return "", nil
}

func (d *drift) probe() (string, error) {
	detail, err := d.measure(d.line.Fault.Rate)
	for _, b := range d.event.Targets {
		if err != nil && !d.alive(b) {
			return "", fmt.Errorf("%w: broker %d is down", errHidden, b)
		}
	}
	return detail, err
}

// measure reads every clock twice and compares its rate with the one expected.
func (d *drift) measure(want float64) (string, error) {
	targets := d.event.Targets
	first, begin := make([]time.Duration, len(targets)), make([]time.Duration, len(targets))
	for i, b := range targets {
		var err error
		if first[i], err = d.Cluster.ProbeClock(b); err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		begin[i] = d.Env.Now()
	}
	pause := readingPause
	if d.line.For > 0 {
		pause = min(pause, max(d.line.For/4, time.Millisecond))
	}
	d.Env.Sleep(pause)
	var rates []string
	for i, b := range targets {
		second, err := d.Cluster.ProbeClock(b)
		if err != nil {
			return "", fmt.Errorf("broker %d: %w", b, err)
		}
		rate := float64(second-first[i]) / float64(d.Env.Now()-begin[i])
		if math.Abs(rate-want) > rateWithin*math.Abs(d.line.Fault.Rate-1) {
			return "", fmt.Errorf("the clock of broker %d runs at %.4f, expected %.4f", b, rate, want)
		}
		rates = append(rates, fmt.Sprintf("broker %d at %.4f", b, rate))
	}
	return strings.Join(rates, ", "), nil
}

func (d *drift) undo() error {
	var errs []error
	var left []history.BrokerID
	for _, b := range d.set {
		if err := d.Cluster.SetClock(b, 1); err != nil {
			errs, left = append(errs, fmt.Errorf("broker %d: %w", b, err)), append(left, b)
		}
	}
	d.set = left
	return errors.Join(errs...)
}

func (d *drift) verify() (string, error) { return d.measure(1) }

func (d *drift) release() {
	d.locked(func() {
		for _, b := range d.event.Targets {
			delete(d.clocks, b)
		}
	})
}

// drift draws a clock that is wrong, a very fast one often on the controller.
func (d *drawer) drift(p history.Partition) Fault {
	f := Fault{Kind: world.CanClock, Targets: []Target{d.target(p)}, Rate: d.rate()}
	if f.Rate >= rateFast && d.chance(0.5) {
		f.Targets[0] = Target{Role: Controller}
	}
	return f
}

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
