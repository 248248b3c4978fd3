package metadata

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tidemark/broker/kafka"
)

// TestSnapshotKeepsEveryField fills an image by reflection, so that a field which somebody adds is in the snapshot or fails here.
func TestSnapshotKeepsEveryField(t *testing.T) {
	for seed := range uint64(50) {
		img := New()
		fill(reflect.ValueOf(img).Elem(), rand.New(rand.NewPCG(seed, 1)))
		agree(img)
		data, err := AppendSnapshot(nil, img)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeSnapshot(data)
		if err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if !reflect.DeepEqual(again, img) {
			t.Fatalf("a snapshot of %+v was read as %+v", img, again)
		}
		if twice, _ := AppendSnapshot(nil, again); string(twice) != string(data) {
			t.Fatalf("an image gave %s and, read back, %s", data, twice)
		}
	}
}

// agree makes the names in a filled image agree with each other.
func agree(img *Image) {
	for id, b := range img.Brokers {
		b.ID = id
		img.Brokers[id] = b
	}
	img.Names = map[kafka.TopicID]string{}
	for name, topic := range img.Topics {
		topic.Name = name
		img.Names[topic.ID] = name
	}
}

// fill sets every field to something that is not its zero.
func fill(v reflect.Value, rnd *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), rnd)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), rnd)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, rnd)
			fill(value, rnd)
			v.SetMapIndex(key, value)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), rnd)
		}
	case reflect.String:
		v.SetString(string(rune('a'+rnd.IntN(26))) + string(rune('a'+rnd.IntN(26))) + "\u00e4\"")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1 + rnd.Uint64N(255))
	default:
		v.SetInt(1 + rnd.Int64N(1<<30))
	}
}

func TestSnapshotRefusesWhatNobodyWrote(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "EOF"},
		{"{", "EOF"},
		{`{"Brokers":null,"Topics":{}}`, "expected brokers"},
		{`{"Index":-1,"Brokers":{},"Topics":{}}`, "at entry -1"},
		{`{"Brokers":{},"Topics":{}} 1`, "nothing after"},
		{`{"Brokers":{"1":{"ID":2}},"Topics":{}}`, "broker 2 under the id 1"},
		{`{"Brokers":{},"Topics":{"a":null}}`, "without a description"},
		{`{"Brokers":{},"Topics":{"a":{"Name":"b","Configs":{}}}}`, `named "b"`},
		{`{"Brokers":{},"Topics":{"a":{"Name":"a","Configs":{},"Partitions":[{}]}}}`, "without replicas"},
		{`{"Brokers":{},"Topics":{"a":{"Name":"a","Configs":{}},"b":{"Name":"b","Configs":{}}}}`, "of one id"},
		{`{"Brokers":{},"Topics":{},"Zebras":1}`, "Zebras"},
	} {
		if _, err := DecodeSnapshot([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected an error with %q", c.data, err, c.want)
		}
	}
}
