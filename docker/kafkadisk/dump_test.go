package kafkadisk_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/broker/disk"
	"tidemark/broker/kafka"
	"tidemark/broker/log"
	"tidemark/docker/kafkadisk"
	"tidemark/docker/kafkadisk/kafkadisktest"
	"tidemark/history"
)

// releases are those whose directories testdata holds, as a broker left them that was written to by a client, and killed: formats 0 and 1 by
// 0.10.2.2, format 2 by 4.1.0; every codec; logs of several segments, with gaps by compaction, and with transactions that were committed and
// aborted. The files beside are what the release's own DumpLogSegments says of them.
var releases = []string{"0.10.2.2", "4.1.0"}

func TestRealDirectoriesReadAsKafkasOwnToolReadsThem(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", release+".DumpLogSegments.txt"))
			must(t, err)
			want, err := kafkadisktest.Parse(string(text))
			must(t, err)
			files, err := disk.OS(filepath.Join("testdata", release))
			must(t, err)
			dumps, err := kafkadisk.Dump(files, 7)
			must(t, err)
			if len(dumps) != len(want) || len(want) < 7 {
				t.Errorf("%d replicas, expected the tool's %d, at least 7", len(dumps), len(want))
			}
			for _, d := range dumps {
				if d.Err != "" || d.Broker != 7 || d.Start != 0 || d.HW != d.LEO {
					t.Errorf("%v: broker %d, from %d, HW %d, LEO %d, error %q, expected 7, 0, equal ones and none", d.Partition, d.Broker, d.Start, d.HW, d.LEO, d.Err)
				}
				if !slices.Equal(d.Records, want[d.Partition]) {
					t.Errorf("%v: %d records\n%v\nexpected the tool's %d\n%v", d.Partition, len(d.Records), d.Records, len(want[d.Partition]), want[d.Partition])
				}
			}
		})
	}
}

func TestWhatTheFilesBesideTell(t *testing.T) {
	files, err := disk.OS(filepath.Join("testdata", "4.1.0"))
	must(t, err)
	replicas, err := kafkadisk.Read(files, 1)
	must(t, err)
	at := slices.IndexFunc(replicas, func(r kafkadisk.Replica) bool { return r.Partition.Topic == "v2-compacted" })
	if at < 0 {
		t.Fatal("no replica of the compacted topic")
	}
	if r := replicas[at]; r.RecoveryPoint != 44 || r.TopicID == (kafka.TopicID{}) {
		t.Errorf("recovery point %d, topic id %v, expected 44 and one", r.RecoveryPoint, r.TopicID)
	}
}

// broker is a data directory in memory.
type broker struct {
	testing.TB
	disk.FS
}

func newBroker(t testing.TB) broker { return broker{t, disk.Mem()} }

func (b broker) put(path string, data []byte) broker {
	b.Helper()
	must(b, b.MkdirAll(filepath.Dir(path)))
	f, err := b.Open(path, true)
	must(b, err)
	_, err = f.WriteAt(data, 0)
	must(b, err)
	must(b, f.Close())
	return b
}

// only is the one replica that there is.
func (b broker) only() kafkadisk.Replica {
	b.Helper()
	replicas, err := kafkadisk.Read(b, 1)
	must(b, err)
	if len(replicas) != 1 {
		b.Fatalf("%d replicas, expected 1: %+v", len(replicas), replicas)
	}
	return replicas[0]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const first = "00000000000000000000.log"

// message is one of format 0 or 1.
func message(magic byte, offset int64, attributes byte, value []byte) []byte {
	body := []byte{0, 0, 0, 0, magic, attributes}
	if magic == 1 {
		body = binary.BigEndian.AppendUint64(body, 1000)
	}
	body = binary.BigEndian.AppendUint32(body, 0xffffffff) // no key
	if value == nil {
		body = binary.BigEndian.AppendUint32(body, 0xffffffff)
	} else {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(value))), value...)
	}
	binary.BigEndian.PutUint32(body, crc32.ChecksumIEEE(body[4:]))
	out := binary.BigEndian.AppendUint64(nil, uint64(offset))
	return append(binary.BigEndian.AppendUint32(out, uint32(len(body))), body...)
}

func TestOnlyServedReplicasAreRead(t *testing.T) {
	b := newBroker(t)
	for _, dir := range []string{
		"a.b-c-3", "a-4.0123456789abcdef-delete", "a-5.0123456789abcdef-future", "a-6.0123456789abcdef-stray",
		"__consumer_offsets-1", "__cluster_metadata-0", "lost+found", "a-01", "-1", "plain",
	} {
		b.put(dir+"/"+first, message(0, 0, 0, []byte("v")))
	}
	b.put("file-1", nil)
	if r := b.only(); r.Partition != (history.Partition{Topic: "a.b-c", Index: 3}) || r.Err != "" || len(r.Records) != 1 {
		t.Errorf("read %+v, expected one record of a.b-c/3", r)
	}
}

func TestALogThatBeginsLater(t *testing.T) {
	b := newBroker(t).
		put("t-0/"+first, message(1, 0, 0, []byte("removed"))).
		put("t-0/00000000000000000001.log", append(message(1, 1, 0, []byte("below")), message(1, 2, 0, []byte("kept"))...)).
		put("t-0/00000000000000000001.index", []byte("no log")).
		put("t-0/00000000000000000000.log.deleted", []byte("no log")).
		put("log-start-offset-checkpoint", []byte("0\n1\nt 0 2\n"))
	r := b.only()
	if r.Start != 2 || r.LEO != 3 || r.HW != history.UnknownOffset || len(r.Records) != 1 || r.Records[0].Value != "kept" || r.Err != "" {
		t.Errorf("read %+v, expected the last record alone, and no high watermark", r)
	}
}

