package watch_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/docker/watch"
	"tidemark/history"
)

var topicID = [16]byte{1, 2, 3}

var names = watch.Names{topicID: "orders"}

// requested is the frame of a follower's Fetch, without its length.
func requested(version int16, replica int32) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.ReplicaState.ID = version, replica, replica
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = "orders", topicID
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.CurrentLeaderEpoch, p.LogStartOffset, p.HighWatermark = 3, 70, 5, 10, 60
	t.Partitions = append(t.Partitions, p)
	other := kmsg.NewFetchRequestTopic()
	other.Topic, other.TopicID, other.Partitions = "", [16]byte{9}, t.Partitions
	req.Topics = append(req.Topics, t, other)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("broker-2-fetcher-0")).AppendRequest(nil, req, 77)[4:]
}

// answered is the frame of a Fetch response, without its length.
func answered(version, code int16) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = version
	t := kmsg.NewFetchResponseTopic()
	t.Topic, t.TopicID = "orders", topicID
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode, p.HighWatermark, p.LogStartOffset, p.RecordBatches = 3, code, 65, 11, []byte("batches")
	p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 4, 55
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	frame := binary.BigEndian.AppendUint32(nil, 78)
	if resp.IsFlexible() {
		frame = append(frame, 1, 200, 1, 2, 'x', 'y') // one tagged field, 200
	}
	return resp.AppendTo(frame)
}

// since is a value from a version on, and otherwise unknown.
func since[T ~int32 | ~int64](version, from int16, value T) T {
	if version < from {
		return -1
	}
	return value
}

func TestFetchFramesOfEveryVersion(t *testing.T) {
	where := history.Partition{Topic: "orders", Index: 3}
	for v := int16(0); v <= 18; v++ {
		f, err := watch.ReadFetchRequest(requested(v, 2), names)
		want := watch.ReplicaSaid{
			Broker: 2, Partition: where, LEO: 70,
			Start: since[history.Offset](v, 5, 10), HW: since[history.Offset](v, 18, 60), Epoch: since[history.Epoch](v, 9, 5),
		}
		if err != nil || f.Version != v || f.Correlation != 77 || len(f.Replicas) != 1 || f.Replicas[0] != want {
			t.Errorf("version %d: %+v, %v, expected %+v", v, f, err, want)
		}
		if f, err := watch.ReadFetchRequest(requested(v, -1), names); err != nil || len(f.Replicas) != 0 {
			t.Errorf("version %d: a consumer's fetch tells %+v, %v, expected nothing", v, f.Replicas, err)
		}
		correlation, said, err := watch.ReadFetchResponse(answered(v, 0), v, names)
		told := watch.LeaderSaid{Partition: where, HW: 65, Start: since[history.Offset](v, 5, 11), Diverging: since[history.Offset](v, 12, 55)}
		if err != nil || correlation != 78 || len(said) != 1 || said[0] != told {
			t.Errorf("version %d: response %d tells %+v, %v, expected %+v", v, correlation, said, err, told)
		}
		_, said, err = watch.ReadFetchResponse(answered(v, 6), v, names)
		if err != nil || len(said) != 1 || said[0].Code != 6 || said[0].HW != history.UnknownOffset || said[0].Start != history.UnknownOffset {
			t.Errorf("version %d: a refusal tells %+v, %v, expected code 6 and no offsets", v, said, err)
		}
	}
}

func TestFramesThatAreNoFetch(t *testing.T) {
	whole := requested(17, 2)
	for n := range len(whole) {
		if _, err := watch.ReadFetchRequest(whole[:n], names); err == nil {
			t.Errorf("the first %d of %d bytes were a request", n, len(whole))
		}
	}
	other := requested(4, 2)
	other[1] = 0
	if _, err := watch.ReadFetchRequest(other, names); !errors.Is(err, watch.ErrNotFetch) {
		t.Errorf("a Produce gives %v, expected %v", err, watch.ErrNotFetch)
	}
	newer := requested(4, 2)
	newer[3] = 19
	if _, err := watch.ReadFetchRequest(newer, names); err == nil {
		t.Error("version 19 was read")
	}
	if _, _, err := watch.ReadFetchResponse(answered(4, 0), 19, names); err == nil {
		t.Error("a response of version 19 was read")
	}
}

// FuzzFrames: whatever passes on a connection is read or refused.
func FuzzFrames(f *testing.F) {
	for v := int16(0); v <= 18; v++ {
		f.Add(requested(v, 2), v)
		f.Add(answered(v, 0), v)
	}
	f.Fuzz(func(t *testing.T, frame []byte, version int16) {
		_, _ = watch.ReadFetchRequest(frame, names)
		_, _, _ = watch.ReadFetchResponse(frame, version, names)
	})
}
