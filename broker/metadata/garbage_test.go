package metadata

import (
	"bytes"
	"testing"

	"tidemark/broker/kafka"
	"tidemark/internal/garbage"
)

// TestGarbageRecords spoils an entry with a record of each kind. What is read all the same has that one encoding only, and is applied
// to an image or refused by it.
func TestGarbageRecords(t *testing.T) {
	cause, set := Cause{ByFencing, 1}, []kafka.BrokerID{1, 2, 3}
	valid := Append(nil, []Record{
		RegisterBroker{ID: 1, Epoch: 7, Incarnation: [16]byte{1}, Endpoints: []Endpoint{{"BROKER", "b1", 9092}, {"EXTERNAL", "localhost", 32801}}, Rack: "r1", Fenced: true},
		BrokerChange{ID: 1, Epoch: 7},
		TopicRecord{Name: "orders", ID: kafka.TopicID{9}},
		ConfigRecord{Topic: "orders", Key: "min.insync.replicas", Value: "2"},
		PartitionRecord{TopicID: kafka.TopicID{9}, Replicas: set, ISR: set, Leader: 1, Cause: cause},
		PartitionChange{TopicID: kafka.TopicID{9}, Sets: allFields, Leader: 2, ISR: set, Replicas: set, Adding: set, Removing: set, ELR: set, LastKnownELR: set, Cause: cause},
		RemoveTopicRecord{ID: kafka.TopicID{9}},
	})
	inputs := garbage.Of(valid, 1)
	for _, fill := range []byte{0, kindBrokerChange} {
		inputs = append(inputs, garbage.Claims(valid, garbage.Large, fill)...)
	}
	bound := garbage.Bound{Bytes: 64 << 10, Times: 128, Says: []string{"expected", "ends early", "shortest form", "which is not there"}}
	accepted, refused := bound.Hold(t, inputs, func(in garbage.Input) error {
		records, err := Decode(in.Data)
		if err != nil {
			return err
		}
		if again := Append(nil, records); !bytes.Equal(again, in.Data) {
			t.Errorf("%s: decodes to %v, which encodes to %x, expected %x", in.Name, records, again, in.Data)
		}
		if in.Kind == garbage.Cut && len(records) >= 7 {
			t.Errorf("%s: gave all %d records", in.Name, len(records))
		}
		img := New()
		for _, rec := range records {
			if _, err := img.Apply(rec); err != nil {
				return err
			}
		}
		return nil
	})
	if accepted == 0 || refused < 100 {
		t.Errorf("%d accepted, %d refused, expected some and at least 100", accepted, refused)
	}
}
