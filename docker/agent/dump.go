package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/history"
)

// checkpointFile holds each replica's high watermark as last written; a running broker is ahead of it.
const checkpointFile = "replication-offset-checkpoint"

// checkpointMax bounds it, in bytes.
const checkpointMax = 16 << 20

// Dump reads every replica from a broker's own files, in order of directory. A replica that cannot be read says so in Err.
func Dump(files disk.FS, b history.BrokerID) ([]history.Dump, error) {
	entries, err := files.ReadDir("")
	if err != nil {
		return nil, fmt.Errorf("dump of broker %d: %w", b, err)
	}
	hws, hwErr := readCheckpoint(files)
	dumps := []history.Dump{}
	for _, entry := range entries {
		dir, isDir := strings.CutSuffix(entry, "/")
		tp, ok := partitionDir(dir)
		if !isDir || !ok {
			continue
		}
		d := history.Dump{Broker: b, Partition: history.Partition{Topic: tp.Topic, Index: tp.Index}, HW: history.UnknownOffset}
		if hw, ok := hws[tp]; ok {
			d.HW = history.Offset(hw)
		}
		c, err := log.Dump(files, dir)
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
	return dumps, nil
}

// partitionDir reads a replica's directory name, topic-index.
func partitionDir(dir string) (kafka.TopicPartition, bool) {
	i := strings.LastIndexByte(dir, '-')
	if i <= 0 || strings.HasPrefix(dir, "__cluster_metadata") {
		return kafka.TopicPartition{}, false
	}
	index, err := strconv.ParseInt(dir[i+1:], 10, 32)
	return kafka.TopicPartition{Topic: dir[:i], Index: int32(index)}, err == nil && index >= 0
}

// readCheckpoint reads offsets by partition; none where the file is not there yet.
func readCheckpoint(files disk.FS) (map[kafka.TopicPartition]kafka.Offset, error) {
	data, err := disk.ReadFile(files, checkpointFile, checkpointMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	offsets, err := log.ParseOffsets(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", checkpointFile, err)
	}
	return offsets, nil
}
