package docker

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/history"
)

// ProbeServing asks a broker for ApiVersions over a connection of its own.
func (c *Cluster) ProbeServing(b history.BrokerID, timeout time.Duration) bool {
	m, err := c.machine(b)
	return err == nil && serving(c.env.ctx, m.kafka, timeout)
}

// serving reports whether a broker answers ApiVersions at an address within timeout.
func serving(ctx context.Context, address string, timeout time.Duration) bool {
	deadline := time.Now().Add(timeout)
	k, err := dial(ctx, address, timeout)
	if err != nil {
		return false
	}
	defer k.Close()
	const correlation = 1
	frame := binary.BigEndian.AppendUint16(nil, uint16(kmsg.ApiVersions))
	frame = binary.BigEndian.AppendUint16(frame, 0) // version
	frame = binary.BigEndian.AppendUint32(frame, correlation)
	frame = binary.BigEndian.AppendUint16(frame, 0xffff) // no client id
	if k.Send(frame) != nil {
		return false
	}
	answer, err := k.Receive(time.Until(deadline))
	if err != nil || len(answer) < 4 || binary.BigEndian.Uint32(answer) != correlation {
		return false
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	return resp.ReadFrom(answer[4:]) == nil && resp.ErrorCode == 0
}
