package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// compress makes one frame of text.
func compress(t testing.TB, text string) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll([]byte(text), nil)
}

// TestJournalLines tells, in testdata/journal.txt, how a journal reads as text and what is said of a line that is wrong.
func TestJournalLines(t *testing.T) {
	datadriven.RunTest(t, "testdata/journal.txt", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "read": // a journal's lines after the first
			h, truncated, err := ReadJournal(bytes.NewReader(compress(t, "{\"journal\":2}\n"+d.Input+"\n")))
			if err != nil {
				return err.Error()
			}
			if truncated != "" {
				return truncated
			}
			b, err := json.MarshalIndent(h, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		case "file": // a whole journal; with cut its last line has no end
			text := d.Input
			if !d.HasArg("cut") {
				text += "\n"
			}
			_, _, err := ReadJournal(bytes.NewReader(compress(t, text)))
			return fmt.Sprint(err)
		case "write": // the lines of what story records
			path := filepath.Join(t.TempDir(), "j")
			w, err := CreateJournal(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			story(w)
			return strings.TrimSpace(uncompress(t, path))
		default:
			return "unknown command " + d.Cmd
		}
	})
}

func uncompress(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// story records one entry of each kind, and closes the journal.
func story(w *JournalWriter) *History {
	var clock time.Duration
	r := NewRecorder(func() time.Duration { clock += time.Microsecond; return clock }, w)
	p := Partition{Topic: "orders"}
	a := r.Invoke(Op{Process: 0, Kind: Send, Acks: -1, Broker: 1, Epoch: 4, Partition: p, Value: "p0-0", Position: UnknownOffset})
	b := r.Invoke(Op{Process: 5, Kind: Poll, Broker: 1, Epoch: 4, Partition: p, Position: 0})
	r.Step(Step{Kind: StepAppend, Broker: 1, Partition: p, Epoch: 4, Peer: NoBroker, From: 0, To: 1})
	r.Complete(a, Op{Outcome: OK, Broker: 1, Offset: 0, HW: UnknownOffset, LogStart: UnknownOffset})
	r.Complete(b, Op{Outcome: OK, Broker: 1, Offset: UnknownOffset, HW: 1, LogStart: 0, Records: []Record{{0, "p0-0"}, {1, "\xff\x00\""}}})
	r.Fault(FaultEvent{Fault: 2, Phase: FaultRefused, Kind: "kill", Line: "at 2s kill leader(orders/0) for 1s", Targets: []BrokerID{1, 2}, Detail: "outside \"budget\""})
	r.State(ClusterState{Controller: 2, Partitions: []PartitionState{{Partition: p, Leader: 1, Epoch: 4, PartitionEpoch: 7, ISR: []BrokerID{1, 3}, ELR: []BrokerID{2},
		Replicas: []ReplicaState{{Broker: 1, Up: true, Leads: true, Epoch: 4, LEO: 1, HW: 1}, {Broker: 2, Epoch: 3, LEO: -1, HW: -1, Start: -1}}}}})
	c := r.Invoke(Op{Process: 1, Kind: Send, Acks: -1, Broker: 1, Epoch: 4, Partition: p, Value: "m-0-1", Marker: true, Position: UnknownOffset})
	r.Complete(c, Op{Outcome: Info, Broker: 1, Offset: UnknownOffset, HW: UnknownOffset, LogStart: UnknownOffset, Error: "timed out"})
	r.Invoke(Op{Process: 6, Kind: Poll, Broker: 3, Epoch: 5, Partition: p, Final: true})
	r.Dump(Dump{Broker: 3, Partition: p, LEO: 2, HW: 1, Records: []DumpRecord{{0, 4, "p0-0"}, {1, 4, "ü\n"}}})
	r.Mark("settle", true, "orders/0: no leader")
	if w != nil {
		w.Close()
	}
	return r.History()
}

// record draws a history, recorded with a journal as its sink.
func record(t *rapid.T, path string) *History {
	w, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var clock time.Duration
	r := NewRecorder(func() time.Duration {
		clock += time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "dt"))
		return clock
	}, w)
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	number := func(label string) Offset { return Offset(rapid.Int64().Draw(t, label)) }
	broker := rapid.Map(rapid.Int32(), func(n int32) BrokerID { return BrokerID(n) })
	brokers := rapid.OneOf(rapid.Just([]BrokerID(nil)), rapid.SliceOfN(broker, 1, 3))
	partition := rapid.Custom(func(t *rapid.T) Partition {
		return Partition{Topic: rapid.SampledFrom([]string{"orders", "", "ü"}).Draw(t, "topic"), Index: rapid.Int32().Draw(t, "index")}
	})
	under := map[int32]int64{} // operations under way
	for range rapid.IntRange(0, 30).Draw(t, "entries") {
		switch rapid.IntRange(0, 7).Draw(t, "what") {
		case 0, 1:
			process := rapid.Int32Range(0, 5).Draw(t, "process")
			if _, busy := under[process]; busy {
				continue
			}
			under[process] = r.Invoke(Op{Process: process, Kind: OpKind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")), Acks: rapid.Int16().Draw(t, "acks"),
				Final: rapid.Bool().Draw(t, "final"), Marker: rapid.Bool().Draw(t, "marker"), Epoch: Epoch(rapid.Int32().Draw(t, "epoch")),
				Partition: partition.Draw(t, "partition"), Value: text.Draw(t, "value"), Position: number("position")})
		case 2:
			if len(under) == 0 {
				continue
			}
			process := rapid.SampledFrom(slices.Sorted(maps.Keys(under))).Draw(t, "process")
			var records []Record
			for range rapid.IntRange(0, 3).Draw(t, "records") {
				records = append(records, Record{number("offset"), text.Draw(t, "value")})
			}
			r.Complete(under[process], Op{Outcome: Outcome(rapid.IntRange(1, 3).Draw(t, "outcome")), Offset: number("offset"), HW: number("hw"),
				LogStart: number("start"), Broker: broker.Draw(t, "broker"), Error: text.Draw(t, "error"), Records: records})
			delete(under, process)
		case 3:
			r.Fault(FaultEvent{Fault: rapid.Int().Draw(t, "fault"), Phase: FaultApplied, Kind: text.Draw(t, "kind"), Line: text.Draw(t, "line"),
				Targets: brokers.Draw(t, "targets"), Detail: text.Draw(t, "detail")})
		case 4:
			s := ClusterState{Controller: broker.Draw(t, "controller")}
			for range rapid.IntRange(0, 2).Draw(t, "partitions") {
				p := PartitionState{Partition: partition.Draw(t, "partition"), Leader: broker.Draw(t, "leader"), PartitionEpoch: rapid.Int32().Draw(t, "pe"),
					ISR: brokers.Draw(t, "isr"), ELR: brokers.Draw(t, "elr")}
				for range rapid.IntRange(0, 2).Draw(t, "replicas") {
					p.Replicas = append(p.Replicas, ReplicaState{Broker: broker.Draw(t, "broker"), Up: rapid.Bool().Draw(t, "up"),
						Leads: rapid.Bool().Draw(t, "leads"), LEO: number("leo"), HW: number("hw"), Start: number("start")})
				}
				s.Partitions = append(s.Partitions, p)
			}
			r.State(s)
		case 5:
			r.Step(Step{Kind: StepISR, Broker: broker.Draw(t, "broker"), Partition: partition.Draw(t, "partition"), Peer: broker.Draw(t, "peer"),
				From: number("from"), To: number("to"), ISR: brokers.Draw(t, "isr"), Detail: text.Draw(t, "detail")})
		case 6:
			d := Dump{Broker: broker.Draw(t, "broker"), LEO: number("leo"), HW: number("hw"), Start: number("start"), Err: text.Draw(t, "err")}
			for range rapid.IntRange(0, 3).Draw(t, "records") {
				d.Records = append(d.Records, DumpRecord{number("offset"), Epoch(rapid.Int32().Draw(t, "epoch")), text.Draw(t, "value")})
			}
			r.Dump(d)
		case 7:
			r.Mark(text.Draw(t, "name"), rapid.Bool().Draw(t, "failed"), text.Draw(t, "detail"))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return r.History()
}

func TestJournalGivesBackWhatWasRecorded(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		live, whole := filepath.Join(dir, fmt.Sprint("live", n)), filepath.Join(dir, fmt.Sprint("whole", n))
		h := record(t, live)
		if err := WriteJournal(whole, nil, h); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{live, whole} {
			got, truncated, err := ReadJournalFile(path)
			if err != nil || truncated != "" {
				t.Fatal(err, truncated)
			}
			if !reflect.DeepEqual(got, h) {
				t.Fatalf("%s: read\n%+v\nexpected\n%+v", path, got, h)
			}
		}
	})
}

