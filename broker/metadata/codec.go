package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/broker/kafka"
)

// The encoding: a version byte, then records, each a kind byte and its fields in order of declaration. Integers are
// zigzag varints in their shortest form, strings and sets carry their length first, a bool is 0 or 1. Every value has one
// encoding only, and what is not understood is an error: a member must not skip what others apply.

const encodingVersion = 4

const (
	kindRegisterBroker = iota + 1
	kindBrokerChange
	kindTopic
	kindConfig
	kindPartition
	kindPartitionChange
	kindRemoveTopic
	kindProducerIDs

	lastKind = kindProducerIDs
)

// Append encodes records as one entry's data, after dst.
func Append(dst []byte, records []Record) []byte {
	dst = append(dst, encodingVersion)
	for _, rec := range records {
		dst = appendRecord(dst, rec)
	}
	return dst
}

func appendRecord(b []byte, rec Record) []byte {
	switch r := rec.(type) {
	case RegisterBroker:
		b = appendInt(append(b, kindRegisterBroker), int64(r.ID))
		b = append(appendInt(b, int64(r.Epoch)), r.Incarnation[:]...)
		b = append(appendString(appendEndpoints(b, r.Endpoints), r.Rack), r.Directory[:]...)
		return appendBool(appendBool(b, r.Fenced), r.Stopping)
	case BrokerChange:
		b = appendInt(append(b, kindBrokerChange), int64(r.ID))
		return appendBool(appendBool(appendInt(b, int64(r.Epoch)), r.Fenced), r.Stopping)
	case TopicRecord:
		return append(appendString(append(b, kindTopic), r.Name), r.ID[:]...)
	case RemoveTopicRecord:
		return append(append(b, kindRemoveTopic), r.ID[:]...)
	case ProducerIDsRecord:
		return appendInt(appendInt(appendInt(append(b, kindProducerIDs), int64(r.Broker)), int64(r.Epoch)), r.Next)
	case ConfigRecord:
		return appendString(appendString(appendString(append(b, kindConfig), r.Topic), r.Key), r.Value)
	case PartitionRecord:
		b = appendInt(append(append(b, kindPartition), r.TopicID[:]...), int64(r.Index))
		b = appendInt(appendSet(appendSet(b, r.Replicas), r.ISR), int64(r.Leader))
		return appendCause(b, r.Cause)
	case PartitionChange:
		return appendPartitionChange(b, r)
	default:
		return b
	}
}

func appendPartitionChange(b []byte, r PartitionChange) []byte {
	b = appendInt(append(append(b, kindPartitionChange), r.TopicID[:]...), int64(r.Index))
	b = append(b, byte(r.Sets))
	if r.Sets&SetLeader != 0 {
		b = appendBool(appendInt(b, int64(r.Leader)), r.Unclean)
	}
	for _, f := range r.sets() {
		if r.Sets&f.field != 0 {
			b = appendSet(b, *f.set)
		}
	}
	return appendCause(b, r.Cause)
}

// sets lists the fields that are sets of replicas, in the order of the encoding.
func (r *PartitionChange) sets() [6]struct {
	field Fields
	set   *[]kafka.BrokerID
} {
	return [6]struct {
		field Fields
		set   *[]kafka.BrokerID
	}{
		{SetISR, &r.ISR}, {SetReplicas, &r.Replicas}, {SetAdding, &r.Adding},
		{SetRemoving, &r.Removing}, {SetELR, &r.ELR}, {SetLastKnownELR, &r.LastKnownELR},
	}
}

func appendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendEndpoints(b []byte, endpoints []Endpoint) []byte {
	b = binary.AppendUvarint(b, uint64(len(endpoints)))
	for _, e := range endpoints {
		b = appendInt(appendString(appendString(b, e.Listener), e.Host), int64(e.Port))
	}
	return b
}

func appendSet(b []byte, set []kafka.BrokerID) []byte {
	b = binary.AppendUvarint(b, uint64(len(set)))
	for _, id := range set {
		b = appendInt(b, int64(id))
	}
	return b
}

func appendCause(b []byte, c Cause) []byte {
	return appendInt(append(b, byte(c.Kind)), int64(c.Broker))
}

// Decode reads one entry's data. It fails on an unknown version, kind or field, on any encoding but the one that Append
// makes, and on bytes left over.
func Decode(data []byte) ([]Record, error) {
	d := decoder{rest: data}
	if v := d.byte(); d.err == nil && v != encodingVersion {
		return nil, fmt.Errorf("metadata: version %d, expected %d", v, encodingVersion)
	}
	var records []Record
	for d.err == nil && len(d.rest) > 0 {
		records = append(records, d.record())
	}
	if d.err != nil {
		return nil, fmt.Errorf("metadata: record %d, byte %d of %d: %w", len(records), len(data)-len(d.rest), len(data), d.err)
	}
	return records, nil
}

