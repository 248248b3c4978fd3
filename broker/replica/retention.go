package replica

import (
	"fmt"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// retain removes what retention no longer keeps, from every log, leader's or follower's (Kafka's kafka-log-retention task). A log whose
// flush is under way waits for the next look: that flush names files.
func (m *Manager) retain(now time.Duration) {
	keep := log.Retention{Age: m.cfg.LogRetention, Bytes: m.cfg.LogRetentionBytes}
	for _, p := range m.parts {
		if p.flushing != 0 || p.gate != 0 {
			continue
		}
		n := p.log.Expired(now, keep, p.hw)
		if past := p.log.Expired(now, keep, p.log.End()); m.cfg.Bug.Bites(bug.RetentionPastHW, past != n) {
			n = past
		}
		if n > 0 {
			m.removeSegments(p, n)
		}
	}
}

// removeSegments takes the oldest segments out of a log. Where the log begins is saved before their files go, or a crash between two of
// them would leave a log with a gap.
func (m *Manager) removeSegments(p *Partition, n int) {
	from := p.log.Start()
	steps, err := p.log.RemoveSegments(n)
	if err != nil {
		m.fatal(fmt.Errorf("removing old segments of %v: %w", p.tp, err))
		return
	}
	if p.log.Start() != from {
		p.version++
		m.step(Step{Kind: StepTrim, Partition: p.tp, Epoch: p.epoch, Peer: p.leader, From: from, To: p.log.Start(), Detail: "retention"})
	}
	p.flushing = m.hand(append(m.startSteps(), steps...), flushJob{logOf: p, end: nothingFlushed})
	m.wakeFetches(p)
}

// nothingFlushed is the end that a flush of a log has which makes none of its records last.
const nothingFlushed kafka.Offset = -1

// checkpointStarts writes where every log begins, as soon as one begins later: what was deleted does not come back with a restart. Kafka does
// so every log.flush.start.offset.checkpoint.interval.ms.
func (m *Manager) checkpointStarts() { m.hand(m.startSteps(), flushJob{}) }

// startSteps write the log start offsets of those logs that begin later than at 0.
func (m *Manager) startSteps() []disk.Step {
	return disk.ReplaceFile("", log.StartCheckpoint, log.FormatOffsets(m.starts()))
}

// starts are the log start offsets to be saved.
func (m *Manager) starts() map[kafka.TopicPartition]kafka.Offset {
	offsets := map[kafka.TopicPartition]kafka.Offset{}
	for _, p := range m.parts {
		if p.savedStart = p.log.Start(); p.savedStart > 0 {
			offsets[p.tp] = p.savedStart
		}
	}
	return offsets
}