// TestJournalIsReadableWhereverItIsCut cuts a journal at every byte of its last two frames.
func TestJournalIsReadableWhereverItIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := func() int {
		s, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return int(s.Size())
	}
	r := NewRecorder(func() time.Duration { return 0 }, w)
	var ends []int // of the frames
	for range 5 {
		id := r.Invoke(Op{Kind: Send, Value: strings.Repeat("tidemark ", 20)})
		ends = append(ends, size()) // the invocation is with the kernel already
		r.Complete(id, Op{Outcome: Info})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ends = append(ends, size())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := ends[3]; cut <= len(whole); cut++ {
		h, truncated, err := ReadJournal(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		frames := 0
		for frames < len(ends) && ends[frames] <= cut {
			frames++
		}
		atEnd := ends[frames-1] == cut
		if want := min(frames, 5); len(h.Ops) != want || (truncated == "") != atEnd {
			t.Errorf("cut at %d of frames that end at %v: %d operations, truncated %q, expected %d", cut, ends, len(h.Ops), truncated, want)
		}
	}
	for cut := range ends[0] {
		if h, truncated, err := ReadJournal(bytes.NewReader(whole[:cut])); err != nil || truncated == "" || len(h.Ops) != 0 {
			t.Fatalf("cut at %d: %v, truncated %q", cut, err, truncated)
		}
	}
}

// TestJournalNeverInventsEntries flips every byte of a journal in turn: what is read is what was written up to some frame, or an error.
func TestJournalNeverInventsEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := story(w)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x55
		h, truncated, err := ReadJournal(bytes.NewReader(b))
		if err != nil || truncated != "" {
			noticed++
		}
		if err == nil && truncated == "" && !reflect.DeepEqual(h, want) {
			t.Errorf("byte %d flipped: read as a whole journal with other contents", i)
		}
		if err == nil && len(h.Ops) > len(want.Ops) {
			t.Errorf("byte %d flipped: %d operations, expected at most %d", i, len(h.Ops), len(want.Ops))
		}
	}
	if noticed < len(whole)*9/10 {
		t.Errorf("%d of %d flipped bytes were noticed", noticed, len(whole))
	}
}

