package proxy

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
	"tidemark/world"
	"tidemark/world/frames"
)

// answerOf is the whole frame of a Fetch response of version 4 about one partition of orders, with so many bytes of records.
func answerOf(correlation byte, index int32, hw int64, records int) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 4
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic = "orders"
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.HighWatermark, p.RecordBatches = index, hw, bytes.Repeat([]byte{7}, records)
	topic.Partitions = append(topic.Partitions, p)
	resp.Topics = append(resp.Topics, topic)
	return framed(resp.AppendTo([]byte{0, 0, 0, correlation}))
}

// TestMessagesOfOnePartition drops the first answer that raises the high watermark of one partition. Those of the other pass, however large, and
// one that arrives in pieces is waited for; all that passes is what was sent.
func TestMessagesOfOnePartition(t *testing.T) {
	s := newStage(t, nil)
	client, server := s.dial()
	s.do(s.proxy.Catch(Fault{
		Number: 1, Kind: world.CanDrop, API: world.Fetch, Responses: true, Links: []world.Link{{From: 1, To: history.NoBroker}}, Nth: 1,
		Match: frames.Match{Partition: history.Partition{Topic: "orders"}, RaisesHW: true},
	}))
	for i := range byte(5) {
		s.do(client.SetDeadline(time.Now().Add(bound)))
		ask := framed([]byte{0, 1, 0, 4, 0, 0, 0, i, 0xff, 0xff})
		_, err := client.Write(ask)
		s.do(err)
		got := make([]byte, len(ask))
		_, err = io.ReadFull(server.in, got)
		s.do(err)
		answer := [][]byte{
			answerOf(0, 0, 5, 10),      // where it stands
			answerOf(1, 1, 9, 900_000), // another partition's
			answerOf(2, 0, 5, 300_000), // as it stood
			answerOf(3, 1, 10, 1),
			answerOf(4, 0, 6, 100_000), // this is the one
		}[i]
		half := len(answer) / 2
		go func() {
			_, _ = server.Write(answer[:half])
			_, _ = server.Write(answer[half:])
		}()
		got = make([]byte, len(answer))
		n, err := io.ReadFull(client.in, got)
		switch {
		case i < 4 && (err != nil || !bytes.Equal(got, answer)):
			t.Fatalf("answer %d: %d of %d bytes passed, %v", i, n, len(answer), err)
		case i == 4 && err == nil:
			t.Fatal("the answer that raises the high watermark passed")
		}
	}
	last, err := s.proxy.End(1)
	s.do(err)
	if last.Messages != 1 || s.proxy.Stats().Missed != 0 {
		t.Errorf("%+v, %+v, expected one message to meet it, and none to be missed", last, s.proxy.Stats())
	}
}

// TestMessagesThatCannotBeRead lets what no fault can read pass, and counts it.
func TestMessagesThatCannotBeRead(t *testing.T) {
	s := newStage(t, nil)
	client, server := s.dial()
	s.do(s.proxy.Catch(Fault{
		Number: 1, Kind: world.CanDrop, API: world.Fetch, Links: []world.Link{{From: history.NoBroker, To: 1}},
		Match: frames.Match{Partition: history.Partition{Topic: "orders"}},
	}))
	s.do(client.SetDeadline(time.Now().Add(bound)))
	ask := framed([]byte{0, 1, 0, 99, 0, 0, 0, 1, 0xff, 0xff})
	_, err := client.Write(ask)
	s.do(err)
	got := make([]byte, len(ask))
	_, err = io.ReadFull(server.in, got)
	s.do(err)
	if !bytes.Equal(got, ask) || s.proxy.Stats().Missed != 1 {
		t.Errorf("%q passed, %+v, expected %q and one missed", got, s.proxy.Stats(), ask)
	}
}
