// Package kafkadisk reads the data directory of an Apache Kafka broker of any release: segments of message formats 0, 1 and 2 and the
// checkpoints beside them. It changes nothing and takes no lock, so it may look at a broker that runs.
package kafkadisk

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/broker/replica"
	"tidemark/history"
)

// The files that Kafka keeps beside the replicas' directories (LogManager.scala, ReplicaManager.scala), and in each of them.
const (
	hwFile       = "replication-offset-checkpoint"
	recoveryFile = "recovery-point-offset-checkpoint"
	startFile    = "log-start-offset-checkpoint" // from 0.11 on
	topicIDFile  = "partition.metadata"          // from 2.8 on
)

// Bounds of these files, in bytes.
const (
	checkpointBytesMax = 16 << 20
	topicIDBytesMax    = 4096
)

// Replica is what a broker's files tell of one of its replicas.
type Replica struct {
	history.Dump
	RecoveryPoint history.Offset // below it everything was synced; UnknownOffset if no checkpoint tells
	TopicID       kafka.TopicID  // zero before 2.8
}

// Dump reads every replica from a broker's files, in order of directory. A replica that cannot be read says so in Err.
func Dump(files disk.FS, b history.BrokerID) ([]history.Dump, error) {
	replicas, err := Read(files, b)
	if err != nil {
		return nil, err
	}
	dumps := make([]history.Dump, len(replicas))
	for i := range replicas {
		dumps[i] = replicas[i].Dump
	}
	return dumps, nil
}

// Read reads every replica from a broker's files, in order of directory, without those of the brokers' own topics. The high watermark is
// the checkpoint's, which a running broker is ahead of. A replica that cannot be read says so in Err; what stands before the damage is there.
func Read(files disk.FS, b history.BrokerID) ([]Replica, error) {
	entries, err := files.ReadDir("")
	if err != nil {
		return nil, fmt.Errorf("data directory of broker %d: %w", b, err)
	}
	hws, hwErr := offsets(files, hwFile)
	points, pointErr := offsets(files, recoveryFile)
	starts, startErr := offsets(files, startFile)
	wrong := errors.Join(hwErr, pointErr, startErr)
	replicas := []Replica{}
	for _, entry := range entries {
		dir, isDir := strings.CutSuffix(entry, "/")
		p, ok := partitionOf(dir)
		if !isDir || !ok || internal(p.Topic) {
			continue
		}
		tp := kafka.TopicPartition{Topic: p.Topic, Index: p.Index}
		r := Replica{
			Dump:          history.Dump{Broker: b, Partition: p, HW: offsetOf(hws, tp, history.UnknownOffset)},
			RecoveryPoint: offsetOf(points, tp, history.UnknownOffset),
		}
		var idErr error
		r.TopicID, idErr = topicID(files, dir)
		if err := errors.Join(r.readLog(files, dir, offsetOf(starts, tp, 0)), idErr, wrong); err != nil {
			r.Err = err.Error()
		}
		replicas = append(replicas, r)
	}
	return replicas, nil
}

// readLog reads the segments in dir of a log that begins at start at the earliest.
func (r *Replica) readLog(files disk.FS, dir string, start history.Offset) error {
	segments, err := segmentsOf(files, dir)
	if err != nil {
		return err
	}
	for len(segments) > 1 && segments[1].base <= start { // removed on paper, and soon on disk
		segments = segments[1:]
	}
	c := contents{end: segments[0].base}
	for _, s := range segments {
		if s.base < c.end {
			return fmt.Errorf("%s begins below offset %d, where the segment before ends", s.path, c.end)
		}
		c.end = s.base
		if err = c.read(files, s); err != nil {
			err = fmt.Errorf("%s: %w", s.path, err)
			break
		}
	}
	r.Start = max(start, segments[0].base)
	r.LEO = max(c.end, r.Start)
	r.Records = slices.DeleteFunc(c.records, func(r history.DumpRecord) bool { return r.Offset < start })
	return err
}

// offsets reads a checkpoint of offsets; none where the file is not there, or still empty, as old releases leave it at first.
func offsets(files disk.FS, path string) (map[kafka.TopicPartition]kafka.Offset, error) {
	data, err := disk.ReadFile(files, path, checkpointBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(data) == 0 {
		return nil, err
	}
	told, err := log.ParseOffsets(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return told, nil
}

func offsetOf(told map[kafka.TopicPartition]kafka.Offset, tp kafka.TopicPartition, otherwise history.Offset) history.Offset {
	if o, ok := told[tp]; ok {
		return history.Offset(o)
	}
	return otherwise
}

// topicID reads which topic a directory is of; zero where no file tells.
func topicID(files disk.FS, dir string) (kafka.TopicID, error) {
	data, err := disk.ReadFile(files, dir+"/"+topicIDFile, topicIDBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return kafka.TopicID{}, nil
	}
	if err != nil {
		return kafka.TopicID{}, err
	}
	id, err := replica.ParseTopicID(data)
	if err != nil {
		return id, fmt.Errorf("%s: %w", dir, err)
	}
	return id, nil
}
