package load

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/wire"
)

// Frame is a request as it goes over the wire.
func Frame(req kmsg.Request, version int16) []byte {
	req.SetVersion(version)
	body := wire.AppendRequest(nil, 7, "a client", req)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// ApiVersions is the request that clients begin with.
func ApiVersions() []byte { return Frame(kmsg.NewPtrApiVersionsRequest(), 0) }

// FetchAll asks for as much of a topic's partitions as the broker gives, from their beginning.
func FetchAll(topic string, partitions int32) []byte {
	fetch := kmsg.NewPtrFetchRequest()
	fetch.MaxBytes, fetch.MinBytes, fetch.MaxWaitMillis = 1<<30, 1, 100
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = i, 1<<30
		t.Partitions = append(t.Partitions, p)
	}
	fetch.Topics = append(fetch.Topics, t)
	return Frame(fetch, 11)
}

// FetchHeld asks for what is not there, and is held for so many milliseconds.
func FetchHeld(waitMillis int32) []byte {
	fetch := kmsg.NewPtrFetchRequest()
	fetch.MaxWaitMillis, fetch.MinBytes, fetch.MaxBytes = waitMillis, 1, 1<<20
	return Frame(fetch, 4)
}

// ProduceNoise is a Produce request with acks=all whose records are so many bytes that are no records.
func ProduceNoise(topic string, size int) []byte {
	produce := kmsg.NewPtrProduceRequest()
	produce.Acks, produce.TimeoutMillis = -1, 1000
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	t.Topic, p.Records = topic, make([]byte, size)
	t.Partitions = append(t.Partitions, p)
	produce.Topics = append(produce.Topics, t)
	return Frame(produce, 7)
}

// Nonsense is what port scanners, browsers, and broken clients send.
func Nonsense(rnd *rand.Rand) []byte {
	noise := make([]byte, rnd.IntN(300))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	switch rnd.IntN(6) {
	case 0:
		return []byte("GET / HTTP/1.1\r\nHost: broker\r\n\r\n")
	case 1:
		return noise
	case 2:
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(noise))), noise...)
	case 3:
		return []byte{0x05, 0xff, 0xff, 0xff} // a claim of nearly 100 MB
	case 4:
		return append(ApiVersions()[:7], noise...)
	default:
		request := ApiVersions()
		request[4+rnd.IntN(len(request)-4)] ^= byte(1 + rnd.IntN(255))
		return request
	}
}
