package log

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tidemark/broker/kafka"
)

// Kafka's checkpoint files (CheckpointFile.java): a line with the version, a line with the number of entries, then one
// entry a line. The last line may lack its newline; nothing else may be missing or added.

// checkpointVersion is the only one that Kafka ever had.
const checkpointVersion = 0

// ParseOffsets reads an offset checkpoint (replication-offset-checkpoint, recovery-point-offset-checkpoint,
// log-start-offset-checkpoint): entries are "<topic> <partition> <offset>". An error names the line and what was expected.
func ParseOffsets(data []byte) (map[kafka.TopicPartition]kafka.Offset, error) {
	lines, err := checkpointLines(data)
	if err != nil {
		return nil, err
	}
	offsets := make(map[kafka.TopicPartition]kafka.Offset, len(lines))
	for i, line := range lines {
		fields := strings.Split(line, " ")
		if len(fields) != 3 || fields[0] == "" {
			return nil, lineError(i+3, line, "\"<topic> <partition> <offset>\"")
		}
		index, err := parseNumber(i+3, fields[1], "partition", 32)
		if err != nil {
			return nil, err
		}
		offset, err := parseNumber(i+3, fields[2], "offset", 64)
		if err != nil {
			return nil, err
		}
		tp := kafka.TopicPartition{Topic: fields[0], Index: int32(index)}
		if _, twice := offsets[tp]; twice {
			return nil, lineError(i+3, line, "a partition that no line before names")
		}
		offsets[tp] = kafka.Offset(offset)
	}
	return offsets, nil
}

// FormatOffsets renders an offset checkpoint, ascending by partition.
func FormatOffsets(offsets map[kafka.TopicPartition]kafka.Offset) []byte {
	b := appendCheckpointHead(nil, len(offsets))
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), kafka.TopicPartition.Compare) {
		b = append(b, tp.Topic...)
		b = strconv.AppendInt(append(b, ' '), int64(tp.Index), 10)
		b = strconv.AppendInt(append(b, ' '), int64(offsets[tp]), 10)
		b = append(b, '\n')
	}
	return b
}

// ParseEpochs reads a leader-epoch-checkpoint: entries are "<epoch> <start offset>", both ascending. An error names the line
// and what was expected.
func ParseEpochs(data []byte) ([]EpochStart, error) {
	lines, err := checkpointLines(data)
	if err != nil {
		return nil, err
	}
	entries := make([]EpochStart, len(lines))
	last := EpochStart{-1, -1}
	for i, line := range lines {
		epoch, start, ok := strings.Cut(line, " ")
		if !ok {
			return nil, lineError(i+3, line, "\"<epoch> <start offset>\"")
		}
		e, err := parseNumber(i+3, epoch, "epoch", 32)
		if err != nil {
			return nil, err
		}
		s, err := parseNumber(i+3, start, "start offset", 64)
		if err != nil {
			return nil, err
		}
		entry := EpochStart{kafka.Epoch(e), kafka.Offset(s)}
		if entry.Epoch <= last.Epoch || entry.Start <= last.Start {
			return nil, lineError(i+3, line, fmt.Sprintf("epoch and offset above %d and %d", last.Epoch, last.Start))
		}
		entries[i], last = entry, entry
	}
	return entries, nil
}

// FormatEpochs renders a leader-epoch-checkpoint.
func FormatEpochs(entries []EpochStart) []byte {
	b := appendCheckpointHead(nil, len(entries))
	for _, e := range entries {
		b = strconv.AppendInt(b, int64(e.Epoch), 10)
		b = strconv.AppendInt(append(b, ' '), int64(e.Start), 10)
		b = append(b, '\n')
	}
	return b
}

func appendCheckpointHead(b []byte, n int) []byte {
	b = strconv.AppendInt(b, checkpointVersion, 10)
	b = strconv.AppendInt(append(b, '\n'), int64(n), 10)
	return append(b, '\n')
}

// checkpointLines returns the entries' lines, as many as the head says.
func checkpointLines(data []byte) ([]string, error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if v, err := parseNumber(1, lines[0], "version", 32); err != nil {
		return nil, err
	} else if v != checkpointVersion {
		return nil, lineError(1, lines[0], fmt.Sprintf("version %d", checkpointVersion))
	}
	if len(lines) < 2 {
		return nil, lineError(2, "", "the number of entries")
	}
	n, err := parseNumber(2, lines[1], "number of entries", 32)
	if err != nil {
		return nil, err
	}
	if lines = lines[2:]; int64(len(lines)) != n {
		return nil, fmt.Errorf("line 2: %d entries announced, expected %d as there are lines behind", n, len(lines))
	}
	return lines, nil
}

// parseNumber reads a non-negative decimal of so many bits as Kafka writes it: no sign, no leading zeros.
func parseNumber(line int, s, what string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, lineError(line, s, fmt.Sprintf("%s, a non-negative number of %d bits", what, bits))
	}
	return n, nil
}

func lineError(line int, got, expected string) error {
	return fmt.Errorf("line %d: %q, expected %s", line, got[:min(len(got), 100)], expected)
}

// CleanShutdownFile is the name of the marker that a controlled shutdown leaves in the data directory.
const CleanShutdownFile = ".kafka_cleanshutdown"

// cleanShutdown is the marker's content (Kafka's CleanShutdownFileHandler.java).
type cleanShutdown struct {
	Version     *int               `json:"version"`
	BrokerEpoch *kafka.BrokerEpoch `json:"brokerEpoch"`
}

// markerBytesMax bounds a clean-shutdown marker.
const markerBytesMax = 256

// ParseCleanShutdown reads a clean-shutdown marker: the epoch of the broker that wrote it.
func ParseCleanShutdown(data []byte) (kafka.BrokerEpoch, error) {
	const expected = `expected {"version":0,"brokerEpoch":N}`
	if len(data) > markerBytesMax {
		return kafka.NoBrokerEpoch, fmt.Errorf("clean-shutdown marker of %d bytes, %s", len(data), expected)
	}
	var m cleanShutdown
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&m); err != nil {
		return kafka.NoBrokerEpoch, fmt.Errorf("clean-shutdown marker, %s: %w", expected, err)
	}
	_, behind := dec.Token()
	if !errors.Is(behind, io.EOF) || m.Version == nil || *m.Version != 0 || m.BrokerEpoch == nil || *m.BrokerEpoch < kafka.NoBrokerEpoch {
		return kafka.NoBrokerEpoch, fmt.Errorf("clean-shutdown marker %q, %s", data[:min(len(data), 100)], expected)
	}
	return *m.BrokerEpoch, nil
}

// FormatCleanShutdown renders a clean-shutdown marker.
func FormatCleanShutdown(e kafka.BrokerEpoch) []byte {
	return fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, e)
}
