package log

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tidemark/broker/kafka"
)

// codec is a batch's compression, from its attributes.
type codec uint16

const (
	codecNone   codec = 0
	codecGzip   codec = 1
	codecSnappy codec = 2
	codecLZ4    codec = 3
	codecZstd   codec = 4
)

// String is the codec's name in compression.type.
func (c codec) String() string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if int(c) < len(names) {
		return names[c]
	}
	return "unknown"
}

// Decompress returns what data was compressed from by the codec of that number in a batch's or a message's attributes, if that has at
// most maxBytes. The error is a *InvalidBatch.
func Decompress(number uint8, data []byte, maxBytes int) ([]byte, error) {
	return decompress(codec(number), data, maxBytes)
}

var errTooLarge = errors.New("more than the bound")

// decompress returns what data was compressed from, if that has at most maxBytes.
func decompress(c codec, data []byte, maxBytes int) ([]byte, error) {
	var out []byte
	var err error
	switch c {
	case codecNone:
		out = data
	case codecGzip:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			out, err = readBounded(r, maxBytes)
		}
	case codecSnappy:
		out, err = unsnap(data, maxBytes)
	case codecLZ4:
		out, err = readBounded(lz4.NewReader(bytes.NewReader(data)), maxBytes)
	case codecZstd:
		var r *zstd.Decoder
		// Kafka's window is at most 8 MiB; with a concurrency of one no goroutine is started.
		if r, err = zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20),
			zstd.WithDecoderLowmem(true)); err == nil {
			out, err = readBounded(r, maxBytes)
			r.Close()
		}
	default:
		return nil, reject(kafka.InvalidRecord, "compression codec %d, expected at most %d", c, codecZstd)
	}
	if err == nil && len(out) > maxBytes {
		err = errTooLarge
	}
	if err != nil {
		return nil, reject(kafka.CorruptMessage, "%v records of %d bytes, decompressed under a bound of %d: %v", c, len(data), maxBytes, err)
	}
	return out, nil
}

func readBounded(r io.Reader, maxBytes int) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, int64(maxBytes)+1))
	if err == nil && len(out) > maxBytes {
		err = errTooLarge
	}
	return out, err
}

// xerial opens the framing that Kafka's Java client puts around snappy blocks (snappy-java's SnappyOutputStream): magic, two
// 4-byte versions, then blocks, each behind its 4-byte length. Other clients send one bare block.
var xerial = []byte("\x82SNAPPY\x00")

const xerialHeaderSize = 16

func unsnap(data []byte, maxBytes int) ([]byte, error) {
	if !bytes.HasPrefix(data, xerial) {
		return unsnapBlock(nil, data, maxBytes)
	}
	if len(data) < xerialHeaderSize {
		return nil, io.ErrUnexpectedEOF
	}
	var out []byte
	for rest := data[xerialHeaderSize:]; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		size := binary.BigEndian.Uint32(rest)
		if rest = rest[4:]; uint64(size) > uint64(len(rest)) {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = unsnapBlock(out, rest[:size], maxBytes); err != nil {
			return nil, err
		}
		rest = rest[size:]
	}
	return out, nil
}

// unsnapBlock appends one decompressed block to out.
func unsnapBlock(out, block []byte, maxBytes int) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if n > maxBytes-len(out) {
		return nil, errTooLarge
	}
	decoded, err := snappy.Decode(nil, block)
	return append(out, decoded...), err
}