type decoder struct {
	rest []byte
	err  error
}

var errShort = errors.New("ends early")

func (d *decoder) record() Record {
	switch kind := d.byte(); kind {
	case kindRegisterBroker:
		return RegisterBroker{ID: d.broker(), Epoch: kafka.BrokerEpoch(d.int()), Incarnation: d.id(),
			Endpoints: d.endpoints(), Rack: d.string(), Directory: d.id(), Fenced: d.bool(), Stopping: d.bool()}
	case kindBrokerChange:
		return BrokerChange{ID: d.broker(), Epoch: kafka.BrokerEpoch(d.int()), Fenced: d.bool(), Stopping: d.bool()}
	case kindTopic:
		return TopicRecord{Name: d.string(), ID: d.id()}
	case kindRemoveTopic:
		return RemoveTopicRecord{ID: d.id()}
	case kindProducerIDs:
		return ProducerIDsRecord{Broker: d.broker(), Epoch: kafka.BrokerEpoch(d.int()), Next: d.int()}
	case kindConfig:
		return ConfigRecord{Topic: d.string(), Key: d.string(), Value: d.string()}
	case kindPartition:
		return PartitionRecord{TopicID: d.id(), Index: d.int32(), Replicas: d.set(), ISR: d.set(), Leader: d.broker(),
			Cause: d.cause()}
	case kindPartitionChange:
		return d.partitionChange()
	default:
		d.fail(fmt.Errorf("kind %d, expected 1 to %d", kind, lastKind))
		return nil
	}
}

func (d *decoder) partitionChange() Record {
	r := PartitionChange{TopicID: d.id(), Index: d.int32(), Sets: Fields(d.byte())}
	if r.Sets&^allFields != 0 {
		d.fail(fmt.Errorf("fields %#x, expected only those of %#x", r.Sets, allFields))
		return nil
	}
	if r.Sets&SetLeader != 0 {
		r.Leader, r.Unclean = d.broker(), d.bool()
	}
	for _, f := range r.sets() {
		if r.Sets&f.field != 0 {
			*f.set = d.set()
		}
	}
	r.Cause = d.cause()
	return r
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) take(n uint64) []byte {
	if d.err != nil || n > uint64(len(d.rest)) {
		d.fail(errShort)
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || (n > 1 && d.rest[n-1] == 0) {
		d.fail(errors.New("no varint in its shortest form"))
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) int32() int32 {
	v := d.int()
	if int64(int32(v)) != v {
		d.fail(fmt.Errorf("integer %d, expected 32 bits", v))
	}
	return int32(v)
}

func (d *decoder) broker() kafka.BrokerID { return kafka.BrokerID(d.int32()) }

func (d *decoder) bool() bool {
	b := d.byte()
	if b > 1 {
		d.fail(fmt.Errorf("bool %d, expected 0 or 1", b))
	}
	return b == 1
}

func (d *decoder) id() (id [16]byte) {
	copy(id[:], d.take(16))
	return id
}

func (d *decoder) string() string { return string(d.take(d.uint())) }

func (d *decoder) endpoints() []Endpoint {
	n := d.uint()
	if n > EndpointsMax {
		d.fail(fmt.Errorf("%d endpoints, expected at most %d", n, EndpointsMax))
	}
	if d.err != nil || n == 0 {
		return nil
	}
	endpoints := make([]Endpoint, 0, n)
	for range n {
		endpoints = append(endpoints, Endpoint{Listener: d.string(), Host: d.string(), Port: d.int32()})
	}
	return endpoints
}

func (d *decoder) set() []kafka.BrokerID {
	n := d.uint()
	if n > uint64(len(d.rest)) { // each member takes a byte at least
		d.fail(errShort)
	}
	if d.err != nil || n == 0 {
		return nil
	}
	set := make([]kafka.BrokerID, 0, n)
	for range n {
		set = append(set, d.broker())
	}
	return set
}

func (d *decoder) cause() Cause {
	c := Cause{Kind: CauseKind(d.byte()), Broker: d.broker()}
	if d.err == nil && (c.Kind == 0 || c.Kind > lastCause) {
		d.fail(fmt.Errorf("cause %d, expected 1 to %d", c.Kind, lastCause))
	}
	return c
}
