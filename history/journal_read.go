package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// ReadJournal reads a journal. A cut or corrupt tail is no error: truncated says what was left out ("" if nothing), and the
// history holds everything up to the last whole frame. Anything else that is wrong is an error with the line's number.
func ReadJournal(r io.Reader) (h *History, truncated string, err error) {
	j := newJournalReader()
	truncated, err = j.read(r, frameBytesMax, journalBytesMax)
	if err != nil {
		return nil, "", fmt.Errorf("reading a journal: %w", err)
	}
	return j.history(), truncated, nil
}

// ReadJournalFile opens path and reads it.
func ReadJournalFile(path string) (h *History, truncated string, err error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("reading a journal: %w", err)
	}
	defer f.Close()
	ops, steps, err := countEntries(f)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	j := newJournalReader()
	j.h.Ops, j.h.Steps = slices.Grow(j.h.Ops, ops), slices.Grow(j.h.Steps, steps)
	if truncated, err = j.read(f, frameBytesMax, journalBytesMax); err != nil {
		return nil, "", fmt.Errorf("%s: reading a journal: %w", path, err)
	}
	return j.history(), truncated, nil
}

// history is what was read, in order of time.
func (j *journalReader) history() *History {
	if j.late {
		j.h.order()
	}
	return j.h
}

// countFrom is from what size on a file's entries are counted before they are read. A list that grows is copied and, for a while, there twice;
// for a history that fills the memory that is too much, and to decompress it once more is cheap.
const countFrom = 1 << 20

// entryBytesMin is the least that an operation's or a step's line takes.
const entryBytesMin = 32

// countEntries counts the operations and steps of a large journal, about, and goes back to its beginning. It judges nothing.
func countEntries(f *os.File) (ops, steps int, err error) {
	if s, err := f.Stat(); err != nil || !s.Mode().IsRegular() || s.Size() < countFrom {
		return 0, 0, err
	}
	frames, err := newFrameReader(f, frameBytesMax)
	if err != nil {
		return 0, 0, err
	}
	defer frames.close()
	total := int64(0)
	for total <= min(journalBytesMax, expansionFreeMax+expansionMax*frames.at) {
		lines, err := frames.next()
		if err != nil {
			break
		}
		total += int64(len(lines))
		ops += bytes.Count(lines, []byte("\n{\"t\":\"invoke\"")) + 1
		steps += bytes.Count(lines, []byte("\n{\"t\":\"step\""))
	}
	_, err = f.Seek(0, io.SeekStart)
	most := int(total / entryBytesMin) // whatever the lines claim to be
	return min(ops, most), min(steps, most), err
}

// journalReader builds a history line by line and checks that each line can follow those before it.
type journalReader struct {
	scanner
	pool
	h    *History
	run  *Run            // whose history it is; nil as long as nothing says so
	line int             // number of the line under way, from 1
	next int64           // index of the next entry
	last time.Duration   // time of the last entry
	late bool            // some entry happened before it
	busy map[int32]int64 // operation under way, by process
	many int             // partitions, replicas and brokers that the line under way has listed
}

func newJournalReader() *journalReader {
	j := &journalReader{h: &History{}, busy: make(map[int32]int64)}
	j.known = make(map[string]string)
	return j
}

// read reads frames of at most frameMax bytes, together at most max.
func (j *journalReader) read(r io.Reader, frameMax int, max int64) (truncated string, err error) {
	frames, err := newFrameReader(r, frameMax)
	if err != nil {
		return "", err
	}
	defer frames.close()
	for total := int64(0); ; {
		lines, err := frames.next()
		var d *damage
		switch {
		case err == io.EOF && j.line == 0:
			return "empty: not even its first frame is there", nil
		case err == io.EOF:
			return "", nil
		case errors.As(err, &d):
			return d.reason, nil
		case err != nil:
			return "", err
		}
		if total += int64(len(lines)); total > max {
			return "", fmt.Errorf("line %d: more than %d bytes in all", j.line+1, max)
		}
		if total > expansionFreeMax+expansionMax*frames.at {
			return "", fmt.Errorf("line %d: %d bytes of file hold more than %d bytes of lines, expected at most %d times as many", j.line+1, frames.at, total, expansionMax)
		}
		if err := j.readLines(lines); err != nil {
			return "", err
		}
	}
}

