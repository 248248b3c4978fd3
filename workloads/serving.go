package workloads

import (
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/world"
)

// Serves asks a broker for ApiVersions over a connection that was just opened, and reports whether it answered within timeout.
func Serves(conn world.Conn, timeout time.Duration) bool {
	const correlation = 1
	frame := binary.BigEndian.AppendUint16(nil, uint16(kmsg.ApiVersions))
	frame = binary.BigEndian.AppendUint16(frame, 0) // version
	frame = binary.BigEndian.AppendUint32(frame, correlation)
	frame = binary.BigEndian.AppendUint16(frame, 0xffff) // no client id
	if conn.Send(frame) != nil {
		return false
	}
	answer, err := conn.Receive(timeout)
	if err != nil || len(answer) < 4 || binary.BigEndian.Uint32(answer) != correlation {
		return false
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	return resp.ReadFrom(answer[4:]) == nil && resp.ErrorCode == 0
}
