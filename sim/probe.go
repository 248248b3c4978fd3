package sim

import (
	"fmt"
	"time"

	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// ProbeLink sends a message from one broker's machine to a port of the other's over the simulated network and reports whether it came
// through within timeout: it must pass the same cuts, losses and lags as everything else in that direction, and needs no answer.
func (w *World) ProbeLink(from, to history.BrokerID, at world.Port, timeout time.Duration) bool {
	name := fmt.Sprintf("probe %d>%d", from, to)
	if at != world.AnyPort {
		name += " " + string(at)
	}
	_, passed := w.crosses(name, from, to, at, timeout)
	return passed
}

// Transit is how long such a message took just now.
func (w *World) Transit(from, to history.BrokerID, timeout time.Duration) (time.Duration, bool) {
	return w.crosses(fmt.Sprintf("transit %d>%d", from, to), from, to, world.AnyPort, timeout)
}

// crosses sends a message of a name and tells how long it took, if it came through within timeout.
func (w *World) crosses(name string, from, to history.BrokerID, at world.Port, timeout time.Duration) (took time.Duration, passed bool) {
	src, err := w.host(from)
	if err != nil || !src.powered {
		return 0, false
	}
	dst, err := w.host(to)
	if err != nil || src == dst {
		return 0, false
	}
	port, err := portOf(at)
	if err != nil {
		return 0, false
	}
	arrived, sent := w.newSignal(), w.now
	c := &conn{w: w, label: name, nth: w.dials[name], port: port, dst: dst, probe: func() {
		took, passed = w.now-sent, true
		arrived.Notify()
	}}
	w.conns++
	c.id = w.conns
	c.out = pipe{c: c, from: src, to: dst, forward: true, rnd: newStream(w.opt.Seed, name, c.nth)}
	c.out.arrival.h = &c.out
	w.dials[name]++
	c.out.send(segProbe, nil)
	arrived.Until(func() bool { return passed }, timeout)
	if w.note(noteProbe, from, uint64(to), 0, nil) {
		w.tell(from, fmt.Sprintf("%s passed: %t", name, passed))
	}
	c.out.drop()
	return took, passed
}

// ProbeProcess looks at a broker's process.
func (w *World) ProbeProcess(b history.BrokerID) world.ProcessState {
	h, err := w.host(b)
	switch {
	case err != nil || h.state == hostDown || h.state == hostBooting:
		return world.ProcessGone
	case h.state == hostPaused:
		return world.ProcessPaused
	case h.state == hostFrozen:
		return world.ProcessFrozen
	default:
		return world.ProcessRunning
	}
}

// ProbeServing asks a broker for ApiVersions over a connection of its own: true when it answered within timeout.
func (w *World) ProbeServing(b history.BrokerID, timeout time.Duration) bool {
	deadline := after(w.now, timeout)
	conn, err := admin{w}.Dial("probe", b, timeout)
	if err != nil {
		return false
	}
	defer conn.Close()
	return workloads.Serves(conn, deadline-w.now)
}

// ProbeClock reads a broker's clock, which runs even while its process does not.
func (w *World) ProbeClock(b history.BrokerID) (time.Duration, error) {
	h, err := w.host(b)
	if err != nil {
		return 0, fmt.Errorf("clock: %w", err)
	}
	if !h.powered {
		return 0, fmt.Errorf("clock of broker %d: it has no power", b)
	}
	return h.local(), nil
}
