package controller

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"pgregory.net/rapid"

	"tidemark/broker/kafka"
)

// threeRoles is a cluster of a leader (1) and two followers with a few committed entries, and every message seen on the way.
func threeRoles(tb interface{ Fatal(...any) }) (*cluster, [][]byte) {
	cl, err := newCluster(testConfig(3), 3)
	if err != nil {
		tb.Fatal(err)
	}
	var seen [][]byte
	settle := func() {
		err := cl.settle(func(w wireMessage) bool { seen = append(seen, w.data); return false }, func(kafka.BrokerID) bool { return false })
		if err != nil {
			tb.Fatal(err)
		}
	}
	cl.member(1).c.q.electionAt = 0
	cl.tick(0)
	settle()
	cl.ask(cl.member(1), registration(1, 1, -1))
	settle()
	cl.tick(cl.nextDeadline())
	settle()
	return cl, seen
}

// FuzzStep hands a leader, a follower and a candidate a message that no one need have sent. It is refused, or it is one that a
// member could have sent; either way nobody panics, and what was committed stays.
func FuzzStep(f *testing.F) {
	_, seen := threeRoles(f)
	for _, data := range seen {
		f.Add(data)
	}
	f.Add([]byte{wireVersion, byte(pb.MsgHeartbeat), 1, 2, 9, 0, 0, 200, 0, 0, 0})
	f.Add([]byte{wireVersion, byte(pb.MsgApp), 1, 2, 1, 1, 1, 9, 0, 0, 0})
	f.Add([]byte{wireVersion, byte(pb.MsgAppResp), 2, 1, 1, 0, 99, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		cl, _ := threeRoles(t)
		cl.member(3).c.q.electionAt = cl.now
		cl.member(3).c.Tick(cl.now)
		for _, m := range cl.members {
			index := m.c.Image().Index
			if err := m.c.Step(cl.now, data); err != nil {
				if out := m.c.Ready(); m.id != 3 && (len(out.Messages) > 0 || len(out.Flushes) > 0) {
					t.Fatalf("refused (%v), yet it left %+v", err, out)
				}
				continue
			}
			cl.collect(m)
			for range 20 { // what it answers and flushes must not trip over it either
				for len(m.flushes) > 0 {
					cl.flush(m)
				}
				m.c.Tick(m.c.Deadline())
				cl.collect(m)
			}
			if m.c.Image().Index < index {
				t.Fatalf("%d applied %d entries before and %d after", m.id, index, m.c.Image().Index)
			}
		}
	})
}

// FuzzRaftLog opens whatever a disk may hold. It is an error, or a log whose entries follow each other and which, opened again,
// is the same.
func FuzzRaftLog(f *testing.F) {
	cl, _ := threeRoles(f)
	good := cl.member(1).fs.files[logPath].data
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(append(bytes.Clone(good), make([]byte, 100)...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newMemFS()
		d.files[logPath] = &memFile{data: bytes.Clone(data)}
		l, err := openLog(d, []uint64{1, 2, 3}, nil)
		if err != nil {
			return
		}
		for i, e := range l.entries {
			if e.GetIndex() != uint64(i)+1 {
				t.Fatalf("entry %d at place %d", e.GetIndex(), i+1)
			}
		}
		cut := d.files[logPath].data
		again, err := openLog(d, []uint64{1, 2, 3}, nil)
		if err != nil || len(again.entries) != len(l.entries) || again.state.GetTerm() != l.state.GetTerm() || !bytes.Equal(cut, d.files[logPath].data) {
			t.Fatalf("opened again: %v; %d entries, before %d", err, len(again.entries), len(l.entries))
		}
	})
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, limit)
		m := &pb.Message{Type: rapid.SampledFrom(wireTypes).Draw(t, "type").Enum(), From: new(number.Draw(t, "from")), To: new(number.Draw(t, "to")),
			Term: new(number.Draw(t, "term")), LogTerm: new(number.Draw(t, "log-term")), Index: new(number.Draw(t, "index")),
			Commit: new(number.Draw(t, "commit")), RejectHint: new(number.Draw(t, "hint")), Reject: new(rapid.Bool().Draw(t, "reject"))}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			m.Entries = append(m.Entries, &pb.Entry{Type: pb.EntryNormal.Enum(), Term: new(number.Draw(t, "term")), Index: new(number.Draw(t, "index")),
				Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")})
		}
		if m.GetType() == pb.MsgSnap {
			m.Snapshot = &pb.Snapshot{Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "image"), Metadata: &pb.SnapshotMetadata{
				Index: new(number.Draw(t, "last")), Term: new(number.Draw(t, "last-term")), ConfState: &pb.ConfState{Voters: []uint64{2, 3}, Learners: []uint64{4}}}}
		}
		data := encodeMessage(m)
		back, err := decodeMessage(data)
		if err != nil || m.String() != back.String() {
			t.Fatalf("%v came back as %v (%v)", m, back, err)
		}
		for cut := range data {
			if _, err := decodeMessage(data[:cut]); err == nil {
				t.Fatalf("the first %d of %d bytes are a message", cut, len(data))
			}
		}
	})
}

