package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestASmallJournalDoesNotDecompressWithoutEnd reads journals of valid lines that are far longer than their file.
func TestASmallJournalDoesNotDecompressWithoutEnd(t *testing.T) {
	bomb := compress(t, "{\"journal\":1}\n")
	detail := strings.Repeat("again ", 1<<18)
	for i := range 16 {
		bomb = append(bomb, compress(t, fmt.Sprintf("{\"t\":\"mark\",\"i\":%d,\"at\":0,\"detail\":%q}\n", i, detail))...)
	}
	path := filepath.Join(t.TempDir(), "bomb")
	if err := os.WriteFile(path, bomb, 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := ReadJournalFile(path)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "line 12: ") || !strings.Contains(err.Error(), "expected at most 200 times as many") {
		t.Errorf("%d bytes that hold 24 MiB of lines: %v", len(bomb), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d bytes of memory for a file of %d", used, len(bomb))
	}
	if _, _, err := ReadJournal(bytes.NewReader(bomb)); err == nil {
		t.Error("accepted where it is no file")
	}
}

// TestALargeJournalIsReadInTheMemoryOfItsHistory: a million operations' worth of memory is not spent twice. Each operation takes 176 bytes; its
// value, which consumers, final reads and dumps repeat, is kept once.
func TestALargeJournalIsReadInTheMemoryOfItsHistory(t *testing.T) {
	const ops = 100_000
	path := filepath.Join(t.TempDir(), "j")
	var clock time.Duration
	r := NewRecorder(func() time.Duration { clock++; return clock }, nil)
	p := Partition{Topic: "orders"}
	var log []Record
	for i := range ops {
		if i%10 == 9 {
			id := r.Invoke(Op{Process: 5, Kind: Poll, Partition: p, Position: Offset(max(0, len(log)-20))})
			r.Complete(id, Op{Outcome: OK, Records: log[max(0, len(log)-20):len(log):len(log)]})
			continue
		}
		value := fmt.Sprintf("p%d-%x", i, i*7919*104729) // little that repeats
		id := r.Invoke(Op{Kind: Send, Acks: -1, Partition: p, Value: value})
		r.Complete(id, Op{Outcome: OK, Offset: Offset(len(log))})
		log = append(log, Record{Offset(len(log)), value})
	}
	h := r.History()
	if err := WriteJournal(path, nil, h); err != nil {
		t.Fatal(err)
	}
	if s, err := os.Stat(path); err != nil || s.Size() < countFrom {
		t.Fatalf("%v, a journal of %d bytes, expected one whose entries are counted first", err, s.Size())
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, truncated, err := ReadJournalFile(path)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || truncated != "" || !reflect.DeepEqual(got, h) {
		t.Fatal(err, truncated, "or another history")
	}
	records := 20 * ops / 10
	most := uint64(ops*176+records*24+ops*32)*11/10 + 4<<20
	if kept := after.HeapAlloc - before.HeapAlloc; kept > most {
		t.Errorf("%d bytes in use, expected at most %d", kept, most)
	}
	runtime.KeepAlive(got)
}
