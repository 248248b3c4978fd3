package controller

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"tidemark/internal/garbage"
)

// raftBound allows for what a member does about a message that it takes: entries kept, answers, flushes.
var raftBound = garbage.Bound{Bytes: 1 << 20, Times: 64, Says: []string{"expected", "claims", "ends early", "shortest form", "left over", "without a term", "after entry", "in a message of"}}

// TestGarbageMessages spoils one message of each type that was seen, and hands it to a leader, a follower and a candidate. What is
// refused changes nothing; nobody panics, and what was committed stays.
func TestGarbageMessages(t *testing.T) {
	_, seen := threeRoles(t)
	samples := map[pb.MessageType][]byte{}
	for _, data := range seen {
		m, err := decodeMessage(data)
		if err != nil {
			t.Fatal(err)
		}
		if typ := m.GetType(); len(data) > len(samples[typ]) {
			samples[typ] = data
		}
	}
	for _, typ := range wireTypes {
		if samples[typ] == nil {
			continue
		}
		cl, _ := threeRoles(t)
		cl.member(3).c.q.electionAt = cl.now
		cl.member(3).c.Tick(cl.now)
		inputs := garbage.Of(samples[typ], uint64(typ))
		inputs = append(inputs, garbage.Claims(samples[typ], garbage.Large, 1)...)
		inputs = append(inputs, garbage.Claims(samples[typ], garbage.Large, 0)...)
		inputs = append(inputs, garbage.Input{Name: "a message beyond the bound", Kind: garbage.Long, Data: append(bytes.Clone(samples[typ]), make([]byte, messageBytesMax)...)})
		for _, m := range cl.members {
			_, refused := raftBound.Hold(t, inputs, func(in garbage.Input) error {
				applied := slices.Clone(m.c.q.log.entries[:m.c.Image().Index])
				term, last := m.c.q.term(), m.c.q.log.last()
				err := m.c.Step(cl.now, in.Data)
				if err != nil && (m.c.q.term() != term || m.c.q.log.last() != last) {
					t.Errorf("%v: %s: refused (%v), yet term %d became %d and entry %d the last after %d", typ, in.Name, err, term, m.c.q.term(), m.c.q.log.last(), last)
				}
				if err == nil && in.Kind == garbage.Cut {
					t.Errorf("%v: %s are a message", typ, in.Name)
				}
				cl.collect(m)
				for len(m.flushes) > 0 {
					cl.flush(m)
				}
				if now := m.c.q.log.entries[:m.c.Image().Index]; len(now) < len(applied) || !slices.Equal(now[:len(applied)], applied) {
					t.Errorf("%v: %s: %d had applied %d entries and now others", typ, in.Name, m.id, len(applied))
				}
				return err
			})
			if refused < 100 {
				t.Errorf("%v to %d: %d refused, expected at least 100", typ, m.id, refused)
			}
		}
	}
}

// TestGarbageLogFiles spoils a raft log. It opens up to its last whole frame and is the same when opened again, or it is refused.
func TestGarbageLogFiles(t *testing.T) {
	cl, _ := threeRoles(t)
	valid := cl.member(1).fs.files[logPath].data
	open := func(data []byte) (*raftLog, *memFS, error) {
		d := newMemFS()
		d.files[logPath] = &memFile{data: bytes.Clone(data)}
		l, err := openLog(d, []uint64{2, 3, 4}, nil)
		return l, d, err
	}
	whole, _, err := open(valid)
	if err != nil {
		t.Fatal(err)
	}
	var prefixes []string // of the entries, as text
	text := ""
	for _, e := range whole.entries {
		prefixes = append(prefixes, text)
		text += e.String() + "\n"
	}
	prefixes = append(prefixes, text)
	bound := garbage.Bound{Bytes: 1 << 20, Times: 16, Says: []string{"expected", "ends early", "shortest form"}}
	accepted, _ := bound.Hold(t, garbage.Of(valid, 1), func(in garbage.Input) error {
		l, d, err := open(in.Data)
		if err != nil {
			if in.Kind == garbage.Cut {
				t.Errorf("%s: %v, expected what came before", in.Name, err)
			}
			return err
		}
		text := ""
		for _, e := range l.entries {
			text += e.String() + "\n"
		}
		if in.Kind != garbage.Long && in.Kind != garbage.Splice && !slices.Contains(prefixes, text) {
			t.Errorf("%s: holds\n%sexpected a beginning of\n%s", in.Name, text, prefixes[len(prefixes)-1])
		}
		again, _, err := open(d.files[logPath].data)
		if err != nil || len(again.entries) != len(l.entries) || again.state.GetTerm() != l.state.GetTerm() {
			t.Errorf("%s: opened again: %v; %d entries, before %d", in.Name, err, len(again.entries), len(l.entries))
		}
		return nil
	})
	if accepted < 100 {
		t.Errorf("%d opened, expected at least 100", accepted)
	}
}

// TestGarbageLogFrames spoils the payload of a frame and makes its checksum right: it is refused, or it is a frame.
func TestGarbageLogFrames(t *testing.T) {
	empty := newMemFS()
	if _, err := openLog(empty, []uint64{1}, nil); err != nil {
		t.Fatal(err)
	}
	head := empty.files[logPath].data
	cl, _ := threeRoles(t)
	var payloads [][]byte
	for _, e := range cl.member(1).c.q.log.entries[:2] {
		payloads = append(payloads, appendEntry([]byte{'e'}, e))
	}
	payloads = append(payloads, []byte{'s', 2, 1, 0, 0})
	bound := garbage.Bound{Bytes: 4 << 20, Times: 64, Says: []string{"expected", "ends early", "shortest form", "left over", "entry"}}
	for i, payload := range payloads {
		_, refused := bound.Hold(t, garbage.Of(payload, uint64(i)), func(in garbage.Input) error {
			data := append(beginFrame(bytes.Clone(head)), in.Data...)
			endFrame(data, len(head))
			d := newMemFS()
			d.files[logPath] = &memFile{data: data}
			cfg := testConfig(1)
			cfg.NodeID = 1
			c, err := Open(cfg, d, 0, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				return err
			}
			c.Tick(0)
			if out := c.Ready(); out.Fatal != nil && len(out.Fatal.Error()) > 1024 {
				t.Errorf("%s: an error of %d bytes", in.Name, len(out.Fatal.Error()))
			}
			return nil
		})
		if refused < 50 {
			t.Errorf("payload %s: %d refused, expected at least 50", strconv.Quote(string(payload)), refused)
		}
	}
}
