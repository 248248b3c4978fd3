package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A journal is NDJSON in zstd frames, each with a checksum, one behind the other; a line never spans two frames. `zstd -dc`
// shows it as text. The first line is {"journal":2,"run":{...}}, the version of this format and the run whose history it is, as run.json has it
// ("run" is left out where nobody knows); each line after it is one entry, with "t" first:
//
//	t            what the entry is: invoke, return, fault, state, step, dump or mark
//	i, at        index, dense from 0; time in nanoseconds since the run's start, never falling
//	topic, part  a partition
//	b, e         broker, leader epoch
//	hw, start    high watermark, log start offset
//
//	invoke  id p f b e topic part acks v pos final marker    f: send, poll, seek, listOffsets, deleteRecords; p: process; v: value; pos: position
//	return  id as b off hw start err recs                    as: ok, fail (failed), info (unknown); off: offset; recs: [offset,value,...]
//	fault   n phase kind line on detail                      n: number of the plan line; on: targets
//	state   ctl parts                                        ctl: controller; parts: partitions
//	          of which each: topic part leader e pe isr elr reps     pe: partition epoch; reps: replicas
//	          of which each: b up leads e leo hw start
//	step    kind b topic part e peer from to isr detail
//	dump    b topic part leo hw start recs err               recs: [offset,epoch,value,...]
//	mark    name failed detail
//
// A field that is left out is 0, "", false or an empty list. A string that is not UTF-8 is {"base64":"..."}.
//
// Format 1 differs in its first line alone, which says {"journal":1}: nothing of whose history it is, but for some that builds between the two formats
// wrote, with a run under the old number. All are read.
const (
	journalFormat       = 2
	journalFormatOldest = 1
)

// journalRun stands between the format and the run in the first line of a journal that says whose history it is.
const journalRun = `,"run":`

// Limits of a journal. A frame may exceed frameBytes by the one entry that filled it.
const (
	frameBytes      = 1 << 20  // of lines; a frame is written when they are reached
	lineBytesMax    = 64 << 20 // of one entry
	frameBytesMax   = lineBytesMax + frameBytes
	journalBytesMax = 4 << 30 // of lines in all: some 15 million operations

	// A small file must not decompress without end: its lines may be so many times as long as its frames, beyond a first allowance. A recorder's
	// frames of an operation or two are 2.5 to 3 times as short as their lines, the full ones of a simulated run's whole history seven times.
	expansionMax     = 200
	expansionFreeMax = 16 << 20
)

// JournalWriter appends entries to a journal file: NDJSON in zstd frames. A frame is flushed (handed to the kernel, no fsync) after
// every invocation group at the latest, so that a journal cut anywhere is readable up to its last whole frame. It is safe for
// concurrent use.
type JournalWriter struct {
	file *os.File

	mu       sync.Mutex // never held during a write
	pending  []byte     // lines of the next frame
	appended uint64     // entries so far
	failed   error      // the first error; nothing is written after it

	writing sync.Mutex // held while a frame is made and written; taken before mu
	written uint64     // entries in frames
	encoder *zstd.Encoder
	spare   []byte // the last frame's lines, to be reused
	frame   []byte
}

// CreateJournal creates the file; it must not exist. run is whose history it is to hold, nil if that is not known.
func CreateJournal(path string, run *Run) (*JournalWriter, error) {
	head := fmt.Appendf(nil, "{\"journal\":%d}\n", journalFormat)
	if run != nil {
		text, err := json.Marshal(run)
		if err != nil {
			return nil, fmt.Errorf("creating a journal: its run: %w", err)
		}
		head = fmt.Appendf(nil, "{\"journal\":%d%s%s}\n", journalFormat, journalRun, text)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating a journal: %w", err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("creating a journal: %w", err)
	}
	w := &JournalWriter{file: file, encoder: encoder}
	w.pending = head
	w.appended = 1
	if run != nil {
		w.flush() // in a frame of its own, so that who only asks whose history it is reads no more
	}
	return w, nil
}

// append takes down one entry; it is on its way to the kernel after the next flush.
func (w *JournalWriter) append(line func([]byte) []byte) {
	w.mu.Lock()
	if w.failed != nil {
		w.mu.Unlock()
		return
	}
	before := len(w.pending)
	w.pending = append(line(w.pending), '\n')
	if size := len(w.pending) - before; size > lineBytesMax {
		w.pending = w.pending[:before]
		w.failed = fmt.Errorf("journal %s: entry of %d bytes, expected at most %d", w.file.Name(), size, lineBytesMax)
	}
	w.appended++
	full := len(w.pending) >= frameBytes
	w.mu.Unlock()
	if full {
		w.flush()
	}
}

// Invoke appends an operation's invocation. This and the following methods are for a history that is told without being kept: they take Index and
// Time as they are given, and a reader refuses a journal whose indexes are not dense, or whose times fall, but for
// those of steps and observations. A Recorder sees to both.
func (w *JournalWriter) Invoke(op *Op) {
	w.append(func(b []byte) []byte { return appendInvoke(b, op) })
}

