package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"tidemark/history"
	"tidemark/world"
)

// act does something to a broker's process, which must be in a state for it; nothing else is done to it meanwhile.
func (c *Cluster) act(what string, b history.BrokerID, do func(*machine) error, want ...world.ProcessState) error {
	m, err := c.machine(b)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	m.acting.Lock()
	defer m.acting.Unlock()
	state, err := c.state(m)
	if err == nil && !slices.Contains(want, state) {
		err = fmt.Errorf("it is %s, expected %v", state, want)
	}
	if err == nil {
		err = do(m)
	}
	if err != nil {
		return fmt.Errorf("%s broker %d: %w", what, b, err)
	}
	return nil
}

// alive are the states in which a process can be killed. The engine thaws one that is frozen once the signal is pending, so that it
// does nothing more.
var alive = []world.ProcessState{world.ProcessRunning, world.ProcessPaused, world.ProcessFrozen}

// Kill is kill -9 by the engine; it returns when the process is gone.
func (c *Cluster) Kill(b history.BrokerID) error {
	return c.act("kill", b, func(m *machine) error { return c.end(m, "KILL", "killed", startBound, nil) }, alive...)
}

// Stop is SIGTERM, which a broker answers with a controlled shutdown.
func (c *Cluster) Stop(b history.BrokerID, timeout time.Duration) error {
	return c.act("stop", b, func(m *machine) error { return c.end(m, "TERM", "stopped", timeout, nil) }, world.ProcessRunning)
}

// Pause is SIGSTOP.
func (c *Cluster) Pause(b history.BrokerID) error {
	return c.act("pause", b, func(m *machine) error { return c.become(m, "STOP", world.ProcessPaused) }, world.ProcessRunning)
}

// Resume is SIGCONT.
func (c *Cluster) Resume(b history.BrokerID) error {
	return c.act("resume", b, func(m *machine) error { return c.become(m, "CONT", world.ProcessRunning) }, world.ProcessPaused)
}

// Start starts a broker again on the volumes that it left, and returns when it listens.
func (c *Cluster) Start(b history.BrokerID) error {
	return c.act("start", b, func(m *machine) error {
		if err := c.brokers.admit(m); err != nil {
			return err
		}
		before, err := c.inspect(m.broker)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
		defer cancel()
		if err := c.engine.api.ContainerStart(ctx, m.broker, container.StartOptions{}); err != nil {
			return err
		}
		return c.listens(m, before.State.StartedAt)
	}, world.ProcessGone)
}

// StartTogether starts brokers at the same time: a controller quorum comes up with a majority of its voters.
func (c *Cluster) StartTogether(brokers []history.BrokerID) error {
	errs := make([]error, len(brokers))
	var all sync.WaitGroup
	for i, b := range brokers {
		all.Go(func() { errs[i] = c.Start(b) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *Cluster) signal(m *machine, name string) error {
	ctx, cancel := context.WithTimeout(c.env.ctx, engineBound)
	defer cancel()
	return c.engine.api.ContainerKill(ctx, m.broker, name)
}

// become sends a signal and waits until the broker's process is as it should be then.
func (c *Cluster) become(m *machine, signal string, want world.ProcessState) error {
	if err := c.signal(m, signal); err != nil {
		return err
	}
	return c.await(m, want, startBound)
}

// end sends the signal that ends a broker's process, waits until it is gone, does what is then to be done, and records all that.
func (c *Cluster) end(m *machine, signal, how string, bound time.Duration, then func() (detail string, err error)) (err error) {
	c.expect(m, how)
	defer func() { c.ended(m, how, err) }()
	if err := c.signal(m, signal); err != nil {
		return err
	}
	if err := c.await(m, world.ProcessGone, bound); err != nil || then == nil {
		return err
	}
	detail, err := then()
	how += ": " + detail
	return err
}

// await waits until a broker's process is in a state.
func (c *Cluster) await(m *machine, want world.ProcessState, bound time.Duration) error {
	deadline := time.Now().Add(bound)
	for {
		state, err := c.state(m)
		switch {
		case err != nil || state == want:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("it is still %s after %v, expected %s", state, bound, want)
		}
		if err := c.pause(lookEvery); err != nil {
			return err
		}
	}
}

// listens waits until a broker that was started accepts connections; before is when it had been started the time before.
func (c *Cluster) listens(m *machine, before string) error {
	bound := c.brokers.startBound()
	deadline := time.Now().Add(bound)
	for {
		tcp, err := net.DialTimeout("tcp4", c.straight(m), stateBound)
		if err == nil {
			return tcp.Close()
		}
		info, inspectErr := c.inspect(m.broker)
		switch {
		case inspectErr != nil:
			return inspectErr
		case !info.State.Running && info.State.StartedAt != before:
			return c.notBack(m, fmt.Sprintf("it exited with code %d while it started", info.State.ExitCode))
		case time.Now().After(deadline):
			return c.notBack(m, fmt.Sprintf("it does not listen after %v: %v", bound, err))
		}
		if err := c.pause(lookEvery); err != nil {
			return err
		}
	}
}

// notBack says of a broker that was started that it does not come back, why, and what it said last.
func (c *Cluster) notBack(m *machine, why string) error {
	return &world.NotBackError{Broker: m.id, Why: fmt.Sprintf("%s; %v", why, c.lastWords(m.broker))}
}

// pause waits; the error is that the run is over.
func (c *Cluster) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-c.env.ctx.Done():
		return context.Cause(c.env.ctx)
	}
}

// state looks at a broker's process: what the engine says of the container, and what the kernel says of the process.
func (c *Cluster) state(m *machine) (world.ProcessState, error) {
	deadline := time.Now().Add(noticeBound)
	for {
		info, err := c.inspect(m.broker)
		switch {
		case err != nil:
			return "", err
		case !info.State.Running:
			return world.ProcessGone, nil
		}
		state, err := processState(info.State.Pid)
		switch {
		case err == nil:
			return state, nil
		case info.State.Paused: // by the engine's word alone: this process cannot see the engine's
			return world.ProcessFrozen, nil
		}
		// It ended and the engine has yet to notice, or this process cannot see the engine's processes.
		if time.Now().After(deadline) {
			return "", fmt.Errorf("process %d of container %s, which runs: %w", info.State.Pid, m.broker, err)
		}
		if err := c.pause(lookEvery); err != nil {
			return "", err
		}
	}
}

// noticeBound is how long an engine may take to notice that a process has ended.
const noticeBound = 5 * time.Second

// processState is what the kernel says of a process: whether its cgroup is frozen, then what itself does.
func processState(pid int) (world.ProcessState, error) {
	still, err := frozen(pid)
	if err == nil && still {
		return world.ProcessFrozen, nil
	}
	fields, statErr := processStat(pid)
	if err = errors.Join(err, statErr); err != nil {
		return "", err
	}
	return stateOf(fields[0]), nil
}

// stateOf reads the state in /proc/PID/stat. A zombie counts as running until the engine has noticed its end: it could not be started.
func stateOf(letter string) world.ProcessState {
	switch letter {
	case "T", "t":
		return world.ProcessPaused
	default:
		return world.ProcessRunning
	}
}

// ProbeProcess looks at a broker's process.
func (c *Cluster) ProbeProcess(b history.BrokerID) world.ProcessState {
	m, err := c.machine(b)
	if err != nil {
		return world.ProcessGone
	}
	state, err := c.state(m)
	if err != nil {
		c.opt.Say(fmt.Sprintf("probing the process of broker %d: %v", b, err))
		return world.ProcessGone
	}
	return state
}
