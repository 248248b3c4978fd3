package workloads

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"tidemark/history"
)

// Layout of a message, magic 0 and 1, in a message set, which brokers before 0.11 keep instead of record batches (Kafka's
// LegacyRecord, KIP-32). The CRC covers everything from the magic on. Offset, length and magic stand where a record batch has them.
const (
	messageCRCAt        = 12
	messageAttributesAt = 17
	messageBodyAt       = 18
	messageBytesMin     = messageBodyAt - 12 + 4 + 4 // magic 0: behind the length, with neither key nor value

	messageMagic = 1

	// newestOfMessages is the last version of Produce that takes message sets.
	newestOfMessages = 2
)

// appendMessage appends a message set with one message without key and without a time.
func appendMessage(dst []byte, value string) []byte {
	start := len(dst)
	var header [messageBodyAt]byte
	header[batchMagicAt] = messageMagic
	dst = append(dst, header[:]...)
	dst = append(dst, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // no timestamp
	dst = append(dst, 0xff, 0xff, 0xff, 0xff)                         // no key
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
	dst = append(dst, value...)
	m := dst[start:]
	binary.BigEndian.PutUint32(m[batchLengthAt:], uint32(len(m)-batchLengthAt-4))
	binary.BigEndian.PutUint32(m[messageCRCAt:], crc32.ChecksumIEEE(m[batchMagicAt:]))
	return dst
}

// readMessage takes down one whole message, or what is inside if it wraps others, and returns its offset: of a wrapper the last one's.
func (r *batchReader) readMessage(position history.Offset, offset int64, b []byte) (last history.Offset, err error) {
	value, compression, err := openMessage(offset, b)
	if err != nil {
		return 0, err
	}
	last = history.Offset(offset)
	if compression == 0 {
		if last >= position {
			r.text = append(r.text, value...)
			r.spans = append(r.spans, span{last, len(r.text)})
		}
		return last, nil
	}
	inside, err := unpack(compression, value)
	if err != nil {
		return 0, fmt.Errorf("message at offset %d with %w", offset, err)
	}
	return last, r.readWrapped(position, offset, b[batchMagicAt] == messageMagic, inside)
}

// wrappedMax bounds the messages of one wrapper.
const wrappedMax = 1 << 16

// readWrapped takes down the messages of a wrapper: of magic 1 their offsets count from the first one's, and the wrapper has the last one's.
func (r *batchReader) readWrapped(position history.Offset, offset int64, relative bool, b []byte) error {
	var offsets []int64
	var values [][]byte
	for len(b) > 0 {
		if len(b) < batchLengthAt+4 || len(offsets) == wrappedMax {
			return fmt.Errorf("message at offset %d wraps %d messages and %d bytes, expected at most %d messages", offset, len(offsets), len(b), wrappedMax)
		}
		inner := int64(binary.BigEndian.Uint64(b))
		length := int(int32(binary.BigEndian.Uint32(b[batchLengthAt:])))
		if length < messageBytesMin || length > len(b)-batchLengthAt-4 {
			return fmt.Errorf("message at offset %d wraps one of %d bytes, expected %d to %d", offset, length, messageBytesMin, len(b)-batchLengthAt-4)
		}
		value, compression, err := openMessage(offset, b[:batchLengthAt+4+length])
		if err != nil {
			return err
		}
		if compression != 0 {
			return fmt.Errorf("message at offset %d wraps a compressed one", offset)
		}
		offsets, values = append(offsets, inner), append(values, value)
		b = b[batchLengthAt+4+length:]
	}
	for i, inner := range offsets {
		if relative {
			inner += offset - offsets[len(offsets)-1]
		}
		if history.Offset(inner) >= position {
			r.text = append(r.text, values[i]...)
			r.spans = append(r.spans, span{history.Offset(inner), len(r.text)})
		}
	}
	return nil
}

// openMessage checks a message and returns its value, and how that is compressed.
func openMessage(offset int64, b []byte) (value []byte, compression uint16, err error) {
	magic := b[batchMagicAt]
	if magic > messageMagic || offset < 0 {
		return nil, 0, fmt.Errorf("message at offset %d with magic %d, expected at most %d", offset, magic, messageMagic)
	}
	if want, got := binary.BigEndian.Uint32(b[messageCRCAt:]), crc32.ChecksumIEEE(b[batchMagicAt:]); want != got {
		return nil, 0, fmt.Errorf("%s: message at offset %d with CRC %08x, expected %08x", history.CorruptBatch, offset, want, got)
	}
	body := b[messageBodyAt:]
	if magic == messageMagic {
		if len(body) < 8 {
			return nil, 0, fmt.Errorf("message at offset %d ends inside its timestamp", offset)
		}
		body = body[8:]
	}
	_, body, ok := cutSized(body) // the key
	if ok {
		value, body, ok = cutSized(body)
	}
	if !ok || len(body) > 0 {
		return nil, 0, fmt.Errorf("message at offset %d of %d bytes is malformed", offset, len(b))
	}
	return value, uint16(b[messageAttributesAt]) & attrCompression, nil
}

// cutSized cuts bytes with their length of 4 bytes in front off b; a length of -1 is none.
func cutSized(b []byte) (cut, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	size := int(int32(binary.BigEndian.Uint32(b)))
	b = b[4:]
	if size < -1 || size > len(b) {
		return nil, nil, false
	}
	if size < 0 {
		return nil, b, true
	}
	return b[:size], b[size:], true
}
