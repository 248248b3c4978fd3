package frames_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world/frames"
)

var (
	orders = [16]byte{1}
	names  = frames.Names{orders: "orders"}
)

// request is a frame, without its length, with a client's id in its header.
func request(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("follower")).AppendRequest(nil, req, 7)[4:]
}

// response is a frame, without its length.
func response(resp kmsg.Response, version int16) []byte {
	resp.SetVersion(version)
	frame := []byte{0, 0, 0, 7}
	if resp.IsFlexible() {
		frame = append(frame, 0)
	}
	return resp.AppendTo(frame)
}

func fetch() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID = 3
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = "orders", orders
	for i := range int32(2) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset = i, 10
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	return req
}

func fetched(hw int64, code int16, index int32) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = "orders", orders
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.HighWatermark, p.ErrorCode, p.RecordBatches = index, hw, code, []byte("records")
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	return resp
}

// TestWhatFramesTell reads frames of every version, by which topics are named in two ways.
func TestWhatFramesTell(t *testing.T) {
	for version := range fetch().MaxVersion() + 1 {
		told, err := frames.Request(request(fetch(), version), names)
		if got := fmt.Sprint(told); err != nil || got != "[{orders/0 -1} {orders/1 -1}]" {
			t.Errorf("Fetch request %d tells %s, %v", version, got, err)
		}
		told, err = frames.Response(response(fetched(12, 0, 1), version), kmsg.Fetch.Int16(), version, names)
		if got := fmt.Sprint(told); err != nil || got != "[{orders/1 12}]" {
			t.Errorf("Fetch response %d tells %s, %v", version, got, err)
		}
	}
	for version := range kmsg.NewPtrProduceRequest().MaxVersion() + 1 {
		req, resp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
		asked, answered := kmsg.NewProduceRequestTopic(), kmsg.NewProduceResponseTopic()
		asked.Topic, asked.TopicID, answered.Topic, answered.TopicID = "orders", orders, "orders", orders
		asked.Partitions = append(asked.Partitions, kmsg.NewProduceRequestTopicPartition())
		answered.Partitions = append(answered.Partitions, kmsg.NewProduceResponseTopicPartition())
		req.Topics, resp.Topics = append(req.Topics, asked), append(resp.Topics, answered)
		told, err := frames.Request(request(req, version), names)
		if got := fmt.Sprint(told); err != nil || got != "[{orders/0 -1}]" {
			t.Errorf("Produce request %d tells %s, %v", version, got, err)
		}
		told, err = frames.Response(response(resp, version), kmsg.Produce.Int16(), version, names)
		if got := fmt.Sprint(told); err != nil || got != "[{orders/0 -1}]" {
			t.Errorf("Produce response %d tells %s, %v", version, got, err)
		}
	}
	if told, err := frames.Response(response(fetched(12, 6, 0), 4), kmsg.Fetch.Int16(), 4, names); err != nil || told[0].HW != history.UnknownOffset {
		t.Errorf("with an error it tells %v, %v", told, err)
	}
	if told, err := frames.Request(request(fetch(), 17), nil); err != nil || len(told) != 0 {
		t.Errorf("a topic without a name is told of: %v, %v", told, err)
	}
}

// TestWhatIsNoFrame gives what cannot be read.
func TestWhatIsNoFrame(t *testing.T) {
	whole := request(fetch(), 12)
	for want, frame := range map[string][]byte{
		"request of 3 bytes": whole[:3],
		"version 99":         append([]byte{0, 1, 0, 99}, whole[4:]...),
		"API key 3":          append([]byte{0, 3}, whole[2:]...),
		"client id":          append(append([]byte{}, whole[:8]...), 0x7f, 0xff, 0),
		"Fetch request":      whole[:len(whole)-4],
	} {
		if told, err := frames.Request(frame, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, told %v: %v", want, told, err)
		}
	}
	if _, err := frames.Response([]byte{0, 0}, 1, 4, names); err == nil {
		t.Error("a response of two bytes was read")
	}
	if _, err := frames.Response(response(fetched(1, 0, 0), 4)[:20], 1, 4, names); err == nil {
		t.Error("a response that was cut was read")
	}
}

// TestWhichMessagesAreMeant follows the messages of two links: those of another partition are none, and a high watermark rises above what the same
// link told before.
func TestWhichMessagesAreMeant(t *testing.T) {
	zero := history.Partition{Topic: "orders"}
	tell := func(index int32, hw history.Offset) []frames.Told {
		return []frames.Told{{Partition: history.Partition{Topic: "orders", Index: index}, HW: hw}}
	}
	all := frames.Matcher[string]{}
	one := frames.Matcher[string]{Match: frames.Match{Partition: zero}}
	rising := frames.Matcher[string]{Match: frames.Match{Partition: zero, RaisesHW: true}}
	for i, c := range []struct {
		link string
		told []frames.Told
		want string // which of the three mean it
	}{
		{"1->2", nil, "all"},
		{"1->2", tell(1, 9), "all"},
		{"1->2", tell(0, 5), "all one"}, // where it stands
		{"1->2", tell(0, 5), "all one"},
		{"1->2", tell(0, 6), "all one rising"},
		{"1->3", tell(0, 9), "all one"},
		{"1->2", tell(0, history.UnknownOffset), "all one"},
		{"1->2", append(tell(1, 1), tell(0, 7)...), "all one rising"},
		{"1->2", tell(0, 3), "all one"}, // another leader's
		{"1->2", tell(0, 7), "all one"},
	} {
		var got []string
		if all.Meets(c.link, c.told) {
			got = append(got, "all")
		}
		if one.Meets(c.link, c.told) {
			got = append(got, "one")
		}
		if rising.Meets(c.link, c.told) {
			got = append(got, "rising")
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("message %d, %v on %s: meant by %q, expected %q", i+1, c.told, c.link, got, c.want)
		}
	}
}