// Return appends an operation's completion.
func (w *JournalWriter) Return(op *Op) {
	w.append(func(b []byte) []byte { return appendReturn(b, op) })
}

// Fault appends one phase of a fault.
func (w *JournalWriter) Fault(e *FaultEvent) {
	w.append(func(b []byte) []byte { return appendFault(b, e) })
}

// State appends what an observer saw.
func (w *JournalWriter) State(s *ClusterState) {
	w.append(func(b []byte) []byte { return appendState(b, s) })
}

// Step appends a protocol step.
func (w *JournalWriter) Step(s *Step) { w.append(func(b []byte) []byte { return appendStep(b, s) }) }

// Dump appends what a replica holds.
func (w *JournalWriter) Dump(d *Dump) { w.append(func(b []byte) []byte { return appendDump(b, d) }) }

// Mark appends a phase of the run.
func (w *JournalWriter) Mark(m *Mark) { w.append(func(b []byte) []byte { return appendMark(b, m) }) }

// flush hands every entry appended so far to the kernel, in one frame. Of those that call it while a frame is being written, the
// next one's frame takes the entries of all.
func (w *JournalWriter) flush() {
	w.mu.Lock()
	wanted := w.appended
	w.mu.Unlock()

	w.writing.Lock()
	defer w.writing.Unlock()
	if w.written >= wanted {
		return
	}
	w.mu.Lock()
	lines := w.pending
	w.pending, w.written = w.spare[:0], w.appended
	w.mu.Unlock()
	w.spare = lines
	if len(lines) == 0 {
		return
	}
	w.frame = w.encoder.EncodeAll(lines, w.frame[:0])
	if _, err := w.file.Write(w.frame); err != nil {
		w.fail(err)
	}
}

// fail keeps the first error.
func (w *JournalWriter) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = fmt.Errorf("writing a journal: %w", err)
	}
}

// err is the first error.
func (w *JournalWriter) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Close flushes and closes. It returns the first error of all that was written.
func (w *JournalWriter) Close() error {
	w.flush()
	if err := w.file.Close(); err != nil {
		w.fail(err)
	}
	return w.err()
}

// WriteJournal writes the whole history of a run to a new file, in order of index; nothing is left of one that could not be written. run is nil if it is
// not known.
func WriteJournal(path string, run *Run, h *History) error {
	entries, err := h.inOrder()
	if err != nil {
		return fmt.Errorf("writing journal %s: %w", path, err)
	}
	w, err := CreateJournal(path, run)
	if err != nil {
		return err
	}
	for _, e := range entries {
		w.append(func(b []byte) []byte { return e.appendLine(b, h) })
	}
	if err := w.Close(); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// entry is one entry of a history: what it is, and where in its slice.
type entry struct {
	what  entryKind
	place int
}

type entryKind uint8

const (
	entryNone entryKind = iota
	entryInvoke
	entryReturn
	entryFault
	entryState
	entryStep
	entryDump
	entryMark
)

// inOrder lists every entry by its index; an error names an index that is missing or stands twice.
func (h *History) inOrder() ([]entry, error) {
	count := len(h.Ops) + len(h.Faults) + len(h.States) + len(h.Steps) + len(h.Dumps) + len(h.Marks)
	for i := range h.Ops {
		if h.Ops[i].Outcome != Pending {
			count++
		}
	}
	entries := make([]entry, count)
	var err error
	put := func(index int64, what entryKind, place int) {
		switch {
		case err != nil:
		case index < 0 || index >= int64(count):
			err = fmt.Errorf("an entry has index %d, expected 0 to %d", index, count-1)
		case entries[index].what != entryNone:
			err = fmt.Errorf("two entries have index %d", index)
		default:
			entries[index] = entry{what, place}
		}
	}
	for i := range h.Ops {
		put(h.Ops[i].InvokeIndex, entryInvoke, i)
		if h.Ops[i].Outcome != Pending {
			put(h.Ops[i].ReturnIndex, entryReturn, i)
		}
	}
	for i := range h.Faults {
		put(h.Faults[i].Index, entryFault, i)
	}
	for i := range h.States {
		put(h.States[i].Index, entryState, i)
	}
	for i := range h.Steps {
		put(h.Steps[i].Index, entryStep, i)
	}
	for i := range h.Dumps {
		put(h.Dumps[i].Index, entryDump, i)
	}
	for i := range h.Marks {
		put(h.Marks[i].Index, entryMark, i)
	}
	return entries, err
}

// appendLine appends the entry's line.
func (e entry) appendLine(b []byte, h *History) []byte {
	switch e.what {
	case entryInvoke:
		return appendInvoke(b, &h.Ops[e.place])
	case entryReturn:
		return appendReturn(b, &h.Ops[e.place])
	case entryFault:
		return appendFault(b, &h.Faults[e.place])
	case entryState:
		return appendState(b, &h.States[e.place])
	case entryStep:
		return appendStep(b, &h.Steps[e.place])
	case entryDump:
		return appendDump(b, &h.Dumps[e.place])
	default:
		return appendMark(b, &h.Marks[e.place])
	}
}
