package history

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// recorded is the journal of a run of a few seconds in containers, with kills and a partition, as its recorder wrote it.
const recorded = "testdata/recorded.ndjson.zst"

func readRecorded(t testing.TB) (whole []byte, ends []int) {
	whole, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := newFrameReader(bytes.NewReader(whole), frameBytesMax)
	if err != nil {
		t.Fatal(err)
	}
	defer frames.close()
	for {
		if _, err := frames.next(); err != nil {
			break
		}
		ends = append(ends, int(frames.at))
	}
	if len(ends) < 100 || ends[len(ends)-1] != len(whole) {
		t.Fatalf("%d frames up to byte %d of %d, expected a hundred at least, and the last at the end", len(ends), ends[len(ends)-1], len(whole))
	}
	return whole, ends
}

// TestARecordedJournalIsReadWhereverItIsCut cuts it at every byte of its last two frames: what is read is exactly what its whole frames hold.
func TestARecordedJournalIsReadWhereverItIsCut(t *testing.T) {
	whole, ends := readRecorded(t)
	n := len(ends)
	for frames := n - 2; frames < n; frames++ {
		begin, end := ends[frames-1], ends[frames]
		want, truncated, err := ReadJournal(bytes.NewReader(whole[:begin]))
		if err != nil || truncated != "" {
			t.Fatal(err, truncated)
		}
		for cut := begin + 1; cut < end; cut++ {
			h, truncated, err := ReadJournal(bytes.NewReader(whole[:cut]))
			says := fmt.Sprintf("cut inside frame %d: the last %d bytes, from byte %d on, are left out", frames, cut-begin, begin)
			if err != nil || truncated != says {
				t.Errorf("cut at %d: %v, truncated %q, expected %q", cut, err, truncated, says)
			} else if !reflect.DeepEqual(h, want) {
				t.Errorf("cut at %d: another history than that of the %d whole frames", cut, frames)
			}
		}
	}
	h, truncated, err := ReadJournal(bytes.NewReader(whole))
	if err != nil || truncated != "" || len(h.Ops) < 100 || len(h.Faults) == 0 || len(h.Dumps) == 0 {
		t.Errorf("the whole: %v, truncated %q, %d operations, %d entries of faults, %d dumps", err, truncated, len(h.Ops), len(h.Faults), len(h.Dumps))
	}
}

// TestARecordedJournalIsWrittenAgain writes what was read: the same history, line by line behind the first, which tells the format.
func TestARecordedJournalIsWrittenAgain(t *testing.T) {
	h, _, err := ReadJournalFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/again"
	if err := WriteJournal(path, nil, h); err != nil {
		t.Fatal(err)
	}
	before, one, _ := strings.Cut(uncompress(t, recorded), "\n")
	after, other, _ := strings.Cut(uncompress(t, path), "\n")
	if before != `{"journal":1}` || after != `{"journal":2}` || one != other {
		t.Errorf("%s and %d bytes of lines, written again %s and %d", before, len(one), after, len(other))
	}
}

// recordedLines are lines of every kind.
func recordedLines(t testing.TB) (lines [][]byte) {
	h, _, err := ReadJournalFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := h.inOrder()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range entries {
		line := e.appendLine(nil, h)
		kind, _, _ := strings.Cut(string(line), ",")
		if kinds[kind]++; kinds[kind] <= 4 && len(line) < 4096 {
			lines = append(lines, line)
		}
	}
	return lines
}
