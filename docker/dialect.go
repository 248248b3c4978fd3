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
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := askOnce(ctx, address, kmsg.NewPtrApiVersionsRequest(), resp); err != nil {
		return nil, err
	}
	speaks := map[int16]int16{}
	for _, k := range resp.ApiKeys {
		speaks[k.ApiKey] = k.MaxVersion
	}
	return speaks, nil
}

// metadataIDs is the first version of Metadata that tells topics' ids (KIP-516).
const metadataIDs = 10

// topicID is a topic's id, by which newer brokers call it; zero where they know none.
func (c *Cluster) topicID(topic string) (id [16]byte, err error) {
	if c.NewestVersion(kmsg.Metadata.Int16()) < metadataIDs {
		return id, nil
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Version = metadataIDs
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	req.Topics = append(req.Topics, asked)
	for _, m := range c.machines {
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = req.Version
		if err = askOnce(c.env.ctx, c.straight(m), req, resp); err != nil {
			continue // it may be down
		}
		for i := range resp.Topics {
			if t := &resp.Topics[i]; t.Topic != nil && *t.Topic == topic && t.ErrorCode == 0 {
				return t.TopicID, nil
			}
		}
		err = fmt.Errorf("broker %d does not know the topic %s", m.id, topic)
	}
	return id, fmt.Errorf("the id of topic %s: %w", topic, err)
}

// askOnce asks the broker at an address for one thing, over a connection of its own.
func askOnce(ctx context.Context, address string, req kmsg.Request, resp kmsg.Response) error {
	k, err := dial(ctx, address, stateBound)
	if err != nil {
		return err
	}
	defer k.Close()
	if err := k.Send(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)[4:]); err != nil { // Send writes the length itself
		return err
	}
	answer, err := k.Receive(engineBound)
	if err != nil {
		return err
	}
	if len(answer) < 4 || binary.BigEndian.Uint32(answer) != 1 {
		return fmt.Errorf("%d bytes that are no answer to %s", len(answer), kmsg.NameForKey(req.Key()))
	}
	answer = answer[4:]
	if resp.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() { // the header has tagged fields, of which there are none yet
		answer = answer[min(1, len(answer)):]
	}
	return resp.ReadFrom(answer)
}
