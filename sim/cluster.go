package sim

import (
	"errors"
	"fmt"
	"time"

	"tidemark/history"
	"tidemark/workloads"
	"tidemark/world"
)

// Abilities lists the faults that the simulator can do.
func (w *World) Abilities() []world.Ability {
	return []world.Ability{
		world.CanPartition, world.CanKill, world.CanPause, world.CanPowerFail, world.CanStop, world.CanElect, world.CanReassign, world.CanRecreate, world.CanClock,
		world.CanFreeze, world.CanWipe, world.CanNewDisk, world.CanVoters, world.CanLoss, world.CanLag, world.CanHold, world.CanDrop, world.CanLate, world.CanDelay, world.CanThrottle,
		world.CanIOError, world.CanShortWrite, world.CanFailSync, world.CanSlowDisk, world.CanBitFlip, world.CanPowerOff,
	}
}

// target finds a broker for a fault, which must be in one of the states.
func (w *World) target(what string, b history.BrokerID, states ...hostState) (*host, error) {
	h, err := w.host(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	for _, s := range states {
		if h.state == s {
			return h, nil
		}
	}
	return nil, fmt.Errorf("%s broker %d: it is %v, expected %v", what, b, h.state, states)
}

// fault notes an act of the harness on a broker.
func (w *World) fault(b history.BrokerID, text string) {
	if w.note(noteFault, b, 0, 0, []byte(text)) {
		w.tell(b, text)
	}
}

// Kill is kill -9: the kernel resets the process's connections, the page cache survives.
func (w *World) Kill(b history.BrokerID) error {
	h, err := w.target("kill", b, hostUp, hostPaused, hostFrozen, hostBooting)
	if err != nil {
		return err
	}
	h.end(endByKill, "killed")
	w.touched(b)
	return nil
}

// PowerFail stops the machine: peers see silence, and the disk keeps what power.go says.
func (w *World) PowerFail(b history.BrokerID) (string, error) {
	h, err := w.host(b)
	if err != nil {
		return "", fmt.Errorf("power failure: %w", err)
	}
	if !h.powered {
		return "", fmt.Errorf("power failure of broker %d: it has no power", b)
	}
	h.powered = false
	l := h.drive.powerFail()
	if w.note(noteLost, b, uint64(l.pagesLost), uint64(l.opsLost), nil) {
		w.tell(b, "the disk "+l.String())
	}
	h.end(endByPower, "power failed: "+l.String())
	w.touched(b)
	return l.String(), nil
}

// Wipe kills the process and removes its partition data for good, as if it had been given a new disk: logs, checkpoints, the marker of
// a clean shutdown. The controller's log is spared.
func (w *World) Wipe(b history.BrokerID) (string, error) {
	h, err := w.target("wipe", b, hostUp, hostPaused, hostFrozen, hostBooting)
	if err != nil {
		return "", err
	}
	h.end(endByKill, "wiped")
	detail, err := h.wipe()
	if err != nil {
		return "", fmt.Errorf("wipe of broker %d: %w", b, err)
	}
	w.touched(b)
	return detail, nil
}

// Stop is a controlled shutdown; it returns when the process is gone, or after timeout with an error.
func (w *World) Stop(b history.BrokerID, timeout time.Duration) error {
	h, err := w.target("stop", b, hostUp)
	if err != nil {
		return err
	}
	w.fault(b, "controlled shutdown begins")
	incarnation := h.incarnation
	h.node.Shutdown(h.local())
	h.settle()
	if !h.changed.Until(func() bool { return h.state == hostDown || h.incarnation != incarnation }, timeout) {
		return fmt.Errorf("stop broker %d: it is still %v after %v", b, h.state, timeout)
	}
	return nil
}

// Start starts a broker that is down on the disk that it left, and returns when it listens or failed to.
func (w *World) Start(b history.BrokerID) error {
	h, err := w.target("start", b, hostDown)
	if err != nil {
		return err
	}
	delay := h.rnd.between(processStartMin, processStartMax)
	if !h.powered {
		delay += h.rnd.between(machineBootMin, machineBootMax)
	}
	h.start(delay)
	h.changed.Until(func() bool { return h.state != hostBooting }, -1)
	switch {
	case h.bootErr != nil:
		return h.bootErr
	case h.state == hostDown:
		return fmt.Errorf("start broker %d: %w", b, errDiedStarting)
	}
	return nil
}

var errDiedStarting = errors.New("it went down while it started")

// Pause is SIGSTOP.
func (w *World) Pause(b history.BrokerID) error {
	h, err := w.target("pause", b, hostUp)
	if err != nil {
		return err
	}
	h.halt(hostPaused)
	return nil
}

// Resume is SIGCONT.
func (w *World) Resume(b history.BrokerID) error {
	h, err := w.target("resume", b, hostPaused)
	if err != nil {
		return err
	}
	h.resume()
	return nil
}

// Freeze stops the process by the freezer of its control group. To peers and clients that is what a pause is: their kernels are
// answered, they are not.
func (w *World) Freeze(b history.BrokerID) error {
	h, err := w.target("freeze", b, hostUp)
	if err != nil {
		return err
	}
	h.halt(hostFrozen)
	return nil
}

// Thaw ends a freeze.
func (w *World) Thaw(b history.BrokerID) error {
	h, err := w.target("thaw", b, hostFrozen)
	if err != nil {
		return err
	}
	h.resume()
	return nil
}

// SetClock lets a broker's clock run at rate from now on, without a jump.
func (w *World) SetClock(b history.BrokerID, rate float64) error {
	h, err := w.host(b)
	if err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	if err := h.clock.setRate(w.now, rate); err != nil {
		return fmt.Errorf("clock of broker %d: %w", b, err)
	}
	w.fault(b, fmt.Sprintf("clock runs at %v", rate))
	if h.state == hostUp {
		h.arm()
	}
	return nil
}

// Elect makes a replica the partition's leader cleanly, by the admin requests of a client.
func (w *World) Elect(p history.Partition, b history.BrokerID, timeout time.Duration) error {
	return workloads.Elect(w, admin{w}, "elect", p, b, timeout)
}