func TestJournalLimits(t *testing.T) {
	long := compress(t, "{\"journal\":1}\n"+strings.Repeat(" ", 5000)+"\n")
	for _, limit := range []struct {
		frame int
		total int64
		want  string
	}{{4096, 1 << 20, "holds more than 4096 bytes"}, {1 << 20, 4096, "more than 4096 bytes in all"}} {
		j := &journalReader{h: &History{}}
		if _, err := j.read(bytes.NewReader(long), limit.frame, limit.total); err == nil || !strings.Contains(err.Error(), limit.want) {
			t.Errorf("%v, expected %q", err, limit.want)
		}
	}
	for text, want := range map[string]string{"not a journal at all": "not a journal", "{\"t\":\"mark\"}\n": "not a journal"} {
		if _, _, err := ReadJournal(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", text, err, want)
		}
	}
	if _, truncated, err := ReadJournal(strings.NewReader("")); err != nil || !strings.Contains(truncated, "empty") {
		t.Errorf("empty file: %q, %v", truncated, err)
	}
}

func TestJournalDoesNotOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	h := story(nil)
	if err := WriteJournal(path, nil, h); err != nil {
		t.Fatal(err)
	}
	if err := WriteJournal(path, nil, h); !os.IsExist(unwrapAll(err)) {
		t.Errorf("%v, expected that the file exists", err)
	}
	h.Steps[0].Index = 0
	if err := WriteJournal(path+"2", nil, h); err == nil || !strings.Contains(err.Error(), "two entries have index 0") {
		t.Errorf("%v, expected that two entries have index 0", err)
	}
	if _, err := os.Stat(path + "2"); err == nil {
		t.Error("a refused history left a file")
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

func TestJournalOfManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r := NewRecorder(func() time.Duration { return time.Since(start) }, w)
	var wg sync.WaitGroup
	for p := range int32(8) {
		wg.Go(func() {
			for range 100 {
				id := r.Invoke(Op{Process: p, Value: "v"})
				r.Step(Step{Kind: StepHW})
				r.Complete(id, Op{Outcome: OK})
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h, truncated, err := ReadJournalFile(path)
	if err != nil || truncated != "" {
		t.Fatal(err, truncated)
	}
	if !reflect.DeepEqual(h, r.History()) {
		t.Error("the journal differs from what was recorded")
	}
}

func TestJournalReportsAFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w, err := CreateJournal(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(func() time.Duration { return 0 }, w)
	w.file.Close()
	r.Invoke(Op{})
	if r.Err() == nil || w.Close() == nil {
		t.Error("a write to a closed file went unnoticed")
	}
}

func FuzzReadJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "j")
	w, err := CreateJournal(path, nil)
	if err != nil {
		f.Fatal(err)
	}
	h := story(w)
	if err := WriteJournal(path+"2", nil, h); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{path, path + "2", recorded} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-9])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		j := &journalReader{h: &History{}, busy: map[int32]int64{}}
		j.known = map[string]string{}
		_, _ = j.read(bytes.NewReader(b), 1<<20, 1<<22)
	})
}