// readLines reads one frame's lines.
func (j *journalReader) readLines(b []byte) error {
	for len(b) > 0 {
		j.line++
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return fmt.Errorf("line %d: the frame ends inside it, expected whole lines", j.line)
		}
		if end > lineBytesMax {
			return fmt.Errorf("line %d: %d bytes, expected at most %d", j.line, end, lineBytesMax)
		}
		j.reset(b[:end])
		j.many = 0
		if j.line == 1 {
			j.readFormat()
		} else {
			j.readEntry()
		}
		j.end()
		if j.err != nil {
			return fmt.Errorf("line %d: %w", j.line, j.err)
		}
		b = b[end+1:]
	}
	return nil
}

// ReadJournalRun reads no more of a journal than whose history it holds: nil if it does not say.
func ReadJournalRun(r io.Reader) (*Run, error) {
	j := newJournalReader()
	frames, err := newFrameReader(r, frameBytesMax)
	if err != nil {
		return nil, err
	}
	defer frames.close()
	lines, err := frames.next()
	var d *damage
	if err == io.EOF || errors.As(err, &d) {
		return nil, nil // cut before its first line was whole: it says nothing
	}
	if err == nil {
		first, _, _ := bytes.Cut(lines, []byte("\n"))
		err = j.readLines(append(slices.Clone(first), '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("reading a journal: %w", err)
	}
	return j.run, nil
}

// SkimJournal looks, without reading what it tells, whether a journal ends with a whole frame and has more of them than the one that says whose it is. The
// text says what is missing, "" if nothing is that can be seen so.
func SkimJournal(r io.Reader) (missing string, err error) {
	frames, err := newFrameReader(r, frameBytesMax)
	if err != nil {
		return "", err
	}
	defer frames.close()
	first, err := frames.next()
	alone := err == nil && bytes.Count(first, []byte("\n")) <= 1 && bytes.Contains(first, []byte(journalRun))
	for err == nil {
		err = frames.skip()
	}
	var d *damage
	switch {
	case errors.As(err, &d):
		return d.reason, nil
	case err != io.EOF:
		return "", fmt.Errorf("reading a journal: %w", err)
	case alone && frames.count == 1:
		return "nothing stands behind its first line", nil
	}
	return "", nil
}

// readFormat reads the first line.
func (j *journalReader) readFormat() {
	j.open('{')
	if key := j.key(); j.err == nil && string(key) != "journal" {
		j.unknown(key, "journal")
	}
	switch format := j.int(minInt64, maxInt64); {
	case j.err != nil:
		return
	case format > journalFormat:
		j.fail("journal format %d, expected %d or %d: a later build wrote it, and reads it", format, journalFormatOldest, journalFormat)
		return
	case format < journalFormatOldest:
		j.fail("journal format %d, expected %d or %d", format, journalFormatOldest, journalFormat)
		return
	}
	if text, ok := bytes.CutPrefix(j.b[j.pos:], []byte(journalRun)); ok {
		j.run = new(Run)
		if text, ok = bytes.CutSuffix(text, []byte("}")); !ok || json.Unmarshal(text, j.run) != nil {
			j.fail("found %q as its run, expected the object that run.json holds", short(text))
		}
		j.pos = len(j.b)
		return
	}
	j.expect('}')
}

// readEntry reads any other line.
func (j *journalReader) readEntry() {
	j.open('{')
	if !j.more('}') {
		j.fail("an empty object, expected an entry")
		return
	}
	if key := j.key(); j.err == nil && string(key) != "t" {
		j.fail("field %q first, expected t", short(key))
	}
	switch what := j.text(); string(what) {
	case "invoke":
		j.readInvoke()
	case "return":
		j.readReturn()
	case "fault":
		j.readFault()
	case "state":
		j.readState()
	case "step":
		j.readStep()
	case "dump":
		j.readDump()
	case "mark":
		j.readMark()
	default:
		j.fail("entry %q, expected invoke, return, fault, state, step, dump or mark", short(what))
	}
}

// stamp checks an entry's index and time.
func (j *journalReader) stamp(index int64, at time.Duration) {
	if j.err != nil {
		return
	}
	if index != j.next {
		j.fail("index %d, expected %d", index, j.next)
	}
	if at < j.last {
		j.fail("time %d, expected at least that of the entry before, %d", at, j.last)
	}
	j.next, j.last = index+1, at
}

// stampLate is stamp for a protocol step or an observation, which may have been recorded later than it happened.
func (j *journalReader) stampLate(index int64, at time.Duration) {
	if j.err == nil && at >= 0 && at < j.last {
		j.late = true
		at = j.last
	}
	j.stamp(index, at)
}
