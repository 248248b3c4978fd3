package log

import "tidemark/broker/kafka"

// tailBytes bounds the cache of recent bytes: enough for followers and consumers that keep up.
const tailBytes = 64 << 10

// tail holds the last batches of the active segment. Its bytes are only ever appended to, never changed, so that readers get
// them without a copy.
type tail struct {
	pos     int64 // the position in the active segment of buf[0]
	base    kafka.Offset
	buf     []byte
	batches []tailBatch
}

type tailBatch struct {
	last kafka.Offset
	at   int // in buf
}

// add appends the batch that stands at pos in the segment.
func (t *tail) add(b Batch, pos int64, data []byte) {
	if len(data) > tailBytes {
		t.restart()
		return
	}
	if len(t.batches) == 0 || len(t.buf)+len(data) > cap(t.buf) {
		if len(t.buf)+len(data) > cap(t.buf) {
			t.buf = make([]byte, 0, tailBytes)
		}
		t.restart()
		t.pos, t.base = pos, b.Base
	}
	t.batches = append(t.batches, tailBatch{b.Last, len(t.buf)})
	t.buf = append(t.buf, data...)
}

// restart forgets everything; the memory behind the last byte, which no reader has seen, is used again.
func (t *tail) restart() {
	t.buf = t.buf[len(t.buf):]
	t.batches = t.batches[:0]
}

// from returns the bytes from the batch that contains o on, and their position in the segment; false if the tail does not
// reach back so far.
func (t *tail) from(o kafka.Offset) ([]byte, int64, bool) {
	if len(t.batches) == 0 || o < t.base {
		return nil, 0, false
	}
	lo, hi := 0, len(t.batches)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.batches[mid].last < o {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(t.batches) {
		return nil, 0, false
	}
	at := t.batches[lo].at
	return t.buf[at:len(t.buf):len(t.buf)], t.pos + int64(at), true
}

// header returns the bytes from a batch's position on, if the tail holds it.
func (t *tail) header(pos int64) ([]byte, bool) {
	if len(t.batches) == 0 || pos < t.pos {
		return nil, false
	}
	return t.buf[pos-t.pos:], true
}