func TestAnEmptyLogEndsWhereItBegins(t *testing.T) {
	r := newBroker(t).put("t-0/00000000000000000042.log", nil).put("replication-offset-checkpoint", []byte("0\n1\nt 0 42\n")).only()
	if r.Start != 42 || r.LEO != 42 || r.HW != 42 || r.Err != "" {
		t.Errorf("read %+v, expected 42 throughout", r)
	}
}

func TestATombstoneIsARecord(t *testing.T) {
	if r := newBroker(t).put("t-0/"+first, message(1, 0, 0, nil)).only(); r.Err != "" || len(r.Records) != 1 || r.LEO != 1 {
		t.Errorf("read %+v, expected one record without a value", r)
	}
}

// TestDamageIsTold: what is wrong is said, with what was expected, and what stands before it is there.
func TestDamageIsTold(t *testing.T) {
	whole := message(1, 0, 0, []byte("whole"))
	flipped := message(1, 1, 0, []byte("flipped"))
	flipped[len(flipped)-1] ^= 1
	batch := log.BuildBatch(1, 0, 0, []byte("batch"))
	torn := batch[:len(batch)-1]
	rotten := bytes.Clone(batch)
	rotten[len(rotten)-1] ^= 1
	nested := message(1, 1, 2, snappyOf(message(1, 0, 2, []byte("x"))))
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"a torn head", batch[:10], "10 bytes are left"},
		{"a torn batch", torn, "entry length"},
		{"zeros", make([]byte, 100), "entry length 0"},
		{"a flipped bit in a message", flipped, "CRC"},
		{"a flipped bit in a batch", rotten, "CRC"},
		{"an offset again", message(1, 0, 0, []byte("again")), "offset 0, expected at least 1"},
		{"the last offset of all", message(1, 1<<63-1, 0, nil), "expected at least 1"},
		{"format 3", append(bytes.Clone(batch[:16]), append([]byte{3}, batch[17:]...)...), "format 3, expected 0, 1 or 2"},
		{"a codec of later formats", message(1, 1, 4, []byte("x")), "compression codec 4"},
		{"a wrapper around nothing", message(1, 1, 2, []byte{0}), "wraps no message"},
		{"a wrapper without a value", message(1, 1, 2, nil), "no value"},
		{"a wrapper around another format", message(1, 1, 2, snappyOf(message(0, 0, 0, []byte("x")))), "format 0, expected its own, 1"},
		{"a wrapper around a wrapper", nested, "expected plain ones"},
		{"a wrapper of format 0 with another's offset", message(0, 5, 2, snappyOf(message(0, 4, 0, []byte("x")))), "at offset 4, expected its own"},
		{"a wrapper around half a message", message(1, 1, 2, snappyOf(message(1, 0, 0, []byte("x"))[:20])), "length"},
		{"no LZ4 frame", message(0, 1, 3, []byte("x")), "LZ4 frame: 1 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newBroker(t).put("t-0/"+first, append(bytes.Clone(whole), c.bytes...)).only()
			if !strings.Contains(r.Err, c.want) || !strings.Contains(r.Err, first) {
				t.Errorf("error %q, expected the file and %q", r.Err, c.want)
			}
			if len(r.Records) != 1 || r.Records[0].Value != "whole" || r.LEO != 1 {
				t.Errorf("read %+v up to %d, expected the record before the damage", r.Records, r.LEO)
			}
		})
	}
}

// snappyOf is data as one snappy block of a literal.
func snappyOf(data []byte) []byte {
	if len(data) > 60 {
		panic(fmt.Sprintf("%d bytes, expected at most the 60 of a short literal", len(data)))
	}
	return append([]byte{byte(len(data)), byte(len(data)-1) << 2}, data...)
}

func TestFilesThatMakeNoSense(t *testing.T) {
	whole := message(1, 0, 0, []byte("v"))
	for _, c := range []struct {
		name, path, text, want string
	}{
		{"a checkpoint", "replication-offset-checkpoint", "0\n2\nt 0 1\n", "replication-offset-checkpoint: line 2"},
		{"the start checkpoint", "log-start-offset-checkpoint", "1\n0\n", "log-start-offset-checkpoint: line 1"},
		{"the recovery checkpoint", "recovery-point-offset-checkpoint", "x", "recovery-point-offset-checkpoint: line 1"},
		{"the topic's id", "t-0/partition.metadata", "version: 0\ntopic_id: short", "22 characters"},
		{"a segment that begins too early", "t-0/00000000000000000000.log", string(append(whole, message(1, 7, 0, nil)...)), "begins below offset 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBroker(t).put("t-0/"+first, whole).put("t-0/00000000000000000005.log", nil).put(c.path, []byte(c.text))
			if r := b.only(); !strings.Contains(r.Err, c.want) {
				t.Errorf("error %q, expected %q", r.Err, c.want)
			}
		})
	}
	b := newBroker(t).put("t-0/other", nil)
	if r := b.only(); !strings.Contains(r.Err, "no segment") {
		t.Errorf("error %q, expected that there is no segment", r.Err)
	}
}

// FuzzSegment: whatever a file holds, reading ends, with offsets that ascend within the log's bounds.
func FuzzSegment(f *testing.F) {
	for _, release := range releases {
		paths, err := filepath.Glob(filepath.Join("testdata", release, "*", first))
		must(f, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			must(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newBroker(t).put("t-0/"+first, data).only()
		next := history.Offset(0)
		for _, rec := range r.Records {
			if rec.Offset < next || rec.Offset >= r.LEO {
				t.Fatalf("record at %d, expected %d to %d", rec.Offset, next, r.LEO-1)
			}
			next = rec.Offset + 1
		}
	})
}