// FuzzReadLines feeds lines without compression: what is accepted must be JSON, and must be the same after being written and read.
func FuzzReadLines(f *testing.F) {
	h := story(nil)
	entries, err := h.inOrder()
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		f.Add(e.appendLine(nil, h))
	}
	for _, line := range recordedLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var s scanner
		s.known = map[string]string{}
		s.reset(line)
		s.text()
		s.end()
		var text string
		if err := json.Unmarshal(line, &text); s.err == nil && err != nil {
			t.Fatalf("string %q was accepted: %v", line, err)
		}
		j := &journalReader{h: &History{}, busy: map[int32]int64{}, line: 1}
		j.known = s.known
		if j.readLines(append(bytes.Clone(line), '\n')) != nil || bytes.IndexByte(line, '\n') >= 0 || len(line) == 0 {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("line %q was accepted and is no JSON", line)
		}
		entries, err := j.h.inOrder()
		if err != nil {
			t.Fatal(err)
		}
		again := &journalReader{h: &History{}, busy: map[int32]int64{}, line: 1}
		again.known = s.known
		if err := again.readLines(append(entries[0].appendLine(nil, j.h), '\n')); err != nil || !reflect.DeepEqual(again.h, j.h) {
			t.Fatalf("line %q reads as %+v, written and read again as %+v: %v", line, j.h, again.h, err)
		}
	})
}

func BenchmarkJournal(b *testing.B) {
	r := NewRecorder(func() time.Duration { return 0 }, nil)
	p := Partition{Topic: "orders"}
	const ops = 100_000
	for i := range ops {
		id := r.Invoke(Op{Process: 3, Kind: Send, Acks: -1, Broker: 1, Epoch: 4, Partition: p, Value: fmt.Sprintf("p3-%d", i), Position: -1})
		r.Complete(id, Op{Outcome: OK, Broker: 1, Offset: Offset(i), HW: -1, LogStart: -1})
	}
	h := r.History()
	path := filepath.Join(b.TempDir(), "j")
	if err := WriteJournal(path, nil, h); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ReadJournalFile(path); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ops, "ns/op-read")
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			os.Remove(path)
			if err := WriteJournal(path, nil, h); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ops, "ns/op-written")
	})
	b.Run("invoke", func(b *testing.B) {
		os.Remove(path)
		w, err := CreateJournal(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		r := NewRecorder(func() time.Duration { return 0 }, w)
		for b.Loop() {
			id := r.Invoke(Op{Process: 3, Kind: Send, Acks: -1, Broker: 1, Epoch: 4, Partition: p, Value: "p3-17", Position: -1})
			r.Complete(id, Op{Outcome: OK})
		}
	})
}
