package nemesis

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tidemark/history"
)

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
