// Package frames reads from Kafka's frames of Fetch and Produce what they tell of single partitions, for faults on messages that concern one.
package frames

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// Names gives topics' names by their ids, by which newer versions call them (KIP-516).
type Names map[[16]byte]string

// Told is what a frame tells of a partition.
type Told struct {
	Partition history.Partition
	HW        history.Offset // of a Fetch response, the leader's high watermark; UnknownOffset elsewhere, and with an error
}

// Reads reports whether frames of an API, by its key, tell of partitions and are read here.
func Reads(key int16) bool { return key == kmsg.Fetch.Int16() || key == kmsg.Produce.Int16() }

// The first versions that name topics by their ids alone.
const (
	fetchByID   = 13
	produceByID = 13
)

// Request reads a request's frame, without its length. A topic whose name is not known is left out.
func Request(frame []byte, names Names) ([]Told, error) {
	const header = 10 // key, version, correlation id, length of the client id
	if len(frame) < header {
		return nil, fmt.Errorf("request of %d bytes, expected at least %d", len(frame), header)
	}
	req, err := requestOf(int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:])))
	if err != nil {
		return nil, err
	}
	body := frame[header:]
	client := max(0, int(int16(binary.BigEndian.Uint16(frame[8:])))) // -1 is none
	if client > len(body) {
		return nil, fmt.Errorf("client id of %d bytes, but %d are left", client, len(body))
	}
	if body, err = afterTags(body[client:], req.IsFlexible()); err != nil {
		return nil, err
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, wrong(req, "request", err)
	}
	var out []Told
	switch r := req.(type) {
	case *kmsg.FetchRequest:
		for i := range r.Topics {
			t := &r.Topics[i]
			name := nameOf(t.Topic, t.TopicID, r.Version >= fetchByID, names)
			for j := range t.Partitions {
				out = tell(out, name, t.Partitions[j].Partition, history.UnknownOffset)
			}
		}
	case *kmsg.ProduceRequest:
		for i := range r.Topics {
			t := &r.Topics[i]
			name := nameOf(t.Topic, t.TopicID, r.Version >= produceByID, names)
			for j := range t.Partitions {
				out = tell(out, name, t.Partitions[j].Partition, history.UnknownOffset)
			}
		}
	}
	return out, nil
}

// Response reads the frame, without its length, of a response to a request of that key and version.
func Response(frame []byte, key, version int16, names Names) ([]Told, error) {
	const header = 4 // correlation id
	if len(frame) < header {
		return nil, fmt.Errorf("response of %d bytes, expected at least %d", len(frame), header)
	}
	req, err := requestOf(key, version)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	body, err := afterTags(frame[header:], resp.IsFlexible())
	if err != nil {
		return nil, err
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, wrong(req, "response", err)
	}
	var out []Told
	switch r := resp.(type) {
	case *kmsg.FetchResponse:
		for i := range r.Topics {
			t := &r.Topics[i]
			name := nameOf(t.Topic, t.TopicID, r.Version >= fetchByID, names)
			for j := range t.Partitions {
				p := &t.Partitions[j]
				hw := history.UnknownOffset
				if p.ErrorCode == 0 {
					hw = history.Offset(p.HighWatermark)
				}
				out = tell(out, name, p.Partition, hw)
			}
		}
	case *kmsg.ProduceResponse:
		for i := range r.Topics {
			t := &r.Topics[i]
			name := nameOf(t.Topic, t.TopicID, r.Version >= produceByID, names)
			for j := range t.Partitions {
				out = tell(out, name, t.Partitions[j].Partition, history.UnknownOffset)
			}
		}
	}
	return out, nil
}

// tell enters a partition, unless its topic has no name.
func tell(out []Told, topic string, index int32, hw history.Offset) []Told {
	if topic == "" {
		return out
	}
	return append(out, Told{Partition: history.Partition{Topic: topic, Index: index}, HW: hw})
}

// ErrOther says that a frame is of an API or a version that is not read here.
var ErrOther = errors.New("not read here")

// requestOf is an empty request of a key and a version that are read here.
func requestOf(key, version int16) (kmsg.Request, error) {
	var req kmsg.Request
	switch key {
	case kmsg.Fetch.Int16():
		req = kmsg.NewPtrFetchRequest()
	case kmsg.Produce.Int16():
		req = kmsg.NewPtrProduceRequest()
	default:
		return nil, fmt.Errorf("API key %d: %w", key, ErrOther)
	}
	if version < 0 || version > req.MaxVersion() {
		return nil, fmt.Errorf("%s of version %d, expected 0 to %d: %w", kmsg.NameForKey(key), version, req.MaxVersion(), ErrOther)
	}
	req.SetVersion(version)
	return req, nil
}

func wrong(req kmsg.Request, what string, err error) error {
	return fmt.Errorf("%s %s of version %d: %w", kmsg.NameForKey(req.Key()), what, req.GetVersion(), err)
}

// nameOf is a topic's name in a frame, "" if it is not known.
func nameOf(name string, id [16]byte, byID bool, names Names) string {
	if byID {
		return names[id]
	}
	return name
}

// afterTags passes over the tagged fields of a header, which flexible versions have (KIP-482).
func afterTags(b []byte, flexible bool) ([]byte, error) {
	if !flexible {
		return b, nil
	}
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errors.New("the header ends before its tagged fields")
	}
	b = b[n:]
	for range count {
		_, n := binary.Uvarint(b) // the tag
		if n <= 0 {
			return nil, errors.New("the header ends inside a tag")
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, errors.New("the header ends inside a tag")
		}
		b = b[n+int(size):]
	}
	return b, nil
}
