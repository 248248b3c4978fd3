package replica

import (
	"fmt"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// The checkpoint files, as Kafka names them, in the broker's root directory.
const (
	hwCheckpoint       = "replication-offset-checkpoint"
	recoveryCheckpoint = "recovery-point-offset-checkpoint"
)

// flushJob is what a finished flush means.
type flushJob struct {
	logOf   *Partition   // its log is flushed up to end
	end     kafka.Offset //
	gated   *Partition   // it may append again
	removed string       // a directory is gone
	last    bool         // the shutdown's
}

// hand gives out a flush.
func (m *Manager) hand(steps []disk.Step, job flushJob) disk.FlushID {
	m.flushID++
	m.flushes[m.flushID] = job
	m.out.Flushes = append(m.out.Flushes, disk.Flush{ID: m.flushID, Steps: steps})
	return m.flushID
}

// maybeFlush flushes a log that asks for it, one flush at a time.
func (m *Manager) maybeFlush(p *Partition) {
	if p.flushing != 0 || !p.log.NeedsFlush() {
		return
	}
	if steps, end := p.log.FlushSteps(); len(steps) > 0 {
		p.flushing = m.hand(steps, flushJob{logOf: p, end: end})
	}
}

// Flushed reports a finished flush.
func (m *Manager) Flushed(now time.Duration, id disk.FlushID, err error) {
	m.now = now
	job, ok := m.flushes[id]
	if !ok {
		return
	}
	delete(m.flushes, id)
	if err != nil {
		m.fatal(fmt.Errorf("flush %d: %w", id, err))
		return
	}
	if p := job.logOf; p != nil && !p.removed {
		p.flushing = 0
		if p.gate == id {
			p.gate = 0
		}
		p.log.Flushed(job.end)
		m.recoveryMoved = true
	}
	if p := job.logOf; p != nil && p.removed && !m.stopping {
		m.removeDir(p.dir)
	}
	if p := job.gated; p != nil && p.gate == id {
		p.gate = 0
	}
	if job.removed != "" {
		m.removalDone(now, job.removed)
	}
	if job.last {
		for _, p := range m.parts {
			p.log.Flushed(p.log.End())
		}
		m.done = true
	}
	if p := job.logOf; p != nil && !p.removed && !m.stopping {
		m.maybeFlush(p)
	}
}

// checkpointHW writes every replica's high watermark, also of those that have no leader at present (KAFKA-769).
func (m *Manager) checkpointHW() {
	m.hwMoved = false
	m.hand(disk.ReplaceFile("", hwCheckpoint, log.FormatOffsets(m.hws())), flushJob{})
}

func (m *Manager) hws() map[kafka.TopicPartition]kafka.Offset {
	offsets := make(map[kafka.TopicPartition]kafka.Offset, len(m.parts))
	for _, p := range m.parts {
		if m.cfg.Bug.Bites(bug.HWCheckpointZeroed, p.role == offline && !m.stopping && p.hw > 0) {
			continue
		}
		offsets[p.tp] = p.hw
	}
	return offsets
}

// checkpointRecovery writes every log's recovery point, after what has to be done first.
func (m *Manager) checkpointRecovery(job flushJob, first ...disk.Step) disk.FlushID {
	m.recoveryMoved = false
	return m.hand(append(first, disk.ReplaceFile("", recoveryCheckpoint, log.FormatOffsets(m.recoveryPoints()))...), job)
}

// recoveryPoints are those of every log, to be saved.
func (m *Manager) recoveryPoints() map[kafka.TopicPartition]kafka.Offset {
	offsets := make(map[kafka.TopicPartition]kafka.Offset, len(m.parts))
	for _, p := range m.parts {
		p.savedRecovery = p.log.RecoveryPoint()
		offsets[p.tp] = p.savedRecovery
	}
	return offsets
}

// BeginShutdown asks for a clean end: everything is flushed, the checkpoints and the clean-shutdown marker (with the broker
// epoch) are written, through Output.Flushes. Done reports that they were. Whoever still waits is answered, and nothing is
// served or appended from here on.
func (m *Manager) BeginShutdown(now time.Duration) {
	m.now = now
	if m.stopping {
		return
	}
	for _, p := range m.parts {
		m.leaveRole(p)
		m.wakeFetches(p)
	}
	m.stopping = true
	var steps []disk.Step
	recovery := make(map[kafka.TopicPartition]kafka.Offset, len(m.parts))
	for _, p := range m.parts {
		p.log.SnapshotProducers()
		s, end := p.log.FlushSteps()
		steps = append(steps, s...)
		recovery[p.tp] = end
	}
	steps = append(steps, disk.ReplaceFile("", recoveryCheckpoint, log.FormatOffsets(recovery))...)
	steps = append(steps, disk.ReplaceFile("", hwCheckpoint, log.FormatOffsets(m.hws()))...)
	if epoch := m.markerEpoch(); epoch != kafka.NoBrokerEpoch {
		steps = append(steps, disk.ReplaceFile("", log.CleanShutdownFile, log.FormatCleanShutdown(epoch))...)
	}
	m.hand(steps, flushJob{last: true})
}

// Done reports that a shutdown begun has been flushed whole.
func (m *Manager) Done() bool { return m.done }

// markerEpoch is the broker epoch that a clean end vouches for: this incarnation's, or where it never was registered, and so never served,
// the one that the clean end before vouched for. Else a broker that is stopped twice in a row would count as unclean.
func (m *Manager) markerEpoch() kafka.BrokerEpoch {
	if m.brokerEpoch == kafka.NoBrokerEpoch {
		return m.cleanEpoch
	}
	return m.brokerEpoch
}
