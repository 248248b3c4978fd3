package docker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/broker/server/debug"
	"tidemark/history"
	"tidemark/world"
)

// stepsEvery is how often each broker is asked for new protocol steps.
const stepsEvery = 20 * time.Millisecond

// stepReader is how far a broker's protocol steps have been read. The recording lock guards it.
type stepReader struct {
	incarnation int
	started     int64 // of the incarnation, on its machine's clock
	next        int64
	isDown      bool   // recorded as down
	ending      string // what was done to end it, "" if nothing was
	awaited     bool   // who does that will record that it is down
}

// follow records a broker's protocol steps until the run ends.
func (c *Cluster) follow(m *machine) {
	for {
		if err := c.brokers.news(m); err != nil {
			if state, err := c.state(m); err == nil && state == world.ProcessGone {
				c.noticed(m)
			}
		}
		c.env.Sleep(stepsEvery)
	}
}

// readSteps asks a broker for what is new.
func (c *Cluster) readSteps(m *machine) error {
	c.recording.Lock()
	from := m.steps.next
	c.recording.Unlock()
	var got debug.Steps
	if err := c.ask(m, fmt.Sprintf("/steps?from=%d", from), &got); err != nil {
		return err
	}
	now, wall := c.env.Now(), time.Now()
	c.recording.Lock()
	defer c.recording.Unlock()
	r := &m.steps
	if got.Started != r.started { // another incarnation: its numbers begin anew
		if r.incarnation > 0 && !r.isDown && !r.awaited {
			c.down(m, history.ExitedByItself+", and was started by somebody else")
		}
		r.incarnation++
		r.started, r.next, r.isDown, r.ending, r.awaited = got.Started, 0, false, "", false
		c.step(m, history.StepStart, fmt.Sprintf("incarnation %d", r.incarnation), now-wall.Sub(time.Unix(0, got.Started)))
		if from != 0 {
			return nil
		}
	}
	if got.Lost > 0 {
		c.opt.Say(fmt.Sprintf("broker %d has forgotten %d protocol steps before they were read", m.id, got.Lost))
	}
	for i := range got.Steps {
		s := &got.Steps[i]
		c.recordStep(m, s, now-wall.Sub(time.Unix(0, s.Time)))
	}
	r.next = got.Next
	return nil
}

// recordStep records one protocol step that happened at a time of the run's clock. A committed ISR change is told by every member of
// the quorum: the first counts.
func (c *Cluster) recordStep(m *machine, s *debug.Step, at time.Duration) {
	p := history.Partition{Topic: s.Topic, Index: s.Partition}
	detail := s.Detail
	if s.Kind == debug.ISRStep {
		if last, ok := c.isr[p]; ok && s.PartitionEpoch <= last {
			return
		}
		c.isr[p] = s.PartitionEpoch
		if s.Unclean {
			detail += ", " + history.UncleanElection
		}
	}
	c.opt.Record(history.Step{
		Kind: history.StepKind(s.Kind), Broker: m.id, Partition: p, Epoch: history.Epoch(s.Epoch), Peer: history.BrokerID(s.Peer),
		From: history.Offset(s.From), To: history.Offset(s.To), ISR: brokersOf(s.ISR), Detail: detail,
	}, at)
}

// expect says what is about to end a broker, by someone who tells what came of it by ended.
func (c *Cluster) expect(m *machine, how string) {
	c.recording.Lock()
	defer c.recording.Unlock()
	m.steps.ending, m.steps.awaited = how, true
}

// ended records that a broker is down, and how, unless that failed: then it is still expected.
func (c *Cluster) ended(m *machine, how string, err error) {
	c.recording.Lock()
	defer c.recording.Unlock()
	m.steps.awaited = false
	if err == nil {
		c.down(m, how)
	}
}

// noticed records that a broker was found down, if nobody else will.
func (c *Cluster) noticed(m *machine) {
	c.recording.Lock()
	defer c.recording.Unlock()
	switch {
	case m.steps.awaited:
	case m.steps.ending != "":
		c.down(m, m.steps.ending)
	default:
		c.down(m, history.ExitedByItself+c.exitWords(m))
	}
}

// exitWords says with which code a broker's process ended and what it said last.
func (c *Cluster) exitWords(m *machine) string {
	info, err := c.inspect(m.broker)
	if err != nil || info.State.Running {
		return ""
	}
	said := fmt.Sprintf(" with code %d", info.State.ExitCode)
	if info.State.OOMKilled {
		said += ", out of memory"
	}
	return said + c.LastWords(m.id)
}

// LastWords is ": " and the line of a broker's log that tells why its process ended or does not go on; "" if that cannot be read.
func (c *Cluster) LastWords(b history.BrokerID) string {
	m, err := c.machine(b)
	if err != nil {
		return ""
	}
	text, err := c.logOf(m.broker, exitLinesMax)
	if err != nil {
		return ""
	}
	return lastWords(text)
}

// exitLinesMax is how many of a broker's last lines are looked through for its last words.
const exitLinesMax = "1000"

// lastWords picks from the end of a log what tells why the process ended: the line that begins a Go traceback, or that Kafka calls fatal, else the
// last one.
func lastWords(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "SIG") || strings.Contains(line, " FATAL ") {
			last = line
			break
		}
	}
	if last = strings.TrimSpace(last); last == "" {
		return ""
	}
	return ": " + last[:min(len(last), wordsBytesMax)]
}

// down records, once, that a broker is down. The recording lock is held.
func (c *Cluster) down(m *machine, how string) {
	if !m.steps.isDown {
		m.steps.isDown = true
		c.step(m, history.StepDown, how, c.env.Now())
	}
}

// step records a step of the whole broker that happened at a time of the run's clock. The recording lock is held.
func (c *Cluster) step(m *machine, kind history.StepKind, detail string, at time.Duration) {
	c.opt.Record(history.Step{
		Kind: kind, Broker: m.id, Epoch: -1, Peer: history.NoBroker,
		From: history.UnknownOffset, To: history.UnknownOffset, Detail: detail,
	}, at)
}
