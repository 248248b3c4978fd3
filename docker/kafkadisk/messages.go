package kafkadisk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"tidemark/broker/log"
	"tidemark/history"
)

// A message of formats 0 and 1 (LegacyRecord.java), behind the entry's offset and length: CRC (4 bytes, over all that follows it), magic,
// attributes, in format 1 a timestamp (8), then key and value, each behind its 4-byte length, -1 for null.
const (
	atMessageCRC  = entryHeader
	atAttributes  = atMagic + 1
	atFields      = atAttributes + 1
	timestampSize = 8
)

// The attributes of a message.
const (
	codecBits = 0x07 // of format 0: gzip 1, snappy 2, lz4 3; later ones are of format 2 alone
	lz4Codec  = 3
)

// noEpoch is the leader epoch of a message: formats 0 and 1 have none.
const noEpoch history.Epoch = -1

// message is one message, still compressed if it wraps others.
type message struct {
	offset history.Offset
	magic  uint8
	codec  uint8
	value  []byte // shares memory with the entry
}

// parseMessage reads the message that an entry is, and checks its CRC.
func parseMessage(entry []byte) (message, error) {
	m := message{offset: history.Offset(binary.BigEndian.Uint64(entry)), magic: entry[atMagic]}
	if m.magic > 1 {
		return m, fmt.Errorf("message of format %d, expected 0 or 1", int8(m.magic))
	}
	fields := atFields
	if m.magic == 1 {
		fields += timestampSize
	}
	if len(entry) < fields {
		return m, fmt.Errorf("message of %d bytes, expected at least %d in format %d", len(entry), fields, m.magic)
	}
	if crc, want := binary.BigEndian.Uint32(entry[atMessageCRC:]), crc32.ChecksumIEEE(entry[atMagic:]); crc != want {
		return m, fmt.Errorf("message at offset %d has CRC %08x, expected %08x", m.offset, crc, want)
	}
	m.codec = entry[atAttributes] & codecBits
	if m.codec > lz4Codec {
		return m, fmt.Errorf("message at offset %d has compression codec %d, expected at most %d", m.offset, m.codec, lz4Codec)
	}
	_, rest, err := nullable(entry[fields:], "key")
	if err == nil {
		m.value, rest, err = nullable(rest, "value")
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind the value, expected none", len(rest))
	}
	if err != nil {
		return m, fmt.Errorf("message at offset %d: %w", m.offset, err)
	}
	return m, nil
}

// nullable takes a length, where -1 is null, and so many bytes.
func nullable(b []byte, what string) (field, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("%d bytes are left, expected the length of the %s", len(b), what)
	}
	n, b := int64(int32(binary.BigEndian.Uint32(b))), b[4:]
	switch {
	case n == -1:
		return nil, b, nil
	case n < 0 || n > int64(len(b)):
		return nil, nil, fmt.Errorf("length of the %s is %d, expected -1 to %d", what, n, len(b))
	}
	return b[:n], b[n:], nil
}

// takeMessage takes in a message, or the messages that it wraps.
func (c *contents) takeMessage(entry []byte) error {
	m, err := parseMessage(entry)
	if err != nil {
		return err
	}
	if m.codec == 0 {
		return c.add(history.DumpRecord{Offset: m.offset, Epoch: noEpoch}, m.value)
	}
	if err := c.follows(m.offset); err != nil {
		return err
	}
	if m.value == nil {
		return fmt.Errorf("message at offset %d wraps others and has no value", m.offset)
	}
	var inner []byte
	if m.codec == lz4Codec && m.magic == 0 {
		inner, err = unframe(m.value, recordsBytesMax)
	} else {
		inner, err = log.Decompress(m.codec, m.value, recordsBytesMax)
	}
	if err == nil {
		err = c.takeWrapped(m, inner)
	}
	if err != nil {
		return fmt.Errorf("message at offset %d: %w", m.offset, err)
	}
	return nil
}

// takeWrapped takes in the messages that another wraps, whose own offset is that of the last of them. In format 1 theirs are relative:
// the leader gives the wrapper an offset and leaves what is inside as it came (KIP-31). In format 0 they are what they are.
func (c *contents) takeWrapped(wrapper message, data []byte) error {
	var inside []message
	for len(data) > 0 {
		m, rest, err := nextMessage(data)
		switch {
		case err != nil:
			return fmt.Errorf("the message wrapped as number %d: %w", len(inside)+1, err)
		case m.magic != wrapper.magic:
			return fmt.Errorf("wraps a message of format %d, expected its own, %d", m.magic, wrapper.magic)
		case m.codec != 0:
			return fmt.Errorf("wraps a message that wraps others, expected plain ones")
		}
		inside, data = append(inside, m), rest
	}
	if len(inside) == 0 {
		return fmt.Errorf("wraps no message, expected at least one")
	}
	shift := wrapper.offset - inside[len(inside)-1].offset
	if wrapper.magic == 0 && shift != 0 {
		return fmt.Errorf("the last message that it wraps is at offset %d, expected its own", inside[len(inside)-1].offset)
	}
	for i := range inside {
		m := &inside[i]
		if m.offset < 0 || m.offset > inside[len(inside)-1].offset {
			return fmt.Errorf("wraps a message at relative offset %d, expected 0 to %d", m.offset, inside[len(inside)-1].offset)
		}
		if err := c.add(history.DumpRecord{Offset: m.offset + shift, Epoch: noEpoch}, m.value); err != nil {
			return err
		}
	}
	return nil
}

// nextMessage reads the message that data begins with.
func nextMessage(data []byte) (m message, rest []byte, err error) {
	if len(data) <= atMagic {
		return m, nil, fmt.Errorf("%d bytes are left, expected a message of at least %d", len(data), atMagic+1)
	}
	length := int64(int32(binary.BigEndian.Uint32(data[8:])))
	if most := int64(len(data) - entryHeader); length <= atMagic-entryHeader || length > most {
		return m, nil, fmt.Errorf("length %d, expected %d to %d", length, atMagic-entryHeader+1, most)
	}
	m, err = parseMessage(data[:entryHeader+length])
	return m, data[entryHeader+length:], err
}
