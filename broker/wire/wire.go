// Package wire reads and writes Kafka's frames, without their 4-byte length: headers here, bodies by kmsg.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// KeyRaft is the private API key of the controller quorum's messages (etcd raft's own encoding); they have no answer.
const KeyRaft int16 = 10000

// Header is a request's header, without its client id, which decides nothing.
type Header struct {
	Key, Version  int16
	CorrelationID int32
}

// errShort says that a frame ended inside its header.
var errShort = errors.New("frame ends inside its header")

// UnsupportedVersionError is a request for an API key or version that this broker does not serve.
type UnsupportedVersionError struct{ Header Header }

// Error names the key and the version.
func (e *UnsupportedVersionError) Error() string {
	return fmt.Sprintf("API key %d version %d is not served", e.Header.Key, e.Header.Version)
}

// ParseRequest reads a request. The request may alias frame. Of a raft message it returns no request but its body. The error is an
// *UnsupportedVersionError where the header could be read and names what is not served.
func ParseRequest(frame []byte) (h Header, req kmsg.Request, raft []byte, err error) {
	if len(frame) < 10 {
		return h, nil, nil, errShort
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[4:]))
	length := int(int16(binary.BigEndian.Uint16(frame[8:])))
	rest := frame[10:]
	if length > len(rest) {
		return h, nil, nil, errShort
	}
	if length > 0 {
		rest = rest[length:]
	}
	if h.Key == KeyRaft {
		return h, nil, rest, nil
	}
	served, ok := Served(h.Key)
	if !ok || h.Version < served.Min || h.Version > served.Max {
		return h, nil, nil, &UnsupportedVersionError{h}
	}
	req = kmsg.RequestForKey(h.Key)
	req.SetVersion(h.Version)
	if req.IsFlexible() {
		if rest, err = skipTags(rest); err != nil {
			return h, nil, nil, err
		}
	}
	if err := checkSize(rest, h.Key, h.Version, false); err != nil {
		return h, nil, nil, err
	}
	if err := req.ReadFrom(rest); err != nil {
		return h, nil, nil, fmt.Errorf("%s request version %d: %w", kmsg.NameForKey(h.Key), h.Version, err)
	}
	return h, req, nil, nil
}

// AppendRequest appends a request's frame to dst.
func AppendRequest(dst []byte, correlation int32, clientID string, req kmsg.Request) []byte {
	dst = appendHeader(dst, req.Key(), req.GetVersion(), correlation, clientID)
	if req.IsFlexible() {
		dst = append(dst, 0)
	}
	return req.AppendTo(dst)
}

// AppendRaft appends a raft message's frame to dst.
func AppendRaft(dst []byte, clientID string, data []byte) []byte {
	return append(appendHeader(dst, KeyRaft, 0, 0, clientID), data...)
}

func appendHeader(dst []byte, key, version int16, correlation int32, clientID string) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
	return append(dst, clientID...)
}

// AppendResponse appends a response's frame to dst. ApiVersions keeps header version 0 whatever its own (KIP-511).
func AppendResponse(dst []byte, correlation int32, resp kmsg.Response) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		dst = append(dst, 0)
	}
	return resp.AppendTo(dst)
}

// Correlation reads a response's correlation id.
func Correlation(frame []byte) (int32, error) {
	if len(frame) < 4 {
		return 0, fmt.Errorf("response of %d bytes, expected at least 4", len(frame))
	}
	return int32(binary.BigEndian.Uint32(frame)), nil
}

// SetCorrelation writes a frame's correlation id in place: of a response, or with request of a request.
func SetCorrelation(frame []byte, request bool, id int32) {
	if request {
		frame = frame[4:]
	}
	binary.BigEndian.PutUint32(frame, uint32(id))
}

// ParseResponse reads the answer to a request of that key and version. It may alias frame.
func ParseResponse(frame []byte, key, version int16) (kmsg.Response, error) {
	if len(frame) < 4 {
		return nil, fmt.Errorf("response of %d bytes, expected at least 4", len(frame))
	}
	resp := kmsg.ResponseForKey(key)
	if resp == nil {
		return nil, fmt.Errorf("API key %d has no response", key)
	}
	resp.SetVersion(version)
	rest := frame[4:]
	if resp.IsFlexible() && key != int16(kmsg.ApiVersions) {
		var err error
		if rest, err = skipTags(rest); err != nil {
			return nil, err
		}
	}
	if err := checkSize(rest, key, version, true); err != nil {
		return nil, err
	}
	if err := resp.ReadFrom(rest); err != nil {
		return nil, fmt.Errorf("%s response version %d: %w", kmsg.NameForKey(key), version, err)
	}
	return resp, nil
}

// skipTags passes over a header's tagged fields (KIP-482).
func skipTags(b []byte) ([]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return nil, errShort
	}
	b = b[n:]
	for range count {
		if _, n = binary.Uvarint(b); n <= 0 {
			return nil, errShort
		}
		size, m := binary.Uvarint(b[n:])
		if m <= 0 || size > uint64(len(b)-n-m) {
			return nil, errShort
		}
		b = b[n+m+int(size):]
	}
	return b, nil
}
