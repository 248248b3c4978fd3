package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/replica"
	"tidemark/history"
)

// checkpointMax bounds a checkpoint file that is read for a dump, in bytes.
const checkpointMax = 16 << 20

// Dump reads every replica of a broker from its own files, in order of directory. The high watermark is the one in
// replication-offset-checkpoint, which a running broker is ahead of.
func (w *World) Dump(b history.BrokerID) []history.Dump {
	h, err := w.host(b)
	if err != nil {
		return nil
	}
	entries, err := h.drive.ReadDir("")
	if err != nil {
		return nil
	}
	hws, hwErr := readCheckpoint(h.drive, "replication-offset-checkpoint")
	var dumps []history.Dump
	for _, entry := range entries {
		dir, isDir := strings.CutSuffix(entry, "/")
		tp, ok := partitionDir(dir)
		if !isDir || !ok {
			continue
		}
		id, named := topicID(h.drive, dir)
		if !named { // it is being removed: what is left is nobody's, and goes at the next start at the latest
			continue
		}
		d := history.Dump{Broker: b, Partition: w.name(tp, id), HW: history.UnknownOffset}
		if hw, ok := hws[tp]; ok {
			d.HW = history.Offset(hw)
		}
		c, err := log.Dump(h.drive, dir)
		if err = errors.Join(err, hwErr); err != nil {
			d.Err = err.Error()
		}
		d.Start, d.LEO = history.Offset(c.Start), history.Offset(c.End)
		d.Records = make([]history.DumpRecord, len(c.Records))
		for i, r := range c.Records {
			d.Records[i] = history.DumpRecord{Offset: history.Offset(r.Offset), Epoch: history.Epoch(r.Epoch), Value: string(r.Value)}
		}
		dumps = append(dumps, d)
	}
	return dumps
}

// topicID reads which topic a replica's directory is of, zero if what should tell does not; named is false where there is no such file.
func topicID(d *drive, dir string) (id kafka.TopicID, named bool) {
	data, err := disk.ReadFile(d, dir+"/partition.metadata", 4096)
	if err != nil {
		return id, !errors.Is(err, fs.ErrNotExist)
	}
	id, _ = replica.ParseTopicID(data)
	return id, true
}

// partitionDir reads a replica's directory name, topic-index.
func partitionDir(dir string) (kafka.TopicPartition, bool) {
	i := strings.LastIndexByte(dir, '-')
	if i <= 0 || strings.HasPrefix(dir, metadataDir) {
		return kafka.TopicPartition{}, false
	}
	index, err := strconv.ParseInt(dir[i+1:], 10, 32)
	return kafka.TopicPartition{Topic: dir[:i], Index: int32(index)}, err == nil && index >= 0
}

// readCheckpoint reads offsets by partition; none where the file is not there yet.
func readCheckpoint(d *drive, path string) (map[kafka.TopicPartition]kafka.Offset, error) {
	data, err := disk.ReadFile(d, path, checkpointMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	offsets, err := log.ParseOffsets(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return offsets, nil
}