// BenchmarkIdle is a simulated minute of three idle voters: heartbeats and their answers.
func BenchmarkIdle(b *testing.B) {
	b.ReportAllocs()
	messages := 0
	for range b.N {
		cl, _ := threeRoles(b)
		for until := cl.now + time.Minute; cl.now < until; cl.tick(cl.nextDeadline()) {
			_ = cl.settle(func(wireMessage) bool { messages++; return false }, func(kafka.BrokerID) bool { return false })
		}
	}
	b.ReportMetric(float64(messages)/float64(b.N), "messages/op")
}

// TestStepTakesWhatNoMemberWouldSend: messages with every field plausible by itself, in any combination, to a leader, a follower
// and a candidate. Refused or taken, no member panics and none gives up an entry that it has applied.
func TestStepTakesWhatNoMemberWouldSend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cl, _ := threeRoles(t)
		cl.member(3).c.q.electionAt = cl.now
		cl.member(3).c.Tick(cl.now)
		small := rapid.Uint64Range(0, 6)
		for range rapid.IntRange(1, 30).Draw(t, "messages") {
			m := cl.members[rapid.IntRange(0, 2).Draw(t, "to")]
			msg := &pb.Message{Type: rapid.SampledFrom(wireTypes).Draw(t, "type").Enum(), From: new(rapid.Uint64Range(1, 5).Draw(t, "from")),
				To: new(raftID(m.id)), Term: new(small.Draw(t, "term")), LogTerm: new(small.Draw(t, "log-term")), Index: new(small.Draw(t, "index")),
				Commit: new(small.Draw(t, "commit")), RejectHint: new(small.Draw(t, "hint")), Reject: new(rapid.Bool().Draw(t, "reject"))}
			for i := range rapid.Uint64Range(0, 3).Draw(t, "entries") {
				msg.Entries = append(msg.Entries, &pb.Entry{Type: pb.EntryNormal.Enum(), Term: msg.LogTerm, Index: new(msg.GetIndex() + 1 + i)})
			}
			if msg.GetType() == pb.MsgSnap {
				msg.Snapshot = &pb.Snapshot{Data: rapid.SampledFrom([][]byte{nil, []byte("12345678"), []byte(`12345678{"Index":1,"Brokers":{},"Topics":{}}`)}).Draw(t, "image"),
					Metadata: &pb.SnapshotMetadata{Index: new(small.Draw(t, "snapshot")), Term: new(small.Draw(t, "snapshot-term")),
						ConfState: &pb.ConfState{Voters: []uint64{2, 3, 4}}}}
			}
			index, applied := m.c.Image().Index, slices.Clone(m.c.applied)
			_ = m.c.Step(cl.now, encodeMessage(msg))
			cl.collect(m)
			for len(m.flushes) > 0 && rapid.Bool().Draw(t, "flush") {
				cl.flush(m)
			}
			if rapid.IntRange(0, 9).Draw(t, "tick") == 0 {
				m.c.Tick(m.c.Deadline())
				cl.collect(m)
			}
			now := m.c.applied
			if m.c.Image().Index < index || msg.Snapshot == nil && !slices.Equal(now[:min(len(applied), len(now))], applied) {
				t.Fatalf("%d had applied %d entries and now others, after %v", m.id, index, msg)
			}
		}
	})
}

// FuzzRaftLogFrames: frames whose checksum is right may hold anything all the same.
func FuzzRaftLogFrames(f *testing.F) {
	f.Add([]byte{'s', 1, 1, 0, 0}, []byte{'e', 0, 1, 1, 0})
	f.Add([]byte{'e', 0, 1, 2, 0}, []byte{'h', 1, 0, 0})
	f.Add([]byte{'s', 1, 1, 9, 0}, []byte{'e', 1, 1, 1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := newMemFS()
		if _, err := openLog(d, []uint64{1}, nil); err != nil {
			t.Fatal(err)
		}
		data := d.files[logPath].data
		for _, payload := range [][]byte{one, two} {
			start := len(data)
			data = append(beginFrame(data), payload...)
			endFrame(data, start)
		}
		d.files[logPath] = &memFile{data: data}
		cfg := testConfig(1)
		cfg.NodeID = 1
		c, err := Open(cfg, d, 0, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			return
		}
		c.Tick(0)
		c.Ready()
	})
}
