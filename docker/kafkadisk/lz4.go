package kafkadisk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// The LZ4 frame (lz4_Frame_format.md): magic, a descriptor of flags, block size and perhaps content size, one byte of its checksum, then
// blocks behind their 4-byte lengths, up to one of length 0. All numbers are little-endian.
const (
	lz4Magic         = 0x184D2204
	lz4Version       = 0x40 // of the flags
	lz4VersionBits   = 0xC0
	lz4Independent   = 0x20
	lz4BlockChecksum = 0x10
	lz4ContentSize   = 0x08
	lz4Uncompressed  = 1 << 31 // of a block's length
)

// unframe decompresses the LZ4 frame of a message of format 0, of which Kafka computed the descriptor's checksum over the magic too
// (KAFKA-3160, KIP-57), so that no library reads it: the checksum is passed over, as Kafka's own reader does for format 0. The result has at
// most maxBytes.
func unframe(frame []byte, maxBytes int) ([]byte, error) {
	rest, err := lz4Blocks(frame)
	if err != nil {
		return nil, fmt.Errorf("LZ4 frame: %w", err)
	}
	checksums := frame[4]&lz4BlockChecksum != 0
	biggest := min(maxBytes, 1<<(8+2*int(frame[5]>>4&7))) // 64 KiB, 256 KiB, 1 MiB or 4 MiB
	var out, buf []byte
	for {
		if len(rest) < 4 {
			return nil, errors.New("LZ4 frame: ends without an end mark")
		}
		length := binary.LittleEndian.Uint32(rest)
		if rest = rest[4:]; length == 0 {
			return out, nil
		}
		n := int(length &^ lz4Uncompressed)
		after := n
		if checksums {
			after += 4
		}
		if after > len(rest) {
			return nil, fmt.Errorf("LZ4 frame: block of %d bytes, but %d are left", after, len(rest))
		}
		block := rest[:n]
		if length&lz4Uncompressed == 0 {
			if buf == nil {
				buf = make([]byte, biggest)
			}
			if n, err = lz4.UncompressBlock(block, buf); err != nil {
				return nil, fmt.Errorf("LZ4 frame: block of at most %d bytes: %w", biggest, err)
			}
			block = buf[:n]
		}
		if len(out)+len(block) > maxBytes {
			return nil, fmt.Errorf("LZ4 frame: more than the bound of %d bytes", maxBytes)
		}
		out, rest = append(out, block...), rest[after:]
	}
}

// lz4Blocks checks a frame's descriptor and returns what follows it.
func lz4Blocks(frame []byte) ([]byte, error) {
	const descriptor, checksum = 6, 1 // magic, flags and block size; then the checksum
	if len(frame) < descriptor+checksum {
		return nil, fmt.Errorf("%d bytes, expected at least %d", len(frame), descriptor+checksum)
	}
	if magic := binary.LittleEndian.Uint32(frame); magic != lz4Magic {
		return nil, fmt.Errorf("magic %08x, expected %08x", magic, lz4Magic)
	}
	flags, size := frame[4], frame[5]>>4&7
	if flags&lz4VersionBits != lz4Version || flags&lz4Independent == 0 {
		return nil, fmt.Errorf("flags %02x, expected version 01 and independent blocks", flags)
	}
	if size < 4 {
		return nil, fmt.Errorf("block size %d, expected 4 to 7", size)
	}
	head := descriptor + checksum
	if flags&lz4ContentSize != 0 {
		head += 8
	}
	if len(frame) < head {
		return nil, fmt.Errorf("%d bytes, expected at least %d", len(frame), head)
	}
	return frame[head:], nil
}
