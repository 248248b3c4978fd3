package proxy

import (
	"encoding/binary"

	"tidemark/world/frames"
)

// What a Kafka frame begins with: its length of 4 bytes, then of a request key, version and correlation id, of a response the correlation id
// alone (Kafka's RequestHeader.json and ResponseHeader.json, the fields that every version has).
const (
	lengthBytes   = 4
	requestBytes  = lengthBytes + 8
	responseBytes = lengthBytes + 4
)

// What a frame's head may say. Beyond that it is something else: a TLS record, or the words of another protocol, read as a length, are larger.
const (
	frameBytesMax = 256 << 20 // Kafka's brokers take 100 MiB (socket.request.max.bytes)
	keyMax        = 1 << 14
	versionMax    = 100
)

// reader cuts one direction of a connection into frames. It keeps none of the bytes: it looks at those that have arrived and says how many may
// pass, and where a frame begins that has to be judged first.
type reader struct {
	responses bool
	asked     *asked // the requests of the connection whose answers have not begun
	left      int    // bytes of the frame that passes
	blind     bool   // nothing here can be read: it all passes
	waiting   bool   // the frame that has begun has yet to be admitted
	begun     head
}

// head is what the first bytes of a frame say.
type head struct {
	size        int // without the length itself
	key         int16
	version     int16
	correlation int32
}

// found is what a reader makes of the bytes before it.
type found uint8

const (
	tooFew    found = iota // to tell
	passing                // so many bytes belong to what passes
	beginning              // they begin a frame, which passes once it is admitted
)

// next looks at bytes that have arrived, from the first that has not passed.
func (r *reader) next(b []byte) (n int, what found) {
	if r.waiting {
		return 0, beginning
	}
	if r.left == 0 && !r.blind && (r.asked.blind() || r.responses && r.asked.none()) {
		r.lose() // an answer that nobody asked for
	}
	switch {
	case r.blind:
		return len(b), passing
	case r.left > 0:
		n = min(r.left, len(b))
		r.left -= n
		return n, passing
	case len(b) < lengthBytes:
		return 0, tooFew
	}
	h := head{size: int(int32(binary.BigEndian.Uint32(b)))}
	least := requestBytes
	if r.responses {
		least = responseBytes
	}
	if h.size < least-lengthBytes || h.size > frameBytesMax {
		r.lose()
		return len(b), passing
	}
	if len(b) < least {
		return 0, tooFew
	}
	if !r.parse(&h, b[lengthBytes:]) {
		r.lose()
		return len(b), passing
	}
	r.begun, r.waiting = h, true
	return 0, beginning
}

// parse reads the rest of a head; false if it is none of Kafka's.
func (r *reader) parse(h *head, b []byte) (ok bool) {
	if r.responses {
		h.correlation = int32(binary.BigEndian.Uint32(b))
		h.key, h.version, ok = r.asked.answered(h.correlation)
		return ok
	}
	h.key, h.correlation = int16(binary.BigEndian.Uint16(b)), int32(binary.BigEndian.Uint32(b[4:]))
	h.version = int16(binary.BigEndian.Uint16(b[2:]))
	return h.key >= 0 && h.key <= keyMax && h.version >= 0 && h.version <= versionMax
}

// admit lets the frame that has begun pass.
func (r *reader) admit() {
	r.left, r.waiting = lengthBytes+r.begun.size, false
	if !r.responses {
		r.asked.ask(r.begun.key, r.begun.version, r.begun.correlation)
	}
}

// lose gives up reading both directions: where one cannot be read the other cannot be told.
func (r *reader) lose() {
	r.blind = true
	r.asked.lose()
}

// told reads what a whole frame that has begun, with its length, tells of partitions.
func (r *reader) told(frame []byte, names frames.Names) ([]frames.Told, error) {
	if r.responses {
		return frames.Response(frame[lengthBytes:], r.begun.key, r.begun.version, names)
	}
	return frames.Request(frame[lengthBytes:], names)
}
