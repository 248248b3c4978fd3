package log

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"tidemark/broker/kafka"
)

// Record is one record, decoded.
type Record struct {
	Offset  kafka.Offset
	Epoch   kafka.Epoch // the partition leader epoch of its batch
	Time    int64       // milliseconds since 1970
	Key     []byte      // nil for null
	Value   []byte      // nil for null
	Headers []Header
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil for null
}

// Records decodes the records of one whole batch. What they decompress to must not exceed maxBytes. Keys and values may share
// memory with b. The CRC is not looked at. The error is a *InvalidBatch.
func Records(b []byte, maxBytes int) ([]Record, error) {
	h, err := ParseBatch(b)
	if err != nil {
		return nil, err
	}
	if h.Size > len(b) {
		return nil, reject(kafka.CorruptMessage, "batch has %d bytes by its length field, but %d are left", h.Size, len(b))
	}
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	data, err := decompress(codec(attributes&attrCodec), b[headerSize:h.Size], maxBytes)
	if err != nil {
		return nil, err
	}
	if int64(h.Records) > int64(len(data)/minRecordSize) {
		return nil, reject(kafka.InvalidRecord, "batch has %d records in %d bytes, expected at least %d bytes each", h.Records, len(data), minRecordSize)
	}
	first, latest := int64(binary.BigEndian.Uint64(b[atFirstTime:])), int64(binary.BigEndian.Uint64(b[atMaxTime:]))
	records := make([]Record, 0, h.Records)
	d := decoder{rest: data}
	for i := range h.Records {
		r, _ := d.record(i, int64(i), int64(i))
		if d.err != nil {
			return nil, d.err
		}
		r.Offset, r.Epoch = h.Base+kafka.Offset(i), h.Epoch
		if r.Time += first; attributes&attrLogAppendTime != 0 {
			r.Time = latest
		}
		records = append(records, r)
	}
	if len(d.rest) > 0 {
		return nil, reject(kafka.InvalidRecord, "%d bytes behind the last record, expected none", len(d.rest))
	}
	return records, nil
}

// minRecordSize is that of a record with null key and value: length, attributes, two deltas, two lengths, number of headers.
const minRecordSize = 7

// checkRecords checks the frames of n uncompressed records: lengths and dense offset deltas. Keys, values and headers are the
// clients' own.
func checkRecords(b []byte, n int32) error {
	d := decoder{rest: b}
	for i := range n {
		size := d.length("record")
		body := decoder{rest: d.bytes(size)}
		body.bytes(1)
		body.varint("timestamp delta")
		delta := body.varint("offset delta")
		switch {
		case d.err != nil:
			return d.err
		case body.err != nil:
			return body.err
		case delta != int64(i):
			return reject(kafka.InvalidRecord, "record %d has offset delta %d, expected %d", i, delta, i)
		}
	}
	if len(d.rest) > 0 {
		return reject(kafka.InvalidRecord, "%d bytes behind the last record, expected none", len(d.rest))
	}
	return nil
}

// decoder takes fields off the front of rest. After an error every field is zero.
type decoder struct {
	rest []byte
	err  error
}

// record takes record i, whose offset delta must lie between least and most, and returns that too; Offset is left for the caller.
func (d *decoder) record(i int32, least, most int64) (Record, int64) {
	size := d.length("record")
	body := decoder{rest: d.bytes(size), err: d.err}
	body.bytes(1) // attributes: unused
	r := Record{Time: body.varint("timestamp delta")}
	delta := body.varint("offset delta")
	if body.err == nil && (delta < least || delta > most) {
		expected := strconv.FormatInt(least, 10)
		if least != most {
			expected = fmt.Sprintf("%d to %d", least, most)
		}
		body.fail("record %d has offset delta %d, expected %s", i, delta, expected)
	}
	r.Key = body.nullable("key")
	r.Value = body.nullable("value")
	n := body.length("number of headers")
	for range n {
		if body.err != nil {
			break
		}
		key := body.bytes(body.length("header key"))
		r.Headers = append(r.Headers, Header{string(key), body.nullable("header value")})
	}
	if body.err == nil && len(body.rest) > 0 {
		body.fail("%d bytes behind the headers of record %d, expected none", len(body.rest), i)
	}
	d.err = body.err
	return r, delta
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = reject(kafka.InvalidRecord, format, args...)
	}
	d.rest = nil
}

func (d *decoder) varint(what string) int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail("%s is no varint", what)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// length takes a varint that must lie between 0 and the number of bytes left.
func (d *decoder) length(what string) int {
	v := d.varint(what)
	if v < 0 || v > int64(len(d.rest)) {
		d.fail("length of %s is %d, expected 0 to %d", what, v, len(d.rest))
		return 0
	}
	return int(v)
}

// nullable takes a length, where -1 is null, and so many bytes.
func (d *decoder) nullable(what string) []byte {
	v := d.varint(what)
	switch {
	case v == -1 || d.err != nil:
		return nil
	case v < 0 || v > int64(len(d.rest)):
		d.fail("length of %s is %d, expected -1 to %d", what, v, len(d.rest))
		return nil
	}
	return d.bytes(int(v))
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail("%d bytes left, expected %d", len(d.rest), n)
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}
