package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/world"
)

var _ world.Dialect = (*Cluster)(nil)

// NewestVersion is the newest version of an API that the brokers speak, -1 if they do not have it; this program's own speak all.
func (c *Cluster) NewestVersion(api int16) int16 {
	if c.speaks == nil {
		return math.MaxInt16
	}
	if newest, ok := c.speaks[api]; ok {
		return newest
	}
	return -1
}

// negotiate asks a broker which versions it speaks (ApiVersions, KIP-35), until it answers: the others are of the same release.
func (c *Cluster) negotiate(m *machine) error {
	deadline := time.Now().Add(c.brokers.startBound())
	for {
		speaks, err := versionsOf(c.env.ctx, c.straight(m))
		if err == nil {
			c.speaks = speaks
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("broker %d does not say which versions it speaks: %w", m.id, err), c.lastWords(m.broker))
		}
		if err := c.pause(lookEvery); err != nil {
			return err
		}
	}
}

// versionsOf asks the broker at an address for the newest version of each API, in version 0, which all know.
func versionsOf(ctx context.Context, address string) (map[int16]int16, error) {
	k, err := dial(ctx, address, stateBound)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	req, resp := kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrApiVersionsResponse()
	if err := k.Send(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)[4:]); err != nil { // Send writes the length itself
		return nil, err
	}
	answer, err := k.Receive(engineBound)
	if err != nil {
		return nil, err
	}
	if len(answer) < 4 || binary.BigEndian.Uint32(answer) != 1 {
		return nil, fmt.Errorf("%d bytes that are no answer to ApiVersions", len(answer))
	}
	if err := resp.ReadFrom(answer[4:]); err != nil {
		return nil, err
	}
	speaks := map[int16]int16{}
	for _, k := range resp.ApiKeys {
		speaks[k.ApiKey] = k.MaxVersion
	}
	return speaks, nil
}
