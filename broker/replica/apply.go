package replica

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/metadata"
)

// This file follows the metadata: which replicas this broker has, and what it is to do with each.

// ApplyMetadata follows the metadata: changed lists the partitions that may have changed since the last call, in order.
func (m *Manager) ApplyMetadata(now time.Duration, img *metadata.Image, changed []kafka.TopicPartition) {
	m.now, m.img = now, img
	if m.stopping {
		return
	}
	if !m.serving {
		m.maybeServe()
		return
	}
	for _, tp := range changed {
		m.applyPartition(now, tp)
	}
}

// maybeServe begins to act on the metadata once it contains this incarnation's registration: then all of it is looked at.
func (m *Manager) maybeServe() {
	if m.serving || m.img == nil {
		return
	}
	own, ok := m.img.Brokers[m.cfg.NodeID]
	if !ok || !mayServe(m.brokerEpoch, own.Epoch) {
		return
	}
	m.serving = true
	for _, dir := range m.strays {
		m.removeDir(dir)
	}
	m.strays = nil
	for _, p := range slices.Clone(m.parts) {
		m.applyPartition(m.now, p.tp)
	}
	for _, name := range m.img.TopicNames() {
		for i := range m.img.Topics[name].Partitions {
			m.applyPartition(m.now, kafka.TopicPartition{Topic: name, Index: int32(i)})
		}
	}
}

// applyPartition brings one replica to what the metadata says.
func (m *Manager) applyPartition(now time.Duration, tp kafka.TopicPartition) {
	p := m.byName[tp]
	reg, ok := m.img.Partition(tp)
	assigned := ok && slices.Contains(reg.Replicas, m.cfg.NodeID)
	stray := p != nil && assigned && p.topicID != m.img.Topics[tp.Topic].ID && p.found // recreated, perhaps while this broker was away
	switch {
	case m.cfg.Bug.Bites(bug.TopicIDIgnored, stray):
		p.topicID = m.img.Topics[tp.Topic].ID
	case m.cfg.Bug.Bites(bug.StrayLogKept, stray):
	case p != nil && (!assigned || p.topicID != m.img.Topics[tp.Topic].ID):
		m.removeReplica(p) // deleted, created anew, or moved elsewhere
		p = nil
	}
	if !assigned || slices.Contains(m.removals, tp.String()) {
		return
	}
	if p == nil {
		if p = m.createReplica(tp, m.img.Topics[tp.Topic].ID); p == nil {
			return
		}
	}
	p.minISR = effectiveMinISR(m.minISR(tp.Topic), len(reg.Replicas))
	switch {
	case reg.LeaderEpoch < p.epoch:
		return
	case reg.LeaderEpoch > p.epoch && reg.Leader == m.cfg.NodeID:
		m.becomeLeader(now, p, reg)
	case reg.LeaderEpoch > p.epoch:
		m.becomeFollower(now, p, reg)
	case p.role == leading && provesRefused(reg.PartitionEpoch, p.partitionEpoch):
		m.adoptISR(now, p, reg)
	case p.role == leading:
		m.reevaluateHW(now, p) // min.insync.replicas may have changed
	}
	m.wakeFetches(p)
}

// minISR is a topic's min.insync.replicas.
func (m *Manager) minISR(topic string) int {
	if t := m.img.Topics[topic]; t != nil {
		if n, err := strconv.Atoi(t.Configs["min.insync.replicas"]); err == nil && n > 0 {
			return n
		}
	}
	return m.cfg.MinInsyncReplicas
}

// createReplica makes an empty replica. Its directory is synced in the background: until then a crash loses it with what little it holds.
func (m *Manager) createReplica(tp kafka.TopicPartition, id kafka.TopicID) *Partition {
	dir := tp.String()
	path := dir + "/" + metadataFile
	create := func() error {
		if err := m.fs.MkdirAll(dir); err != nil {
			return err
		}
		if err := disk.Run(m.fs, disk.Step{Op: disk.WriteFile, Path: path, Data: formatTopicID(id)}); err != nil {
			return err
		}
		return m.openReplica(tp, id, known{})
	}
	if err := create(); err != nil {
		m.fatal(fmt.Errorf("creating replica %v: %w", tp, err))
		return nil
	}
	m.hand([]disk.Step{{Op: disk.SyncFile, Path: path}, {Op: disk.SyncDir, Path: dir}, {Op: disk.SyncDir, Path: ""}}, flushJob{})
	return m.byName[tp]
}

// removeReplica ends a replica and removes its files.
func (m *Manager) removeReplica(p *Partition) {
	m.leaveRole(p)
	p.removed = true
	delete(m.byName, p.tp)
	m.parts = slices.DeleteFunc(m.parts, func(q *Partition) bool { return q == p })
	m.wakeFetches(p)
	if err := p.log.Close(); err != nil {
		m.fatal(fmt.Errorf("closing the log of %v: %w", p.tp, err))
		return
	}
	// What names the topic goes first: what is left of the directory is nobody's. Were the checkpoints without it before, a crash in between would
	// bring the replica back with all of its log and none of its high watermark.
	m.hand([]disk.Step{{Op: disk.RemoveFile, Path: p.dir + "/" + metadataFile}, {Op: disk.SyncDir, Path: p.dir}}, flushJob{})
	m.checkpointHW() // a new topic of that name must not inherit what the checkpoints said
	if p.savedStart > 0 {
		m.checkpointStarts()
	}
	m.checkpointRecovery(flushJob{})
	if p.flushing != 0 { // it may make files until it is done: see Flushed
		m.removals = append(m.removals, p.dir)
		return
	}
	m.removeDir(p.dir)
}

// removeDir removes a directory that nothing names a topic in (any more) by a flush, so that nothing of it can come back after a crash and be
// taken for a new topic's of the same name (KAFKA-14616).
func (m *Manager) removeDir(dir string) {
	entries, err := m.fs.ReadDir(dir)
	if err != nil {
		m.fatal(fmt.Errorf("listing %s: %w", dir, err))
		return
	}
	var steps []disk.Step
	for _, e := range entries {
		steps = append(steps, disk.Step{Op: disk.RemoveFile, Path: dir + "/" + e})
	}
	steps = append(steps, disk.Step{Op: disk.SyncDir, Path: dir}, disk.Step{Op: disk.RemoveFile, Path: dir}, disk.Step{Op: disk.SyncDir, Path: ""})
	if !slices.Contains(m.removals, dir) {
		m.removals = append(m.removals, dir)
	}
	m.hand(steps, flushJob{removed: dir})
}

// removalDone creates the replica again if a new topic of that name wants it.
func (m *Manager) removalDone(now time.Duration, dir string) {
	m.removals = slices.DeleteFunc(m.removals, func(d string) bool { return d == dir })
	if tp, ok := parseDir(dir); ok && !m.stopping {
		m.applyPartition(now, tp)
	}
}
