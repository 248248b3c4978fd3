package metadata

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/broker/kafka"
)

var someSet = rapid.Map(rapid.SliceOfN(rapid.Int32(), 0, 4), func(ids []int32) []kafka.BrokerID {
	var set []kafka.BrokerID
	for _, id := range ids {
		set = append(set, kafka.BrokerID(id))
	}
	return set
})

var someID = rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) (id [16]byte) { copy(id[:], b); return id })

var someCause = rapid.Custom(func(t *rapid.T) Cause {
	return Cause{Kind: CauseKind(rapid.IntRange(1, int(lastCause)).Draw(t, "kind")), Broker: kafka.BrokerID(rapid.Int32().Draw(t, "broker"))}
})

var someEndpoints = rapid.Custom(func(t *rapid.T) (out []Endpoint) {
	text := rapid.StringN(0, 8, -1)
	for range rapid.IntRange(0, EndpointsMax).Draw(t, "count") {
		out = append(out, Endpoint{text.Draw(t, "listener"), text.Draw(t, "host"), rapid.Int32().Draw(t, "port")})
	}
	return out
})

var someRecord = rapid.Custom(func(t *rapid.T) Record {
	broker := kafka.BrokerID(rapid.Int32().Draw(t, "id"))
	epoch := kafka.BrokerEpoch(rapid.Int64().Draw(t, "epoch"))
	text := rapid.StringN(0, 8, -1)
	set := func(name string) []kafka.BrokerID { return someSet.Draw(t, name) }
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return RegisterBroker{broker, epoch, someID.Draw(t, "incarnation"), someEndpoints.Draw(t, "endpoints"),
			text.Draw(t, "rack"), someID.Draw(t, "directory"), rapid.Bool().Draw(t, "fenced"), rapid.Bool().Draw(t, "stopping")}
	case 1:
		return BrokerChange{broker, epoch, rapid.Bool().Draw(t, "fenced"), rapid.Bool().Draw(t, "stopping")}
	case 2:
		return TopicRecord{text.Draw(t, "name"), someID.Draw(t, "topic")}
	case 3:
		return ConfigRecord{text.Draw(t, "name"), text.Draw(t, "key"), text.Draw(t, "value")}
	case 4:
		return RemoveTopicRecord{someID.Draw(t, "topic")}
	case 6:
		return ProducerIDsRecord{broker, epoch, rapid.Int64().Draw(t, "next")}
	case 5:
		return PartitionRecord{someID.Draw(t, "topic"), rapid.Int32().Draw(t, "index"), set("replicas"), set("isr"), broker, someCause.Draw(t, "cause")}
	default:
		r := PartitionChange{TopicID: someID.Draw(t, "topic"), Index: rapid.Int32().Draw(t, "index"),
			Sets: Fields(rapid.Byte().Draw(t, "sets")) & allFields, Cause: someCause.Draw(t, "cause")}
		if r.Sets&SetLeader != 0 {
			r.Leader, r.Unclean = broker, rapid.Bool().Draw(t, "unclean")
		}
		for _, f := range r.sets() {
			if r.Sets&f.field != 0 {
				*f.set = set("set")
			}
		}
		return r
	}
})

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(someRecord, 1, 5).Draw(t, "records")
		data := Append(nil, records)
		back, err := Decode(data)
		if err != nil || !reflect.DeepEqual(records, back) {
			t.Fatalf("decoded %v (%v), expected %v", back, err, records)
		}
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if short, err := Decode(data[:cut]); err == nil && len(short) >= len(records) {
			t.Fatalf("the first %d of %d bytes gave all %d records", cut, len(data), len(short))
		}
	})
}

// FuzzDecode: whatever is understood has one encoding only, and nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add(Append(nil, []Record{RegisterBroker{ID: 1, Epoch: 7, Endpoints: []Endpoint{{"BROKER", "b1", 9092}, {"EXTERNAL", "localhost", 32801}}, Fenced: true}, TopicRecord{Name: "orders"}}))
	f.Add(Append(nil, []Record{PartitionRecord{Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1}, Leader: 1, Cause: Cause{ByCreation, -1}}}))
	f.Add(Append(nil, []Record{PartitionChange{Sets: SetLeader | SetELR, Leader: 2, ELR: []kafka.BrokerID{3}, Cause: Cause{ByFencing, 1}}}))
	f.Add([]byte{encodingVersion, kindPartitionChange, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := Decode(data)
		if err != nil {
			return
		}
		if again := Append(nil, records); !bytes.Equal(again, data) {
			t.Fatalf("%x decodes to %v, which encodes to %x", data, records, again)
		}
		img := New()
		for _, rec := range records {
			if _, err := img.Apply(rec); err != nil {
				return
			}
		}
	})
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":         {},
		"another version": {1},
		"unknown kind":    {encodingVersion, 99},
		"long varint":     {encodingVersion, kindBrokerChange, 0x82, 0x00, 0, 0, 0},
		"bool of two":     {encodingVersion, kindBrokerChange, 2, 2, 2, 0},
		"many endpoints":  append(append([]byte{encodingVersion, kindRegisterBroker, 2, 2}, make([]byte, 16)...), append([]byte{EndpointsMax + 1}, make([]byte, 200)...)...),
		"huge string":     {encodingVersion, kindTopic, 0xff, 0xff, 0xff, 0xff, 0x0f},
	} {
		if records, err := Decode(data); err == nil {
			t.Errorf("%s: decoded %v, expected an error", name, records)
		}
	}
}

func TestApplyTellsWhichPartitionsMayLookDifferent(t *testing.T) {
	img := New()
	topic := kafka.TopicID{1}
	apply := func(rec Record) []kafka.TopicPartition {
		t.Helper()
		changed, err := img.Apply(rec)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	apply(RegisterBroker{ID: 1, Epoch: 5, Fenced: true})
	apply(TopicRecord{Name: "orders", ID: topic})
	apply(PartitionRecord{TopicID: topic, Index: 0, Replicas: []kafka.BrokerID{1, 2}, ISR: []kafka.BrokerID{1, 2}, Leader: 1})
	apply(PartitionRecord{TopicID: topic, Index: 1, Replicas: []kafka.BrokerID{2, 3}, ISR: []kafka.BrokerID{2, 3}, Leader: 2})
	before := img.Clone()

	if got := apply(BrokerChange{ID: 1, Epoch: 5}); !slices.Equal(got, []kafka.TopicPartition{{Topic: "orders", Index: 0}}) {
		t.Errorf("unfencing 1 changed %v, expected the partition that 1 replicates", got)
	}
	apply(PartitionChange{TopicID: topic, Index: 0, Sets: SetLeader | SetISR, Leader: 2, ISR: []kafka.BrokerID{2}})
	p, _ := img.Partition(kafka.TopicPartition{Topic: "orders", Index: 0})
	if p.Leader != 2 || p.LeaderEpoch != 1 || p.PartitionEpoch != 1 || len(p.ISR) != 1 {
		t.Errorf("after the change: %+v", p)
	}
	if old, _ := before.Partition(kafka.TopicPartition{Topic: "orders", Index: 0}); old.Leader != 1 || len(old.ISR) != 2 {
		t.Errorf("the clone followed the change: %+v", old)
	}
	if _, err := img.Apply(BrokerChange{ID: 1, Epoch: 4}); err == nil {
		t.Error("a change of an older incarnation was applied")
	}
}
