package watch

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// fetchNewest is the newest version of Fetch whose frames are read: that of Kafka 4.1 (KIP-1166).
const fetchNewest = 18

// fetchFlexible is the first with tagged fields (KIP-482), in its header too.
const fetchFlexible = 12

// Names gives topics' names by their ids, by which requests of version 13 and later call them (KIP-516).
type Names map[[16]byte]string

// Fetch is what a follower's Fetch request tells.
type Fetch struct {
	Version     int16
	Correlation int32
	Replicas    []ReplicaSaid // of the follower, only those whose offset is new to the leader where it has a session (KIP-227)
}

// ReplicaSaid is what a follower told its leader of a replica by a Fetch request.
type ReplicaSaid struct {
	Broker    history.BrokerID
	Partition history.Partition
	LEO       history.Offset // it fetches from its end
	Start     history.Offset // UnknownOffset before version 5
	HW        history.Offset // UnknownOffset before version 18
	Epoch     history.Epoch  // in which it follows; -1 before version 9
}

// LeaderSaid is what a leader told of itself by a Fetch response.
type LeaderSaid struct {
	Partition history.Partition
	HW        history.Offset
	Start     history.Offset // UnknownOffset before version 5
	// Diverging is where the follower's log parts from the leader's, so that it must cut its own (KIP-595); UnknownOffset if it does not.
	Diverging history.Offset
	Code      int16 // Kafka's error code; with one the offsets are unknown
}

// ErrNotFetch says that a frame is of another request.
var ErrNotFetch = errors.New("not a Fetch")

// ReadFetchRequest reads a request's frame, without its length, of Fetch in any version up to 18. A consumer's tells of no replica. Topics
// whose names are unknown are left out. The error is an ErrNotFetch for any other request.
func ReadFetchRequest(frame []byte, names Names) (Fetch, error) {
	const header = 10 // key, version, correlation id, length of the client id
	if len(frame) < header {
		return Fetch{}, fmt.Errorf("request of %d bytes, expected at least %d", len(frame), header)
	}
	if key := int16(binary.BigEndian.Uint16(frame)); key != kmsg.Fetch.Int16() {
		return Fetch{}, fmt.Errorf("%w: API key %d", ErrNotFetch, key)
	}
	f := Fetch{Version: int16(binary.BigEndian.Uint16(frame[2:])), Correlation: int32(binary.BigEndian.Uint32(frame[4:]))}
	if f.Version < 0 || f.Version > fetchNewest {
		return f, fmt.Errorf("Fetch of version %d, expected 0 to %d", f.Version, fetchNewest)
	}
	body := frame[header:]
	client := max(0, int(int16(binary.BigEndian.Uint16(frame[8:])))) // -1 is none
	if client > len(body) {
		return f, fmt.Errorf("client id of %d bytes, but %d are left", client, len(body))
	}
	body, err := afterTags(body[client:], f.Version)
	if err != nil {
		return f, err
	}
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(f.Version)
	if err := req.ReadFrom(body); err != nil {
		return f, fmt.Errorf("Fetch request of version %d: %w", f.Version, err)
	}
	follower := req.ReplicaID
	if f.Version >= 15 {
		follower = req.ReplicaState.ID // KIP-903
	}
	if follower < 0 {
		return f, nil
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		name, known := topicName(t.Topic, t.TopicID, f.Version, names)
		for j := range t.Partitions {
			if !known {
				break
			}
			p := &t.Partitions[j]
			said := ReplicaSaid{
				Broker: history.BrokerID(follower), Partition: history.Partition{Topic: name, Index: p.Partition}, LEO: history.Offset(p.FetchOffset),
				Start: history.UnknownOffset, HW: history.UnknownOffset, Epoch: -1,
			}
			if f.Version >= 5 {
				said.Start = history.Offset(p.LogStartOffset)
			}
			if f.Version >= 9 {
				said.Epoch = history.Epoch(p.CurrentLeaderEpoch)
			}
			if f.Version >= 18 {
				said.HW = toldHW(p.HighWatermark)
			}
			f.Replicas = append(f.Replicas, said)
		}
	}
	return f, nil
}

// toldHW is the high watermark of a request, where the largest number stands for a follower that tells none.
func toldHW(hw int64) history.Offset {
	if hw == 1<<63-1 {
		return history.UnknownOffset
	}
	return history.Offset(hw)
}

// ReadFetchResponse reads a response's frame, without its length, to a Fetch of a version up to 18. Correlation tells which request it
// answers.
func ReadFetchResponse(frame []byte, version int16, names Names) (correlation int32, said []LeaderSaid, err error) {
	if version < 0 || version > fetchNewest {
		return 0, nil, fmt.Errorf("Fetch of version %d, expected 0 to %d", version, fetchNewest)
	}
	if len(frame) < 4 {
		return 0, nil, fmt.Errorf("response of %d bytes, expected at least 4", len(frame))
	}
	correlation = int32(binary.BigEndian.Uint32(frame))
	body, err := afterTags(frame[4:], version)
	if err != nil {
		return correlation, nil, err
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(version)
	if err := resp.UnsafeReadFrom(body); err != nil {
		return correlation, nil, fmt.Errorf("Fetch response of version %d: %w", version, err)
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		name, known := topicName(t.Topic, t.TopicID, version, names)
		for j := range t.Partitions {
			if !known {
				break
			}
			p := &t.Partitions[j]
			l := LeaderSaid{
				Partition: history.Partition{Topic: name, Index: p.Partition}, Code: p.ErrorCode,
				HW: history.UnknownOffset, Start: history.UnknownOffset, Diverging: history.UnknownOffset,
			}
			if p.ErrorCode == 0 {
				l.HW = history.Offset(p.HighWatermark)
			}
			if p.ErrorCode == 0 && version >= 5 {
				l.Start = history.Offset(p.LogStartOffset)
			}
			if version >= fetchFlexible && p.DivergingEpoch.Epoch >= 0 {
				l.Diverging = history.Offset(p.DivergingEpoch.EndOffset)
			}
			said = append(said, l)
		}
	}
	return correlation, said, nil
}

// topicName is a topic's name in a frame of a version.
func topicName(name string, id [16]byte, version int16, names Names) (string, bool) {
	if version >= 13 {
		name = names[id]
	}
	return name, name != ""
}

// afterTags passes over the tagged fields of a header, which flexible versions have.
func afterTags(b []byte, version int16) ([]byte, error) {
	if version < fetchFlexible {
		return b, nil
	}
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errors.New("header ends before its tagged fields")
	}
	b = b[n:]
	for range count {
		_, n := binary.Uvarint(b) // the tag
		if n <= 0 {
			return nil, errors.New("header ends inside a tag")
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, errors.New("header ends inside a tag")
		}
		b = b[n+int(size):]
	}
	return b, nil
}
