package replica

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"time"

	"tidemark/broker/bug"
	"tidemark/broker/config"
	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
)

// metadataFile tells, in each replica's directory, which topic it is of (KIP-516).
const metadataFile = "partition.metadata"

// checkpointMax bounds a checkpoint file, in bytes.
const checkpointMax = 64 << 20

// Open recovers every replica on the disk. It may sync directly.
func Open(cfg config.Config, fsys disk.FS, now time.Duration) (*Manager, error) {
	m := &Manager{
		cfg: cfg, fs: fsys, now: now,
		brokerEpoch: kafka.NoBrokerEpoch, cleanEpoch: kafka.NoBrokerEpoch,
		byName: map[kafka.TopicPartition]*Partition{}, flushes: map[disk.FlushID]flushJob{},
		sessions:               fetchSessionCache{slots: cfg.FetchSessionCacheSlots, most: cachedPartitionsMax},
		nextISRCheck:           now + isrCheckInterval(cfg.ReplicaLagTimeMax),
		nextHWCheckpoint:       now + cfg.HWCheckpointInterval,
		nextRecoveryCheckpoint: now + cfg.RecoveryCheckpointInterval,
		nextRetention:          now + cfg.LogRetentionCheckInterval,
		nextProducerExpiry:     now + cfg.ProducerIDExpirationCheckInterval,
	}
	clean, err := m.takeMarker()
	if err != nil {
		return nil, err
	}
	hws, badHWs := m.readCheckpoint(hwCheckpoint)
	points, badPoints := m.readCheckpoint(recoveryCheckpoint)
	starts, badStarts := m.readCheckpoint(log.StartCheckpoint)
	if badPoints != nil { // the disk did not keep what a clean end wrote last: nothing vouches for the logs
		clean, m.cleanEpoch = false, kafka.NoBrokerEpoch
	}
	entries, err := fsys.ReadDir("")
	if err != nil {
		return nil, fmt.Errorf("listing the data directory: %w", err)
	}
	for _, entry := range entries {
		dir, isDir := strings.CutSuffix(entry, "/")
		tp, ok := parseDir(dir)
		if !isDir || !ok {
			continue
		}
		id, err := m.readTopicID(dir)
		if err != nil {
			m.strays = append(m.strays, dir)
			continue
		}
		if err := m.openReplica(tp, id, known{hws[tp], starts[tp], points[tp], clean}, badHWs, badPoints, badStarts); err != nil {
			return nil, err
		}
		m.byName[tp].found = true
	}
	if err := m.saveCheckpoints(hws, starts, points); err != nil {
		return nil, err
	}
	return m, nil
}

// saveCheckpoints replaces checkpoints that say something else than what was found: an entry beyond its log's end would be
// believed after the next crash, when other records stand there.
func (m *Manager) saveCheckpoints(hws, starts, points map[kafka.TopicPartition]kafka.Offset) error {
	var steps []disk.Step
	if now := m.hws(); !maps.Equal(hws, now) {
		steps = append(steps, disk.ReplaceFile("", hwCheckpoint, log.FormatOffsets(now))...)
	}
	if now := m.starts(); !maps.Equal(starts, now) {
		steps = append(steps, m.startSteps()...)
	}
	if now := m.recoveryPoints(); !maps.Equal(points, now) {
		steps = append(steps, disk.ReplaceFile("", recoveryCheckpoint, log.FormatOffsets(now))...)
	}
	for _, s := range steps {
		if err := disk.Run(m.fs, s); err != nil {
			return fmt.Errorf("saving checkpoints: %w", err)
		}
	}
	return nil
}

// takeMarker reads the clean-shutdown marker and removes it for good: a marker that outlived the start would vouch for a
// later, unclean end (KAFKA-10471).
func (m *Manager) takeMarker() (clean bool, err error) {
	data, err := disk.ReadFile(m.fs, log.CleanShutdownFile, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		epoch, bad := log.ParseCleanShutdown(data)
		clean = bad == nil
		m.cleanEpoch = epoch
	}
	if m.cfg.Bug.Bites(bug.StaleCleanShutdown, true) {
		return clean, nil
	}
	if err := m.fs.Remove(log.CleanShutdownFile); err != nil {
		return false, fmt.Errorf("removing the clean-shutdown marker: %w", err)
	}
	if err := m.fs.SyncDir(""); err != nil {
		return false, fmt.Errorf("removing the clean-shutdown marker: %w", err)
	}
	return clean, nil
}

// readCheckpoint reads an offset checkpoint. One that cannot be read or understood counts as empty, and bad says why: Kafka takes
// the log directory offline, but a broker must come back after a power failure, whatever became of a file. Each file only
// saves work. Without a recovery point the whole log is read and verified, as if nothing were known to be on the disk. Without a
// high watermark a replica starts at its log start: as a follower it hears the leader's, and truncates by epochs, not by it; as a
// leader it works it out from what the ISR has, which holds everything below the lost one, and until it reaches the start of its
// epoch it tells nobody the latest offset (KIP-207). Consumers may wait, but none is shown what is not committed.
func (m *Manager) readCheckpoint(name string) (offsets map[kafka.TopicPartition]kafka.Offset, bad error) {
	data, err := disk.ReadFile(m.fs, name, checkpointMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		offsets, err = log.ParseOffsets(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not believed: %w", name, err)
	}
	return offsets, nil
}

// known is what is known of a replica before its log is opened, by the checkpoints and the clean-shutdown marker.
type known struct {
	hw, start, recoveryPoint kafka.Offset
	clean                    bool
}

// openReplica opens a replica's log; until the metadata tells its role it is offline. notes are what else there is to say of it.
func (m *Manager) openReplica(tp kafka.TopicPartition, id kafka.TopicID, k known, notes ...error) error {
	p := &Partition{tp: tp, topicID: id, dir: tp.String(), epoch: kafka.NoEpoch, leader: kafka.NoBroker, version: 1}
	cfg := log.Config{SegmentBytes: m.cfg.LogSegmentBytes, IndexIntervalBytes: m.cfg.LogIndexIntervalBytes, MaxBatchBytes: m.cfg.MessageMaxBytes, Bug: m.cfg.Bug, Refused: m.cfg.Refused}
	l, rec, err := log.OpenFrom(m.fs, p.dir, cfg, k.start, k.recoveryPoint, k.clean)
	if err != nil {
		return fmt.Errorf("opening the log of %v: %w", tp, err)
	}
	p.log = l
	p.hw = recoveredHW(k.hw, l.Start(), l.End())
	m.insert(p)
	m.step(Step{Kind: StepStart, Partition: tp, Epoch: l.LatestEpoch(), Peer: kafka.NoBroker, From: p.hw, To: l.End(), Detail: startDetail(rec, notes)})
	if rec.TruncatedBytes > 0 || rec.From != rec.To {
		m.cleanEpoch = kafka.NoBrokerEpoch // the log may have lost what it acknowledged: the controller must not hear of a clean end
		m.step(Step{Kind: StepRecovery, Partition: tp, Epoch: l.LatestEpoch(), Peer: kafka.NoBroker, From: rec.From, To: rec.To,
			Detail: fmt.Sprintf("cut %d bytes: %s", rec.TruncatedBytes, rec.Reason)})
	}
	return nil
}

func startDetail(rec log.Recovery, notes []error) string {
	detail := "after a clean shutdown"
	if !rec.Clean {
		detail = fmt.Sprintf("scanned %d bytes", rec.ScannedBytes)
	}
	for _, note := range notes {
		if note != nil {
			detail += "; " + note.Error()
		}
	}
	return detail
}

// parseDir reads a replica's directory name, topic-index.
func parseDir(dir string) (kafka.TopicPartition, bool) {
	i := strings.LastIndexByte(dir, '-')
	if i <= 0 || dir == "__cluster_metadata-0" {
		return kafka.TopicPartition{}, false
	}
	n, err := strconv.ParseInt(dir[i+1:], 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != dir[i+1:] {
		return kafka.TopicPartition{}, false
	}
	return kafka.TopicPartition{Topic: dir[:i], Index: int32(n)}, true
}

func (m *Manager) readTopicID(dir string) (kafka.TopicID, error) {
	data, err := disk.ReadFile(m.fs, dir+"/"+metadataFile, 4096)
	if err != nil {
		return kafka.TopicID{}, err
	}
	return ParseTopicID(data)
}

// formatTopicID renders partition.metadata as Kafka's PartitionMetadataFile does.
func formatTopicID(id kafka.TopicID) []byte {
	return []byte("version: 0\ntopic_id: " + base64.RawURLEncoding.EncodeToString(id[:]) + "\n")
}

// ParseTopicID reads partition.metadata.
func ParseTopicID(data []byte) (id kafka.TopicID, err error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != 2 || lines[0] != "version: 0" {
		return id, fmt.Errorf("%s %q, expected \"version: 0\" and a topic_id line", metadataFile, data[:min(len(data), 100)])
	}
	text, ok := strings.CutPrefix(lines[1], "topic_id: ")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("%s line %q, expected \"topic_id: \" and 22 characters of base64", metadataFile, lines[1])
	}
	copy(id[:], raw)
	return id, nil
}
